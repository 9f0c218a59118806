//! `[channel.arq]`, `[channel.jitter]` and `[channel.reorder]`: what a link does behind its transmitter.

use fadelab_path::layer::{Arq, DelayLaw, Jitter, LinkLayer, Reorder};

use crate::document::{Raw, quoted};
use crate::error::Refusal;
use crate::key::{
    Absent::{self, Is},
    Declared, keys,
};
use crate::kind::Kind;
use crate::reader::Reader;
use crate::unit::{Duration, Number, Packets, Scalar, Switch};
use crate::value::words;

/// Names of the tables below a channel's.
pub const TABLES: [&str; 3] = ["arq", "jitter", "reorder"];

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

/// Values of a link with ARQ that a preset gives.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ArqPreset {
    tries: Option<Tries>,
    retry: Option<Duration>,
}

impl ArqPreset {
    const fn of(tries: u32, retry_ms: u64) -> Self {
        Self {
            tries: Some(Tries(Some(tries))),
            retry: Some(Duration(retry_ms * MS)),
        }
    }
}

words!(ArqPreset:
    "none" => Self { tries: None, retry: None },
    // TS 36.331 section 9.2.2: maxHARQ-Tx n5; TS 36.321 section 5.4.2 and TS 36.213 section 8: the next try of an FDD
    // process begins 8 subframes of 1 ms after the last began.
    "lte-harq" => Self::of(5, 7),
    // TS 36.331 section 9.2.1: maxRetxThreshold t4, t-PollRetransmit ms45.
    "lte-rlc-am" => Self::of(5, 45),
    // IEEE 802.11-2012 annex C: dot11ShortRetryLimit 7; a try that is not acknowledged is repeated at once.
    "wifi" => Self::of(7, 0),
);

const PRESET_VALUE: Absent = Absent::Words("of the preset, else needed");

keys! {
    ARQ;
    ARQ_PRESET: ArqPreset = Declared::new(
        "preset",
        Is("\"none\""),
        "HARQ of LTE (up to 5 tries, 7 ms apart), its RLC in acknowledged mode (5 tries, 45 ms), or Wi-Fi (7 tries, at \
         once); each value may be overridden",
    );
    TRIES: Tries = Declared::new(
        "tries",
        PRESET_VALUE,
        "how often a packet is sent before the link gives it up, the first time included; 1 repeats nothing",
    )
    .example("give how often a packet is sent at most, for example 5, or \"unlimited\"");
    RETRY: Duration = Declared::new(
        "retry",
        PRESET_VALUE,
        "from the end of a lost try until the packet may be sent again, before new packets",
    )
    .example("give the time from the end of a lost try to the next one, for example \"8 ms\"");
    ARQ_IN_ORDER: bool = Declared::new(
        "in_order",
        Is("true"),
        "whether the far end holds packets back until those before them have come or are given up",
    );
}

/// The random delay that a preset gives.
#[derive(Clone, Copy, Debug, PartialEq)]
struct JitterPreset(Option<Delay>);

impl JitterPreset {
    const fn up_to(max_ms: u64) -> Self {
        Self(Some(Delay(DelayLaw::Uniform {
            min_ns: 0,
            max_ns: max_ms * MS,
        })))
    }
}

words!(JitterPreset:
    "none" => Self(None),
    // TR 36.912 annex B.2: a scheduling request may be sent every 10 ms.
    "lte-uplink" => Self::up_to(10),
    // TS 38.331, dl-UL-TransmissionPeriodicity ms5: one uplink phase in a pattern of 5 ms.
    "nr-tdd" => Self::up_to(5),
);

keys! {
    JITTER;
    JITTER_PRESET: JitterPreset = Declared::new(
        "preset",
        Is("\"none\""),
        "waiting for a chance to ask for the uplink of LTE (uniform, 10 ms), or for the uplink phase of a TDD pattern \
         in 5G (uniform, 5 ms)",
    );
    JITTER_DELAY: Delay =
        Declared::new("delay", PRESET_VALUE, "on top of the propagation delay, drawn for each packet")
        .example("give a random delay, for example \"uniform 0 ms..8 ms\" or \"normal 5 ms +- 2 ms\"");
    JITTER_IN_ORDER: bool = Declared::new(
        "in_order",
        Is("true"),
        "whether a packet waits for those before it; otherwise it may overtake them",
    );
}

/// Values of reordering that a preset gives.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ReorderPreset {
    probability: Option<Number>,
    delay: Option<Duration>,
    gap: Switch<Packets>,
}

words!(ReorderPreset:
    "none" => Self { probability: None, delay: None, gap: Switch(None) },
    // Paxson, "End-to-end Internet packet dynamics", SIGCOMM 1997, section 3: 0.3 % of the data packets of the second
    // measurement came out of order; a wait of 20 ms would have told most of them from losses.
    "internet" => Self {
        probability: Some(Number(0.003)),
        delay: Some(Duration(20 * MS)),
        gap: Switch(Some(Packets(1))),
    },
);

keys! {
    REORDER;
    REORDER_PRESET: ReorderPreset = Declared::new(
        "preset",
        Is("\"none\""),
        "the Internet as Paxson measured it in 1995: 0.3 % of the packets are overtaken by one, within 20 ms",
    );
    PROBABILITY: Number = Declared::new("probability", PRESET_VALUE, "that a packet is held back")
        .of_kind(Kind::Number(0.0, 1.0))
        .example("give the probability that a packet is held back, for example 0.01")
        .checked(|probability| match probability.0 {
            0.0..=1.0 => Ok(probability),
            _ => Err("allowed is a probability, 0 to 1".to_owned()),
        });
    REORDER_DELAY: Duration = Declared::new("delay", PRESET_VALUE, "how long it is held back")
        .example("give how long a packet is held back, for example \"10 ms\"");
    GAP: Switch<Packets> =
        Declared::new("gap", Is("false"), "it goes on earlier once so many packets have overtaken it")
        .checked(|gap| match gap.0 {
            Some(Packets(0)) => Err("at least \"1 pkt\" overtakes it, or false".to_owned()),
            _ => Ok(gap),
        });
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

fn arq(reader: &mut Reader<'_>, table: &str) -> Result<Option<Arq>, Refusal> {
    let preset = reader.take(table, &ARQ_PRESET)?;
    let tries_max = reader.take_from(table, &TRIES, preset.tries)?.0;
    let retry_ns = reader.take_from(table, &RETRY, preset.retry)?.0;
    let in_order = reader.take(table, &ARQ_IN_ORDER)?;
    Ok((tries_max != Some(1)).then_some(Arq {
        tries_max,
        retry_ns,
        in_order,
    }))
}

fn jitter(reader: &mut Reader<'_>, table: &str) -> Result<Jitter, Refusal> {
    let preset = reader.take(table, &JITTER_PRESET)?;
    Ok(Jitter {
        delay: reader.take_from(table, &JITTER_DELAY, preset.0)?.0,
        in_order: reader.take(table, &JITTER_IN_ORDER)?,
    })
}

fn reorder(reader: &mut Reader<'_>, table: &str) -> Result<Reorder, Refusal> {
    let preset = reader.take(table, &REORDER_PRESET)?;
    let probability = reader.take_from(table, &PROBABILITY, preset.probability)?.0;
    let delay_ns = reader.take_from(table, &REORDER_DELAY, preset.delay)?.0;
    let gap = reader.take_or(table, &GAP, preset.gap)?.0;
    Ok(Reorder {
        probability,
        delay_ns,
        gap_pkts: gap.map(|Packets(pkts)| u32::try_from(pkts).unwrap_or(u32::MAX)),
    })
}
