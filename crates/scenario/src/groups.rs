//! The groups of flows of a run, each with the transport that its flows have.

use fadelab_laws::Sender;
use fadelab_laws::shadow::Onlooker;
use fadelab_run::transport::{LAW_OPTION_BYTES_MAX, Transport, option_bytes};

use crate::error::Refusal;
use crate::flows::{self, Group};
use crate::laws::{self, Law};
use crate::network::FlowParts;
use crate::reader::Reader;
use crate::starts;
use crate::topology::Topology;
use crate::transport::{LawChoices, Stack};

/// Reads all groups, each with its transport: ECN is on where the law reacts to marks and routers mark any packet.
///
/// # Errors
/// A group that cannot be, feedback that fits no header, or more flows than [`flows::FLOWS_MAX`].
pub fn read(
    reader: &mut Reader<'_>,
    law: &Law,
    topology: &Topology,
    stack: &Stack,
    duration_ns: u64,
) -> Result<Vec<(Group, Transport)>, Refusal> {
    let is_marking = marks_plain_packets(law);
    let mut groups = Vec::new();
    for name in flows::group_names(reader) {
        let group = flows::group(reader, &name, law, topology, duration_ns)?;
        let wants_ecn = group
            .sender
            .is_some_and(|sender| sender.ecn_mode() != fadelab_laws::abi::ECN_MODE_NONE);
        let transport = Transport {
            ecn: stack.ecn.0.unwrap_or(is_marking && wants_ecn),
            ..stack.transport
        };
        check_option(reader, &group, &transport)?;
        groups.push((group, transport));
    }
    starts::fill(reader, topology, groups.iter_mut().map(|(group, _)| group));
    check_total(reader, &groups, topology)?;
    Ok(groups)
}

/// Adds the parameters of each group's sender, and of the laws that look on.
///
/// # Errors
/// A value of the wrong kind, unit or size.
pub fn with_params(
    reader: &mut Reader<'_>,
    groups: Vec<(Group, Transport)>,
    choices: LawChoices,
) -> Result<Vec<FlowParts>, Refusal> {
    // UDP has no parameters; those of a law without any stand in for them.
    let none = fadelab_laws::router("droptail")
        .expect("drop-tail is registered")
        .default_params();
    let of = |reader: &mut Reader<'_>, sender: &'static Sender| {
        let table = format!("law.{}", sender.name());
        laws::params(reader, &table, sender.params(), choices, |pairs| {
            sender.params_from(pairs)
        })
    };
    let with = |(group, transport): (Group, Transport)| {
        let params = group.sender.map(|sender| of(reader, sender));
        let params = params.unwrap_or_else(|| Ok(none.clone()))?;
        let onlooker = |&law: &&'static Sender| of(reader, law).map(|params| Onlooker { law, params });
        let onlookers = group.shadows.iter().map(onlooker).collect::<Result<_, _>>()?;
        Ok(FlowParts {
            group,
            params,
            onlookers,
            transport,
        })
    };
    groups.into_iter().map(with).collect()
}

/// Whether routers mark packets that ask for ECN: a law for all packets that does more than drop-tail.
fn marks_plain_packets(law: &Law) -> bool {
    law.router.wire() == fadelab_laws::abi::WIRE_NONE && law.router.name() != "droptail"
}

/// Refuses a law whose feedback fits no header: where it is to take room on the wire, no ACK would ever carry it.
fn check_option(reader: &Reader<'_>, group: &Group, transport: &Transport) -> Result<(), Refusal> {
    let Some(sender) = group.sender.filter(|_| transport.option_space) else {
        return Ok(());
    };
    let bytes = option_bytes(sender, laws::receiver(group.sender));
    if bytes <= LAW_OPTION_BYTES_MAX {
        return Ok(());
    }
    let why = format!(
        "the feedback of `{}` takes an option of {bytes} B, allowed are {LAW_OPTION_BYTES_MAX} B beside the \
         timestamps: give it less, or set transport.option_space = false",
        sender.name()
    );
    Err(reader.refuse("transport.option_space", &why))
}

/// Refuses more flows than [`flows::FLOWS_MAX`], all groups together.
fn check_total(reader: &Reader<'_>, groups: &[(Group, Transport)], topology: &Topology) -> Result<(), Refusal> {
    let total: u64 = groups.iter().map(|(group, _)| group.flows(topology)).sum();
    if total <= u64::from(flows::FLOWS_MAX) {
        return Ok(());
    }
    Err(reader.refuse(
        "flow",
        &format!("{total} flows in all, allowed are {}", flows::FLOWS_MAX),
    ))
}
