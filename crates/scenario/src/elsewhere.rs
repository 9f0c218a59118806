//! Keys that mean something beside another choice than the scenario's: given, they are a misunderstanding.

use crate::document::{Node, Place};
use crate::error::Refusal;

/// A key that nobody asked for.
struct Elsewhere {
    /// The key that made the choice, in the same table or in the one above.
    decided_by: &'static str,
    /// The choice beside which the key would mean something.
    belongs_to: &'static str,
    remedy: &'static str,
}

fn find(path: &str, is_given: impl Fn(&str) -> bool) -> Option<Elsewhere> {
    let (table, key) = path.rsplit_once('.')?;
    let of = |decided_by, belongs_to, remedy| {
        Some(Elsewhere {
            decided_by,
            belongs_to,
            remedy,
        })
    };
    let of_app = |app| of("app", app, "leave it out, or choose that application");
    match (table.split('.').next()?, key) {
        ("flow", "size") => of_app("app = \"transfer\""),
        ("flow", "rate" | "stop") => of_app("app = \"cbr\""),
        ("flow", "on" | "off") => of_app("app = \"sessions\""),
        ("flow", "path") => of("preset", "a row of links", "in a graph give from, to and via"),
        ("flow", "from" | "to" | "via") => of("preset", "a graph", "in a row of links give path, or leave it out"),
        ("topology", "nodes") => of("preset", "a graph", "leave out topology.preset, or the nodes"),
        ("topology", "hops") => of(
            "preset",
            "preset = \"parking-lot\"",
            "leave it out, or choose that preset",
        ),
        ("topology" | "link", "rate") if is_given("trace") => {
            let remedy = "give one of the two, since a trace says what the link carries";
            of("trace", "a link without a trace", remedy)
        }
        _ => None,
    }
}

/// The refusal of the key at `path`, for which nothing in the scenario asked, where it belongs to another choice. None
/// where `--set` made that choice over a file with the key, which it cannot take away.
pub fn refusal(path: &str, node: &Node, root: &Node) -> Option<Refusal> {
    let table = path.rsplit_once('.').map_or("", |(table, _)| table);
    let above = table.rsplit_once('.').map_or(table, |(above, _)| above);
    let places = |key: &str| {
        let tables = [table, above, "topology"];
        tables.map(|table| root.at(&format!("{table}.{key}")).map(|node| node.place.clone()))
    };
    let found = find(path, |key| places(key)[0].is_some())?;
    let is_laid_over = |place: &Option<Place>| matches!(place, Some(Place::Set(_)));
    if matches!(node.place, Place::Line { .. }) && places(found.decided_by).iter().any(is_laid_over) {
        return None;
    }
    let Elsewhere { belongs_to, remedy, .. } = found;
    let why = format!("`{path}` has no effect in this scenario: it belongs to {belongs_to}; {remedy}");
    Some(Refusal::new(&node.place, why))
}
