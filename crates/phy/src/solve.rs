//! Inverse questions: the signal-to-noise ratio or the code rate that a packet error asks for.

use crate::channel::{CODE_RATE_MIN, ChannelSpec, CodeMode, CodeSpec, Model, PacketKind};
use crate::reed_solomon::coded_bytes;

/// Signal-to-noise ratios that are searched, dB, for the good state.
pub const SNR_DB_RANGE: (f64, f64) = (-30.0, 150.0);

/// Why a target has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SolveError {
    /// The channel does not depend on what is asked for.
    #[error("{what} cannot be solved for {model}; use a Gilbert-Elliott channel")]
    NotInModel {
        /// What was asked for.
        what: &'static str,
        /// The model that was given.
        model: &'static str,
    },
    /// The channel has no code whose rate could change.
    #[error("the code rate cannot be solved for a channel without a code; choose the mode ideal or gf256")]
    NoCode,
    /// No value in the range reaches the target.
    #[error("packet error {target} is not reached: between {from} and {to} it goes from {worst} to {best}")]
    OutOfRange {
        /// The packet error that was asked for.
        target: f64,
        /// Lower end of the range.
        from: f64,
        /// Upper end of the range.
        to: f64,
        /// The largest packet error in the range.
        worst: f64,
        /// The smallest.
        best: f64,
    },
}

/// Signal-to-noise ratio of the good state, dB, at which packets of `ip_bytes` are lost with probability `target`. The
/// bad state keeps its distance in dB. By bisection to the resolution of f64, as losses fall with the ratio.
///
/// # Errors
/// If the model has no signal-to-noise ratio, or none in [`SNR_DB_RANGE`] reaches the target.
pub fn snr_for_packet_error(
    spec: &ChannelSpec,
    kind: PacketKind,
    ip_bytes: u32,
    target: f64,
) -> Result<f64, SolveError> {
    let not_in_model = |model| {
        Err(SolveError::NotInModel {
            what: "the signal-to-noise ratio",
            model,
        })
    };
    match spec.model {
        Model::GilbertElliott { .. } => {}
        Model::PacketScale { .. } => return not_in_model("a packet-scale channel"),
        Model::Random { .. } => return not_in_model("random loss"),
    }
    let error_at = |snr_db: f64| at_snr(spec, snr_db).packet_error(kind, ip_bytes);
    let (mut low, mut high) = SNR_DB_RANGE;
    let (worst, best) = (error_at(low), error_at(high));
    if !(best <= target && target <= worst) {
        return Err(SolveError::OutOfRange {
            target,
            from: low,
            to: high,
            worst,
            best,
        });
    }
    // Forty halvings of 180 dB leave 2e-10 dB.
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if error_at(middle) > target {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(high)
}

/// The same channel with another ratio in the good state; the bad state keeps its distance.
pub fn at_snr(spec: &ChannelSpec, snr_db: f64) -> ChannelSpec {
    let mut moved = spec.clone();
    if let Model::GilbertElliott {
        snr_good_db,
        snr_bad_db,
        ..
    } = &mut moved.model
    {
        *snr_bad_db += snr_db - *snr_good_db;
        *snr_good_db = snr_db;
    }
    moved
}

/// A code rate, as data bytes over bytes on the air, with which packets of `ip_bytes` are lost with probability
/// `target` or less, while two bytes of parity less lose more. By bisection over pairs of parity bytes: one byte of
/// parity alone adds nothing but its own errors. With one word a packet this is the highest such rate; with several,
/// where pairs go to one word after the other, a slightly higher one may do as well.
///
/// # Errors
/// If the channel has no code, its losses do not come from bits, or the least rate of 0.1 does not reach the target.
pub fn code_rate_for_packet_error(
    spec: &ChannelSpec,
    kind: PacketKind,
    ip_bytes: u32,
    target: f64,
) -> Result<f64, SolveError> {
    if spec.code.mode == CodeMode::None {
        return Err(SolveError::NoCode);
    }
    if matches!(spec.model, Model::Random { .. }) {
        return Err(SolveError::NotInModel {
            what: "the code rate",
            model: "random loss",
        });
    }
    let rate_with = |pairs: u32| f64::from(ip_bytes) / f64::from(ip_bytes + 2 * pairs);
    let error_with = |pairs: u32| with_code_rate(spec, rate_with(pairs)).packet_error(kind, ip_bytes);
    let (mut low, mut high) = (0, (coded_bytes(ip_bytes, CODE_RATE_MIN) - ip_bytes) / 2);
    let (worst, best) = (error_with(low), error_with(high));
    if best > target || target.is_nan() {
        return Err(SolveError::OutOfRange {
            target,
            from: CODE_RATE_MIN,
            to: 1.0,
            worst,
            best,
        });
    }
    if worst <= target {
        return Ok(1.0);
    }
    while high - low > 1 {
        let middle = u32::midpoint(low, high);
        if error_with(middle) > target {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(rate_with(high))
}

/// The same channel with one code rate for both kinds of packets.
fn with_code_rate(spec: &ChannelSpec, rate: f64) -> ChannelSpec {
    ChannelSpec {
        code: CodeSpec {
            data_rate: rate,
            ack_rate: rate,
            ..spec.code
        },
        ..spec.clone()
    }
}
