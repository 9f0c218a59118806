//! `[channel.arq]`, `[channel.jitter]` and `[channel.reorder]`: what a link does behind its transmitter.

use fadelab_sim::spec::{Arq, DelayLaw, Jitter, LinkLayer, Reorder};

use crate::document::{Raw, quoted};
use crate::error::Refusal;
use crate::kind::Kind;
use crate::reader::Reader;
use crate::unit::{Duration, Number, Packets, Scalar, Switch};

/// Names of the tables below a channel's.
pub const TABLES: [&str; 3] = ["arq", "jitter", "reorder"];

/// Names of presets of ARQ.
pub const ARQ_PRESETS: &[&str] = &["none", "lte-harq", "lte-rlc-am", "wifi"];
/// Names of presets of random delay.
pub const JITTER_PRESETS: &[&str] = &["none", "lte-uplink", "nr-tdd"];
/// Names of presets of reordering.
pub const REORDER_PRESETS: &[&str] = &["none", "internet"];

const MS: u64 = 1_000_000;

/// How often a packet is sent at most; `None`: no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tries(Option<u32>);

impl Scalar for Tries {
    const KIND: Kind = Kind::Or(&Kind::Whole(1, 1_000), "unlimited");

    fn read(raw: &Raw) -> Result<Self, String> {
        let allowed = "a number of tries from 1 to 1000 is needed, or \"unlimited\"";
        match raw {
            Raw::Text(text) if text == "unlimited" => Ok(Self(None)),
            Raw::Number(text) => match text.parse() {
                Ok(tries @ 1..=1_000) => Ok(Self(Some(tries))),
                _ => Err(allowed.to_owned()),
            },
            _ => Err(allowed.to_owned()),
        }
    }

    fn shown(&self) -> String {
        self.0.map_or_else(|| quoted("unlimited"), |tries| tries.to_string())
    }
}

/// A random delay as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Delay(DelayLaw);

const DELAY_ALLOWED: &str = "a random delay is written as \"uniform 0 ms..8 ms\", \"normal 5 ms +- 2 ms\" (mean and \
                             standard deviation, never below 0) or \"exponential 3 ms\" (its mean), up to 1000 s";

impl Scalar for Delay {
    const KIND: Kind = Kind::Delay;

    fn read(raw: &Raw) -> Result<Self, String> {
        let Raw::Text(text) = raw else {
            return Err(DELAY_ALLOWED.to_owned());
        };
        let (kind, values) = text.trim().split_once(' ').ok_or(DELAY_ALLOWED)?;
        let duration = |text: &str| match Duration::read(&Raw::Text(text.trim().to_owned())) {
            Ok(Duration(ns)) if ns <= 1_000_000 * MS => Ok(ns),
            Ok(_) => Err(DELAY_ALLOWED.to_owned()),
            Err(why) => Err(format!("{why}; {DELAY_ALLOWED}")),
        };
        let pair = |separator: &str| {
            let (first, second) = values.split_once(separator).ok_or(DELAY_ALLOWED)?;
            Ok::<_, String>((duration(first)?, duration(second)?))
        };
        Ok(Self(match kind {
            "uniform" => {
                let (min_ns, max_ns) = pair("..")?;
                if min_ns > max_ns {
                    return Err("a uniform delay needs an upper end that is not below its lower end".to_owned());
                }
                DelayLaw::Uniform { min_ns, max_ns }
            }
            "normal" => {
                let (mean_ns, sd_ns) = pair("+-")?;
                DelayLaw::Normal { mean_ns, sd_ns }
            }
            "exponential" => DelayLaw::Exponential {
                mean_ns: duration(values)?,
            },
            _ => return Err(DELAY_ALLOWED.to_owned()),
        }))
    }

    fn shown(&self) -> String {
        let plain = |ns: u64| Duration(ns).shown().trim_matches('"').to_owned();
        quoted(&match self.0 {
            DelayLaw::Uniform { min_ns, max_ns } => format!("uniform {}..{}", plain(min_ns), plain(max_ns)),
            DelayLaw::Normal { mean_ns, sd_ns } => format!("normal {} +- {}", plain(mean_ns), plain(sd_ns)),
            DelayLaw::Exponential { mean_ns } => format!("exponential {}", plain(mean_ns)),
        })
    }
}

/// Reads the tables below that of a channel, `table`. `loses` says whether the channel loses anything.
pub(crate) fn read(reader: &mut Reader<'_>, table: &str, loses: bool) -> Result<LinkLayer, Refusal> {
    let at = |name: &str| format!("{table}.{name}");
    let mut layer = LinkLayer::default();
    if reader.node(&at("arq")).is_some() {
        layer.arq = arq(reader, &at("arq"))?;
        if layer.arq.is_some() && !loses {
            let warning = format!("[{table}.arq] has nothing to repeat: no channel loses packets on these links");
            reader.warnings.push(warning);
        }
    }
    if reader.node(&at("jitter")).is_some() {
        layer.jitter = Some(jitter(reader, &at("jitter"))?);
    }
    if reader.node(&at("reorder")).is_some() {
        layer.reorder = Some(reorder(reader, &at("reorder"))?);
    }
    Ok(layer)
}

/// A value that a preset gives, or that must be given.
fn value<T: Scalar>(reader: &mut Reader<'_>, path: &str, preset: Option<T>, example: &str) -> Result<T, Refusal> {
    match preset {
        Some(default) => reader.or(path, default),
        None => reader.need(path, example),
    }
}

/// One of the words of a list, as the list has it.
fn preset(reader: &mut Reader<'_>, table: &str, names: &[&'static str]) -> Result<&'static str, Refusal> {
    let choices: Vec<_> = names.iter().map(|name| (*name, *name)).collect();
    reader.choice(&format!("{table}.preset"), Some("none"), &choices)
}

fn arq(reader: &mut Reader<'_>, table: &str) -> Result<Option<Arq>, Refusal> {
    let (tries, retry) = match preset(reader, table, ARQ_PRESETS)? {
        // TS 36.331 section 9.2.2: maxHARQ-Tx n5; TS 36.321 section 5.4.2 and TS 36.213 section 8: the next try of an
        // FDD process begins 8 subframes of 1 ms after the last began.
        "lte-harq" => (Some(5), Some(7 * MS)),
        // TS 36.331 section 9.2.1: maxRetxThreshold t4, t-PollRetransmit ms45.
        "lte-rlc-am" => (Some(5), Some(45 * MS)),
        // IEEE 802.11-2012 annex C: dot11ShortRetryLimit 7; a try that is not acknowledged is repeated at once.
        "wifi" => (Some(7), Some(0)),
        _ => (None, None),
    };
    let example = "give how often a packet is sent at most, for example 5, or \"unlimited\"";
    let tries_max = value(
        reader,
        &format!("{table}.tries"),
        tries.map(|tries| Tries(Some(tries))),
        example,
    )?
    .0;
    let example = "give the time from the end of a lost try to the next one, for example \"8 ms\"";
    let retry_ns = value(reader, &format!("{table}.retry"), retry.map(Duration), example)?.0;
    let in_order = reader.or(&format!("{table}.in_order"), true)?;
    Ok((tries_max != Some(1)).then_some(Arq {
        tries_max,
        retry_ns,
        in_order,
    }))
}

fn jitter(reader: &mut Reader<'_>, table: &str) -> Result<Jitter, Refusal> {
    let delay = match preset(reader, table, JITTER_PRESETS)? {
        // TR 36.912 annex B.2: a scheduling request may be sent every 10 ms.
        "lte-uplink" => Some(10 * MS),
        // TS 38.331, dl-UL-TransmissionPeriodicity ms5: one uplink phase in a pattern of 5 ms.
        "nr-tdd" => Some(5 * MS),
        _ => None,
    };
    let delay = delay.map(|max_ns| Delay(DelayLaw::Uniform { min_ns: 0, max_ns }));
    let example = "give a random delay, for example \"uniform 0 ms..8 ms\" or \"normal 5 ms +- 2 ms\"";
    Ok(Jitter {
        delay: value(reader, &format!("{table}.delay"), delay, example)?.0,
        in_order: reader.or(&format!("{table}.in_order"), true)?,
    })
}

fn reorder(reader: &mut Reader<'_>, table: &str) -> Result<Reorder, Refusal> {
    let (probability, delay, gap) = match preset(reader, table, REORDER_PRESETS)? {
        // Paxson, "End-to-end Internet packet dynamics", SIGCOMM 1997, section 3: 0.3 % of the data packets of the
        // second measurement came out of order; a wait of 20 ms would have told most of them from losses.
        "internet" => (Some(0.003), Some(20 * MS), Some(Packets(1))),
        _ => (None, None, None),
    };
    let path = format!("{table}.probability");
    let example = "give the probability that a packet is held back, for example 0.01";
    let probability = value(reader, &path, probability.map(Number), example)?.0;
    if !(0.0..=1.0).contains(&probability) {
        return Err(reader.refuse(&path, "allowed is a probability, 0 to 1"));
    }
    let example = "give how long a packet is held back, for example \"10 ms\"";
    let delay_ns = value(reader, &format!("{table}.delay"), delay.map(Duration), example)?.0;
    let path = format!("{table}.gap");
    let gap = reader.or(&path, Switch(gap))?.0;
    let gap_pkts = gap.map(|Packets(pkts)| u32::try_from(pkts).unwrap_or(u32::MAX));
    if gap_pkts == Some(0) {
        return Err(reader.refuse(&path, "at least \"1 pkt\" overtakes it, or false"));
    }
    Ok(Reorder {
        probability,
        delay_ns,
        gap_pkts,
    })
}
