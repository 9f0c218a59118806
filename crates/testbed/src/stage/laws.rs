//! Laws of fadelab's in the kernel: congestion controls of hosts, programs at the queues of routers.

use std::path::PathBuf;

use fadelab_kernel::Recorder;
use fadelab_kernel::cgroup::cgroup_root;
use fadelab_kernel::device::Device;
use fadelab_kernel::gateway::{self, Gateway};
use fadelab_kernel::router::{Options, Router};
use fadelab_kernel::sender::Sender;
use fadelab_laws::recorded::RecordedHead;

use super::build::side_of;
use super::spaces::Spaces;
use super::tunnels;
use super::{Host, Outcome, Recorded, failed};
use crate::plan::{Discipline, Limit, Memory, Plan, Way};

fn device(plan: &Plan, spaces: &Spaces, node: usize, cable: usize) -> Device {
    Device {
        name: format!("{}{cable}", side_of(&plan.cables[cable], node)),
        netns: Some(spaces.path(node)),
    }
}

/// Loads the senders' laws. They stay as long as what is given back.
pub fn senders(plan: &Plan, spaces: &Spaces, host: &dyn Host) -> Outcome<Vec<Sender>> {
    // Every process is in it.
    let cgroup = cgroup_root().unwrap_or_else(|| PathBuf::from("/"));
    let load = |object: &crate::plan::SenderObject| {
        let bytes = host.object(&object.object)?;
        let devices: Vec<Device> = object
            .devices
            .iter()
            .map(|&(node, cable)| device(plan, spaces, node, cable))
            .collect();
        let sender = Sender::load(&bytes, &cgroup, &devices).map_err(failed(&object.name))?;
        for way in tunnels::sealed(plan) {
            sender.marks_sealed(way).map_err(failed(&object.name))?;
        }
        Ok(sender)
    };
    plan.senders.iter().map(load).collect()
}

/// Records what laws do that are to be recorded.
pub fn recorders(
    plan: &Plan,
    (senders, routers, gateways): (&[Sender], &[AtLink], &[(usize, Gateway)]),
    host: &dyn Host,
) -> Outcome<Vec<Recorder>> {
    let mut recorders = Vec::new();
    for (law, sender) in plan.senders.iter().zip(senders) {
        if let Some(head) = &law.calls {
            recorders.push(
                sender
                    .recorder(head, host.recording(Recorded::Sender)?)
                    .map_err(failed("calls"))?,
            );
        }
    }
    for at_link in routers {
        if let Some(head) = &at_link.calls {
            let recorder = at_link.router.recorder(head, host.recording(Recorded::Router)?);
            recorders.push(recorder.map_err(failed("calls"))?);
        }
    }
    if let Some(recorded) = &plan.recorded_gateway {
        for (_, gateway) in gateways.iter().filter(|(node, _)| *node == recorded.node) {
            let recorder = gateway.recorder(&recorded.head, host.recording(Recorded::Gateway)?);
            recorders.push(recorder.map_err(failed("calls"))?);
        }
    }
    Ok(recorders)
}

/// A router's law at its device.
pub struct AtLink {
    pub link: u32,
    /// The law at work.
    pub router: Router,
    /// Its memory, and that of its capacity part.
    pub memories: [Memory; 2],
    /// The first line of the record of what it does, where that is recorded.
    calls: Option<Box<RecordedHead>>,
}

/// Loads the routers' laws. They stay as long as what is given back.
pub fn routers(plan: &Plan, spaces: &Spaces, host: &dyn Host) -> Outcome<Vec<AtLink>> {
    let mut routers = Vec::new();
    for (number, cable) in plan.cables.iter().enumerate() {
        for (node, way) in cable.ends.iter().zip(&cable.ways) {
            let Some(way) = way else { continue };
            if let Discipline::Law {
                name,
                object,
                memories,
                calls,
            } = &way.queue.discipline
            {
                let bytes = host.object(object)?;
                let options = Options {
                    tunnels: tunnels::told(plan, way.link, (*node, number)),
                    ..options(way, name, device(plan, spaces, *node, number))
                };
                routers.push(AtLink {
                    link: way.link,
                    router: Router::load(&bytes, options).map_err(failed(name))?,
                    memories: memories.clone(),
                    calls: calls.clone(),
                });
            }
        }
    }
    Ok(routers)
}

/// Loads the gateways' laws, each with its node. They stay as long as what is given back.
pub fn gateways(plan: &Plan, spaces: &Spaces, host: &dyn Host) -> Outcome<Vec<(usize, Gateway)>> {
    let mut gateways = Vec::new();
    for node in 0..plan.nodes.len() {
        let ends = plan.ending_at(node);
        let Some((law, cipher)) = ends.iter().find_map(|&(tunnel, end)| {
            let tunnel = &plan.tunnels[tunnel];
            Some((tunnel.gateways[end].as_ref()?, tunnel.cable(end)?))
        }) else {
            continue;
        };
        let cables = plan.cables.iter().enumerate();
        let others = cables.filter(|(number, cable)| *number != cipher && cable.ends.contains(&node));
        let options = gateway::Options {
            plain: others.map(|(number, _)| device(plan, spaces, node, number)).collect(),
            cipher: device(plan, spaces, node, cipher),
            tunnels: ends
                .iter()
                .map(|&(tunnel, end)| tunnels::seen(plan, tunnel, end))
                .collect(),
            // Its namespace ends with the run.
            guard: None,
        };
        let recorded = plan.recorded_gateway.as_ref().filter(|recorded| recorded.node == node);
        let bytes = host.object(recorded.map_or(&law.object, |recorded| &recorded.object))?;
        gateways.push((node, Gateway::load(&bytes, &options).map_err(failed(&law.law))?));
    }
    Ok(gateways)
}

/// Bytes on the air are IP bytes here, to the law as to the queue.
fn options(way: &Way, law: &str, device: Device) -> Options {
    Options {
        device,
        law: law.to_owned(),
        capacity_bytes_per_s: way.rate_bps / 8,
        limit_bytes: match way.queue.limit {
            Limit::Packets(packets) => u64::from(packets) * u64::from(way.packet_bytes),
            Limit::Bytes(bytes) => bytes,
        },
        shaped: false,
        air_header_bytes: Some(0),
        packet_bytes: Some(way.packet_bytes),
        tunnels: Vec::new(),
        closed: None,
    }
}
