//! The catalogue of laws: what the comment at the top of each header says, as sections that can be printed.
//!
//! `fadelab laws`, `fadelab explain NAME` and the pages of `docs/laws` are made from this and from nothing else.

mod comment;
mod facts;
mod markdown;

use crate::params::{ParamInfo, edits};
use crate::registry;
use crate::watch::WatchInfo;

pub use comment::{Block, Section, TITLES, sections};
pub use markdown::{index, page, page_name};

include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));

/// What a header is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A sender's law.
    Sender,
    /// The receiver's half of the sender's law of its name.
    Receiver,
    /// A router's law.
    Router,
    /// How a router learns what its link can carry.
    Capacity,
    /// A gateway's law.
    Gateway,
    /// How the packets of laws carry their feedback; not a law by itself.
    Wire,
    /// What laws share; not a law by itself.
    Part,
}

impl Role {
    /// All roles, in the order of the catalogue.
    pub const ALL: [Self; 7] = [
        Self::Sender,
        Self::Receiver,
        Self::Router,
        Self::Capacity,
        Self::Gateway,
        Self::Wire,
        Self::Part,
    ];

    /// As the registry and the command line write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Router => "router",
            Self::Capacity => "capacity",
            Self::Gateway => "gateway",
            Self::Wire => "wire",
            Self::Part => "part",
        }
    }

    /// Heading over several of them.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Sender => "Senders",
            Self::Receiver => "Receivers",
            Self::Router => "Routers",
            Self::Capacity => "Capacity parts",
            Self::Gateway => "Gateways",
            Self::Wire => "Formats of packets",
            Self::Part => "Shared parts",
        }
    }
}

/// One header of the catalogue.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What it is for.
    pub role: Role,
    /// Name, as in the registry and in scenarios.
    pub name: &'static str,
    /// Path of the header in the tree, for example `laws/sender/vcp.h`.
    pub path: &'static str,
    /// One sentence.
    pub summary: String,
    /// What the header's comment says.
    pub sections: Vec<Section>,
    /// The parameters that the header declares.
    pub params: &'static [ParamInfo],
    /// The values to watch that the header declares.
    pub watch: &'static [WatchInfo],
    /// What it needs of its path and of its host: label and value.
    pub facts: Vec<(&'static str, String)>,
    /// The most important of the facts in a few words; empty where it needs nothing.
    pub needs: String,
}

impl Entry {
    pub fn section(&self, title: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.title == title)
    }

    /// First work that the section `Source` names.
    pub fn source(&self) -> String {
        let text = self.section("Source").map(Section::text).unwrap_or_default();
        let end = [text.find(';'), text.find(". ")].into_iter().flatten().min();
        text[..end.unwrap_or(text.len())].trim_end_matches('.').to_owned()
    }
}

/// Names of the registered laws of a role, in the order of the registry.
pub fn names(role: Role) -> impl Iterator<Item = &'static str> {
    HEADERS
        .iter()
        .filter(move |header| header.0 == role)
        .map(|header| header.1)
}

/// The whole catalogue: laws in the order of the registry, then parts by name.
pub fn entries() -> Vec<Entry> {
    HEADERS
        .iter()
        .map(|&(role, name, path, text)| entry(role, name, path, text))
        .collect()
}

fn entry(role: Role, name: &'static str, path: &'static str, text: &str) -> Entry {
    let mut sections = sections(text);
    sections
        .iter_mut()
        .filter(|section| section.title == "Parameters")
        .for_each(without_macro);
    let (summary, params, watch) = match role {
        Role::Sender => registry::sender(name).map(|law| (law.summary(), law.params(), law.watch())),
        Role::Router => registry::router(name).map(|law| (law.summary(), law.params(), law.watch())),
        Role::Capacity => registry::capacity(name).map(|part| (part.summary(), part.params(), part.watch())),
        Role::Gateway => registry::gateway(name).map(|law| (law.summary(), law.params(), law.watch())),
        Role::Wire => registry::wire(name).map(|wire| (wire.summary(), &[][..], &[][..])),
        Role::Receiver | Role::Part => None,
    }
    .map_or_else(
        || (first_sentence(account(&sections)), &[][..], &[][..]),
        |(summary, params, watch)| (summary.to_owned(), params, watch),
    );
    let (facts, needs) = facts::of(role, name);
    Entry {
        role,
        name,
        path,
        summary,
        sections,
        params,
        watch,
        facts,
        needs,
    }
}

/// Takes out where in the header the parameters stand: the catalogue shows them instead.
fn without_macro(parameters: &mut Section) {
    if let Some(Block::Paragraph(text)) = parameters.blocks.first_mut()
        && let Some(of_macro) = text.strip_prefix("the X-macro ")
        && let Some((_, rest)) = of_macro.split_once(" below.")
    {
        *text = rest.trim_start().to_owned();
    }
    parameters
        .blocks
        .retain(|block| *block != Block::Paragraph(String::new()));
}

/// Where a header without a summary in its table says what it is about: what comes first, or under a heading.
fn account(sections: &[Section]) -> Option<&Section> {
    let headed = sections.iter().find(|section| section.title == "In one paragraph");
    headed.or(sections.first())
}

fn first_sentence(section: Option<&Section>) -> String {
    let text = section.map(Section::text).unwrap_or_default();
    let end = text.find(". ").unwrap_or(text.len());
    text[..end].trim_end_matches('.').to_owned()
}

/// The names of the catalogue that take the fewest edits to become `given`, the nearest first, each once.
pub fn nearest(given: &str) -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for &(_, name, _, _) in HEADERS {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.sort_by_key(|name| edits(name, given));
    names
}
