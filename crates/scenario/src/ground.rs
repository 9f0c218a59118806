//! `[ground.live]`: what a scenario has otherwise where it runs in real time, and on grounds with which that is
//! compared. It holds keys as the scenario has them, [ground.live.run] for those of [run].

use crate::document::{Node, Raw};
use crate::error::Refusal;
use crate::schema;

const TABLE: &str = "ground";
const LIVE: &str = "live";

/// Takes the table out of the scenario, and lays it over the rest where that is asked for. Returns the keys that it
/// changed.
///
/// # Errors
/// Another ground, a key that no scenario has, and what cannot be laid over the scenario: all of it whether or not it
/// is asked for.
pub fn lay(root: &mut Node, is_live: bool) -> Result<Vec<String>, Refusal> {
    let Some(grounds) = root.remove("", TABLE) else {
        return Ok(Vec::new());
    };
    let mut changed = Vec::new();
    let mut with_all = root.clone();
    for (name, node) in grounds.entries() {
        if name != LIVE {
            let message = format!("[{TABLE}.{name}] has no meaning; allowed is [{TABLE}.{LIVE}]");
            return Err(Refusal::new(&node.place, message));
        }
        lay_table(&mut with_all, "", node, &mut changed)?;
    }
    if !matches!(grounds.raw, Raw::Table(_)) {
        let message = format!("`{TABLE}` is a table: write [{TABLE}.{LIVE}] and below it keys of the scenario");
        return Err(Refusal::new(&grounds.place, message));
    }
    schema::check(&with_all)?;
    if is_live {
        *root = with_all;
        return Ok(changed);
    }
    Ok(Vec::new())
}

/// Lays each value below a table over the value of the same key.
fn lay_table(root: &mut Node, path: &str, table: &Node, changed: &mut Vec<String>) -> Result<(), Refusal> {
    for (name, node) in table.entries() {
        let key = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        if matches!(node.raw, Raw::Table(_)) {
            lay_table(root, &key, node, changed)?;
            continue;
        }
        root.lay_at(&key, node.clone())?;
        changed.push(key);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::parse;

    fn laid(text: &str, is_live: bool) -> Result<(Node, Vec<String>), String> {
        let mut root = parse(text.as_bytes(), "s.toml").map_err(|error| error.to_string())?;
        let changed = lay(&mut root, is_live).map_err(|error| error.to_string())?;
        Ok((root, changed))
    }

    const TEXT: &str = "[run]\nduration = '60 s'\nseeds = 3\n[flow]\nlaw = 'vcp'\n\
                        [ground.live]\nrun.duration = '5 s'\n[ground.live.flow.web]\ncount = 2\n";

    #[test]
    fn keys_of_the_live_ground_replace_those_of_the_scenario() {
        // Goal: where it is asked for, keys of the table are those of the scenario, at any depth, and know their lines;
        // else they are not there; the table itself never is.
        let (root, changed) = laid(TEXT, true).unwrap();
        assert_eq!(root.at("run.duration").unwrap().raw, Raw::Text("5 s".into()));
        assert_eq!(root.at("run.duration").unwrap().place.to_string(), "s.toml:7");
        assert_eq!(root.at("run.seeds").unwrap().raw, Raw::Number("3".into()));
        assert_eq!(root.at("flow.web.count").unwrap().raw, Raw::Number("2".into()));
        assert_eq!(changed, ["run.duration", "flow.web.count"]);
        let (root, changed) = laid(TEXT, false).unwrap();
        assert_eq!(root.at("run.duration").unwrap().raw, Raw::Text("60 s".into()));
        assert!(root.at("flow.web").is_none() && root.at("ground").is_none() && changed.is_empty());
    }

    #[test]
    fn what_makes_no_sense_is_refused_whether_or_not_it_is_asked_for() {
        // Goal: other grounds, keys that no scenario has, and a value where a table is needed, by their lines.
        for (text, line, why) in [
            ("[ground.sim]\nrun.duration = '1 s'\n", 1, "allowed is [ground.live]"),
            ("[ground.live]\nrun.length = '1 s'\n", 2, "length"),
            (
                "[run]\nseeds = 1\n[ground.live]\nrun.seeds.x = 1\n",
                4,
                "is to be set below it",
            ),
            ("ground = 3\n", 1, "is a table"),
            ("[ground.live.ground.live]\nrun.seeds = 1\n", 2, "ground"),
        ] {
            for is_live in [false, true] {
                let error = laid(text, is_live).unwrap_err();
                assert!(
                    error.starts_with(&format!("s.toml:{line}")) && error.contains(why),
                    "{error}"
                );
            }
        }
    }
}
