//! What runs inside the guest, as its first and only program: it stops where snapshots are taken, then takes a plan,
//! builds its network, runs its applications, measures, tells its host and switches the machine off.

mod boot;
mod device;
mod processor;
mod seed;

use std::fs::{self, File};
use std::io::{BufWriter, Write};

use fadelab_run::record::RunRecord;

use crate::message::Message;
use crate::plan::Plan;
use crate::stage::{self, Host, Outcome, Recorded, failed};
use processor::Processor;

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
pub(crate) const PACKETS: u32 = 4;
pub(crate) const TRANSITS: u32 = 5;

/// Folders that the guest needs for what it mounts.
pub(crate) const FOLDERS: [&str; 5] = ["/proc", "/sys", "/dev", "/run", "/tmp"];

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
    let mut guest = Guest {
        port: Port(boot::port(MESSAGES)?),
        processor: None,
    };
    guest.port.tell(&Message::Booted {
        release: boot::release()?,
    })?;
    match boot::settings().and_then(|()| stage::run(&plan, &mut guest)) {
        Ok(record) => {
            let processor = guest.processor.as_ref().map(Processor::load);
            guest.port.tell(&Message::Done {
                record: Box::new(RunRecord { processor, ..record }),
            })
        }
        Err(why) => guest.port.tell(&Message::Failed { why }),
    }
}

/// A guest as the host of a stage.
struct Guest {
    port: Port,
    processor: Option<Processor>,
}

impl Host for Guest {
    fn object(&self, path: &str) -> Outcome<Vec<u8>> {
        fs::read(path).map_err(failed(path))
    }

    fn recording(&self, which: Recorded) -> Outcome<Box<dyn Write>> {
        let number = match which {
            Recorded::Sender => CALLS,
            Recorded::Router => PASSAGES,
            Recorded::Gateway => TRANSITS,
            Recorded::Packets => PACKETS,
        };
        Ok(Box::new(BufWriter::with_capacity(1 << 16, boot::port(number)?)))
    }

    fn is_virtual(&self) -> bool {
        true
    }

    fn reached(&mut self, time_ns: u64) -> Outcome<()> {
        match &mut self.processor {
            Some(processor) => processor.check(time_ns)?,
            none => *none = Some(Processor::new(time_ns)?),
        }
        self.port.tell(&Message::Reached { time_ns })
    }
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
