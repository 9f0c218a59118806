//! `[versus]`: each of several laws beside each of them, itself included, and alone on the link.
//!
//! Every pairing is a scenario of its own: the groups `first` and `second` with a law each, or one of them alone. What
//! a law does to another is told by the difference, so all of them have the same links, seeds and starts.

use std::collections::BTreeMap;

use crate::document::{Node, Raw};
use crate::error::{Refusal, clipped, nearest, one_of};
use crate::key::{
    Absent::{Is, Nothing},
    Declared, keys,
};
use crate::kind::Kind;
use crate::laws;
use crate::reader::{Reader, Seen};

/// Where the laws stand; as an axis of the sweep it has a value per pairing.
pub const LAWS_PATH: &str = "versus.laws";

/// The label of the only pairing.
pub const ONLY_PATH: &str = "versus.only";

/// The groups of a pairing.
const SIDES: [&str; 2] = ["first", "second"];

/// The word for the router that a pairing needs.
const AUTO: &str = "auto";

keys! {
    KEYS;
    LAWS: String =
        Declared::needed(
            "laws",
            "name senders, for example laws = [\"cubic\", \"vcp\"]",
            "senders; each runs beside each of them, beside itself and alone",
        )
        .of_kind(Kind::List(&Kind::Law));
    ROUTER: String = Declared::new(
        "router",
        Is("\"auto\""),
        "the router's law; `\"auto\"`: the one that a law of the pairing needs, else `droptail`; laws that need \
         different ones are not paired",
    )
    .of_kind(Kind::Router);
    ONLY: String = Declared::new(
        "only",
        Nothing,
        "one pairing by its label, for example `\"cubic/vcp\"`; alone: `\"cubic\"`",
    );
}

/// Laws that run together, by side.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pairing {
    sides: [Option<String>; 2],
}

impl Pairing {
    /// `cubic/vcp`; alone on the first side `cubic`, on the second `/cubic`.
    fn label(&self) -> String {
        let [first, second] = &self.sides;
        let second = second.iter().map(|law| format!("/{law}"));
        first.iter().cloned().chain(second).collect()
    }

    /// The routers that its senders cannot do without, each once.
    fn routers(&self) -> Vec<&'static str> {
        let senders = self.sides.iter().flatten().filter_map(|law| fadelab_laws::sender(law));
        let mut routers: Vec<&str> = senders.filter_map(fadelab_laws::Sender::router).collect();
        routers.dedup();
        routers
    }
}

/// The pairings of a scenario.
pub struct Versus {
    pairings: Vec<Pairing>,
    /// What its keys amount to.
    pub seen: Vec<Seen>,
    /// Pairs that cannot be.
    pub warnings: Vec<String>,
}

/// One pairing as a scenario of its own.
pub struct Member {
    /// The scenario.
    pub root: Node,
    /// What the run is called.
    pub label: String,
    /// What its router amounts to.
    pub seen: Vec<Seen>,
}

impl Versus {
    /// Reads `[versus]`; `None` where the scenario has none.
    ///
    /// # Errors
    /// A law that is no sender or stands twice, a law that a group names itself, other groups than the two sides.
    pub fn read(root: &Node, chosen: &[String]) -> Result<Option<Self>, Refusal> {
        if root.at("versus").is_none() {
            return Ok(None);
        }
        check_groups(root, chosen)?;
        let picks = BTreeMap::new();
        let mut reader = Reader::new(root, chosen, &picks);
        let names = names(&mut reader)?;
        let is_auto = match root.at("versus.router").map(|node| &node.raw) {
            None => true,
            Some(Raw::List(items)) => items.iter().any(|item| item.raw == Raw::Text(AUTO.to_owned())),
            Some(raw) => *raw == Raw::Text(AUTO.to_owned()),
        };
        let (mut pairings, mut warnings) = (Vec::new(), Vec::new());
        for pairing in all_pairings(&names, sides_are_alike(root)) {
            match pairing.routers()[..] {
                [one, other, ..] if is_auto => warnings.push(format!(
                    "{} is left out: its laws need different routers, {one} and {other}",
                    pairing.label()
                )),
                _ => pairings.push(pairing),
            }
        }
        if let Some(only) = reader.given::<String>(ONLY_PATH)? {
            pairings = chosen_one(&reader, pairings, &only)?;
        }
        Ok(Some(Self {
            pairings,
            seen: reader.seen,
            warnings,
        }))
    }

    /// How many pairings there are, at least one.
    pub fn len(&self) -> usize {
        self.pairings.len()
    }

    /// The scenario of a pairing at one point of the sweep.
    ///
    /// # Errors
    /// A router that is none.
    pub fn member(&self, root: &Node, chosen: &[String], picks: &BTreeMap<String, usize>) -> Result<Member, Refusal> {
        let pairing = &self.pairings[picks.get(LAWS_PATH).copied().unwrap_or(0)];
        let mut reader = Reader::new(root, chosen, picks);
        let router = match reader.take("versus", &ROUTER)? {
            word if word == AUTO => None,
            name => Some(
                laws::router(&name)
                    .map(|_| name)
                    .map_err(|why| reader.refuse("versus.router", &why))?,
            ),
        };
        let mut root = root.clone();
        let place = root.at(LAWS_PATH).unwrap_or(&root).place.clone();
        for (side, law) in SIDES.iter().zip(&pairing.sides) {
            let table = root.remove("flow", side);
            let Some(law) = law else { continue };
            // In this order, whatever a scenario says of them: the first group names the router of the run.
            if let Some(table) = table {
                root.insert(&format!("flow.{side}"), table);
            }
            let is_first = pairing.sides[0].is_none() || *side == SIDES[0];
            let router = router.as_deref().or(pairing.routers().first().copied());
            let law = Node {
                place: place.clone(),
                raw: Raw::Text(
                    router
                        .filter(|_| is_first)
                        .map_or(law.clone(), |router| format!("{law}+{router}")),
                ),
            };
            root.insert(&format!("flow.{side}.law"), law);
        }
        Ok(Member {
            root,
            label: pairing.label(),
            seen: reader.seen,
        })
    }
}

/// Whether a key follows from the pairing.
pub fn decides(path: &str) -> bool {
    SIDES
        .iter()
        .any(|side| path.strip_prefix("flow.").and_then(|rest| rest.strip_suffix(".law")) == Some(*side))
}

/// Refuses laws of groups and other groups than the two sides.
fn check_groups(root: &Node, chosen: &[String]) -> Result<(), Refusal> {
    let sides = one_of(
        &SIDES
            .map(|side| format!("[flow.{side}]"))
            .each_ref()
            .map(String::as_str),
    );
    for table in chosen.iter().filter(|table| table.starts_with("flow.")) {
        if SIDES.iter().all(|side| *table != format!("flow.{side}")) {
            let place = &root.at(table).unwrap_or(root).place;
            let why = format!("[{table}] beside [versus]: its groups are {sides}, which [versus] gives their laws");
            return Err(Refusal::new(place, why));
        }
    }
    for table in std::iter::once("flow").chain(chosen.iter().map(String::as_str)) {
        if let Some(node) = root.at(&format!("{table}.law")).filter(|_| table.starts_with("flow")) {
            let why = format!("{table}.law beside [versus]: leave it out, laws are those of {LAWS_PATH}");
            return Err(Refusal::new(&node.place, why));
        }
    }
    Ok(())
}

/// The laws, each a sender and named once.
fn names(reader: &mut Reader<'_>) -> Result<Vec<String>, Refusal> {
    let names = reader.words(LAWS_PATH, LAWS.example)?.unwrap_or_default();
    if names.is_empty() {
        return Err(match reader.node(LAWS_PATH) {
            Some(_) => reader.refuse(LAWS_PATH, LAWS.example),
            None => reader.missing(LAWS_PATH, LAWS.example),
        });
    }
    for (place, name) in names.iter().enumerate() {
        if name.contains('+') {
            let why = format!(
                "`{}` names a router: name the sender here, and it in versus.router",
                clipped(name)
            );
            return Err(reader.refuse(LAWS_PATH, &why));
        }
        if laws::sender(name)
            .map_err(|why| reader.refuse(LAWS_PATH, &why))?
            .is_none()
        {
            return Err(reader.refuse(LAWS_PATH, &format!("`{name}` has no congestion control, name a law")));
        }
        if names[..place].contains(name) {
            let why = format!("`{name}` stands twice; each law runs beside itself anyway");
            return Err(reader.refuse(LAWS_PATH, &why));
        }
    }
    Ok(names)
}

/// Whether it does not matter which law is on which side: their groups say the same, and nothing that is swept.
fn sides_are_alike(root: &Node) -> bool {
    let table = |side: &str| root.at(&format!("flow.{side}")).map_or(&[][..], Node::entries);
    let is_list = |side: &&str| table(side).iter().any(|(_, node)| matches!(node.raw, Raw::List(_)));
    let said = |side: &str| -> BTreeMap<String, String> {
        let entries = table(side).iter();
        entries.map(|(key, node)| (key.clone(), node.raw.shown())).collect()
    };
    said(SIDES[0]) == said(SIDES[1]) && !SIDES.iter().any(is_list)
}

/// Law by law: alone, then beside itself and those after it; where the sides differ, alone and beside each on both.
fn all_pairings(names: &[String], are_alike: bool) -> Vec<Pairing> {
    let mut pairings = Vec::new();
    for (place, first) in names.iter().enumerate() {
        let alone = |side: usize| {
            let mut sides = [None, None];
            sides[side] = Some(first.clone());
            Pairing { sides }
        };
        pairings.push(alone(0));
        if !are_alike {
            pairings.push(alone(1));
        }
        let others = if are_alike { &names[place..] } else { names };
        pairings.extend(others.iter().map(|second| Pairing {
            sides: [Some(first.clone()), Some(second.clone())],
        }));
    }
    pairings
}

/// The pairing of a label.
fn chosen_one(reader: &Reader<'_>, pairings: Vec<Pairing>, only: &str) -> Result<Vec<Pairing>, Refusal> {
    let labels: Vec<String> = pairings.iter().map(Pairing::label).collect();
    let found: Vec<Pairing> = pairings.into_iter().filter(|pairing| pairing.label() == only).collect();
    if found.is_empty() {
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let why = format!("allowed is {}{}", one_of(&labels), nearest(only, &labels));
        return Err(reader.refuse(ONLY_PATH, &why));
    }
    Ok(found)
}
