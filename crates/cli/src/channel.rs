//! `fadelab channel`: packet error of a fading channel, and the settings that a packet error or a law asks for.

mod optimise;
mod page;
mod surface;
mod table;
mod target;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fadelab_lab::Failure;
use fadelab_lab::channel::{Curve, coded};
use fadelab_phy::channel::{ChannelSpec, CodeMode, CodeSpec, Model, PacketKind};
use fadelab_scenario::channel::{ANTENNAS, MODULATIONS};

use crate::output;

/// Bytes of a data packet where no size is given: 1000 of payload and the headers, as ns-2 and the VCP papers have it.
const DATA_BYTES: u32 = 1_040;

/// Bytes of a pure ACK where no size is given: IP and TCP headers without options.
const ACK_BYTES: u32 = 40;

/// Most SNRs of a range.
const SNRS_MAX: usize = 1_000;

/// Most combinations of antennas and code rates in one picture: more colours cannot be told apart.
const COMBINATIONS_MAX: usize = 16;

/// What to find the best code rates for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Objective {
    /// Payload that all receiving applications get, by simulation
    Goodput,
}

/// Arguments of `fadelab channel`.
#[derive(Debug, Args)]
pub struct ChannelArgs {
    /// With --optimise: the scenario whose link it is [default: the satellite of the VCP paper]
    scenario: Option<PathBuf>,
    /// Antennas, transmitting x receiving: 1x1, 2x1, 1x2 or 2x2; several are compared [default: 1x1]
    #[arg(long, value_delimiter = ',')]
    antennas: Vec<String>,
    /// SNR of the good state in dB, one value or a range, -100 to 200: 20 or 5..30 [default: 0..30]
    #[arg(long, value_name = "DB", allow_hyphen_values = true)]
    snr: Option<String>,
    /// Distance between the SNRs of a range, in dB [default: 1, on a page 0.25]
    #[arg(long, value_name = "DB")]
    step: Option<f64>,
    /// How far the SNR of the bad state lies below that of the good one, in dB [default: 10]
    #[arg(long, value_name = "DB")]
    bad_below: Option<f64>,
    /// Code rate, data bytes over bytes on the air, 0.1 to 1; several are compared [default: 1, no code]
    #[arg(long, value_name = "R", value_delimiter = ',')]
    code_rate: Vec<f64>,
    /// IP bytes of the packet [default: 1040, of an ACK 40]
    #[arg(long, value_name = "BYTES")]
    size: Option<String>,
    /// The packet is an ACK
    #[arg(long)]
    ack: bool,
    /// ideal: one word a packet; gf256: interleaved words of at most 255 bytes, which can be built
    #[arg(long, default_value = "ideal")]
    mode: String,
    /// Modulation: bpsk, qpsk, 8psk or 16psk [default: bpsk]
    #[arg(long)]
    modulation: Option<String>,
    /// Mean stay in the good state, in bits [default: 800]
    #[arg(long, value_name = "BITS")]
    burst_good: Option<f64>,
    /// Mean stay in the bad state, in bits [default: 8]
    #[arg(long, value_name = "BITS")]
    burst_bad: Option<f64>,
    /// Draw the curves, of data packets and of ACKs, on a page that works offline
    #[arg(long, value_name = "FILE.html", conflicts_with_all = ["target_per", "optimise"])]
    out: Option<PathBuf>,
    /// Solve: the SNR that keeps the packet error at this, or with one --snr the code rate
    #[arg(long, value_name = "P", conflicts_with = "optimise")]
    target_per: Option<f64>,
    /// Find the pair of code rates, of data and of ACKs, that is best for a law
    #[arg(long, value_enum, requires = "law")]
    optimise: Option<Objective>,
    /// With --optimise: the law, for example vcp or reno+rem
    #[arg(long, requires = "optimise")]
    law: Option<String>,
    /// With --optimise: override a key of the scenario; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "optimise")]
    sets: Vec<String>,
    /// With --optimise: seeds, the same for each pair [default: the scenario's]
    #[arg(long, value_name = "SEEDS", requires = "optimise")]
    seeds: Option<String>,
    /// With --optimise: threads [default: one per core]
    #[arg(long, value_name = "N", requires = "optimise")]
    jobs: Option<NonZeroUsize>,
}

/// Answers what the arguments ask for.
///
/// # Errors
/// Arguments that make no channel, a target that is not reached, a run that failed.
pub fn channel(args: &ChannelArgs) -> Result<(), Failure> {
    if args.optimise.is_some() {
        return optimise::optimise(args);
    }
    if let Some(given) = &args.scenario {
        let hint = "nothing: a scenario goes with --optimise goodput --law NAME; packet errors need none";
        return Err(Failure::Invalid(format!("{}: allowed here is {hint}", given.display())));
    }
    if let Some(target) = args.target_per {
        return output::print_told(&target::solve(args, target)?);
    }
    let kind = if args.ack { PacketKind::Ack } else { PacketKind::Data };
    let size = size(args, kind)?;
    let snrs = snrs(args, if args.out.is_some() { 0.25 } else { 1.0 })?;
    let mut curves = curves(args, kind, size)?;
    if let Some(path) = &args.out {
        // The page shows what a sender depends on: its data and the ACKs that come back.
        if !args.ack {
            curves.extend(self::curves(args, PacketKind::Ack, ACK_BYTES)?);
        }
        check(&curves, &snrs)?;
        return page::write(path, args, &curves, &snrs);
    }
    check(&curves, &snrs)?;
    output::print_told(&match curves.as_slice() {
        [curve] => table::single(args, curve, &snrs),
        curves => table::several(args, curves, &snrs),
    })
}

/// One curve for each combination of antennas and code rate, antennas outermost.
fn curves(args: &ChannelArgs, kind: PacketKind, ip_bytes: u32) -> Result<Vec<Curve>, Failure> {
    let antennas = if args.antennas.is_empty() {
        &["1x1".to_owned()][..]
    } else {
        &args.antennas
    };
    let rates = if args.code_rate.is_empty() {
        &[1.0][..]
    } else {
        &args.code_rate
    };
    let combinations = antennas.len() * rates.len();
    if combinations > COMBINATIONS_MAX {
        let given = format!("{combinations} combinations of --antennas and --code-rate");
        return Err(Failure::Invalid(format!(
            "{given}: allowed are {COMBINATIONS_MAX} at once"
        )));
    }
    let pairs = antennas
        .iter()
        .flat_map(|antennas| rates.iter().map(move |&rate| (antennas, rate)));
    pairs
        .map(|(antennas, rate)| curve(args, antennas, rate, kind, ip_bytes))
        .collect()
}

fn curve(args: &ChannelArgs, antennas: &str, rate: f64, kind: PacketKind, ip_bytes: u32) -> Result<Curve, Failure> {
    Curve::new(antennas, rate, kind, ip_bytes, spec(args, antennas, rate, 0.0)?)
}

/// Refuses SNRs outside of what the channel allows, before anything is computed.
fn check(curves: &[Curve], snrs: &[f64]) -> Result<(), Failure> {
    for curve in curves {
        for &snr_db in snrs {
            curve.at(snr_db).validate().map_err(|error| refused(&error))?;
        }
    }
    Ok(())
}

fn invalid(option: &str, given: &str, allowed: &str) -> Failure {
    Failure::Invalid(format!("--{option} {given}: allowed is {allowed}"))
}

/// The value of a name in a list of choices.
fn choice<T: Copy>(option: &str, given: &str, choices: &[(&str, T)]) -> Result<T, Failure> {
    let found = choices.iter().find(|(name, _)| *name == given).map(|(_, value)| *value);
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    found.ok_or_else(|| invalid(option, given, &names.join(", ")))
}

fn size(args: &ChannelArgs, kind: PacketKind) -> Result<u32, Failure> {
    let Some(given) = &args.size else {
        return Ok(if kind == PacketKind::Ack { ACK_BYTES } else { DATA_BYTES });
    };
    let bytes = given.trim().trim_end_matches('B').trim().parse().ok();
    bytes
        .filter(|bytes| (1..=65_535).contains(bytes))
        .ok_or_else(|| invalid("size", given, "1 to 65535 bytes"))
}

/// The SNRs of a table or picture, in dB.
fn snrs(args: &ChannelArgs, step_default: f64) -> Result<Vec<f64>, Failure> {
    let given = args.snr.as_deref().unwrap_or("0..30");
    let Some((first, last)) = given.split_once("..") else {
        return Ok(vec![snr(given, given)?]);
    };
    let (first, last) = (snr(first, given)?, snr(last, given)?);
    if last < first {
        return Err(wrong_snr(given));
    }
    let step = args.step.unwrap_or(step_default);
    let rows = if step > 0.0 && step.is_finite() {
        ((last - first) / step + 1e-9).floor()
    } else {
        f64::INFINITY
    };
    if rows >= SNRS_MAX as f64 {
        let allowed = format!("a positive one that gives at most {SNRS_MAX} rows");
        return Err(invalid("step", &step.to_string(), &allowed));
    }
    Ok((0..=rows as usize).map(|row| first + row as f64 * step).collect())
}

fn snr(text: &str, given: &str) -> Result<f64, Failure> {
    let number = text.trim().trim_end_matches("dB").trim().parse::<f64>().ok();
    number.filter(|value| value.is_finite()).ok_or_else(|| wrong_snr(given))
}

fn wrong_snr(given: &str) -> Failure {
    invalid(
        "snr",
        given,
        "one value such as 20, or a range such as 5..30, -100 to 200 dB",
    )
}

fn mode(args: &ChannelArgs) -> Result<CodeMode, Failure> {
    choice(
        "mode",
        &args.mode,
        &[("ideal", CodeMode::Ideal), ("gf256", CodeMode::Gf256)],
    )
}

/// The channel of one combination; any rate but 1 brings a code.
fn spec(args: &ChannelArgs, antennas: &str, rate: f64, snr_db: f64) -> Result<ChannelSpec, Failure> {
    let mode = mode(args)?;
    let spec = ChannelSpec {
        model: Model::GilbertElliott {
            modulation: choice("modulation", args.modulation(), MODULATIONS)?,
            antennas: choice("antennas", antennas, ANTENNAS)?,
            snr_good_db: snr_db,
            snr_bad_db: snr_db - args.bad_below(),
            burst_good_bits: args.burst_good(),
            burst_bad_bits: args.burst_bad(),
        },
        code: CodeSpec::NONE,
    };
    let spec = coded(&spec, rate, mode);
    spec.validate().map_err(|error| refused(&error))?;
    Ok(spec)
}

fn refused(error: &fadelab_phy::channel::SpecError) -> Failure {
    let option = match error.field {
        "snr_good_db" => "snr",
        "snr_bad_db" => "bad-below",
        "burst_good_bits" => "burst-good",
        "burst_bad_bits" => "burst-bad",
        _ => "code-rate",
    };
    invalid(option, &error.given.to_string(), error.allowed)
}

impl ChannelArgs {
    fn modulation(&self) -> &str {
        self.modulation.as_deref().unwrap_or("bpsk")
    }

    fn bad_below(&self) -> f64 {
        self.bad_below.unwrap_or(10.0)
    }

    fn burst_good(&self) -> f64 {
        self.burst_good.unwrap_or(800.0)
    }

    fn burst_bad(&self) -> f64 {
        self.burst_bad.unwrap_or(8.0)
    }
}

/// A kind of packet in words.
fn kind_name(kind: PacketKind) -> &'static str {
    match kind {
        PacketKind::Data => "data packet",
        PacketKind::Ack => "ACK",
    }
}

/// An SNR without the dust of adding steps.
fn rounded(snr_db: f64) -> f64 {
    (snr_db * 1e6).round() / 1e6
}

/// A probability with three digits where it can be read, and its order of magnitude where it cannot.
fn probability(value: f64) -> String {
    if value < 1e-9 {
        "< 1e-9".to_owned()
    } else if value < 1e-3 {
        format!("{value:.2e}")
    } else {
        format!("{value:.4}")
    }
}
