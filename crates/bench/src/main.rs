//! Speed and memory of `fadelab run` beside ns-2, against the bounds that this project holds itself to.
//!
//! Speed is what a long run sustains: the packets that the bottleneck delivers between two lengths of a run, over
//! the CPU time (user and system) between them, so that starting a process and the first overshoot cancel out. Two
//! that are compared share one core in short slices, so that a busy machine slows both; a figure is the median of the
//! rounds.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

mod cases;
mod emulate;
mod kernel;
mod laws;
mod measure;
mod page;
mod parts;
mod profile;
mod recorder;
mod row;
mod scale;
mod simulators;
mod slices;
mod speed;
mod sweep;

use page::Table;
use simulators::Bench;

/// What `make bench` measures.
#[derive(Parser)]
struct Args {
    /// Parts to measure [default: all]
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// Turns that each simulator takes; figures are medians
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// The command that is measured
    #[arg(long, value_name = "PATH", default_value = "target/release/fadelab")]
    fadelab: PathBuf,
    /// The page whose measured tables are replaced; it must hold their markers
    #[arg(long, value_name = "PATH")]
    page: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Ten and a thousand flows beside ns-2
    Speed,
    /// Where the instructions of a packet go
    Parts,
    /// What laws cost beside others
    Laws,
    /// A fading channel beside a clean link
    Fading,
    /// A hundred thousand flows; peak memory
    Scale,
    /// A sweep on one thread and on two
    Sweep,
    /// What the recorder costs when it is off
    Recorder,
    /// Laws in the kernel beside the kernel's own; needs root
    Kernel,
    /// Links in real time beside ping, iperf3 and closed forms; needs root
    Emulate,
}

impl Part {
    const ALL: [Self; 9] = [
        Self::Speed,
        Self::Parts,
        Self::Laws,
        Self::Fading,
        Self::Scale,
        Self::Sweep,
        Self::Recorder,
        Self::Kernel,
        Self::Emulate,
    ];

    fn measure(self, bench: &Bench) -> Result<Box<dyn Table>, String> {
        Ok(match self {
            Self::Speed => Box::new(speed::beside_ns2(bench)?),
            Self::Parts => Box::new(parts::measure(bench)?),
            Self::Laws => Box::new(laws::measure(bench)?),
            Self::Fading => Box::new(speed::fading(bench)?),
            Self::Scale => Box::new(scale::measure(bench)?),
            Self::Sweep => Box::new(sweep::measure(bench)?),
            Self::Recorder => Box::new(recorder::measure(bench)?),
            Self::Kernel => Box::new(kernel::measure(bench)?),
            Self::Emulate => Box::new(emulate::measure(bench)?),
        })
    }
}

fn measure(args: &Args) -> Result<bool, String> {
    let bench = Bench::new(args.fadelab.clone(), args.rounds)?;
    let parts = if args.parts.is_empty() {
        &Part::ALL[..]
    } else {
        &args.parts
    };
    let mut tables = Vec::new();
    for part in parts {
        let table = part.measure(&bench)?;
        println!("{table}");
        tables.push(table);
    }
    if let Some(path) = &args.page {
        page::replace(path, &tables)?;
    }
    let missed: Vec<_> = tables.iter().flat_map(|table| table.missed()).collect();
    for row in &missed {
        eprintln!("bench: missed: {row}");
    }
    Ok(missed.is_empty())
}

fn main() -> ExitCode {
    let args = Args::parse();
    let began = Instant::now();
    match measure(&args) {
        Ok(all_hold) => {
            println!("measured in {:.0} s", began.elapsed().as_secs_f64());
            ExitCode::from(u8::from(!all_hold))
        }
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}
