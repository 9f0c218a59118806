//! `[channel]` and `[channel.NAME]`: what happens to packets on the air of a link, in both directions.

use fadelab_phy::channel::{Antennas, ChannelSpec, CodeMode, CodeSpec, Model, Modulation};

use crate::document::Raw;
use crate::error::Refusal;
use crate::layer;
use crate::reader::Reader;
use crate::schema;
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
    const KIND: crate::kind::Kind = crate::kind::Kind::SnrBad;

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

/// The table of the channel without a name.
pub const TABLE: &str = "channel";

/// A channel and the table that describes it.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Path of the table.
    pub table: String,
    /// What it says.
    pub spec: ChannelSpec,
}

/// Whether a table has keys of its own, besides those of channels with a name.
pub(crate) fn is_given(reader: &Reader<'_>, table: &str) -> bool {
    let named = if table == TABLE {
        schema::names_in(reader.root(), TABLE)
    } else {
        Vec::new()
    };
    reader.node(table).is_some_and(|node| {
        let is_own = |name: &str| !named.contains(&name) && !layer::TABLES.contains(&name);
        node.entries().is_empty() || node.entries().iter().any(|(name, _)| is_own(name))
    })
}

/// Reads one table; `None` is a wire.
pub(crate) fn read(reader: &mut Reader<'_>, table: &str) -> Result<Option<Channel>, Refusal> {
    let default = if is_given(reader, table) {
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
    let model = match reader.choice(&format!("{table}.model"), Some(default), &kinds)? {
        Kind::None => return Ok(None),
        Kind::GilbertElliott => gilbert_elliott(reader, table)?,
        Kind::PacketScale => packet_scale(reader, table)?,
        Kind::Random => Model::Random {
            data: reader
                .need::<Number>(&format!("{table}.loss_data"), "give a probability, for example 0.01")?
                .0,
            ack: reader.or(&format!("{table}.loss_ack"), Number(0.0))?.0,
        },
    };
    let spec = ChannelSpec {
        model,
        code: code(reader, table)?,
    };
    spec.validate().map_err(|error| {
        let path = format!("{table}.{}", key_of(error.field));
        reader.refuse(&path, &format!("allowed is {}", error.allowed))
    })?;
    Ok(Some(Channel {
        table: table.to_owned(),
        spec,
    }))
}

fn gilbert_elliott(reader: &mut Reader<'_>, table: &str) -> Result<Model, Refusal> {
    let at = |key: &str| format!("{table}.{key}");
    let antennas = reader.choice(&at("antennas"), Some("1x1"), ANTENNAS)?;
    let modulation = reader.choice(&at("modulation"), Some("bpsk"), MODULATIONS)?;
    let snr = reader
        .need::<Decibel>(&at("snr"), "give the SNR of the good state, for example \"30 dB\"")?
        .0;
    let snr_bad = match reader.or(&at("snr_bad"), BadSnr::Below(10.0))? {
        BadSnr::Own(value) => value,
        BadSnr::Below(value) => snr - value,
    };
    Ok(Model::GilbertElliott {
        modulation,
        antennas,
        snr_good_db: snr,
        snr_bad_db: snr_bad,
        burst_good_bits: reader.or(&at("burst_good"), Bits(800))?.0 as f64,
        burst_bad_bits: reader.or(&at("burst_bad"), Bits(8))?.0 as f64,
    })
}

fn packet_scale(reader: &mut Reader<'_>, table: &str) -> Result<Model, Refusal> {
    let at = |key: &str| format!("{table}.{key}");
    let stay = "give the mean stay in this state, for example \"4 s\"";
    let error = "give the bit error rate in this state, for example 1e-5";
    Ok(Model::PacketScale {
        good_ns_mean: reader.need::<Duration>(&at("good"), stay)?.0 as f64,
        bad_ns_mean: reader.need::<Duration>(&at("bad"), stay)?.0 as f64,
        bit_error_good: reader.need::<Number>(&at("bit_error_good"), error)?.0,
        bit_error_bad: reader.need::<Number>(&at("bit_error_bad"), error)?.0,
    })
}

fn code(reader: &mut Reader<'_>, table: &str) -> Result<CodeSpec, Refusal> {
    let at = |key: &str| format!("{table}.{key}");
    let default = if reader.node(&at("code")).is_some() {
        "ideal"
    } else {
        "none"
    };
    let modes = [
        ("ideal", CodeMode::Ideal),
        ("gf256", CodeMode::Gf256),
        ("none", CodeMode::None),
    ];
    let mode = reader.choice(&at("code.mode"), Some(default), &modes)?;
    if mode == CodeMode::None {
        return Ok(CodeSpec::NONE);
    }
    let example = "give the code rate, data bytes over bytes on the air, for example 0.93";
    let data_rate = reader.need::<Number>(&at("code.data"), example)?.0;
    let ack_rate = reader.need::<Number>(&at("code.ack"), example)?.0;
    Ok(CodeSpec {
        data_rate,
        ack_rate,
        mode,
    })
}

/// The key of a field of [`ChannelSpec`], below the channel's table.
fn key_of(field: &str) -> &'static str {
    match field {
        "snr_good_db" => "snr",
        "snr_bad_db" => "snr_bad",
        "burst_good_bits" => "burst_good",
        "burst_bad_bits" => "burst_bad",
        "good_ns_mean" => "good",
        "bad_ns_mean" => "bad",
        "bit_error_good" => "bit_error_good",
        "bit_error_bad" => "bit_error_bad",
        "data" => "loss_data",
        "ack" => "loss_ack",
        "code.data_rate" => "code.data",
        "code.ack_rate" => "code.ack",
        _ => "model",
    }
}
