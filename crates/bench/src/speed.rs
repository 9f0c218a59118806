//! Delivered bottleneck packets per CPU second, beside ns-2 and with a fading channel.

use crate::cases::{BESIDE_NS2, Case};
use crate::measure::{Pairs, median};
use crate::row::{Bound, Row, Section};
use crate::simulators::{Bench, Fadelab, Ns2, Simulator, instructions_per_pkt, steady_pkts};

/// CPU seconds that each simulator gets in a round at least: runs of ours are over in a third of one, and on a machine
/// that others share a rate may be half of what it was ten seconds before.
const ROUND_S_MIN: f64 = 2.0;

/// Most turns of a simulator in a round.
const TURNS_MAX: usize = 19;

/// Rates of two simulators round by round, in packets per CPU second.
struct Rounds(Vec<[f64; 2]>);

impl Rounds {
    /// Lets them take turns. The faster one takes more of them, so that both meet the same machine for as long, and of
    /// both all the time counts.
    fn of(bench: &Bench, simulators: [&dyn Simulator; 2], seconds: [u32; 2]) -> Result<Self, String> {
        let [one, other] = simulators;
        let pkts = [steady_pkts(bench, one, seconds)?, steady_pkts(bench, other, seconds)?];
        let mut rounds = Vec::new();
        for _ in 0..bench.rounds {
            let mut spent_s = [
                vec![one.steady_s(bench, seconds)?],
                vec![other.steady_s(bench, seconds)?],
            ];
            let length_s = spent_s[0][0].max(spent_s[1][0]).max(ROUND_S_MIN);
            let turns = [0, 1].map(|which| {
                let turns = (length_s / spent_s[which][0].max(1e-3)).round() as usize;
                turns.clamp(1, TURNS_MAX)
            });
            for turn in 1..turns[0].max(turns[1]) {
                for (which, simulator) in simulators.into_iter().enumerate() {
                    if turn < turns[which] {
                        spent_s[which].push(simulator.steady_s(bench, seconds)?);
                    }
                }
            }
            rounds.push([0, 1].map(|which| {
                let spent_s = &spent_s[which];
                pkts[which] * spent_s.len() as f64 / spent_s.iter().sum::<f64>()
            }));
        }
        Ok(Self(rounds))
    }

    /// The median rate of each.
    fn rates(&self) -> [f64; 2] {
        [0, 1].map(|which| median(self.0.iter().map(|rates| rates[which]).collect()))
    }

    /// How many times as fast the second is: the median over rounds, of what was measured side by side.
    fn ratio(&self) -> f64 {
        median(self.0.iter().map(|[one, other]| other / one).collect())
    }
}

/// The table of [`BESIDE_NS2`].
///
/// # Errors
/// In words, where a run fails.
pub fn beside_ns2(bench: &Bench) -> Result<Section, String> {
    let mut rows = Vec::new();
    for case in &BESIDE_NS2 {
        for row in compare(bench, case)? {
            eprintln!("bench: {row}");
            rows.push(row);
        }
    }
    Ok(Section {
        name: "speed",
        about: format!(
            "Delivered bottleneck packets per CPU second as a multiple of ns-2's, one core, median of {} rounds",
            bench.rounds
        ),
        rows,
    })
}

fn compare(bench: &Bench, case: &Case) -> Result<[Row; 2], String> {
    let (ns2, fadelab) = (Ns2(case), Fadelab::of(case));
    let rounds = Rounds::of(bench, [&ns2, &fadelab], case.seconds)?;
    let [theirs, ours] = rounds.rates();
    let ratio = Row {
        case: case.name.to_owned(),
        quantity: "x ns-2",
        value: rounds.ratio(),
        digits: 2,
        bound: case.bound,
        basis: format!("{:.2} M against {:.2} M packets/s", ours / 1e6, theirs / 1e6),
    };
    let counted = Row {
        case: case.name.to_owned(),
        quantity: "instructions per packet",
        value: instructions_per_pkt(bench, &fadelab, case.seconds_counted)?,
        digits: 0,
        bound: Bound::None,
        basis: String::new(),
    };
    Ok([ratio, counted])
}

/// Losses that leave the load as it is: one packet in a hundred thousand.
const RANDOM: [&str; 3] = [
    "channel.model=random",
    "channel.loss_data=0.00001",
    "channel.loss_ack=0.00001",
];

/// The channel and the codes of the scenario satellite-fading, at an SNR at which they lose about as many. The rate is
/// higher by the parity, 1156 bytes for 1040, so that as many packets are delivered as without.
const GILBERT_ELLIOTT: [&str; 8] = [
    "channel.model=gilbert-elliott",
    "channel.antennas=2x2",
    "channel.snr=5.8 dB",
    "channel.burst_good=800 bit",
    "channel.burst_bad=8 bit",
    "channel.code.data=0.9",
    "channel.code.ack=0.5",
    "topology.bottleneck.rate=60.023 Mbit/s",
];

/// What a channel adds to the cost of a packet, under the same law on the same link with the same load.
///
/// # Errors
/// In words, where a run fails.
pub fn fading(bench: &Bench) -> Result<Section, String> {
    let (sack, vcp) = (&BESIDE_NS2[0], &BESIDE_NS2[4]);
    let mut rows = Vec::new();
    for (case, name, channel) in [
        (sack, "10 SACK flows, random loss", &RANDOM[..]),
        (sack, "10 SACK flows, Gilbert-Elliott and codes", &GILBERT_ELLIOTT),
        (vcp, "10 VCP flows, Gilbert-Elliott and codes", &GILBERT_ELLIOTT),
    ] {
        for row in beside_clean(bench, case, name, channel)? {
            eprintln!("bench: {row}");
            rows.push(row);
        }
    }
    Ok(Section {
        name: "fading",
        about: "What a channel on the bottleneck adds to the cost of a delivered packet".to_owned(),
        rows,
    })
}

fn beside_clean(bench: &Bench, case: &Case, name: &str, channel: &[&str]) -> Result<[Row; 2], String> {
    let clean = Fadelab::of(case);
    let mut fading = Fadelab::of(case);
    for setting in channel {
        let key = setting.split('=').next().unwrap_or_default();
        fading.settings.retain(|other| !other.starts_with(&format!("{key}=")));
        fading.settings.push((*setting).to_owned());
    }
    let fading_pkts = steady_pkts(bench, &fading, case.seconds)?;
    let clean_pkts = steady_pkts(bench, &clean, case.seconds)?;
    let pairs = Pairs::of(
        bench.rounds,
        || fading.steady_s(bench, case.seconds),
        || clean.steady_s(bench, case.seconds),
    )?;
    let [fading_s, clean_s] = pairs.medians();
    let (fading_rate, clean_rate) = (fading_pkts / fading_s, clean_pkts / clean_s);
    let with = instructions_per_pkt(bench, &fading, case.seconds_counted)?;
    let without = instructions_per_pkt(bench, &clean, case.seconds_counted)?;
    let row = |quantity, value, basis| Row {
        case: name.to_owned(),
        quantity,
        value,
        digits: 3,
        bound: Bound::AtMost(1.1),
        basis,
    };
    let in_a_second = format!("{:.2} M against {:.2} M packets/s", fading_rate / 1e6, clean_rate / 1e6);
    Ok([
        row(
            "x the time of a clean link",
            pairs.ratio() * clean_pkts / fading_pkts,
            in_a_second,
        ),
        row(
            "x the instructions",
            with / without,
            format!("{with:.0} against {without:.0} per packet"),
        ),
    ])
}
