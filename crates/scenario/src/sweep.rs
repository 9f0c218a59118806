//! Lists as sweeps: which keys are swept, and the points of their product.

use std::collections::BTreeMap;

use crate::document::{Node, Raw};
use crate::error::{Refusal, clipped};
use crate::schema::{FIXED_KEYS, is_list, takes_list};

/// A key with several values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Its dotted path.
    pub path: String,
    /// How many values it has, at least 1.
    pub len: usize,
}

/// The swept keys of a scenario, seeds excepted, in the order in which they were written.
///
/// # Errors
/// An empty list, a value that stands twice in one list, or a list for a key that cannot be swept.
pub fn axes(root: &Node) -> Result<Vec<Axis>, Refusal> {
    let mut axes = Vec::new();
    collect(root, "", &mut axes)?;
    Ok(axes)
}

fn collect(node: &Node, path: &str, axes: &mut Vec<Axis>) -> Result<(), Refusal> {
    match &node.raw {
        Raw::Table(entries) => entries.iter().try_for_each(|(name, child)| {
            let path = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}.{name}")
            };
            collect(child, &path, axes)
        }),
        Raw::List(items) => {
            if items.is_empty() && is_list(path) {
                return Ok(());
            }
            if items.is_empty() {
                let message = format!("{path} = []: an empty list sweeps over nothing, give at least one value");
                return Err(Refusal::new(&node.place, message));
            }
            if FIXED_KEYS.contains(&path) {
                return Err(Refusal::new(
                    &node.place,
                    format!("`{path}` takes one value, it cannot be swept"),
                ));
            }
            let is_value = takes_list(path) && !items.iter().all(|item| matches!(item.raw, Raw::List(_)));
            if is_value {
                return Ok(());
            }
            if let Some(twice) = repeated(items) {
                let message = format!("{path}: {} stands twice in the list", clipped(&twice.raw.shown()));
                return Err(Refusal::new(&twice.place, message));
            }
            axes.push(Axis {
                path: path.to_owned(),
                len: items.len(),
            });
            Ok(())
        }
        _ => Ok(()),
    }
}

/// The first item that equals an earlier one.
fn repeated(items: &[Node]) -> Option<&Node> {
    let mut seen = std::collections::BTreeSet::new();
    items.iter().find(|item| !seen.insert(item.raw.shown()))
}

/// Number of points of a product; `None` where it does not fit.
pub fn points(axes: &[Axis], seeds: usize) -> Option<usize> {
    axes.iter()
        .try_fold(seeds, |product, axis| product.checked_mul(axis.len))
}

/// The picks of the point `index`, the first axis outermost.
pub fn picks(axes: &[Axis], index: usize) -> BTreeMap<String, usize> {
    let mut rest = index;
    let mut picks = BTreeMap::new();
    for axis in axes.iter().rev() {
        picks.insert(axis.path.clone(), rest % axis.len);
        rest /= axis.len;
    }
    picks
}
