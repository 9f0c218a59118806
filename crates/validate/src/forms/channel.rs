//! What the fading channel loses, end to end, against matrices written down here once more.

use fadelab_results::Run;
use fadelab_results::measure::Metric;

use crate::lab::{Lab, link_of};
use crate::section::{Row, Section, Tolerance};

const INTRO: &str = "\
A constant rate over a fading link, seen by the link's counters. The references are computed in
`crates/validate/src/forms/channel.rs` from the formulas of the papers, apart from the channel code of the simulator.

- *Gilbert-Elliott over bits* (vcp-ton-2010, section II-B): mean stays of 800 bits in the good state and 8 in the bad,
  with the BPSK bit error of L-branch Rayleigh diversity in each, ((1 - mu)/2)^L sum over k < L of C(L - 1 + k, k) ((1 +
  mu)/2)^k, mu = sqrt(snr / (1 + snr)); 10 dB less in the bad state, half the SNR per branch with two transmit antennas.
  Without a code a packet is lost with one wrong bit. With one it is lost when more bytes are wrong than it corrects,
  counted through the chain byte by byte.
- *Good and bad times of many packets* (New Jersey, section 2.1): exponential stays of 400 and 40 ms with a bit error
  rate in each. A packet of duration T is right with probability pi exp((Q - R) T) 1, Q the rates of change and R the
  errors per second on the diagonal. The next packet 10 ms later is lost too with the probability that follows from the
  same matrices.
";

type Matrix = [[f64; 2]; 2];

/// The section.
///
/// # Errors
/// A run that fails.
pub fn run(lab: &Lab) -> Result<Section, String> {
    let mut rows = Vec::new();
    let reason = "500000 packets a seed see 1 % of 0.01, give or take a hundredth; five seeds halve that";
    let no_code = |antennas: &str, snr_db: f64| {
        vec![
            format!("channel.antennas={antennas}"),
            format!("channel.snr={snr_db} dB"),
        ]
    };
    let mut coded = no_code("1x1", 20.0);
    coded.extend(["channel.code.data=0.93".to_owned(), "channel.code.ack=0.93".to_owned()]);
    for (case, sets, reference, part) in [
        (
            "1x1, 40 dB, no code",
            no_code("1x1", 40.0),
            uncoded(diversity(1, 40.0, 1.0)),
            0.02,
        ),
        (
            "2x2, 20 dB, no code",
            no_code("2x2", 20.0),
            uncoded(diversity(4, 20.0, 2.0)),
            0.03,
        ),
        (
            "1x1, 20 dB, code rate 0.93",
            coded,
            coded_loss(diversity(1, 20.0, 1.0), 1118, 39),
            0.1,
        ),
    ] {
        let measured = lab.simulate("fading", &sets)?;
        let ours = measured.metric("path", Metric::AirLoss)?;
        let tolerance = Tolerance::part(part, reason);
        rows.push(Row::new(case, "lost packets", "1", reference, ours, tolerance).by(&measured.command));
    }
    rows.extend(packet_scale(lab)?);
    Ok(Section {
        name: "channel",
        title: "Fading".to_owned(),
        intro: INTRO.to_owned(),
        rows,
        pictures: Vec::new(),
    })
}

/// Bit error of the good and of the bad state, which is 10 dB lower, with `branches` of diversity that share the SNR of
/// `transmitters`.
fn diversity(branches: u32, snr_db: f64, transmitters: f64) -> [f64; 2] {
    [snr_db, snr_db - 10.0].map(|db| {
        let snr = libm::pow(10.0, db / 10.0) / transmitters;
        let mu = libm::sqrt(snr / (1.0 + snr));
        // (1 - mu) / 2 without the cancellation.
        let wrong = 0.5 / ((1.0 + mu) * (1.0 + snr));
        let (mut binomial, mut sum) = (1.0, 0.0);
        for k in 0..branches {
            sum += binomial * libm::pow(f64::midpoint(1.0, mu), f64::from(k));
            binomial *= f64::from(branches + k) / f64::from(k + 1);
        }
        libm::pow(wrong, f64::from(branches)) * sum
    })
}

/// Changes of state from bit to bit with mean stays of 800 and 8 bits, and the long-term shares.
const BIT_CHANGES: Matrix = [[1.0 - 1.0 / 800.0, 1.0 / 800.0], [1.0 / 8.0, 1.0 - 1.0 / 8.0]];
const BIT_SHARES: [f64; 2] = [800.0 / 808.0, 8.0 / 808.0];

fn times(a: &Matrix, b: &Matrix) -> Matrix {
    let entry = |i: usize, j: usize| a[i][0] * b[0][j] + a[i][1] * b[1][j];
    [[entry(0, 0), entry(0, 1)], [entry(1, 0), entry(1, 1)]]
}

fn through(shares: [f64; 2], by: &Matrix) -> [f64; 2] {
    [0, 1].map(|j| shares[0] * by[0][j] + shares[1] * by[1][j])
}

/// A bit that is right, then a change of state.
fn right_bit(errors: [f64; 2]) -> Matrix {
    let row = |i: usize| [0, 1].map(|j| (1.0 - errors[i]) * BIT_CHANGES[i][j]);
    [row(0), row(1)]
}

/// Loss of a packet of 1040 bytes that one wrong bit loses.
fn uncoded(errors: [f64; 2]) -> f64 {
    let bit = right_bit(errors);
    let end = (0..1040 * 8).fold(BIT_SHARES, |shares, _| through(shares, &bit));
    1.0 - end[0] - end[1]
}

/// Loss of a packet of `bytes` on the air of which `correctable` may be wrong.
fn coded_loss(errors: [f64; 2], bytes: usize, correctable: usize) -> f64 {
    let power = |bit: &Matrix| (1..8).fold(*bit, |product, _| times(&product, bit));
    let (right, any) = (power(&right_bit(errors)), power(&BIT_CHANGES));
    let wrong = [0, 1].map(|i| [0, 1].map(|j| any[i][j] - right[i][j]));
    // The shares of the states by the number of wrong bytes so far; beyond what can be corrected they are dropped.
    let mut counts = vec![[0.0; 2]; correctable + 1];
    counts[0] = BIT_SHARES;
    for _ in 0..bytes {
        for k in (0..=correctable).rev() {
            let stay = through(counts[k], &right);
            let more = if k > 0 {
                through(counts[k - 1], &wrong)
            } else {
                [0.0; 2]
            };
            counts[k] = [stay[0] + more[0], stay[1] + more[1]];
        }
    }
    1.0 - counts.iter().flatten().sum::<f64>()
}

/// The scenario of long good and bad times: stays in s, bit errors, bits per second, bits and distance of packets.
const STAYS_S: [f64; 2] = [0.4, 0.04];
const BIT_ERRORS: [f64; 2] = [1e-6, 3e-4];
const RATE_BPS: f64 = 2e6;
const PACKET_S: f64 = 8320.0 / RATE_BPS;
const DISTANCE_S: f64 = 0.01;

/// exp(G t) of a 2x2 matrix with real eigenvalues, by its spectral form.
fn exponential(g: &Matrix, t: f64) -> Matrix {
    let mean = f64::midpoint(g[0][0], g[1][1]);
    let half = (g[0][0] - g[1][1]) / 2.0;
    let root = libm::sqrt(half * half + g[0][1] * g[1][0]);
    let (cosh, sinh) = (libm::cosh(root * t), libm::sinh(root * t) / root);
    let scale = libm::exp(mean * t);
    let entry = |i: usize, j: usize| {
        let unit = f64::from(u8::from(i == j));
        scale * (unit * cosh + (g[i][j] - unit * mean) * sinh)
    };
    [[entry(0, 0), entry(0, 1)], [entry(1, 0), entry(1, 1)]]
}

/// Probability that a packet is lost, and that the one after a lost one is.
fn packet_scale_losses() -> (f64, f64) {
    let [leave_good, leave_bad] = STAYS_S.map(|stay_s| 1.0 / stay_s);
    let changes = [[-leave_good, leave_good], [leave_bad, -leave_bad]];
    let hazard = BIT_ERRORS.map(|error| -libm::log1p(-error) * RATE_BPS);
    let killed = [
        [changes[0][0] - hazard[0], changes[0][1]],
        [changes[1][0], changes[1][1] - hazard[1]],
    ];
    let (any, right) = (exponential(&changes, PACKET_S), exponential(&killed, PACKET_S));
    let lost = [0, 1].map(|i| [0, 1].map(|j| any[i][j] - right[i][j]));
    let total = STAYS_S[0] + STAYS_S[1];
    let first = through(STAYS_S.map(|stay_s| stay_s / total), &lost);
    let second = through(through(first, &exponential(&changes, DISTANCE_S - PACKET_S)), &lost);
    let loss = first[0] + first[1];
    (loss, (second[0] + second[1]) / loss)
}

fn packet_scale(lab: &Lab) -> Result<Vec<Row>, String> {
    let measured = lab.simulate("fading-packets", &[])?;
    let (loss, again) = packet_scale_losses();
    let reason = "a seed sees 2270 bad times, each worth a few losses: two per cent, one over five seeds";
    let case = "stays of 400 and 40 ms";
    let lost = measured.metric("path", Metric::AirLoss)?;
    let after_loss = measured.stat(|run| losses_in_a_row(run).map(|(again, _)| again))?;
    let in_a_row = measured.stat(|run| losses_in_a_row(run).map(|(_, mean)| mean))?;
    Ok(vec![
        Row::new(case, "lost packets", "1", loss, lost, Tolerance::part(0.03, reason)).by(&measured.command),
        Row::new(
            case,
            "lost after a lost one",
            "1",
            again,
            after_loss,
            Tolerance::part(0.03, reason),
        )
        .by(&measured.command),
        Row::new(
            case,
            "losses in a row",
            "pkt",
            1.0 / (1.0 - again),
            in_a_row,
            Tolerance::part(0.03, reason),
        )
        .by(&measured.command),
    ])
}

/// How often a lost packet is followed by one, and the mean number of losses in a row. Each sample of the series has
/// seen one packet more than the one before.
fn losses_in_a_row(run: &Run) -> Option<(f64, f64)> {
    let link = link_of(run, "path")?;
    let shown = run.record.series.link_ids.iter().position(|&id| id as usize == link)?;
    let samples = &run.record.series.links[shown];
    let lost: Vec<bool> = samples
        .windows(2)
        .filter(|pair| pair[1].sent_data_pkts == pair[0].sent_data_pkts + 1)
        .map(|pair| pair[1].lost_air_data_pkts > pair[0].lost_air_data_pkts)
        .collect();
    let losses = lost.iter().filter(|lost| **lost).count() as f64;
    let runs = lost.windows(2).filter(|pair| pair[0] && !pair[1]).count() as f64;
    (losses > 0.0 && runs > 0.0).then(|| (1.0 - runs / losses, losses / runs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_errors_are_those_published_for_each_antenna_pair() {
        // Goal: BPSK in Rayleigh fading at 20 and 10 dB (Simon and Alouini's integral, evaluated to 8 digits).
        for (branches, transmitters, good, bad) in [
            (1, 1.0, 2.481_404_9e-3, 2.326_870_5e-2),
            (2, 1.0, 1.844_155_3e-5, 1.599_101_1e-3),
            (4, 1.0, 1.319_076_1e-9, 9.698_281_4e-6),
        ] {
            let [g, b] = diversity(branches, 20.0, transmitters);
            assert!(
                (g / good - 1.0).abs() < 1e-6 && (b / bad - 1.0).abs() < 1e-6,
                "{branches}: {g} {b}"
            );
        }
    }

    #[test]
    fn a_code_that_corrects_nothing_is_none() {
        // Goal: the count of wrong bytes with no room for one is the chain of right bits; all may be wrong: no loss.
        let errors = diversity(1, 40.0, 1.0);
        assert!((coded_loss(errors, 1040, 0) / uncoded(errors) - 1.0).abs() < 1e-9);
        assert!(coded_loss(errors, 30, 30).abs() < 1e-12);
    }

    #[test]
    fn a_matrix_exponential_is_the_series() {
        // Goal: exp(G t) by its spectral form equals fifty terms of the series.
        let g = [[-2.5, 2.5], [25.0, -625.0]];
        let t = 0.01;
        let (mut sum, mut term) = ([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]);
        for n in 1..50 {
            term = times(&term, &g).map(|row| row.map(|entry| entry * t / f64::from(n)));
            for (row, more) in sum.iter_mut().zip(term) {
                *row = [row[0] + more[0], row[1] + more[1]];
            }
        }
        for (a, b) in exponential(&g, t).iter().flatten().zip(sum.iter().flatten()) {
            assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
    }
}
