//! Keys that mean something beside another choice than the scenario's: given, they are a misunderstanding.

use crate::document::{Node, Place};
use crate::error::Refusal;
use crate::key::Absent;
use crate::schema;

/// The refusal of the key at `path`, for which nothing in the scenario asked, where it belongs to another choice. None
/// where `--set` made that choice over a file with the key, which it cannot take away.
pub fn refusal(path: &str, node: &Node, root: &Node) -> Option<Refusal> {
    let only = schema::find(path)?.1.only?;
    let table = path.rsplit_once('.').map_or("", |(table, _)| table);
    let above = table.rsplit_once('.').map_or(table, |(above, _)| above);
    let deciding = [table, above, "topology"]
        .into_iter()
        .find_map(|table| root.at(&format!("{table}.{}", only.decided_by)));
    let is_set = |node: &Node| matches!(node.place, Place::Set(_));
    match deciding {
        None if only.by_presence => return None,
        Some(deciding) if is_set(deciding) && !is_set(node) => return None,
        _ => {}
    }
    let chosen = deciding.map(|node| node.raw.shown()).or_else(|| {
        let tables = [table, "topology"].into_iter();
        let mut keys = tables.filter_map(|table| schema::find(&format!("{table}.{}", only.decided_by)));
        match keys.next()?.1.default {
            Absent::Is(value) => Some(value.to_owned()),
            _ => None,
        }
    });
    let chosen = chosen.map_or_else(String::new, |value| format!(", where {} is {value}", only.decided_by));
    let why = format!(
        "`{path}` = {} has no effect in this scenario{chosen}: it belongs to {}; {}",
        node.raw.shown(),
        only.choice,
        only.remedy
    );
    Some(Refusal::new(&node.place, why))
}
