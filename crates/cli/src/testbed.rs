//! `fadelab testbed`: scenarios inside a Linux kernel, with results like those of the simulator.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use fadelab_lab::packets::{Log, Written};
use fadelab_lab::{Done, Failure, Job, Kept, Live, Punctuality, Virtual};
use fadelab_run::record::ProcessorLoad;
use fadelab_testbed::{Applications, Recordings, Sysctl, host_laws};

use crate::args::{ResultArgs, ScenarioArgs};
use crate::progress::Terminal;
use crate::{commit, kept, output, run, show};

/// The kernel of guests for which nobody names another one.
pub const KERNEL: &str = "6.1";

/// Arguments of `fadelab testbed`.
#[derive(Debug, Subcommand)]
pub enum TestbedCommand {
    /// Run a scenario inside a Linux kernel: the same file, the same kind of result
    Run(Box<TestbedRunArgs>),
    /// Make the image of a kernel from Debian's packages now, which `run` does when it is missing
    Image(ImageArgs),
    /// What the guest runs
    #[command(hide = true)]
    Guest,
}

/// Arguments of `fadelab testbed run`.
#[derive(Debug, Args)]
pub struct TestbedRunArgs {
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Where to run it
    #[arg(long, value_enum, default_value = "virtual")]
    pub ground: Ground,
    #[command(flatten)]
    pub guest: GuestArgs,
    #[command(flatten)]
    pub result: ResultArgs,
    /// Write each call of the law into FILE, for fadelab replay; the scenario must amount to one run
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// The same of the router's law of the first link that has one: what it makes of each packet, and its timers
    #[arg(long, value_name = "FILE")]
    pub record_router: Option<PathBuf>,
    /// The same of the gateway's law at the far end of the first tunnel that has one: what it makes of each packet
    #[arg(long, value_name = "FILE")]
    pub record_gateway: Option<PathBuf>,
    /// On the live ground: write what comes to links and what becomes of it, for fadelab replay
    #[arg(long, value_name = "FILE")]
    pub record_links: Option<PathBuf>,
    /// Log packets, for Wireshark (packets/*.pcapng): of a flow, by name or number, at its sender's host, or of a link,
    /// by name, what arrives over it; repeatable
    #[arg(long, value_name = "FLOW|LINK")]
    pub pcap: Vec<String>,
    /// End with status 1 where the emulator was disturbed, so that it was not the link that the scenario asks for
    #[arg(long)]
    pub strict: bool,
}

/// Where a scenario runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Ground {
    /// A Debian kernel in virtual time, under QEMU; needs no root and gives the same bytes each time
    Virtual,
    /// This machine's own kernel in real time, with every link emulated; needs root
    Live,
}

/// Which guest.
#[derive(Clone, Debug, Args)]
pub struct GuestArgs {
    /// Kernel of the guest: 6.1, 6.12 or newest, which is the newest that Debian has
    #[arg(long, value_name = "SERIES", default_value = KERNEL)]
    pub kernel: String,
    /// Let iperf3 carry the flows that always have data, in place of fadelab's own sockets
    #[arg(long)]
    pub iperf3: bool,
    /// Set a setting of the network in each host and router, as sysctl(8) writes it; repeatable
    #[arg(long = "sysctl", value_name = "KEY=VALUE")]
    pub sysctls: Vec<Sysctl>,
    /// Boot each guest, in place of going on from a snapshot of one that has booted: the same results, later
    #[arg(long)]
    pub no_snapshot: bool,
}

/// Arguments of `fadelab testbed image`.
#[derive(Debug, Args)]
pub struct ImageArgs {
    #[command(flatten)]
    pub guest: GuestArgs,
}

/// Does what the arguments say.
///
/// # Errors
/// See [`run_scenario`] and [`Virtual::image`].
pub fn testbed(command: &TestbedCommand) -> Result<(), Failure> {
    match command {
        TestbedCommand::Run(args) => run_scenario(args),
        TestbedCommand::Image(args) => {
            let mut ground = ground(&args.guest)?;
            let applications = Applications {
                iperf3: args.guest.iperf3,
                http: false,
            };
            let image = ground.image(applications, &step)?;
            output::print(&format!("{}: {}\n", image.package(), image.folder().display()))
        }
        TestbedCommand::Guest => fadelab_testbed::guest::main(),
    }
}

/// The ground of these guests, with this program in them.
///
/// # Errors
/// When this program cannot be found.
pub fn ground(args: &GuestArgs) -> Result<Virtual, Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::Failed(format!("cannot find myself: {error}")))?;
    let mut ground = Virtual::new(&args.kernel, program, args.iperf3);
    ground.stamp = commit::stamp();
    ground.snapshots = !args.no_snapshot;
    ground.sysctls.clone_from(&args.sysctls);
    ground.tell = |what| output::warn(&[what.to_owned()]);
    Ok(ground)
}

/// Tells what is done to make an image.
pub fn step(what: &str) {
    output::tell(format!("{what} ..."));
}

/// The ground that was asked for, with what is to be recorded there.
///
/// # Errors
/// What cannot be recorded there, or of several runs.
fn ground_of(
    args: &TestbedRunArgs,
    runs: usize,
    packets: Option<Arc<Written>>,
) -> Result<Box<dyn fadelab_lab::Ground>, Failure> {
    if args.record_links.is_some() && args.ground == Ground::Virtual {
        return Err(Failure::Invalid(
            "--record-links: links are recorded in real time, with --ground live; in virtual time the same run gives \
             the same bytes"
                .to_owned(),
        ));
    }
    let recorded = [
        (&args.record, "--record"),
        (&args.record_router, "--record-router"),
        (&args.record_gateway, "--record-gateway"),
        (&args.record_links, "--record-links"),
    ];
    let asked = recorded.into_iter().find(|(file, _)| file.is_some());
    if let Some((_, option)) = asked.filter(|_| runs > 1) {
        return Err(Failure::Invalid(format!(
            "{option}: the scenario amounts to {runs} runs; choose one with --set flow.law=vcp --seeds 1"
        )));
    }
    let recordings = Recordings {
        sender: args.record.clone(),
        router: args.record_router.clone(),
        gateway: args.record_gateway.clone(),
        links: args.record_links.clone(),
        packets: None,
    };
    Ok(match args.ground {
        Ground::Virtual => {
            let mut ground = ground(&args.guest)?;
            ground.recordings = recordings;
            ground.packets = packets;
            Box::new(ground)
        }
        Ground::Live => Box::new(Live {
            iperf3: args.guest.iperf3,
            sysctls: args.guest.sysctls.clone(),
            recordings,
            packets,
        }),
    })
}

/// How long it took, how punctual links were in real time, and how busy the guest's processor in virtual time. Of runs
/// that an earlier sweep had finished, `taken_n`, the time is not known.
fn speed(done: &Done, ground: Ground, taken_n: usize) -> String {
    let (runs, wall_s, own_s) = (
        done.experiment.runs.len(),
        done.provenance.wall_time_s,
        done.virtual_s(),
    );
    let mut speed = format!(
        "{runs} run{} in {}: {own_s}{} s in {wall_s:.1} s{}",
        if runs == 1 { "" } else { "s" },
        done.provenance.guest.as_ref().map_or("", |guest| &guest.kernel),
        if ground == Ground::Live { "" } else { " virtual" },
        kept::told(taken_n),
    );
    if let Some(punctuality) = done.punctuality() {
        speed.push_str(&late(&punctuality));
    }
    if let Some(load) = done.processor() {
        speed.push_str(&busy(load));
    }
    speed
}

/// How late packets left emulated links.
fn late(punctuality: &Punctuality) -> String {
    let us = |ns: u64| ns as f64 / 1e3;
    format!(
        "\npackets left links {:.0} us late (median), {:.0} us (99 of 100), {:.0} us (at most)",
        us(punctuality.late_ns_p50),
        us(punctuality.late_ns_p99),
        us(punctuality.late_ns_max)
    )
}

fn busy(load: ProcessorLoad) -> String {
    let percent = |permille: u32| f64::from(permille) / 10.0;
    format!(
        "\nthe guest's processor was {:.1} % busy, {:.1} % in its busiest second (beyond 90 % a run ends)",
        percent(load.busy_permille),
        percent(load.busy_permille_max)
    )
}

/// Runs a scenario and writes its result.
///
/// # Errors
/// A scenario that is invalid or has no counterpart, a guest that fails, an interrupt, or a result that cannot be
/// written.
fn run_scenario(args: &TestbedRunArgs) -> Result<(), Failure> {
    host_laws::register();
    let plan = show::plan_for(&args.scenario, args.ground == Ground::Live)?;
    let target = run::target(&args.scenario, args.result.out.as_deref());
    let log = Some(&args.pcap).filter(|names| !names.is_empty());
    let log = log.map(|names| Log::of(names, &plan)).transpose()?;
    let packets = log.map(|log| Written::begin(&log, &plan)).transpose()?.map(Arc::new);
    let mut ground = ground_of(args, plan.runs.len(), packets.clone())?;
    fadelab_lab::prepare(&plan, &target, &mut [&mut *ground], &step)?;
    if !args.result.quiet {
        output::warn(&plan.warnings);
    }
    // A run that is taken from before writes no log.
    let kept = if packets.is_none() {
        vec![Kept::of(&plan, &*ground, &target, args.result.fresh)?]
    } else {
        Vec::new()
    };
    if !args.result.quiet {
        output::note(&kept::greeting(&kept));
    }
    let job = Job {
        plan: &plan,
        scenario_path: &args.scenario.file,
        target: &target,
        threads: run::threads(args.result.jobs, &plan),
        threads_alone: run::threads_alone(args.result.jobs),
        csv: args.result.csv,
    };
    let done = job
        .run(&[&*ground], &kept, &Terminal::new(args.result.quiet))
        .map_err(|stop| run::failure(stop, &args.scenario, &job, &kept))?;
    if let Some(packets) = packets {
        packets.keep(&done.folder)?;
    }
    output::warn(&done.disturbed);
    if args.strict && !done.disturbed.is_empty() {
        return Err(Failure::Failed(format!(
            "--strict: {}",
            done.disturbed.join("\n       ")
        )));
    }
    if args.result.quiet {
        return Ok(());
    }
    let speed = speed(&done, args.ground, kept::taken(&kept));
    output::print_told(&run::text(&done.summary, &speed, &done.folder))
}
