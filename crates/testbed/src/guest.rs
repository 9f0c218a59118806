//! What runs inside the guest, as its first and only program: it stops where snapshots are taken, then takes a plan,
//! builds its network, runs its applications, measures, tells its host and switches the machine off.

mod boot;
mod build;
mod connection;
mod device;
mod iperf3;
mod laws;
mod link_stats;
mod measure;
mod memory;
mod processor;
mod seed;
mod spaces;
mod tcp_info;
mod traffic;

use std::fs::File;
use std::io::Write;
use std::time::Duration;

use fadelab_run::record::RunRecord;

use crate::message::Message;
use crate::plan::Plan;
use spaces::Spaces;

/// Where fadelab is in the guest.
pub const PROGRAM: &str = "/bin/fadelab";

/// With what it is started there.
pub const ARGUMENTS: [&str; 2] = ["testbed", "guest"];

pub const PLAN: &str = "/plan.json";

/// Paths of the kernel's modules, one a line, in the order in which they load.
pub(crate) const MODULES: &str = "/modules/list";

/// Ports to the host.
pub(crate) const MESSAGES: u32 = 1;
pub(crate) const CALLS: u32 = 2;
pub(crate) const PASSAGES: u32 = 3;

/// Folders that the guest needs for what it mounts.
pub(crate) const FOLDERS: [&str; 5] = ["/proc", "/sys", "/dev", "/run", "/tmp"];

/// What happens in the guest fails in words, which its host passes on.
type Outcome<T> = Result<T, String>;

/// What a message says of something of the system that failed.
fn failed<E: std::fmt::Display>(what: impl std::fmt::Display) -> impl FnOnce(E) -> String {
    move |error| format!("{what}: {error}")
}

/// Everything, from the first instruction to the last: it never returns, because the machine is off then.
pub fn main() -> ! {
    if let Err(why) = all() {
        // Where even the port is missing, the console is what the host quotes.
        eprintln!("fadelab: {why}");
    }
    boot::switch_off()
}

fn all() -> Outcome<()> {
    boot::mount()?;
    boot::load(MODULES)?;
    // What follows is a run's; up to here all guests of an image are the same.
    device::stop()?;
    device::take_given()?;
    let plan: Plan = File::open(PLAN)
        .map_err(failed(PLAN))
        .and_then(|file| serde_json::from_reader(file).map_err(failed(PLAN)))?;
    seed::sow(plan.seed)?;
    let mut port = Port(boot::port(MESSAGES)?);
    port.tell(&Message::Booted {
        release: boot::release()?,
    })?;
    match run(&plan, &mut port) {
        Ok(record) => port.tell(&Message::Done {
            record: Box::new(record),
        }),
        Err(why) => port.tell(&Message::Failed { why }),
    }
}

fn run(plan: &Plan, port: &mut Port) -> Outcome<RunRecord> {
    let spaces = Spaces::make(plan.nodes.len())?;
    build::build(plan, &spaces)?;
    // They stay until the machine goes off: nobody needs to take them away.
    let senders = laws::senders(plan)?;
    let routers = laws::routers(plan)?;
    let mut recorders = laws::recorders(plan, &senders, &routers)?;
    let record = traffic::run(plan, &spaces, (&senders, &routers), |time_ns| {
        for recorder in &mut recorders {
            recorder.poll(Duration::ZERO).map_err(failed("calls"))?;
        }
        port.tell(&Message::Reached { time_ns })
    })?;
    for recorder in recorders {
        recorder.finish().map_err(failed("calls"))?;
    }
    Ok(record)
}

/// Where messages to the host go.
struct Port(File);

impl Port {
    fn tell(&mut self, message: &Message) -> Outcome<()> {
        let mut line = serde_json::to_vec(message).map_err(failed("a message"))?;
        line.push(b'\n');
        self.0.write_all(&line).map_err(failed("the port to the host"))
    }
}
