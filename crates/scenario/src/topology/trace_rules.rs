//! `trace_rules`: how the packets of a link use its trace, and what mahimahi's rules do not go with.

use fadelab_path::layer::LinkLayer;
use fadelab_path::spec::{CapacitySpec, LinkSpec, Queues};
use fadelab_path::trace::TraceRules;
use fadelab_run::network::Edge;

use crate::error::Refusal;
use crate::key::{Absent::Nothing, Declared};
use crate::reader::Reader;
use crate::topology::Topology;
use crate::topology::hop::Hop;
use crate::value::words;

words!(TraceRules: "plain" => Self::Plain, "exact-mahimahi" => Self::ExactMahimahi);

pub(crate) const TRACE_RULES: Declared<TraceRules> = Declared::new(
    "trace_rules",
    Nothing,
    "with a trace: `\"plain\"` where not given, or to the byte as mahimahi's `mm-link` uses it, see below",
);

/// Reads the key of a link's table; plain where the link has no trace.
pub(crate) fn read(reader: &mut Reader<'_>, table: &str, is_duplex: bool) -> Result<TraceRules, Refusal> {
    let has = |key: &str| reader.node(&format!("{table}.{key}")).is_some();
    let has_trace = has("trace") || (is_duplex && has("trace_back"));
    if !has_trace {
        return Ok(TraceRules::Plain);
    }
    reader.take_or(table, &TRACE_RULES, TraceRules::Plain)
}

/// Refuses what `mm-link` does not do: packets beyond an opportunity, and anything but one queue before a transmitter.
/// Full data packets have `packet_bytes_on` each link.
pub(crate) fn check(
    reader: &Reader<'_>,
    topology: &Topology,
    links: &[Edge],
    packet_bytes_on: &[u32],
) -> Result<(), Refusal> {
    for hop in &topology.hops {
        let of_hop = links
            .iter()
            .zip(packet_bytes_on)
            .filter(|(link, _)| link.name.strip_suffix(".back").unwrap_or(&link.name) == hop.name);
        for (link, &packet_bytes) in of_hop {
            if let Some(why) = not_as_mahimahi(link, packet_bytes) {
                return Err(reader.refuse(&TRACE_RULES.key.path(&table(topology, hop)), &why));
            }
        }
    }
    Ok(())
}

/// Where the keys of a hop stand.
pub(super) fn table(topology: &Topology, hop: &Hop) -> String {
    match topology.access {
        Some(_) => "topology.bottleneck".to_owned(),
        None => format!("link.{}", hop.name),
    }
}

/// Why a link cannot follow its rules.
fn not_as_mahimahi(link: &LinkSpec, packet_bytes: u32) -> Option<String> {
    let CapacitySpec::Trace(trace) = &link.capacity else {
        return None;
    };
    if trace.rules == TraceRules::Plain {
        return None;
    }
    let (bytes, most) = (link.air_bytes(packet_bytes), trace.opportunity_bytes);
    if bytes > most {
        return Some(format!(
            "a packet of {packet_bytes} B has {bytes} B on link `{}`, TUN header and parity included, and mahimahi \
             takes at most {most}: shorten transport.packet or take \"plain\"",
            link.name
        ));
    }
    if link.queues != Queues::One || link.router.law.queues() > 0 || link.layer != LinkLayer::default() {
        return Some(format!(
            "mahimahi has one queue for all and neither ARQ nor jitter nor reordering, and link `{}` has: take them \
             out or take \"plain\"",
            link.name
        ));
    }
    None
}
