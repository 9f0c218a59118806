//! What laws cost in the kernel: throughput over a cable that nobody slows down, beside the kernel's own CUBIC.

mod cable;

use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

use Congestion::{Law, Own, Path};
use cable::{Cable, ONE_PROCESSOR, TWO_PROCESSORS};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::measure::{self, median};
use crate::row::{Bound, Row, Section};
use crate::simulators::Bench;

/// Of a round: so many transfers of so many seconds. Those through a router begin with some tenths of a second in which
/// the window grows; the others do not, and many short ones in turns see less of what else the machine does.
struct Turns {
    n: u32,
    seconds: u32,
}

const THROUGH_ROUTER: Turns = Turns { n: 2, seconds: 3 };
const END_TO_END: Turns = Turns { n: 3, seconds: 1 };

/// The congestion control that a law becomes.
fn name_of(law: &str) -> String {
    format!("flb_{law}")
}

/// A law at both ends of the cable while this lives, and at its router.
struct Loaded<'a> {
    bench: &'a Bench,
    name: String,
    router: Option<Child>,
}

impl<'a> Loaded<'a> {
    fn new(bench: &'a Bench, cable: &Cable, law: &str, more: &[&str], with_router: bool) -> Result<Self, String> {
        let fadelab = bench.fadelab.display().to_string();
        let name = name_of(law);
        let devices = format!("{0}:wire,{1}:wire", cable.near, cable.far);
        let words = [
            fadelab.as_str(),
            "kernel",
            "load",
            law,
            "--as",
            &name,
            "--dev",
            &devices,
        ];
        measure::run(words.iter().chain(more))?;
        let mut loaded = Self {
            bench,
            name,
            router: None,
        };
        if with_router {
            let device = format!("{}:wire", cable.near);
            let words = [
                "kernel",
                "router",
                "--dev",
                &device,
                "--law",
                law,
                "--rate",
                ROUTER_RATE,
                "--no-shape",
            ];
            let router = loaded
                .router
                .insert(measure::start(&[&[fadelab.as_str()], &words[..], more].concat())?);
            sleep(ROUTER_STARTS);
            if !matches!(router.try_wait(), Ok(None)) {
                return Err(format!(
                    "the router of {law} has ended: see `fadelab {}`",
                    words.join(" ")
                ));
            }
        }
        Ok(loaded)
    }
}

impl Drop for Loaded<'_> {
    fn drop(&mut self) {
        if let Some(router) = &mut self.router {
            // As by Ctrl-C, so that it takes away what it made; it ends when its device goes, too.
            let _ = kill(Pid::from_raw(router.id().cast_signed()), Signal::SIGINT);
            let _ = router.wait();
        }
        let fadelab = self.bench.fadelab.display().to_string();
        let _ = measure::run([fadelab.as_str(), "kernel", "unload", &self.name]);
    }
}

/// One side of a comparison.
#[derive(Clone, Copy)]
struct Case {
    congestion: Congestion,
    segments: u32,
}

#[derive(Clone, Copy)]
enum Congestion {
    /// The kernel's own.
    Own(&'static str),
    /// A law of fadelab's, at both ends.
    Law(&'static str),
    /// The same, and at a router, with parameters.
    Path(&'static str, &'static [&'static str]),
}

/// Its program is compiled, loaded and attached by then.
const ROUTER_STARTS: Duration = Duration::from_secs(2);

/// What routers are told that the cable carries: more than it does, so that processors decide and not the law.
const ROUTER_RATE: &str = "100gbit";

/// VCP's window grows by a sixteenth in this time, of which a transfer is to have some hundreds.
const VCP_FAST: &[&str] = &["--set", "law.vcp.trho_us=10ms"];

/// As many segments as a device takes when nobody limits it.
const OFFLOAD: u32 = 65535;

impl Case {
    /// Loads what the case needs, and tells the congestion control of its sockets.
    fn set_up<'a>(self, bench: &'a Bench, cable: &Cable) -> Result<(Option<Loaded<'a>>, String), String> {
        Ok(match self.congestion {
            Own(name) => (None, name.to_owned()),
            Law(law) => (Some(Loaded::new(bench, cable, law, &[], false)?), name_of(law)),
            Path(law, more) => (Some(Loaded::new(bench, cable, law, more, true)?), name_of(law)),
        })
    }

    /// Transfers, in Gbit/s, in turns with those of the kernel's cubic, whose packets have `segments`. A law is there
    /// only while the case has its turn.
    fn turns(self, bench: &Bench, cable: &Cable, segments: u32) -> Result<Vec<(f64, f64)>, String> {
        let of_a_round = match self.congestion {
            Path(..) => THROUGH_ROUTER,
            Own(_) | Law(_) => END_TO_END,
        };
        let reached = |name: &str, segments| {
            cable.offload(segments)?;
            cable.gbit_per_s(name, of_a_round.seconds)
        };
        let turn = |_| {
            let (loaded, name) = self.set_up(bench, cable)?;
            let ours = reached(&name, self.segments)?;
            drop(loaded);
            Ok((ours, reached("cubic", segments)?))
        };
        (0..bench.rounds * of_a_round.n).map(turn).collect()
    }
}

/// What is compared with the kernel's cubic on two processors: a name, the case, the segments of cubic's packets, and
/// the bound.
fn cases() -> [(&'static str, Case, u32, Bound); 7] {
    let case = |congestion, segments| Case { congestion, segments };
    let good = Bound::AtLeast(0.95, 1.0);
    let whole = Bound::AtLeast(0.75, 0.85);
    [
        ("reno, offload", case(Law("reno"), OFFLOAD), OFFLOAD, good),
        (
            "the kernel's reno, offload",
            case(Own("reno"), OFFLOAD),
            OFFLOAD,
            Bound::None,
        ),
        ("cubic, offload", case(Law("cubic"), OFFLOAD), OFFLOAD, good),
        ("vcp with router, one segment", case(Path("vcp", VCP_FAST), 1), 1, whole),
        ("xcp with router, one segment", case(Path("xcp", &[]), 1), 1, whole),
        (
            "vcp with router, offload",
            case(Path("vcp", VCP_FAST), OFFLOAD),
            OFFLOAD,
            Bound::None,
        ),
        (
            "the kernel's cubic, one segment",
            case(Own("cubic"), 1),
            OFFLOAD,
            Bound::None,
        ),
    ]
}

/// The same with all the work of a packet, at both ends and at the router, on one processor.
fn cases_of_one_processor() -> [(&'static str, Case, u32, Bound); 2] {
    let case = |congestion| Case {
        congestion,
        segments: 1,
    };
    let whole = Bound::AtLeast(0.75, 0.85);
    [
        (
            "vcp with router, one segment, one processor",
            case(Path("vcp", VCP_FAST)),
            1,
            whole,
        ),
        (
            "xcp with router, one segment, one processor",
            case(Path("xcp", &[])),
            1,
            whole,
        ),
    ]
}

fn rows(bench: &Bench, processors: [u32; 2], cases: &[(&'static str, Case, u32, Bound)]) -> Result<Vec<Row>, String> {
    let cable = Cable::new(processors)?;
    let row = |&(name, case, segments, bound): &(&'static str, Case, u32, Bound)| {
        let turns = case.turns(bench, &cable, segments)?;
        let (ours, theirs) = turns.iter().copied().unzip();
        Ok(Row {
            case: name.to_owned(),
            quantity: "x the kernel's cubic",
            value: median(turns.iter().map(|(mine, its)| mine / its).collect()),
            digits: 2,
            bound,
            basis: format!("{:.2} against {:.2} Gbit/s", median(ours), median(theirs)),
        })
    };
    cases.iter().map(row).collect()
}

/// # Errors
/// In words: no root, a kernel that takes no laws, or a command that fails.
pub fn measure(bench: &Bench) -> Result<Section, String> {
    eprintln!("bench: laws in the kernel");
    let mut rows = rows(bench, TWO_PROCESSORS, &cases())?;
    rows.extend(self::rows(bench, ONE_PROCESSOR, &cases_of_one_processor())?);
    Ok(Section {
        name: "kernel",
        about: format!(
            "Throughput between two namespaces, iperf3 in turns, medians of {} of {} s, with a router of {} of {} s",
            bench.rounds * END_TO_END.n,
            END_TO_END.seconds,
            bench.rounds * THROUGH_ROUTER.n,
            THROUGH_ROUTER.seconds
        ),
        rows,
    })
}
