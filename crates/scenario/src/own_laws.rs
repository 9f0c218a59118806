//! Laws that users bring run beside those that the scenario names, without an edit of the scenario.

use std::collections::BTreeMap;

use crate::document::{Node, Place, Raw};
use crate::flows;
use crate::laws::UDP;
use crate::reader::Reader;
use crate::versus;

/// Adds to the laws of the scenario, which chose names, each of `names` that it does not name itself.
///
/// A sender joins the list of laws; a router joins it behind each sender that brings no router of its own. Returns
/// warnings about laws that nothing uses.
pub fn add(root: &mut Node, chosen: &[String], names: &[String]) -> Vec<String> {
    let mut warnings = Vec::new();
    if root.at("versus").is_some() {
        return add_to_versus(root, chosen, names);
    }
    let path = flows::law_path(&Reader::new(root, chosen, &BTreeMap::new()));
    for name in names {
        if is_named(root, chosen, name) {
            continue;
        }
        let labels = beside(root, &path, name);
        if labels.is_empty() {
            let hint = if fadelab_laws::router(name).is_some() {
                format!("--set {path}=SENDER+{name}")
            } else {
                format!("--set {}={name}", key_of(name))
            };
            warnings.push(format!("nothing uses the law {name} of --law: {hint} would"));
        }
        for label in labels {
            append(root, &path, &label, name);
        }
    }
    warnings
}

/// As [`add`] where `[versus]` names the laws: a sender is one more of them.
fn add_to_versus(root: &mut Node, chosen: &[String], names: &[String]) -> Vec<String> {
    let mut warnings = Vec::new();
    for name in names {
        let is_given = |path: &str| {
            root.at(path)
                .is_some_and(|node| texts(&node.raw).contains(&name.as_str()))
        };
        let paths = [versus::LAWS_PATH, "versus.router", "router.capacity"];
        if paths.into_iter().any(is_given) || paths_of_gateways(chosen).any(|path| is_given(&path)) {
            continue;
        }
        if fadelab_laws::sender(name).is_some() {
            append(root, versus::LAWS_PATH, name, name);
            continue;
        }
        let key = if fadelab_laws::router(name).is_some() {
            "versus.router"
        } else {
            key_of(name)
        };
        warnings.push(format!(
            "nothing uses the law {name} of --law: --set {key}={name} would"
        ));
    }
    warnings
}

/// The key that names a capacity part or a gateway.
fn key_of(name: &str) -> &'static str {
    if fadelab_laws::capacity(name).is_some() {
        "router.capacity"
    } else {
        "tunnel.NAME.law"
    }
}

/// Labels under which a law that the scenario does not name runs beside those that it names.
fn beside(root: &Node, path: &str, name: &str) -> Vec<String> {
    let has_router = fadelab_laws::router(name).is_some();
    if let Some(sender) = fadelab_laws::sender(name) {
        let with_router = has_router && sender.router().is_none();
        return vec![if with_router {
            format!("{name}+{name}")
        } else {
            name.to_owned()
        }];
    }
    if !has_router {
        return Vec::new();
    }
    let takes_any = |label: &&str| {
        let sender = fadelab_laws::sender(label);
        !label.contains('+') && sender.is_some_and(|sender| sender.router().is_none())
    };
    let labels = root.at(path).map_or_else(Vec::new, |node| texts(&node.raw));
    labels
        .into_iter()
        .filter(takes_any)
        .map(|label| format!("{label}+{name}"))
        .collect()
}

/// Whether a law of the run, of a group, of a sender's routers or of a gateway, or the capacity part, is the one named.
fn is_named(root: &Node, chosen: &[String], name: &str) -> bool {
    let groups = flows::group_names(&Reader::new(root, chosen, &BTreeMap::new()));
    let paths = groups.iter().map(|group| format!("flow.{group}.law"));
    let paths = paths.chain(paths_of_gateways(chosen));
    let paths = paths.chain(["flow.law".to_owned(), "router.capacity".to_owned()]);
    let names_it = |label: &str| {
        let brings = |part: &str| fadelab_laws::sender(part).and_then(fadelab_laws::Sender::router) == Some(name);
        let has_router = label.contains('+');
        label
            .split('+')
            .map(str::trim)
            .any(|part| part == name || (!has_router && brings(part)))
    };
    paths.into_iter().any(|path| {
        root.at(&path)
            .is_some_and(|node| texts(&node.raw).into_iter().any(names_it))
    })
}

/// The keys that name the laws of tunnels' gateways.
fn paths_of_gateways(chosen: &[String]) -> impl Iterator<Item = String> {
    let tunnels = chosen.iter().filter(|path| path.starts_with("tunnel."));
    tunnels.flat_map(|path| ["law", "law_to"].map(|key| format!("{path}.{key}")))
}

/// The strings of a value, which may be a list of them.
fn texts(raw: &Raw) -> Vec<&str> {
    match raw {
        Raw::Text(text) if text != UDP => vec![text],
        Raw::List(items) => items.iter().flat_map(|item| texts(&item.raw)).collect(),
        _ => Vec::new(),
    }
}

fn append(root: &mut Node, path: &str, label: &str, name: &str) {
    let added = Node {
        place: Place::Set(format!("{path}={label} (from --law {name}.h)")),
        raw: Raw::Text(label.to_owned()),
    };
    match root.at_mut(path) {
        Some(node) => match &mut node.raw {
            Raw::List(items) => items.push(added),
            raw => {
                let first = Node {
                    place: node.place.clone(),
                    raw: std::mem::replace(raw, Raw::Bool(false)),
                };
                node.raw = Raw::List(vec![first, added]);
            }
        },
        None => root.insert(path, added),
    }
}
