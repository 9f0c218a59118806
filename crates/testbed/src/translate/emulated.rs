//! What of a link the kernel does by itself, and what the emulator has to do.

use fadelab_kernel::router::object::obstacle;
use fadelab_laws::LINUX_PREFIX;
use fadelab_path::layer::LinkLayer;
use fadelab_path::spec::{Buffer, CapacitySpec, LinkSpec, Queues, RouterSpec};
use fadelab_phy::channel::{CodeMode, Model};
use fadelab_run::spec::RunSpec;

use super::{Place, none};
use crate::Error;
use crate::plan::{Carries, Discipline, Emulated, Way};

/// Packets for which there is room behind the kernel's queue: that one lets none out faster than the link sends them.
const BEHIND_PKTS: u32 = 1_000_000;

/// What the emulator has to do of a link; `None`: nothing.
///
/// # Errors
/// Linux's own queue at a link of which the emulator would have to do all.
pub fn of(link: &LinkSpec, carries: Carries) -> Result<Option<Emulated>, Error> {
    if let Some((key, why)) = whole(link) {
        if link.router.law.name().starts_with(LINUX_PREFIX) {
            return Err(none(
                key,
                format!(
                    "{why}, which only the emulator does, and behind a queue of Linux's own it cannot; take a law of \
                     fadelab's"
                ),
            ));
        }
        return Ok(Some(Emulated {
            link: link.clone(),
            whole: true,
        }));
    }
    let is_behind = link.layer != LinkLayer::default() || loss(link, carries).is_none();
    Ok(is_behind.then(|| behind(link)))
}

/// Why all of a link has to be the emulator's, and by which key: bytes on the air that the kernel cannot know, or a
/// queue that it has not.
fn whole(link: &LinkSpec) -> Option<(&'static str, &'static str)> {
    let coded = link
        .channel
        .as_ref()
        .is_some_and(|channel| channel.code.mode != CodeMode::None);
    if matches!(link.capacity, CapacitySpec::Trace(_)) {
        Some(("trace", "a recorded capacity is replayed"))
    } else if matches!(link.capacity, CapacitySpec::Changing(_)) {
        Some(("rate_changes", "the rate changes"))
    } else if link.told_bps.is_some() {
        Some(("router.told", "the router is told another rate than the link has"))
    } else if link.layer.arq.is_some() {
        // What is sent again takes the transmitter's time, of which a queue before it knows nothing.
        Some(("channel.arq", "the link sends again what it lost"))
    } else if coded {
        Some(("channel.code", "parity is sent"))
    } else if link.queues != Queues::One {
        Some(("router.queues", "arrivals are divided into queues"))
    } else if !is_kernels(&link.router) {
        Some(("flow.law", "the law drops what it takes from the queue"))
    } else if link.buffer.packets.is_some() == link.buffer.bytes.is_some() {
        Some(("buffer", "a queue has a limit in packets and one in bytes"))
    } else {
        None
    }
}

/// Whether a kernel can do what stands at the queue.
fn is_kernels(router: &RouterSpec) -> bool {
    router.law.name().starts_with(LINUX_PREFIX)
        || router.law.name() == "droptail"
        || obstacle(router.law, router.capacity).is_none()
}

/// The part of a link that is behind its queue.
fn behind(link: &LinkSpec) -> Emulated {
    let mut link = link.clone();
    let law = fadelab_laws::router("droptail").expect("it is built in");
    let capacity = fadelab_laws::capacity("configured").expect("it is built in");
    link.router = RouterSpec {
        law,
        params: law.default_params(),
        capacity,
        capacity_params: capacity.default_params(),
    };
    link.buffer = Buffer {
        packets: Some(BEHIND_PKTS),
        bytes: None,
    };
    Emulated { link, whole: false }
}

/// The share of packets that `netem` loses in place of a channel; `None`: it cannot. It draws for each packet alone,
/// whatever that carries.
pub fn loss(link: &LinkSpec, carries: Carries) -> Option<f64> {
    let Some(channel) = &link.channel else {
        return Some(0.0);
    };
    let Model::Random { data, ack } = channel.model else {
        return None;
    };
    match carries {
        _ if channel.code.mode != CodeMode::None => None,
        Carries { acks: false, .. } => Some(data),
        Carries { data: false, .. } => Some(ack),
        _ => (data.to_bits() == ack.to_bits()).then_some(data),
    }
}

/// Both ways of a cable go the same way: where the emulator does something of one, it carries the other, too. Without
/// `netem`, on this machine, it carries all.
///
/// # Errors
/// A law of the user's own, which a guest has only for its kernel.
pub fn share(spec: &RunSpec, ways: &mut [Option<Way>; 2], place: &Place) -> Result<(), Error> {
    let is_live = matches!(place, Place::Live { .. });
    if !is_live && ways.iter().flatten().all(|way| way.emulated.is_none()) {
        return Ok(());
    }
    for way in ways.iter_mut().flatten() {
        let link = &spec.network.links[way.link as usize];
        if way.emulated.is_none() {
            // Nobody looks at such a queue: one device less is in the way.
            way.emulated = Some(if way.is_plain() {
                Emulated {
                    link: LinkSpec::clone(&link.link),
                    whole: true,
                }
            } else {
                behind(&link.link)
            });
        }
        let is_whole = way.emulated.as_ref().is_some_and(|emulated| emulated.whole);
        if is_whole {
            way.queue.discipline = Discipline::Fifo;
            if !is_live && !fadelab_laws::is_builtin(link.router.law.name()) {
                return Err(none(
                    "flow.law",
                    "the emulator would run the law, and in the guest it has only those that are built in; the \
                     simulator and --ground live run it",
                ));
            }
        }
    }
    Ok(())
}
