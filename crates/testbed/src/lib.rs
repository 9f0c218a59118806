//! Scenarios in a Linux kernel: in virtual time in a guest, and in real time on this machine ([`live`]).
//!
//! [`Image::prepare`] makes a guest from Debian's packages, [`run`] does with it what the simulator does in
//! a process: it takes a spec and gives a record. The guest is a machine that QEMU emulates with a clock that
//! counts instructions, so that its time is virtual and nothing outside disturbs it. Inside, [`guest::main`] sets the
//! stage that this machine has too.
//!
//! From the top down: `translate` turns a spec into a [`plan::Plan`] or says what has no counterpart, `image` makes
//! kernel and archive, `machine` runs the guest, from a snapshot where it can, `given` is what it is given there,
//! `message` is what the guest says, `guest` is what runs in it. `stage` builds the network from namespaces, runs the
//! applications and measures, in a guest and on this machine.

mod applications;
mod error;
mod given;
pub mod guest;
pub mod host_laws;
pub mod image;
pub mod live;
mod machine;
mod message;
mod need;
mod objects;
pub mod plan;
mod snapshots;
mod stage;
mod sysctl;
mod translate;

use std::path::PathBuf;

use fadelab_laws::recorded::{GatewayHead, RecordedHead};
use fadelab_run::packet_log::Interface;
use fadelab_run::record::RunRecord;
use fadelab_run::spec::RunSpec;

use objects::{RECORDED_GATEWAY, RECORDED_ROUTER};
use plan::Discipline;

pub use applications::Applications;
pub use error::Error;
pub use image::Image;
pub use sysctl::Sysctl;
pub use translate::{Place, RATE_BPS_MAX, check};

/// Name of the ground in results.
pub const GROUND: &str = "virtual";

/// Files for what laws do, for `fadelab replay`, and for packets.
#[derive(Clone, Debug, Default)]
pub struct Recordings {
    /// For each call of the sender's law, and of its receiver's half.
    pub sender: Option<PathBuf>,
    /// For each packet that passes the router's law of the first link that has one, and each run of its timers.
    pub router: Option<PathBuf>,
    /// For each packet that passes the gateway's law at the far end of the first tunnel that has one.
    pub gateway: Option<PathBuf>,
    /// For what comes to emulated links in real time, and what becomes of it.
    pub links: Option<PathBuf>,
    /// For packets, and where they are logged.
    pub packets: Option<PacketFile>,
}

/// A log of packets.
#[derive(Clone, Debug)]
pub struct PacketFile {
    pub path: PathBuf,
    pub interfaces: Vec<Interface>,
}

impl Recordings {
    /// Where packets are logged.
    fn interfaces(&self) -> Vec<Interface> {
        let packets = self.packets.as_ref();
        packets.map_or_else(Vec::new, |packets| packets.interfaces.clone())
    }
}

/// Runs a spec to its end in a guest, with such settings in each of its namespaces. `report` is told the virtual time
/// now and then, and says whether to go on.
///
/// # Errors
/// A spec that has no counterpart, a guest that does not boot, hangs or fails, or a stop that `report` asked for; what
/// is to be recorded and is not there, or of several senders' laws, and a file that cannot be written.
pub fn run(
    spec: &RunSpec,
    image: &Image,
    sysctls: &[Sysctl],
    recordings: &Recordings,
    mut report: impl FnMut(u64) -> bool,
) -> Result<RunRecord, Error> {
    let mut draft = translate::draft(spec, &Place::Guest)?;
    recorded(&mut draft, recordings, image.package())?;
    let objects = objects::compiled(&draft, image.version())?;
    let mut plan = draft.plan;
    plan.iperf3 = image.applications().iperf3;
    plan.sysctls = sysctls.to_vec();
    plan.packets = recordings.interfaces();
    machine::run(&plan, objects, image, recordings, &mut report)
}

/// Has laws of a draft recorded; `kernel` is told in front of the recording.
fn recorded(draft: &mut translate::Draft<'_>, recordings: &Recordings, kernel: &str) -> Result<(), Error> {
    if recordings.sender.is_some() {
        record_sender(draft, kernel)?;
    }
    if recordings.router.is_some() {
        record_router(draft, kernel)?;
    }
    if recordings.gateway.is_some() {
        record_gateway(draft, kernel)?;
    }
    Ok(())
}

fn record_sender(draft: &mut translate::Draft<'_>, kernel: &str) -> Result<(), Error> {
    let count = draft.plan.senders.len();
    let ([planned], [(law, params)]) = (draft.plan.senders.as_mut_slice(), draft.senders.as_slice()) else {
        return Err(Error::NothingToRecord { count });
    };
    planned.calls = Some(RecordedHead::new(law, params, kernel.to_owned()));
    Ok(())
}

/// Other links that have the same law keep the program that records nothing.
fn record_router(draft: &mut translate::Draft<'_>, kernel: &str) -> Result<(), Error> {
    let ways = draft.plan.cables.iter_mut().flat_map(|cable| &mut cable.ways).flatten();
    let with_law = ways.filter(|way| matches!(way.queue.discipline, Discipline::Law { .. }));
    let first = with_law.min_by_key(|way| way.link).ok_or(Error::NoRouterToRecord)?;
    let Discipline::Law { object, calls, .. } = &mut first.queue.discipline else {
        unreachable!("it was chosen for its law")
    };
    let (_, router) = *draft
        .routers
        .iter()
        .find(|(path, _)| path == object)
        .expect("it is planned");
    let head = RecordedHead::of_router(
        (router.law, &router.params),
        (router.capacity, &router.capacity_params),
        &format!("link {}", first.link),
        kernel.to_owned(),
    );
    *calls = Some(Box::new(head));
    RECORDED_ROUTER.clone_into(object);
    draft.routers.push((RECORDED_ROUTER.to_owned(), router));
    Ok(())
}

/// The gateway at the other end keeps the program that records nothing.
fn record_gateway(draft: &mut translate::Draft<'_>, kernel: &str) -> Result<(), Error> {
    // The far one of a tunnel's two, or the only one that there is.
    let with_law = |tunnel: &'_ plan::Tunnel| {
        let end = [1, 0].into_iter().find(|&end| tunnel.gateways[end].is_some())?;
        Some((tunnel.ends[end], tunnel.gateways[end].clone()?))
    };
    let first = draft.plan.tunnels.iter().find_map(with_law);
    let (node, planned) = first.ok_or(Error::NoGatewayToRecord)?;
    let (_, recorded) = *draft
        .gateways
        .iter()
        .find(|(path, _)| *path == planned.object)
        .expect("it is planned");
    let gateway = GatewayHead {
        place: draft.plan.nodes[node].name.to_string(),
        tunnels: draft
            .plan
            .ending_at(node)
            .iter()
            .map(|&(tunnel, _)| draft.plan.tunnels[tunnel].name.clone())
            .collect(),
    };
    let head = RecordedHead::of_gateway(recorded.spec.law, &recorded.spec.params, gateway, kernel.to_owned());
    draft.plan.recorded_gateway = Some(plan::RecordedGateway {
        node,
        object: RECORDED_GATEWAY.to_owned(),
        head: Box::new(head),
    });
    draft.gateways.push((RECORDED_GATEWAY.to_owned(), recorded));
    Ok(())
}
