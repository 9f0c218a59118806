//! Delivered bottleneck packets per CPU second, beside ns-2 and with a fading channel.

use crate::cases::{AND_ONE_TRANSFER, BESIDE_NS2, Case};
use crate::measure::median;
use crate::row::{Bound, Row, Section};
use crate::simulators::{BESIDE, Bench, Fadelab, Ns2, Simulator, instructions_per_pkt, steady_pkts};
use crate::slices::{Spent, beside};

/// Rates of two simulators round by round, in packets per CPU second.
struct Rounds(Vec<[f64; 2]>);

impl Rounds {
    /// In each round they share the machine in slices, and all the time of both counts.
    fn of(bench: &Bench, simulators: [&dyn Simulator; 2], seconds: [u32; 2]) -> Result<Self, String> {
        let [lead, other] = simulators;
        let pkts = [steady_pkts(bench, lead, seconds)?, steady_pkts(bench, other, seconds)?];
        let turns = [lead.turn(bench, seconds), other.turn(bench, seconds)];
        let rate = |which: usize, spent: &[Vec<Spent>]| {
            let spent_s = spent.iter().map(|turn| simulators[which].steady_s(turn, seconds));
            let spent_s: f64 = spent_s.sum::<Result<_, String>>()?;
            Ok::<_, String>(pkts[which] * spent.len() as f64 / spent_s)
        };
        let round = |_| {
            let [lead, other] = beside([&turns[0], &turns[1]])?;
            Ok([rate(0, &lead)?, rate(1, &other)?])
        };
        (0..bench.rounds).map(round).collect::<Result<_, String>>().map(Self)
    }

    /// The median rate of each.
    fn rates(&self) -> [f64; 2] {
        [0, 1].map(|which| median(self.0.iter().map(|rates| rates[which]).collect()))
    }

    /// How many times as fast the second is in each round, from the least to the most.
    fn ratios(&self) -> Vec<f64> {
        let mut ratios: Vec<f64> = self.0.iter().map(|[lead, other]| other / lead).collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    }

    /// The least and the most of them.
    fn spread(&self, digits: usize) -> String {
        let ratios = self.ratios();
        format!("{:.digits$} to {:.digits$}", ratios[0], ratios[ratios.len() - 1])
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
    let row = one_transfer(bench)?;
    eprintln!("bench: {row}");
    rows.push(row);
    Ok(Section {
        name: "speed",
        about: format!(
            "Delivered bottleneck packets per CPU second as a multiple of ns-2's, one core, median of {} rounds",
            bench.rounds
        ),
        rows,
    })
}

/// A case in both simulators: how many times as fast ours is, and the instructions of a packet.
///
/// # Errors
/// In words, where a run fails.
pub fn compare(bench: &Bench, case: &Case) -> Result<[Row; 2], String> {
    let (ns2, fadelab) = (Ns2(case), Fadelab::of(case));
    let rounds = Rounds::of(bench, [&ns2, &fadelab], case.seconds)?;
    let [theirs, ours] = rounds.rates();
    let ratio = Row {
        case: case.name.to_owned(),
        quantity: "x ns-2",
        value: median(rounds.ratios()),
        digits: 2,
        bound: case.bound,
        basis: format!(
            "{}; {:.2} M against {:.2} M packets/s",
            rounds.spread(2),
            ours / 1e6,
            theirs / 1e6
        ),
    };
    let counted = Row {
        case: case.name.to_owned(),
        quantity: "instructions per packet",
        value: instructions_per_pkt(bench, &fadelab, case.seconds_counted)?,
        digits: 0,
        bound: case.bound_counted,
        basis: String::new(),
    };
    Ok([ratio, counted])
}

/// What one transfer costs all flows beside it.
fn one_transfer(bench: &Bench) -> Result<Row, String> {
    let case = &BESIDE_NS2[0];
    let (alone, mut beside) = (Fadelab::of(case), Fadelab::of(case));
    beside.settings.extend(AND_ONE_TRANSFER.map(str::to_owned));
    let count = |fadelab| instructions_per_pkt(bench, fadelab, case.seconds_counted);
    let (with, without) = (count(&beside)?, count(&alone)?);
    Ok(Row {
        case: format!("{}, and one transfer of 1 kB", case.name),
        quantity: "x the instructions",
        value: with / without,
        digits: 3,
        bound: Bound::AtMost(1.05),
        basis: format!("{with:.0} against {without:.0} per packet"),
    })
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

/// The two lengths of a run, longer than beside ns-2: a tenth is to be told here, not a multiple.
const FADING_S: [u32; 2] = [100, 4900];

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
    fading.folder = BESIDE;
    let rounds = Rounds::of(bench, [&fading, &clean], FADING_S)?;
    let [fading_rate, clean_rate] = rounds.rates();
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
    let in_a_second = format!(
        "{}; {:.2} M against {:.2} M packets/s",
        rounds.spread(3),
        fading_rate / 1e6,
        clean_rate / 1e6
    );
    Ok([
        row("x the time of a clean link", median(rounds.ratios()), in_a_second),
        row(
            "x the instructions",
            with / without,
            format!("{with:.0} against {without:.0} per packet"),
        ),
    ])
}
