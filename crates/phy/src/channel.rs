//! What a channel is, and what it does to each packet.

mod sampler;

pub use sampler::Channel;

pub use crate::symbol_error::{Antennas, Modulation};

use serde::{Deserialize, Serialize};

use crate::gilbert_elliott::{BitChain, Mixing};
use crate::interleaved;
use crate::packet_error::{ByteChain, PacketLaw};
use crate::packet_scale::TimeChain;
use crate::reed_solomon::{self, Word};
use crate::symbol_error;

/// A channel: what disturbs packets, and the code that protects them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChannelSpec {
    /// What disturbs packets.
    pub model: Model,
    /// What protects them.
    pub code: CodeSpec,
}

/// What disturbs packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Model {
    /// A two-state chain over bits, with symbol errors of a fading link in each state (VCP, appendix).
    GilbertElliott {
        modulation: Modulation,
        /// Antennas of transmitter and receiver.
        antennas: Antennas,
        /// Average signal-to-noise ratio in the good state, dB.
        snr_good_db: f64,
        /// Average signal-to-noise ratio in the bad state, dB; 10 dB less in VCP.
        snr_bad_db: f64,
        /// Mean stay in the good state, bits, at least 1.
        burst_good_bits: f64,
        /// Mean stay in the bad state, bits, at least 1.
        burst_bad_bits: f64,
    },
    /// A two-state chain in continuous time, with a bit error rate in each state (New Jersey, section 2.1).
    PacketScale {
        /// Mean stay in the good state, ns.
        good_ns_mean: f64,
        /// Mean stay in the bad state, ns.
        bad_ns_mean: f64,
        /// Bit error rate in the good state.
        bit_error_good: f64,
        /// Bit error rate in the bad state.
        bit_error_bad: f64,
    },
    /// Packets are lost independently, after decoding.
    Random {
        /// Probability that a data packet is lost.
        data: f64,
        /// Probability that an ACK is lost.
        ack: f64,
    },
}

/// The Reed-Solomon code of packets, with a rate for each kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CodeSpec {
    /// Code rate of data packets: data bytes over bytes on the air.
    pub data_rate: f64,
    /// Code rate of ACKs.
    pub ack_rate: f64,
    /// How packets are coded.
    pub mode: CodeMode,
}

impl CodeSpec {
    /// No code: any bit error loses the packet.
    pub const NONE: Self = Self {
        data_rate: 1.0,
        ack_rate: 1.0,
        mode: CodeMode::None,
    };

    /// Code rate of a kind of packet; 1 without a code.
    pub fn rate(&self, kind: PacketKind) -> f64 {
        match (self.mode, kind) {
            (CodeMode::None, _) => 1.0,
            (_, PacketKind::Data) => self.data_rate,
            (_, PacketKind::Ack) => self.ack_rate,
        }
    }
}

/// The least code rate.
pub const CODE_RATE_MIN: f64 = 0.1;

/// How packets are coded. See [`reed_solomon`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CodeMode {
    /// Not at all; both rates are 1.
    None,
    /// One word a packet, as VCP computes; longer words than 255 bytes do not exist over bytes.
    Ideal,
    /// Interleaved words over GF(256), which can be built.
    Gf256,
}

/// Kind of packet, which selects the code rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PacketKind {
    /// Carries payload.
    Data,
    /// A pure acknowledgement.
    Ack,
}

/// A value of a [`ChannelSpec`] that is not allowed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{field} is {given}; allowed is {allowed}")]
pub struct SpecError {
    /// Name of the field, with a dot between levels, e.g. `code.data_rate`.
    pub field: &'static str,
    /// The value that was given.
    pub given: f64,
    /// What is allowed, and what to do.
    pub allowed: &'static str,
}

impl ChannelSpec {
    /// Bytes on the air of a packet of `ip_bytes`: with parity where there is a code.
    pub fn air_bytes(&self, kind: PacketKind, ip_bytes: u32) -> u32 {
        reed_solomon::coded_bytes(ip_bytes, self.code.rate(kind))
    }

    /// Words that a packet of `ip_bytes` is coded in. Without a code, one word without parity.
    pub fn words(&self, kind: PacketKind, ip_bytes: u32) -> Vec<Word> {
        let rate = self.code.rate(kind);
        match self.code.mode {
            CodeMode::None | CodeMode::Ideal => vec![reed_solomon::ideal(ip_bytes, rate)],
            CodeMode::Gf256 => reed_solomon::gf256(ip_bytes, rate),
        }
    }

    /// Most steps that one packet size may take: about a second of work.
    pub const STEPS_MAX: u64 = 200_000_000;

    /// Steps behind a packet's loss. With one word, of the recursion: bytes on the air times errors that it corrects.
    /// With several, of the sum over the paths of states through the rounds of bytes, by how often a path changes and
    /// how often it stays bad, for each word and number of its errors; ten of them take as long as one of the others.
    pub fn recursion_steps(&self, kind: PacketKind, ip_bytes: u32) -> u64 {
        let words = self.words(kind, ip_bytes);
        let errors = |word: &Word| u64::from(word.correctable() + 1);
        match words.as_slice() {
            [word] => u64::from(word.bytes) * errors(word),
            words => {
                let rounds = words.iter().map(|word| u64::from(word.bytes)).max().unwrap_or(0);
                rounds * rounds * words.iter().map(errors).sum::<u64>() / 10
            }
        }
    }

    /// The longest packet whose loss takes no more than [`Self::STEPS_MAX`], up to `ip_bytes_max`.
    pub fn ip_bytes_max(&self, kind: PacketKind, ip_bytes_max: u32) -> u32 {
        let fits = |ip_bytes| self.recursion_steps(kind, ip_bytes) <= Self::STEPS_MAX;
        if fits(ip_bytes_max) {
            return ip_bytes_max;
        }
        let (mut low, mut high) = (0, ip_bytes_max);
        while high - low > 1 {
            let middle = u32::midpoint(low, high);
            if fits(middle) { low = middle } else { high = middle }
        }
        low
    }

    /// Probability that a packet of `ip_bytes` is lost when the channel is stationary before it.
    ///
    /// Exact for chains over bits with one word a packet, and for random loss; [`interleaved`] says what is taken for
    /// several words. A packet-scale channel depends on how long the packet takes: this is the limit of short packets,
    /// which meet one state only. [`Self::packet_error_at`] has the loss at a rate.
    pub fn packet_error(&self, kind: PacketKind, ip_bytes: u32) -> f64 {
        self.packet_error_at(kind, ip_bytes, u64::MAX)
    }

    /// [`Self::packet_error`] on a link that sends `rate_bps` bits per second. Only packet-scale channels depend on it.
    pub fn packet_error_at(&self, kind: PacketKind, ip_bytes: u32, rate_bps: u64) -> f64 {
        match (&self.model, self.packet_law(kind, ip_bytes, rate_bps)) {
            (Model::Random { data, ack }, _) => {
                if kind == PacketKind::Data {
                    *data
                } else {
                    *ack
                }
            }
            (_, Some((law, mixing))) => law.loss(mixing.stationary()),
            (_, None) => unreachable!("every chain has a law"),
        }
    }

    /// Joint law of loss and state after, given the state before, of a packet of `ip_bytes` on a link of `rate_bps`,
    /// and the chain that lies under it. `None` for random loss, which has no state.
    pub fn packet_law(&self, kind: PacketKind, ip_bytes: u32, rate_bps: u64) -> Option<(PacketLaw, Mixing)> {
        let bytes = match (self.bit_chain(), self.time_chain()) {
            (Some(chain), _) => ByteChain::from_bits(&chain),
            (_, Some(chain)) => chain.bytes(8e9 / rate_bps as f64),
            (None, None) => return None,
        };
        Some((
            interleaved::words_law(&bytes, &self.words(kind, ip_bytes)),
            bytes.mixing,
        ))
    }

    /// The chain over bits with its error rates, if the model is one.
    pub fn bit_chain(&self) -> Option<BitChain> {
        let Model::GilbertElliott {
            modulation,
            antennas,
            snr_good_db,
            snr_bad_db,
            burst_good_bits,
            burst_bad_bits,
        } = self.model
        else {
            return None;
        };
        let error = [snr_good_db, snr_bad_db].map(|snr_db| symbol_error::bit_error(modulation, antennas, snr_db));
        Some(BitChain::from_bursts(burst_good_bits, burst_bad_bits, error))
    }

    /// The chain in continuous time, if the model is one.
    pub fn time_chain(&self) -> Option<TimeChain> {
        let Model::PacketScale {
            good_ns_mean,
            bad_ns_mean,
            bit_error_good,
            bit_error_bad,
        } = self.model
        else {
            return None;
        };
        Some(TimeChain {
            stay_ns_mean: [good_ns_mean, bad_ns_mean],
            bit_error: [bit_error_good, bit_error_bad],
        })
    }

    /// Refuses values that make no channel.
    ///
    /// # Errors
    /// The first value that is not allowed.
    pub fn validate(&self) -> Result<(), SpecError> {
        match self.model {
            Model::GilbertElliott {
                snr_good_db,
                snr_bad_db,
                burst_good_bits,
                burst_bad_bits,
                ..
            } => {
                within("snr_good_db", snr_good_db, -100.0, 200.0, "-100 to 200 dB")?;
                let allowed = "-100 dB to the SNR of the good state; exchange the states if the bad one is the better";
                within("snr_bad_db", snr_bad_db, -100.0, snr_good_db, allowed)?;
                within("burst_good_bits", burst_good_bits, 1.0, 1e15, "1 to 1e15 bits")?;
                within("burst_bad_bits", burst_bad_bits, 1.0, 1e15, "1 to 1e15 bits")?;
            }
            Model::PacketScale {
                good_ns_mean,
                bad_ns_mean,
                bit_error_good,
                bit_error_bad,
            } => {
                let allowed = "1 us to 1e18 ns; use a Gilbert-Elliott channel over bits for shorter stays";
                within("good_ns_mean", good_ns_mean, 1e3, 1e18, allowed)?;
                within("bad_ns_mean", bad_ns_mean, 1e3, 1e18, allowed)?;
                let allowed = "0 to 0.5, the error rate of a guess";
                within("bit_error_good", bit_error_good, 0.0, 0.5, allowed)?;
                within("bit_error_bad", bit_error_bad, 0.0, 0.5, allowed)?;
            }
            Model::Random { data, ack } => {
                within("data", data, 0.0, 1.0, "a probability, 0 to 1")?;
                within("ack", ack, 0.0, 1.0, "a probability, 0 to 1")?;
            }
        }
        let (lowest, allowed) = match self.code.mode {
            CodeMode::None => (1.0, "1 without a code; choose the mode ideal or gf256 for a lower rate"),
            CodeMode::Ideal | CodeMode::Gf256 => (CODE_RATE_MIN, "0.1 to 1, data bytes over bytes on the air"),
        };
        within("code.data_rate", self.code.data_rate, lowest, 1.0, allowed)?;
        within("code.ack_rate", self.code.ack_rate, lowest, 1.0, allowed)
    }
}

/// Refuses a value outside of `[low, high]`, and what is no number.
fn within(field: &'static str, given: f64, low: f64, high: f64, allowed: &'static str) -> Result<(), SpecError> {
    if (low..=high).contains(&given) {
        Ok(())
    } else {
        Err(SpecError { field, given, allowed })
    }
}
