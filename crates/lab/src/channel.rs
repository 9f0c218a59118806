//! Packet errors of a fading channel over its SNR, and the SNR or the code rate that a packet error asks for.

use fadelab_phy::channel::{CODE_RATE_MIN, ChannelSpec, CodeMode, CodeSpec, Model, PacketKind};
use fadelab_phy::solve::{self, SolveError};
use fadelab_phy::symbol_error::symbol_error;

use crate::Failure;

/// A curve of packet error over SNR: a kind of packet of one size under one code.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The antennas by their name, such as `2x1`.
    pub antennas: String,
    /// Code rate of the packets.
    pub rate: f64,
    /// Data or ACKs.
    pub kind: PacketKind,
    pub ip_bytes: u32,
    /// At 0 dB; [`solve::at_snr`] moves it.
    pub spec: ChannelSpec,
}

/// What is needed for a packet error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Needed {
    /// An SNR in dB, or a code rate, rounded to what is printed so that it does reach the target.
    pub value: f64,
    pub packet_error: f64,
}

impl Curve {
    /// A curve whose packets can be computed: those that would take long are refused, by the option of their size.
    ///
    /// # Errors
    /// The packet is too large for its code rate.
    pub fn new(antennas: &str, rate: f64, kind: PacketKind, ip_bytes: u32, spec: ChannelSpec) -> Result<Self, Failure> {
        within_reach(&spec, kind, ip_bytes, rate)?;
        Ok(Self {
            antennas: antennas.to_owned(),
            rate,
            kind,
            ip_bytes,
            spec,
        })
    }

    /// The channel at an SNR of its good state.
    pub fn at(&self, snr_db: f64) -> ChannelSpec {
        solve::at_snr(&self.spec, snr_db)
    }

    pub fn packet_error(&self, snr_db: f64) -> f64 {
        self.at(snr_db).packet_error(self.kind, self.ip_bytes)
    }

    /// The symbol errors of the good and the bad state at an SNR, where the channel has symbols.
    pub fn symbol_errors(&self, snr_db: f64) -> Option<[f64; 2]> {
        match self.at(snr_db).model {
            Model::GilbertElliott {
                modulation,
                antennas,
                snr_good_db,
                snr_bad_db,
                ..
            } => Some([snr_good_db, snr_bad_db].map(|snr_db| symbol_error(modulation, antennas, snr_db))),
            _ => None,
        }
    }

    /// The SNR from which the packet error is at most `target`, rounded up to a hundredth of a dB.
    ///
    /// # Errors
    /// No SNR reaches it.
    pub fn snr_for(&self, target: f64) -> Result<Needed, SolveError> {
        let snr_db = solve::snr_for_packet_error(&self.spec, self.kind, self.ip_bytes, target)?;
        let value = (snr_db * 100.0).ceil() / 100.0;
        Ok(Needed {
            value,
            packet_error: self.packet_error(value),
        })
    }

    /// The highest code rate at which the packet error at an SNR is at most `target`, rounded down to four digits: a
    /// little more parity than is needed, and at 1 none at all.
    ///
    /// # Errors
    /// The packet is too large for the search, which begins at the lowest rate; within, no rate reaches the target.
    pub fn rate_for(&self, mode: CodeMode, snr_db: f64, target: f64) -> Result<Result<Needed, SolveError>, Failure> {
        let at_snr = self.at(snr_db);
        within_reach(
            &coded(&at_snr, CODE_RATE_MIN, mode),
            self.kind,
            self.ip_bytes,
            CODE_RATE_MIN,
        )?;
        // The mode stands although a rate of 1 brings no parity: the search takes others.
        let uncoded = ChannelSpec {
            code: CodeSpec {
                data_rate: 1.0,
                ack_rate: 1.0,
                mode,
            },
            ..at_snr.clone()
        };
        let rate = match solve::code_rate_for_packet_error(&uncoded, self.kind, self.ip_bytes, target) {
            Ok(rate) => rate,
            Err(error) => return Ok(Err(error)),
        };
        let value = (rate * 1e4).floor() / 1e4;
        let shown = coded(&at_snr, value, mode);
        within_reach(&shown, self.kind, self.ip_bytes, value)?;
        Ok(Ok(Needed {
            value,
            packet_error: shown.packet_error(self.kind, self.ip_bytes),
        }))
    }
}

/// A channel under another code: any rate but 1 brings one.
pub fn coded(spec: &ChannelSpec, rate: f64, mode: CodeMode) -> ChannelSpec {
    let is_plain = (rate - 1.0).abs() < f64::EPSILON;
    let code = if is_plain {
        CodeSpec::NONE
    } else {
        CodeSpec {
            data_rate: rate,
            ack_rate: rate,
            mode,
        }
    };
    ChannelSpec { code, ..spec.clone() }
}

/// Refuses packets whose error at code rate `rate` would take long to compute.
fn within_reach(spec: &ChannelSpec, kind: PacketKind, ip_bytes: u32, rate: f64) -> Result<(), Failure> {
    let bytes_max = spec.ip_bytes_max(kind, ip_bytes);
    if bytes_max == ip_bytes {
        return Ok(());
    }
    let other = match spec.code.mode {
        CodeMode::Ideal => ", or try --mode gf256",
        CodeMode::Gf256 | CodeMode::None => "",
    };
    Err(Failure::Invalid(format!(
        "--size {ip_bytes} at --code-rate {rate}: allowed is up to {bytes_max}, more takes too long to compute; raise \
         the code rate{other}"
    )))
}
