//! `rate_changes`: a rate that changes at given instants, and `router.told`: what routers are told of it.

use std::sync::Arc;

use fadelab_path::rates::Rates;
use fadelab_path::spec::CapacitySpec;
use fadelab_phy::channel::Model;

use crate::channel::Channel;
use crate::document::{Raw, quoted};
use crate::error::Refusal;
use crate::key::{Absent::Is, Declared, Only};
use crate::kind::Kind;
use crate::reader::Reader;
use crate::topology::Topology;
use crate::topology::hop::link_rate;
use crate::topology::trace_rules::table;
use crate::unit::{Duration, Rate, Scalar, parse};

/// Instants and the rates from then on, in ns and bit/s, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes(pub Vec<(u64, u64)>);

const NONE: &str = "none";

impl Scalar for Changes {
    const KIND: Kind = Kind::Changes;

    fn read(raw: &Raw) -> Result<Self, String> {
        let Raw::Text(text) = raw else {
            return Err(allowed());
        };
        if text.trim() == NONE {
            return Ok(Self::default());
        }
        let mut changes = Vec::new();
        for change in text.split(',') {
            let (at, rate) = change.split_once(':').ok_or_else(allowed)?;
            let at_ns = parse::<Duration>(at.trim())?.0;
            let rate_bps = link_rate(parse::<Rate>(rate.trim())?.0)?;
            if at_ns == 0 || changes.last().is_some_and(|&(before_ns, _)| before_ns >= at_ns) {
                return Err(format!(
                    "{} comes too early: instants ascend from above 0",
                    quoted(at.trim())
                ));
            }
            changes.push((at_ns, rate_bps));
        }
        Ok(Self(changes))
    }

    fn shown(&self) -> String {
        if self.0.is_empty() {
            return quoted(NONE);
        }
        let one = |&(at_ns, rate_bps): &(u64, u64)| {
            let [at, rate] = [Duration(at_ns).shown(), Rate(rate_bps).shown()];
            format!("{}: {}", at.trim_matches('"'), rate.trim_matches('"'))
        };
        quoted(&self.0.iter().map(one).collect::<Vec<_>>().join(", "))
    }
}

fn allowed() -> String {
    "changes are instants, each with the rate from then on, for example \"20 s: 5 Mbit/s, 40 s: 10 Mbit/s\", or \
     \"none\""
        .to_owned()
}

const ONLY: Only = Only {
    decided_by: "trace",
    by_presence: true,
    choice: "a link without a trace",
    remedy: "leave it out, since a trace says what the link carries",
};

pub(crate) const RATE_CHANGES: Declared<Changes> = Declared::new(
    "rate_changes",
    Is("\"none\""),
    "instants at which the rate changes, and the rate from then on: `\"20 s: 5 Mbit/s, 40 s: 10 Mbit/s\"`",
)
.only(&ONLY);

pub(crate) const RATE_CHANGES_BACK: Declared<Changes> =
    Declared::new("rate_changes_back", Is("\"none\""), "the same for the link back").only(&Only {
        decided_by: "trace_back",
        ..ONLY
    });

/// Refuses what does not go with changes: the packet-scale chain loses packets by how long they take, and its losses
/// are computed for one rate.
///
/// # Errors
/// Such a channel.
pub fn check(reader: &Reader<'_>, topology: &Topology) -> Result<(), Refusal> {
    for hop in &topology.hops {
        let is_by_time = |channel: &Channel| matches!(channel.spec.model, Model::PacketScale { .. });
        let changes = [
            (&hop.capacity, RATE_CHANGES.key),
            (&hop.capacity_back, RATE_CHANGES_BACK.key),
        ];
        for (capacity, key) in changes {
            if matches!(capacity, CapacitySpec::Changing(_)) && hop.channel.as_ref().is_some_and(is_by_time) {
                let why = "the model \"packet-scale\" loses packets by how long they take, at one rate: take \
                           \"gilbert-elliott\" or \"random\", or leave the changes out";
                return Err(reader.refuse(&key.path(&table(topology, hop)), why));
            }
        }
    }
    Ok(())
}

/// A constant rate, with its changes where there are some.
pub fn capacity(rate_bps: u64, changes: &Changes) -> CapacitySpec {
    if changes.0.is_empty() {
        CapacitySpec::Constant { rate_bps }
    } else {
        CapacitySpec::Changing(Arc::new(Rates::new(rate_bps, &changes.0)))
    }
}

/// What routers are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The rate of their link, as it changes.
    Rate,
    /// That of the beginning.
    First,
    /// This one, in bit/s.
    Own(u64),
}

const RATE: &str = "the rate";
const FIRST: &str = "the first rate";

impl Scalar for Told {
    const KIND: Kind = Kind::Or(&Kind::Or(&Kind::Rate, RATE), FIRST);

    fn read(raw: &Raw) -> Result<Self, String> {
        match raw {
            Raw::Text(text) if text == RATE => Ok(Self::Rate),
            Raw::Text(text) if text == FIRST => Ok(Self::First),
            _ => {
                let rate = Rate::read(raw).and_then(|rate| link_rate(rate.0));
                rate.map(Self::Own)
                    .map_err(|why| format!("{why}, or \"{RATE}\" or \"{FIRST}\""))
            }
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Rate => quoted(RATE),
            Self::First => quoted(FIRST),
            Self::Own(rate_bps) => Rate(*rate_bps).shown(),
        }
    }
}

impl Told {
    /// What the router of a link is told in place of its rate, if it is.
    pub fn instead_of(self, capacity: &CapacitySpec) -> Option<u64> {
        match (self, capacity) {
            (Self::Own(rate_bps), _) => Some(rate_bps),
            (Self::First, CapacitySpec::Changing(rates)) => Some(rates.first_bps()),
            (Self::First | Self::Rate, _) => None,
        }
    }
}

pub(crate) const TOLD: Declared<Told> = Declared::new(
    "told",
    Is("\"the rate\""),
    "what `configured` is told that the link can carry: its rate as it changes, that of the beginning, or another one; \
     a rate of one's own goes with a trace, too",
);

/// Reads what routers are told.
///
/// # Errors
/// No rate.
pub fn read_told(reader: &mut Reader<'_>) -> Result<Told, Refusal> {
    reader.take("router", &TOLD)
}
