//! `[channel]`: what happens to packets on the air of the bottleneck, in both directions.

use fadelab_phy::channel::{Antennas, ChannelSpec, CodeMode, CodeSpec, Model, Modulation};

use crate::document::Raw;
use crate::error::Refusal;
use crate::reader::Reader;
use crate::unit::{Bits, Decibel, Duration, Number, Scalar};

/// Names of antenna pairs, transmitting x receiving.
pub const ANTENNAS: &[(&str, Antennas)] = &[
    ("1x1", Antennas::OneByOne),
    ("2x1", Antennas::TwoByOne),
    ("1x2", Antennas::OneByTwo),
    ("2x2", Antennas::TwoByTwo),
];

/// Names of modulations.
pub const MODULATIONS: &[(&str, Modulation)] = &[
    ("bpsk", Modulation::Bpsk),
    ("qpsk", Modulation::Qpsk),
    ("8psk", Modulation::Psk8),
    ("16psk", Modulation::Psk16),
];

/// SNR of the bad state: its own, or so many dB below that of the good state (VCP, appendix: a tenth).
#[derive(Clone, Copy, Debug, PartialEq)]
enum BadSnr {
    Own(f64),
    Below(f64),
}

impl Scalar for BadSnr {
    fn read(raw: &Raw) -> Result<Self, String> {
        if let Raw::Text(text) = raw
            && let Some(below) = text.trim().strip_prefix("snr -")
        {
            return Decibel::read(&Raw::Text(below.trim().to_owned())).map(|value| Self::Below(value.0));
        }
        Decibel::read(raw)
            .map(|value| Self::Own(value.0))
            .map_err(|why| format!("{why}, or \"snr - 10 dB\""))
    }

    fn shown(&self) -> String {
        match self {
            Self::Own(value) => Decibel(*value).shown(),
            Self::Below(value) => format!("\"snr - {value} dB\""),
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    None,
    GilbertElliott,
    PacketScale,
    Random,
}

/// Reads the section; `None` is a wire.
pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Option<ChannelSpec>, Refusal> {
    let default = if reader.node("channel").is_some() {
        "gilbert-elliott"
    } else {
        "none"
    };
    let kinds = [
        ("gilbert-elliott", Kind::GilbertElliott),
        ("packet-scale", Kind::PacketScale),
        ("random", Kind::Random),
        ("none", Kind::None),
    ];
    let model = match reader.choice("channel.model", Some(default), &kinds)? {
        Kind::None => return Ok(None),
        Kind::GilbertElliott => gilbert_elliott(reader)?,
        Kind::PacketScale => packet_scale(reader)?,
        Kind::Random => Model::Random {
            data: reader
                .need::<Number>("channel.loss_data", "give a probability, for example 0.01")?
                .0,
            ack: reader.or("channel.loss_ack", Number(0.0))?.0,
        },
    };
    let spec = ChannelSpec {
        model,
        code: code(reader)?,
    };
    spec.validate().map_err(|error| {
        let path = path_of(error.field);
        reader.refuse(path, &format!("allowed is {}", error.allowed))
    })?;
    Ok(Some(spec))
}

fn gilbert_elliott(reader: &mut Reader<'_>) -> Result<Model, Refusal> {
    let antennas = reader.choice("channel.antennas", Some("1x1"), ANTENNAS)?;
    let modulation = reader.choice("channel.modulation", Some("bpsk"), MODULATIONS)?;
    let snr = reader
        .need::<Decibel>("channel.snr", "give the SNR of the good state, for example \"30 dB\"")?
        .0;
    let snr_bad = match reader.or("channel.snr_bad", BadSnr::Below(10.0))? {
        BadSnr::Own(value) => value,
        BadSnr::Below(value) => snr - value,
    };
    Ok(Model::GilbertElliott {
        modulation,
        antennas,
        snr_good_db: snr,
        snr_bad_db: snr_bad,
        burst_good_bits: reader.or("channel.burst_good", Bits(800))?.0 as f64,
        burst_bad_bits: reader.or("channel.burst_bad", Bits(8))?.0 as f64,
    })
}

fn packet_scale(reader: &mut Reader<'_>) -> Result<Model, Refusal> {
    let stay = "give the mean stay in this state, for example \"4 s\"";
    let error = "give the bit error rate in this state, for example 1e-5";
    Ok(Model::PacketScale {
        good_ns_mean: reader.need::<Duration>("channel.good", stay)?.0 as f64,
        bad_ns_mean: reader.need::<Duration>("channel.bad", stay)?.0 as f64,
        bit_error_good: reader.need::<Number>("channel.bit_error_good", error)?.0,
        bit_error_bad: reader.need::<Number>("channel.bit_error_bad", error)?.0,
    })
}

fn code(reader: &mut Reader<'_>) -> Result<CodeSpec, Refusal> {
    let default = if reader.node("channel.code").is_some() {
        "ideal"
    } else {
        "none"
    };
    let modes = [
        ("ideal", CodeMode::Ideal),
        ("gf256", CodeMode::Gf256),
        ("none", CodeMode::None),
    ];
    let mode = reader.choice("channel.code.mode", Some(default), &modes)?;
    if mode == CodeMode::None {
        return Ok(CodeSpec::NONE);
    }
    let example = "give the code rate, data bytes over bytes on the air, for example 0.93";
    let data_rate = reader.need::<Number>("channel.code.data", example)?.0;
    let ack_rate = reader.need::<Number>("channel.code.ack", example)?.0;
    Ok(CodeSpec {
        data_rate,
        ack_rate,
        mode,
    })
}

/// The scenario's key of a field of [`ChannelSpec`].
fn path_of(field: &str) -> &'static str {
    match field {
        "snr_good_db" => "channel.snr",
        "snr_bad_db" => "channel.snr_bad",
        "burst_good_bits" => "channel.burst_good",
        "burst_bad_bits" => "channel.burst_bad",
        "good_ns_mean" => "channel.good",
        "bad_ns_mean" => "channel.bad",
        "bit_error_good" => "channel.bit_error_good",
        "bit_error_bad" => "channel.bit_error_bad",
        "data" => "channel.loss_data",
        "ack" => "channel.loss_ack",
        "code.data_rate" => "channel.code.data",
        "code.ack_rate" => "channel.code.ack",
        _ => "channel.model",
    }
}
