//! What a channel is, and what it does to each packet.

use crate::reed_solomon;

/// A channel: what disturbs packets, and the code that protects them.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelSpec {
    /// What disturbs packets.
    pub model: Model,
    /// What protects them.
    pub code: CodeSpec,
}

/// What disturbs packets.
#[derive(Clone, Debug, PartialEq)]
pub enum Model {
    /// A two-state chain over bits, with symbol errors of a fading link in each state (VCP, appendix).
    GilbertElliott {
        /// Modulation.
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

/// Phase shift keying with Gray mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modulation {
    /// One bit a symbol.
    Bpsk,
    /// Two bits a symbol.
    Qpsk,
    /// Three bits a symbol.
    Psk8,
    /// Four bits a symbol.
    Psk16,
}

/// Antennas: transmitting x receiving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Antennas {
    /// 1x1.
    OneByOne,
    /// 2x1: Alamouti's space-time block code.
    TwoByOne,
    /// 1x2: maximum ratio combining.
    OneByTwo,
    /// 2x2: Alamouti's code with maximum ratio combining.
    TwoByTwo,
}

/// The Reed-Solomon code of packets, with a rate for each kind.
#[derive(Clone, Copy, Debug, PartialEq)]
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

/// How packets are coded. See [`reed_solomon`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeMode {
    /// Not at all; both rates are 1.
    None,
    /// One word a packet, as VCP computes; longer words than 255 bytes do not exist over bytes.
    Ideal,
    /// Interleaved words over GF(256), which can be built.
    Gf256,
}

/// Kind of packet, which selects the code rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

    /// Probability that a packet of `ip_bytes` is lost.
    pub fn packet_error(&self, _kind: PacketKind, _ip_bytes: u32) -> f64 {
        todo!()
    }

    /// Refuses values that make no channel.
    ///
    /// # Errors
    /// The first value that is not allowed.
    pub fn validate(&self) -> Result<(), SpecError> {
        todo!()
    }
}

/// A channel of one link at work: decides the fate of each packet.
#[derive(Clone, Debug)]
pub struct Channel {
    spec: ChannelSpec,
}

impl Channel {
    /// The channel of the link `link_name`, on which bits take `1 / rate_bps` seconds, under `seed`.
    pub fn new(spec: &ChannelSpec, _seed: u64, _link_name: &str, _rate_bps: u64) -> Self {
        Self { spec: spec.clone() }
    }

    /// Whether the packet whose transmission starts at `start_ns` is lost. Packets are asked about in order of time
    /// and do not overlap.
    pub fn is_lost(&mut self, _start_ns: u64, kind: PacketKind, ip_bytes: u32) -> bool {
        self.spec.packet_error(kind, ip_bytes) >= 1.0
    }
}
