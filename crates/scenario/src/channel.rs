//! `[channel]` and `[channel.NAME]`: what happens to packets on the air of a link, in both directions.

use fadelab_phy::channel::{Antennas, ChannelSpec, CodeMode, CodeSpec, Model, Modulation};

use crate::document::Raw;
use crate::error::Refusal;
use crate::key::{Absent::Is, Declared, Key, keys};
use crate::kind::Kind;
use crate::layer;
use crate::reader::Reader;
use crate::unit::{Bits, Decibel, Duration, Number, Scalar};
use crate::value::{Words, words};

words!(Antennas:
    "1x1" => Self::OneByOne,
    "2x1" => Self::TwoByOne,
    "1x2" => Self::OneByTwo,
    "2x2" => Self::TwoByTwo,
);
words!(Modulation: "bpsk" => Self::Bpsk, "qpsk" => Self::Qpsk, "8psk" => Self::Psk8, "16psk" => Self::Psk16);
words!(CodeMode: "ideal" => Self::Ideal, "gf256" => Self::Gf256, "none" => Self::None);

/// Names of antenna pairs, transmitting x receiving.
pub const ANTENNAS: &[(&str, Antennas)] = Antennas::WORDS;

/// Names of modulations.
pub const MODULATIONS: &[(&str, Modulation)] = Modulation::WORDS;

/// SNR of the bad state: its own, or so many dB below that of the good state (VCP, appendix: a tenth).
#[derive(Clone, Copy, Debug, PartialEq)]
enum BadSnr {
    Own(f64),
    Below(f64),
}

impl Scalar for BadSnr {
    const KIND: Kind = Kind::SnrBad;

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

/// Which model a channel has.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Which {
    GilbertElliott,
    PacketScale,
    Random,
    None,
}

words!(Which:
    "gilbert-elliott" => Self::GilbertElliott,
    "packet-scale" => Self::PacketScale,
    "random" => Self::Random,
    "none" => Self::None,
);

const STAY: &str = "give the mean stay in this state, for example \"4 s\"";
const ERROR: &str = "give the bit error rate in this state, for example 1e-5";

keys! {
    KEYS;
    MODEL: Which = Declared::new(
        "model",
        Is("\"gilbert-elliott\""),
        "a chain of good and bad states over bits, one in continuous time, independent loss, or none",
    );
    ANTENNA_PAIR: Antennas =
        Declared::new("antennas", Is("\"1x1\""), "Gilbert-Elliott: transmitting x receiving");
    MODULATION: Modulation = Declared::new("modulation", Is("\"bpsk\""), "Gilbert-Elliott");
    SNR: Decibel = Declared::needed(
        "snr",
        "give the SNR of the good state, for example \"30 dB\"",
        "Gilbert-Elliott: mean SNR of the good state, -100 dB to 200 dB",
    );
    SNR_BAD: BadSnr = Declared::new(
        "snr_bad",
        Is("\"snr - 10 dB\""),
        "Gilbert-Elliott: of the bad state, a value up to `snr` or so much below it",
    );
    BURST_GOOD: Bits =
        Declared::new("burst_good", Is("\"800 bit\""), "Gilbert-Elliott: mean stay in the good state");
    BURST_BAD: Bits = Declared::new("burst_bad", Is("\"8 bit\""), "Gilbert-Elliott: mean stay in the bad state");
    GOOD: Duration = Declared::needed("good", STAY, "packet-scale: mean stay in the good state");
    BAD: Duration = Declared::needed("bad", STAY, "packet-scale: mean stay in the bad state");
    BIT_ERROR_GOOD: Number =
        Declared::needed("bit_error_good", ERROR, "packet-scale: bit error rate of the good state")
        .of_kind(Kind::Number(0.0, 0.5));
    BIT_ERROR_BAD: Number =
        Declared::needed("bit_error_bad", ERROR, "packet-scale: bit error rate of the bad state")
        .of_kind(Kind::Number(0.0, 0.5));
    LOSS_DATA: Number = Declared::needed(
        "loss_data",
        "give a probability, for example 0.01",
        "random: probability that a data packet is lost",
    )
    .of_kind(Kind::Number(0.0, 1.0));
    LOSS_ACK: Number =
        Declared::new("loss_ack", Is("0.0"), "random: the same for ACKs")
        .of_kind(Kind::Number(0.0, 1.0));
}

const CODE_RATE: &str = "give the code rate, data bytes over bytes on the air, for example 0.93";

keys! {
    CODE_KEYS;
    CODE_MODE: CodeMode = Declared::new(
        "mode",
        Is("\"ideal\""),
        "`\"ideal\"`: one word a packet; `\"gf256\"`: interleaved words of at most 255 bytes, which can be built",
    );
    CODE_DATA: Number =
        Declared::needed("data", CODE_RATE, "code rate of data packets, data bytes over bytes on the air")
        .of_kind(Kind::Number(0.1, 1.0));
    CODE_ACK: Number =
        Declared::needed("ack", CODE_RATE, "code rate of ACKs")
        .of_kind(Kind::Number(0.1, 1.0));
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
        reader.names_in(TABLE)
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
    let model = if is_given(reader, table) {
        reader.take(table, &MODEL)?
    } else {
        reader.take_or(table, &MODEL, Which::None)?
    };
    let model = match model {
        Which::None => return Ok(None),
        Which::GilbertElliott => gilbert_elliott(reader, table)?,
        Which::PacketScale => Model::PacketScale {
            good_ns_mean: reader.take(table, &GOOD)?.0 as f64,
            bad_ns_mean: reader.take(table, &BAD)?.0 as f64,
            bit_error_good: reader.take(table, &BIT_ERROR_GOOD)?.0,
            bit_error_bad: reader.take(table, &BIT_ERROR_BAD)?.0,
        },
        Which::Random => Model::Random {
            data: reader.take(table, &LOSS_DATA)?.0,
            ack: reader.take(table, &LOSS_ACK)?.0,
        },
    };
    let spec = ChannelSpec {
        model,
        code: code(reader, table)?,
    };
    spec.validate()
        .map_err(|error| reader.refuse(&path_of(table, error.field), &format!("allowed is {}", error.allowed)))?;
    Ok(Some(Channel {
        table: table.to_owned(),
        spec,
    }))
}

fn gilbert_elliott(reader: &mut Reader<'_>, table: &str) -> Result<Model, Refusal> {
    let antennas = reader.take(table, &ANTENNA_PAIR)?;
    let modulation = reader.take(table, &MODULATION)?;
    let snr = reader.take(table, &SNR)?.0;
    let snr_bad = match reader.take(table, &SNR_BAD)? {
        BadSnr::Own(value) => value,
        BadSnr::Below(value) => snr - value,
    };
    Ok(Model::GilbertElliott {
        modulation,
        antennas,
        snr_good_db: snr,
        snr_bad_db: snr_bad,
        burst_good_bits: reader.take(table, &BURST_GOOD)?.0 as f64,
        burst_bad_bits: reader.take(table, &BURST_BAD)?.0 as f64,
    })
}

fn code(reader: &mut Reader<'_>, table: &str) -> Result<CodeSpec, Refusal> {
    let table = &format!("{table}.code");
    let mode = if reader.node(table).is_some() {
        reader.take(table, &CODE_MODE)?
    } else {
        reader.take_or(table, &CODE_MODE, CodeMode::None)?
    };
    if mode == CodeMode::None {
        return Ok(CodeSpec::NONE);
    }
    let data_rate = reader.take(table, &CODE_DATA)?.0;
    let ack_rate = reader.take(table, &CODE_ACK)?.0;
    Ok(CodeSpec {
        data_rate,
        ack_rate,
        mode,
    })
}

/// The row of each field of [`ChannelSpec`] that it may refuse, and whether that stands in the table of the code.
const FIELDS: [(&str, Key, bool); 12] = [
    ("snr_good_db", SNR.key, false),
    ("snr_bad_db", SNR_BAD.key, false),
    ("burst_good_bits", BURST_GOOD.key, false),
    ("burst_bad_bits", BURST_BAD.key, false),
    ("good_ns_mean", GOOD.key, false),
    ("bad_ns_mean", BAD.key, false),
    ("bit_error_good", BIT_ERROR_GOOD.key, false),
    ("bit_error_bad", BIT_ERROR_BAD.key, false),
    ("data", LOSS_DATA.key, false),
    ("ack", LOSS_ACK.key, false),
    ("code.data_rate", CODE_DATA.key, true),
    ("code.ack_rate", CODE_ACK.key, true),
];

/// The path of the key that a field of [`ChannelSpec`] comes from; of what is no single key, that of the model.
fn path_of(table: &str, field: &str) -> String {
    let row = FIELDS.iter().find(|(name, ..)| *name == field);
    match row {
        Some((_, key, true)) => key.path(&format!("{table}.code")),
        Some((_, key, false)) => key.path(table),
        None => MODEL.key.path(table),
    }
}
