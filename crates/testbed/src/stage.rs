//! A run on a kernel: namespaces and cables, queues and laws, applications and meters. Guests and this machine set the
//! same stage; what differs between them is a [`Host`].
//!
//! From the ground up: `spaces` are the namespaces, `build` puts devices, routes and queues into them, `tunnels` joins
//! some of them by IPsec, whose `associations` it makes, `emulated` drives the links that the kernel has not, `laws`
//! loads what laws there are, `traffic` runs the applications, `measure` reads the meters, `packets` logs what passes.

mod associations;
mod build;
mod connection;
mod emulated;
mod http;
mod iperf3;
mod laws;
mod link_stats;
mod measure;
mod memory;
mod option;
mod packets;
mod process;
mod ring;
mod spaces;
mod tcp_info;
mod traffic;
mod tunnels;
mod whose;
mod worker;

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use fadelab_run::record::RunRecord;
use nix::time::{ClockId, clock_gettime};

use crate::plan::Plan;
use packets::Capture;
use spaces::Spaces;

/// What happens on the stage fails in words, which whoever set it passes on.
pub type Outcome<T> = Result<T, String>;

/// What a message says of something of the system that failed.
pub fn failed<E: std::fmt::Display>(what: impl std::fmt::Display) -> impl FnOnce(E) -> String {
    move |error| format!("{what}: {error}")
}

/// What a clock of the system shows.
pub fn clock_ns(clock: ClockId) -> Outcome<u64> {
    let now = clock_gettime(clock).map_err(failed("a clock"))?;
    Ok(Duration::from(now).as_nanos() as u64)
}

/// What is recorded while a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// Calls of a sender's law, and of its receiver's half.
    Sender,
    /// What a router's law makes of packets, and its timers.
    Router,
    /// Calls of a gateway's law.
    Gateway,
    /// Packets.
    Packets,
}

/// The machine on which a stage is set.
pub trait Host {
    /// The object of a law, by its path in the plan.
    fn object(&self, path: &str) -> Outcome<Vec<u8>>;

    /// Where it is written.
    fn recording(&self, which: Recorded) -> Outcome<Box<dyn Write>>;

    /// The file into which it is written what came to emulated links and what became of it, if it is.
    fn links_file(&self) -> Option<&Path> {
        None
    }

    /// Whether its time is counted in its own instructions, so that nothing else can delay it.
    fn is_virtual(&self) -> bool;

    /// Is told once a second how far the run has come; an error ends it.
    fn reached(&mut self, time_ns: u64) -> Outcome<()>;
}

/// Runs a plan from its first instant to its last.
pub fn run(plan: &Plan, host: &mut dyn Host) -> Outcome<RunRecord> {
    let spaces = Spaces::make(plan.nodes.len())?;
    let emulation = emulated::Emulation::prepare(plan, &spaces, host)?;
    build::build(plan, &spaces)?;
    let _in_udp = tunnels::sockets(plan, &spaces)?;
    // All stay until the run is over: with them go the laws.
    let senders = laws::senders(plan, &spaces, host)?;
    let routers = laws::routers(plan, &spaces, host)?;
    let gateways = laws::gateways(plan, &spaces, host)?;
    build::laws_of_routes(plan, &spaces)?;
    let mut recorders = laws::recorders(plan, (&senders, &routers, &gateways), host)?;
    let mut capture = Capture::begin(plan, &spaces, host)?;
    let mut epoch_ns = 0;
    let record = traffic::run(
        plan,
        &spaces,
        (&senders, &routers),
        emulation,
        host.is_virtual(),
        |time_ns, began_ns| {
            epoch_ns = began_ns;
            if let Some(capture) = &mut capture {
                capture.look(epoch_ns)?;
            }
            for recorder in &mut recorders {
                recorder.poll(Duration::ZERO).map_err(failed("calls"))?;
            }
            host.reached(time_ns)
        },
    )?;
    if let Some(capture) = capture {
        capture.finish(epoch_ns)?;
    }
    for recorder in recorders {
        recorder.finish().map_err(failed("calls"))?;
    }
    Ok(record)
}
