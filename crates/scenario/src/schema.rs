//! Finds keys among those declared, and refuses the first one that no scenario has.

use fadelab_laws::{Gateway, ParamInfo, capacities, gateways, routers, senders};

use crate::document::{Node, Raw};
use crate::error::{Refusal, clipped, nearest, one_of};
use crate::key::Key;
use crate::keys::TABLES;
use crate::name::{self, NAMES_MAX};
use crate::tunnels;

/// Keys that take a list as their value; a list of lists sweeps them.
pub fn takes_list(path: &str) -> bool {
    use crate::kind::Kind;
    find(path).is_some_and(|(_, key)| matches!(key.kind, Kind::List(_) | Kind::Seeds))
}

/// Keys whose value is a list, which may be empty.
pub fn is_list(path: &str) -> bool {
    find(path).is_some_and(|(_, key)| matches!(key.kind, crate::kind::Kind::List(_)))
}

/// Keys that cannot be swept.
pub const FIXED_KEYS: &[&str] = &["title", "about"];

/// Tables whose keys the laws' headers declare.
const LAW_TABLES: [&str; 3] = ["law", "router", "capacity"];

/// The keys of a table, given by its path with `*` for names; empty where there is no such table.
fn keys_of(pattern: &str) -> &'static [Key] {
    let table = TABLES.iter().find(|table| table.paths.contains(&pattern));
    table.map_or(&[], |table| table.keys)
}

/// The pattern of a table's path: names that the scenario chose become `*`.
fn pattern_of(table: &str) -> String {
    let mut pattern = String::new();
    for name in table.split('.').filter(|name| !name.is_empty()) {
        let literal = join(&pattern, name);
        let is_chosen = !is_table(&literal) && is_table(&join(&pattern, "*"));
        pattern = if is_chosen { join(&pattern, "*") } else { literal };
    }
    pattern
}

/// Whether a table, or one below it, is declared.
fn is_table(pattern: &str) -> bool {
    let is_at = |path: &&str| *path == pattern || path.strip_prefix(pattern).is_some_and(|rest| rest.starts_with('.'));
    TABLES.iter().flat_map(|table| table.paths).any(is_at)
}

fn join(table: &str, name: &str) -> String {
    if table.is_empty() {
        name.to_owned()
    } else {
        format!("{table}.{name}")
    }
}

/// A key by its dotted path, with its position in its table.
pub fn find(path: &str) -> Option<(usize, &'static Key)> {
    let (table, name) = path.rsplit_once('.').unwrap_or(("", path));
    keys_of(&pattern_of(table))
        .iter()
        .enumerate()
        .find(|(_, key)| key.name == name)
}

/// The sections in which a scenario chooses names.
const CHOOSING: [&str; 4] = ["link", tunnels::SECTION, "channel", "flow"];

/// Names that the scenario chose, as `flow.NAME`, `link.NAME` and others, in the order in which they stand.
pub fn chosen_names(root: &Node) -> Vec<String> {
    let sections = root.entries().iter().map(|(section, _)| section.as_str());
    let chosen = sections.filter(|section| CHOOSING.contains(section));
    let with_section = |section: &'_ str| {
        let names = names_in(root, section).into_iter();
        names.map(|name| format!("{section}.{name}")).collect::<Vec<_>>()
    };
    chosen.flat_map(with_section).collect()
}

/// The names under one section, in the order in which they stand.
fn names_in<'a>(root: &'a Node, section: &str) -> Vec<&'a str> {
    let taken = declared(section);
    let entries = root.at(section).map_or(&[][..], Node::entries).iter();
    entries
        .filter(|(name, node)| matches!(node.raw, Raw::Table(_)) && !taken.contains(&name.as_str()))
        .map(|(name, _)| name.as_str())
        .collect()
}

/// Names below a table that are declared: its keys, then its tables.
fn declared(pattern: &str) -> Vec<&'static str> {
    let mut names: Vec<&str> = keys_of(pattern).iter().map(|key| key.name).collect();
    for path in TABLES.iter().flat_map(|table| table.paths) {
        let below = if pattern.is_empty() {
            Some(*path)
        } else {
            path.strip_prefix(pattern).and_then(|rest| rest.strip_prefix('.'))
        };
        let name = below.and_then(|below| below.split('.').next());
        names.extend(name.filter(|name| !name.is_empty() && *name != "*" && !names.contains(name)));
    }
    names
}

/// Refuses the first key that no scenario has.
///
/// # Errors
/// The key, with the keys allowed in its table and the nearest of them.
pub fn check(root: &Node) -> Result<(), Refusal> {
    check_table(root, "", "", "")
}

/// Checks a table at `path` with this pattern. `hint` is what its name was near to, if the scenario chose the name.
fn check_table(node: &Node, path: &str, pattern: &str, hint: &str) -> Result<(), Refusal> {
    let mut siblings = declared(pattern);
    if path.is_empty() {
        siblings.extend(LAW_TABLES.iter().filter(|name| **name != "router"));
    }
    let takes_names = is_table(&join(pattern, "*"));
    if takes_names && node.entries().len() > NAMES_MAX {
        let message = format!("[{path}] has {} entries, allowed are {NAMES_MAX}", node.entries().len());
        return Err(Refusal::new(&node.place, message));
    }
    for (name, child) in node.entries() {
        let path = join(path, name);
        if path == name.as_str() && LAW_TABLES.contains(&name.as_str()) {
            check_laws(child, name)?;
            continue;
        }
        if pattern == "tunnel.*" && tunnels::TABLES_OF_PARAMS.contains(&name.as_str()) {
            check_gateway_params(child, &path)?;
            continue;
        }
        let literal = join(pattern, name);
        if keys_of(pattern).iter().any(|key| key.name == name) {
            refuse_table(child, &path)?;
        } else if is_table(&literal) {
            need_table(child, &path)?;
            check_table(child, &path, &literal, "")?;
        } else if takes_names && matches!(child.raw, Raw::Table(_)) {
            check_name(child, name)?;
            check_table(child, &path, &join(pattern, "*"), &nearest(name, &siblings))?;
        } else {
            return Err(unknown(child, &path, &siblings, hint));
        }
    }
    Ok(())
}

fn check_name(node: &Node, name: &str) -> Result<(), Refusal> {
    if name::is_allowed(name) {
        return Ok(());
    }
    let message = format!("`{name}` cannot be a name here: use letters, digits, `-` and `_`");
    Err(Refusal::new(&node.place, message))
}

/// Checks `[law.NAME]`, `[router.NAME]` and `[capacity.NAME]` against what is registered.
fn check_laws(node: &Node, section: &str) -> Result<(), Refusal> {
    let known: Vec<(&str, &[ParamInfo])> = match section {
        "law" => senders().iter().map(|law| (law.name(), law.params())).collect(),
        "router" => routers().iter().map(|law| (law.name(), law.params())).collect(),
        _ => capacities().iter().map(|part| (part.name(), part.params())).collect(),
    };
    let mut names: Vec<&str> = keys_of(section).iter().map(|key| key.name).collect();
    names.extend(known.iter().map(|(name, _)| name));
    need_table(node, section)?;
    for (name, child) in node.entries() {
        let path = format!("{section}.{name}");
        if find(&path).is_some() {
            refuse_table(child, &path)?;
            continue;
        }
        let Some((_, params)) = known.iter().find(|(known, _)| known == name) else {
            return Err(unknown(child, &path, &names, ""));
        };
        let params: Vec<&str> = params.iter().map(|param| param.name).collect();
        need_table(child, &path)?;
        for (key, value) in child.entries() {
            let path = format!("{path}.{key}");
            if !params.contains(&key.as_str()) {
                return Err(unknown(value, &path, &params, ""));
            }
            refuse_table(value, &path)?;
        }
    }
    Ok(())
}

/// Checks `[tunnel.NAME.params]` and `[tunnel.NAME.params_to]` against what gateways have.
fn check_gateway_params(node: &Node, path: &str) -> Result<(), Refusal> {
    let params = gateways().iter().flat_map(Gateway::params);
    let params: Vec<&str> = params.map(|param| param.name).collect();
    need_table(node, path)?;
    for (key, value) in node.entries() {
        let path = format!("{path}.{key}");
        if !params.contains(&key.as_str()) {
            return Err(unknown(value, &path, &params, ""));
        }
        refuse_table(value, &path)?;
    }
    Ok(())
}

fn need_table(node: &Node, path: &str) -> Result<(), Refusal> {
    if matches!(node.raw, Raw::Table(_)) {
        return Ok(());
    }
    let message = format!(
        "{path} = {}: a table is needed, [{path}] with keys below it",
        node.raw.shown()
    );
    Err(Refusal::new(&node.place, message))
}

fn refuse_table(node: &Node, path: &str) -> Result<(), Refusal> {
    let Raw::Table(_) = &node.raw else { return Ok(()) };
    let message = format!("`{path}` is a key and no table: give it a value, {path} = ...");
    Err(Refusal::new(&node.place, message))
}

fn unknown(node: &Node, path: &str, siblings: &[&str], hint: &str) -> Refusal {
    let (parent, key) = path.rsplit_once('.').unwrap_or(("", path));
    let (parent, path) = (clipped(parent), clipped(path));
    let place = if parent.is_empty() {
        "a scenario".to_owned()
    } else {
        format!("[{parent}]")
    };
    let near = nearest(key, siblings);
    let near = if near.is_empty() { hint } else { &near };
    let message = format!("unknown key `{path}`: {place} has {}{near}", one_of(siblings));
    Refusal::new(&node.place, message)
}
