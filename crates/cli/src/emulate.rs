//! `fadelab emulate`: a command behind a link, in real time.

mod law;
mod told;
mod view;

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Args;
use fadelab_emu::record::Recorder;
use fadelab_emu::shell::{self, Plan, Shell};
use fadelab_emu::unprivileged;
use fadelab_emu::{Error, LaneSpec, LinkLog};
use fadelab_lab::emulated::{of_keys, of_plan, run_law};
use fadelab_lab::{Failure, own_law};
use fadelab_scenario::Options;

use crate::output;
use view::View;

/// Names of the ways, which name their random streams: from the command, and to it.
const UP: &str = "up";
const DOWN: &str = "down";

/// What shells answer for a command that is not there, or cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_RUN: u8 = 126;

/// IP bytes of a full packet.
const MTU_BYTES: u16 = 1500;

/// Arguments of `fadelab emulate`.
#[derive(Debug, Args)]
pub struct EmulateArgs {
    /// A scenario whose link it is: forward from the command to the outside, and the link back
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "trace", "delay"])]
    scenario: Option<PathBuf>,
    /// With --scenario: the link by its name [default: the one that results show]
    #[arg(long, value_name = "NAME", requires = "scenario")]
    link: Option<String>,
    /// What the link carries each way: "10 Mbit/s"
    #[arg(long, required_unless_present_any = ["scenario", "trace", "sets", "up", "down"])]
    rate: Option<String>,
    /// Instead of a rate: a recorded capacity in the format of mahimahi
    #[arg(long, value_name = "FILE", conflicts_with = "rate")]
    trace: Option<PathBuf>,
    /// With a trace: use it to the byte as mahimahi does
    #[arg(long, requires = "trace")]
    exact_mahimahi: bool,
    /// Propagation delay, one way
    #[arg(long)]
    delay: Option<String>,
    /// Limit of the queue [default: "1 BDP", but room for 100 full packets]
    #[arg(long)]
    buffer: Option<String>,
    /// Lose packets independently, with this probability
    #[arg(long, value_name = "P", conflicts_with = "fading")]
    loss: Option<String>,
    /// Let the link fade: antennas and the SNR of the good state, 2x1,20dB
    #[arg(long, value_name = "ANTENNAS,SNR")]
    fading: Option<String>,
    /// Protect packets by a Reed-Solomon code: the rates for data and for ACKs, 0.93,0.5
    #[arg(long, value_name = "DATA,ACK", requires = "fading")]
    code: Option<String>,
    /// The law of the queues: by name (fadelab laws --role router), or a header of your own, ./mine.h [default:
    /// droptail]
    #[arg(long, value_name = "LAW")]
    router: Option<String>,
    /// A sender's law for the command's connections, and for those to it from this machine: loaded into this kernel for
    /// as long as the command runs, both ends included; needs root
    #[arg(long, value_name = "LAW")]
    law: Option<String>,
    /// Set a key of a scenario for both ways, where link.KEY is one of the link: --set router.vcp.gamma=0.95;
    /// repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// The same for the way from the command alone: --up "link.rate=1 Mbit/s"
    #[arg(long, value_name = "KEY=VALUE")]
    up: Vec<String>,
    /// The same for the way to the command alone
    #[arg(long, value_name = "KEY=VALUE")]
    down: Vec<String>,
    /// Seed of every random stream
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Most IP bytes of a packet
    #[arg(long, value_name = "BYTES", default_value_t = MTU_BYTES,
          value_parser = clap::value_parser!(u16).range(576..=9000))]
    mtu: u16,
    /// Write what came and what became of it into FILE, for fadelab replay
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Write a log of each way as mahimahi's mm-link does, into NAME.up and NAME.down
    #[arg(long, value_name = "NAME")]
    log: Option<PathBuf>,
    /// Show each second how it goes, a line for each way and one for each flow under --law: as messages, or in FILE,
    /// which may be another terminal
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    view: Option<PathBuf>,
    /// Write what there is to say of the link into FILE, as JSON: counters of each way, lateness, processor time
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// End with status 1 where the machine disturbed the link
    #[arg(long)]
    strict: bool,
    /// Say nothing but what goes wrong
    #[arg(long, short)]
    quiet: bool,
    /// The command and its arguments [default: a shell]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the command behind the link. Returns its status.
///
/// # Errors
/// Arguments that make no link, or a link that this machine does not let us make.
pub fn emulate(args: &EmulateArgs) -> Result<u8, Failure> {
    let ways = ways(args)?;
    let place = unprivileged::settle().map_err(|error| {
        Failure::Failed(format!(
            "no root, and no user namespaces in its place: {error}; run it as root"
        ))
    })?;
    let recorder = args.record.as_ref().map(|file| recorder(file, &ways)).transpose()?;
    let logs = match &args.log {
        Some(name) => [Some(log(name, UP, &ways[0])?), Some(log(name, DOWN, &ways[1])?)],
        None => [None, None],
    };
    let law = args.law.as_deref().map(law::Loads::new);
    let plan = Plan {
        lanes: [ways[0].lane(), ways[1].lane()],
        mtu_bytes: args.mtu.into(),
        place,
        recorder,
        logs,
        if_killed: law.as_ref().map_or_else(Vec::new, law::Loads::unload_words),
    };
    let shell = Shell::new(plan).map_err(Failure::failed)?;
    if let Some(why) = shell.closed.as_ref().filter(|_| !args.quiet) {
        output::tell(format!(
            "the command reaches no more than this machine, at ${}: {why}",
            shell::OUTSIDE
        ));
    }
    let command = match args.command.as_slice() {
        [] => vec![std::env::var_os("SHELL").unwrap_or_else(|| "sh".into())],
        words => words.to_vec(),
    };
    let view = args.view.as_ref().map(|target| View::start(target, law.as_ref()));
    let view = view.transpose()?;
    let seen = view.as_ref().map(View::seen);
    let ran = match &law {
        Some(law) => law.run(shell, &args.sets, |shell| shell.run(&command, seen))?,
        None => shell.run(&command, seen),
    };
    view.map_or(Ok(()), View::end)?;
    let (status, outcome, written) = match ran {
        Err(Error::Command { program, source }) => {
            output::tell(format!("{}: {source}", program.display()));
            return Ok(if source.kind() == ErrorKind::NotFound {
                NOT_FOUND
            } else {
                NOT_RUN
            });
        }
        done => done.map_err(Failure::failed)?,
    };
    if !args.quiet {
        output::tell(told::told(&outcome));
    }
    if let Some(file) = &args.out {
        let text = serde_json::to_string_pretty(&outcome).expect("an outcome is JSON");
        std::fs::write(file, text + "\n").map_err(|error| unwritable(file, &error))?;
    }
    let is_whole = written.map_err(|error| Failure::Failed(format!("what was written is not whole: {error}")))?;
    if !is_whole {
        let why = "what was written is not whole: the disk could not follow; write it to a faster one";
        return Err(Failure::Failed(why.to_owned()));
    }
    let disturbance = outcome.punctuality.disturbance();
    if let Some(why) = &disturbance {
        output::tell(format!("disturbed: {why}; what was measured is not the link's alone"));
    }
    let is_failed = args.strict && disturbance.is_some() && status.success();
    Ok(if is_failed { 1 } else { shell::status_code(status) })
}

/// From the command, and to it.
fn ways(args: &EmulateArgs) -> Result<[LaneSpec; 2], Failure> {
    if let Some(file) = &args.scenario {
        return of_scenario(args, file);
    }
    let common = shortcuts(args)?;
    let way = |name, own: &[String]| {
        let of_link = args
            .sets
            .iter()
            .filter(|set| args.law.is_none() || !law::is_of_law(set));
        let sets: Vec<String> = common.iter().chain(of_link).chain(own).cloned().collect();
        of_keys(name, &sets, args.seed, args.mtu)
    };
    Ok([way(UP, &args.up)?, way(DOWN, &args.down)?])
}

fn of_scenario(args: &EmulateArgs, file: &Path) -> Result<[LaneSpec; 2], Failure> {
    let plan = |own: &[String]| {
        let seed = format!("run.seeds={}", args.seed);
        let options = Options {
            sets: std::iter::once(&seed).chain(&args.sets).chain(own).cloned().collect(),
            ..Options::default()
        };
        fadelab_scenario::load(file, &options)
    };
    // Under their own names, so that random streams are those of the simulated links.
    let forward = of_plan(&plan(&args.up)?, args.link.as_deref(), args.mtu)?;
    let back = format!("{}.back", forward.link.name);
    let back = of_plan(&plan(&args.down)?, Some(&back), args.mtu)?;
    Ok([forward, back])
}

/// What the short options say, as keys.
fn shortcuts(args: &EmulateArgs) -> Result<Vec<String>, Failure> {
    let mut sets = Vec::new();
    let mut set = |key: &str, value: &str| sets.push(format!("{key}={value}"));
    let link = [("rate", &args.rate), ("buffer", &args.buffer)];
    for (key, value) in link {
        if let Some(value) = value {
            set(&format!("link.{key}"), value);
        }
    }
    set("link.delay", args.delay.as_deref().unwrap_or("0 s"));
    if let Some(trace) = &args.trace {
        set("link.trace", &trace.display().to_string());
        set(
            "link.trace_rules",
            if args.exact_mahimahi { "exact-mahimahi" } else { "plain" },
        );
    }
    if let Some(probability) = &args.loss {
        set("channel.model", "random");
        set("channel.loss_data", probability);
        set("channel.loss_ack", probability);
    }
    if let Some(fading) = &args.fading {
        let (antennas, snr) = pair("fading", fading, "antennas and an SNR, such as 2x1,20dB")?;
        let snr = snr.trim().trim_end_matches("dB").trim();
        set("channel.antennas", antennas);
        set("channel.snr", &format!("{snr} dB"));
    }
    if let Some(code) = &args.code {
        let (data, ack) = pair("code", code, "the rates of data and of ACKs, such as 0.93,0.5")?;
        set("channel.code.data", data);
        set("channel.code.ack", ack);
    }
    if let Some(router) = &args.router {
        let router = own_law::named(router, &|remark| output::warn(&[remark]))?;
        set("flow.law", &run_law(&router));
    }
    Ok(sets)
}

fn pair<'a>(option: &str, given: &'a str, allowed: &str) -> Result<(&'a str, &'a str), Failure> {
    given
        .split_once(',')
        .ok_or_else(|| Failure::Invalid(format!("--{option} {given}: allowed are {allowed}")))
}

fn recorder(file: &Path, ways: &[LaneSpec]) -> Result<Recorder, Failure> {
    Recorder::of_lanes(file, ways, env!("CARGO_PKG_VERSION")).map_err(|error| unwritable(file, &error))
}

/// The log of a way, into a file that is named after it.
fn log(name: &Path, way: &str, lane: &LaneSpec) -> Result<LinkLog, Failure> {
    let mut file = name.as_os_str().to_owned();
    file.push(format!(".{way}"));
    let file = PathBuf::from(file);
    LinkLog::new(&file, &lane.link).map_err(|error| unwritable(&file, &error))
}

fn unwritable(file: &Path, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("cannot write {}: {error}", file.display()))
}
