//! What the mathematics of a channel say of a paper's figures, without a run.

use fadelab_phy::channel::{ChannelSpec, CodeMode, CodeSpec, Model, Modulation, PacketKind};
use fadelab_phy::solve;
use fadelab_scenario::channel::ANTENNAS;
use serde::Deserialize;

use super::figures::Figures;
use crate::Failure;

/// A channel under a name that criteria and pictures refer to; modulation is BPSK, a code takes a packet as one word.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// Unique among channels and runs.
    pub id: String,
    /// Such as `2x2`.
    pub antennas: String,
    /// Probability to stay in the good state from bit to bit.
    pub stay_good: f64,
    /// Probability to stay in the bad state from bit to bit.
    pub stay_bad: f64,
    /// How far the SNR of the bad state lies below that of the good one, dB.
    pub bad_below_db: f64,
    /// Code rate of data packets.
    #[serde(default = "one")]
    pub data: f64,
    /// Code rate of ACKs.
    #[serde(default = "one")]
    pub ack: f64,
    /// SNRs of the good state at which criteria look, dB.
    #[serde(default)]
    pub snr_db: Vec<f64>,
}

/// The two kinds of packets: label, kind, IP bytes (vcp-ton-2010 section III).
pub const KINDS: [(&str, PacketKind, u32); 2] = [("data", PacketKind::Data, 1040), ("ack", PacketKind::Ack, 40)];

fn one() -> f64 {
    1.0
}

impl Channel {
    /// The channel at an SNR of the good state.
    ///
    /// # Errors
    /// Values that make no channel.
    pub fn spec(&self, snr_db: f64) -> Result<ChannelSpec, Failure> {
        let invalid = |what: String| Failure::Invalid(format!("channel \"{}\": {what}", self.id));
        let antennas = ANTENNAS
            .iter()
            .find(|(name, _)| *name == self.antennas)
            .ok_or_else(|| {
                let known: Vec<&str> = ANTENNAS.iter().map(|(name, _)| *name).collect();
                invalid(format!(
                    "antennas = \"{}\": allowed are {}",
                    self.antennas,
                    known.join(", ")
                ))
            })?;
        let spec = ChannelSpec {
            model: Model::GilbertElliott {
                modulation: Modulation::Bpsk,
                antennas: antennas.1,
                snr_good_db: snr_db,
                snr_bad_db: snr_db - self.bad_below_db,
                burst_good_bits: burst_bits(self.stay_good),
                burst_bad_bits: burst_bits(self.stay_bad),
            },
            code: CodeSpec {
                data_rate: self.data,
                ack_rate: self.ack,
                mode: CodeMode::Ideal,
            },
        };
        spec.validate().map_err(|error| invalid(error.to_string()))?;
        Ok(spec)
    }

    /// Its figures: one entry for the channel, one for each of its SNRs, per kind of packet.
    ///
    /// # Errors
    /// Values that make no channel.
    pub fn figures(&self) -> Result<Vec<Figures>, Failure> {
        let mut all = Vec::new();
        for (label, kind, ip_bytes) in KINDS {
            let spec = self.spec(0.0)?;
            let mut values = vec![
                ("burst_good_bits", burst_bits(self.stay_good)),
                ("burst_bad_bits", burst_bits(self.stay_bad)),
            ];
            let solved = solve::snr_for_packet_error(&spec, kind, ip_bytes, 0.01);
            values.extend(solved.ok().map(|snr_db| ("snr_db_1pc", snr_db)));
            all.push(Figures::of(&self.id, label, None, &values));
            for &snr_db in &self.snr_db {
                let error = self.spec(snr_db)?.packet_error(kind, ip_bytes);
                let mut here = Figures::of(&self.id, label, None, &[("packet_error", error)]);
                here.at = format!("{snr_db}dB");
                all.push(here);
            }
        }
        Ok(all)
    }
}

/// Appendix A of vcp-ton-2010: BL = 1 / (1 - probability to stay).
fn burst_bits(stay: f64) -> f64 {
    1.0 / (1.0 - stay)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel() -> Channel {
        Channel {
            id: "c".to_owned(),
            antennas: "1x1".to_owned(),
            stay_good: 0.99875,
            stay_bad: 0.875,
            bad_below_db: 10.0,
            data: 0.93,
            ack: 0.93,
            snr_db: vec![20.0],
        }
    }

    #[test]
    fn a_channel_says_what_its_mathematics_say() {
        // Goal: 800 and 8 bits, and the packet errors that were computed apart: 1.35e-3 of data, 0.232 of ACKs.
        let figures = channel().figures().ok().unwrap();
        let get = |law: &str, at: &str, name: &str| {
            let found = figures.iter().find(|f| f.law == law && f.at == at).unwrap();
            found.get(name).unwrap()
        };
        assert!((get("data", "", "burst_good_bits") - 800.0).abs() < 1e-6);
        assert!((get("data", "", "burst_bad_bits") - 8.0).abs() < 1e-9);
        assert!((get("data", "20dB", "packet_error") / 1.35e-3 - 1.0).abs() < 0.01);
        assert!((get("ack", "20dB", "packet_error") - 0.232).abs() < 0.001);
        assert!((get("data", "", "snr_db_1pc") - 19.5).abs() < 0.1);
    }

    #[test]
    fn what_is_no_channel_is_refused() {
        // Goal: the message names the channel and what is allowed.
        let broken = Channel {
            antennas: "3x3".to_owned(),
            ..channel()
        };
        let Err(Failure::Invalid(message)) = broken.spec(0.0) else {
            panic!("it should be refused");
        };
        assert!(message.contains("\"c\"") && message.contains("2x1"), "{message}");
        assert!(Channel { data: 1.5, ..channel() }.spec(0.0).is_err());
    }
}
