//! Values with units: read exactly into integers, written back in the largest unit that fits.

use crate::document::{Raw, quoted};
use crate::error::{nearest, one_of};
use crate::kind::Kind;

/// A value of a key: read from the tree, and written back as TOML.
pub trait Scalar: Sized {
    /// What the reference and the schema say of it.
    const KIND: Kind;
    /// Reads it.
    ///
    /// # Errors
    /// What is wrong and what is allowed, without place and key.
    fn read(raw: &Raw) -> Result<Self, String>;
    /// The canonical TOML of the value; it reads back as the same.
    fn shown(&self) -> String;
}

/// Reads a value as it stands on a command line.
///
/// # Errors
/// What is wrong and what is allowed.
pub fn parse<T: Scalar>(text: &str) -> Result<T, String> {
    T::read(&Raw::Text(text.to_owned()))
}

/// A kind of quantity: its units, each with the number of base units it has, smallest first.
struct Quantity {
    what: &'static str,
    example: &'static str,
    /// Units in which values are written; the first is the base.
    units: &'static [(&'static str, u128)],
    /// Units that are only read.
    aliases: &'static [(&'static str, u128)],
    /// Largest value, in base units: sums of a few of them must fit into 64 bits.
    max: u64,
}

const DURATION: Quantity = Quantity {
    what: "a duration",
    example: "80 ms",
    units: &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)],
    aliases: &[("µs", 1_000), ("min", 60_000_000_000), ("h", 3_600_000_000_000)],
    max: 1_000_000_000_000_000_000,
};

const RATE: Quantity = Quantity {
    what: "a rate",
    example: "54 Mbit/s",
    units: &[
        ("bit/s", 1),
        ("kbit/s", 1_000),
        ("Mbit/s", 1_000_000),
        ("Gbit/s", 1_000_000_000),
    ],
    aliases: &[],
    max: 10_000_000_000_000,
};

const SIZE: Quantity = Quantity {
    what: "a size",
    example: "64 kB",
    units: &[("B", 1), ("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000)],
    aliases: &[],
    max: 1_000_000_000_000_000_000,
};

const BITS: Quantity = Quantity {
    what: "a length in bits",
    example: "800 bit",
    units: &[("bit", 1), ("kbit", 1_000)],
    aliases: &[("bits", 1)],
    max: 1_000_000_000_000_000,
};

const PACKETS: Quantity = Quantity {
    what: "a number of packets",
    example: "100 pkt",
    units: &[("pkt", 1)],
    aliases: &[("packets", 1), ("packet", 1), ("pkts", 1)],
    max: u32::MAX as u64,
};

/// The unit that was meant, if that can be told: by what it is called elsewhere, or by its spelling.
fn meant(unit: &str, names: &[&str]) -> String {
    let lower = unit.to_lowercase();
    let elsewhere = match lower.strip_suffix("bps") {
        Some(prefix) => format!(
            "{}bit/s",
            if prefix == "k" {
                prefix.to_owned()
            } else {
                prefix.to_uppercase()
            }
        ),
        None => lower.replace("sec", "s"),
    };
    match names.iter().find(|name| **name == elsewhere) {
        Some(name) => format!("; did you mean `{name}`?"),
        None => nearest(unit, names),
    }
}

impl Quantity {
    fn allowed(&self) -> String {
        let units: Vec<&str> = self.units.iter().chain(self.aliases).map(|(name, _)| *name).collect();
        format!(
            "{} is a number with its unit, {}, for example {}",
            self.what,
            one_of(&units),
            quoted(self.example)
        )
    }

    fn factor(&self, unit: &str) -> Option<u128> {
        self.units
            .iter()
            .chain(self.aliases)
            .find(|(name, _)| *name == unit)
            .map(|(_, factor)| *factor)
    }

    /// The value in base units.
    fn read(&self, raw: &Raw) -> Result<u64, String> {
        match raw {
            Raw::Text(text) => self.read_text(text),
            Raw::Number(_) => Err(format!("the unit is missing: {}", self.allowed())),
            _ => Err(self.allowed()),
        }
    }

    fn read_text(&self, text: &str) -> Result<u64, String> {
        let (number, unit) = split_unit(text);
        if number.is_empty() {
            return Err(self.allowed());
        }
        if unit.is_empty() {
            return Err(format!("the unit is missing: {}", self.allowed()));
        }
        let Some(factor) = self.factor(unit) else {
            let names: Vec<&str> = self.units.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "unknown unit `{unit}`: {}{}",
                self.allowed(),
                meant(unit, &names)
            ));
        };
        if number.starts_with('-') {
            return Err(format!("{} cannot be negative", self.what));
        }
        let too_large = || format!("{} is at most {}", self.what, self.shown(self.max));
        let value = scaled(number, factor).map_err(|why| match why {
            Inexact::Malformed => self.allowed(),
            Inexact::TooFine => format!(
                "{} is a whole number of {}, this one is finer",
                self.what, self.units[0].0
            ),
            Inexact::TooLarge => too_large(),
        })?;
        if value > self.max { Err(too_large()) } else { Ok(value) }
    }

    fn shown(&self, value: u64) -> String {
        let value = u128::from(value);
        let fits = |&&(_, factor): &&(&str, u128)| value % factor == 0;
        let (unit, factor) = self.units.iter().rev().find(fits).unwrap_or(&self.units[0]);
        quoted(&format!("{} {unit}", value / factor))
    }
}

/// Splits `54 Mbit/s` into `54` and `Mbit/s`.
fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|(index, c)| !(c.is_ascii_digit() || *c == '.' || (*index == 0 && "+-".contains(*c))))
        .map_or(text.len(), |(index, _)| index);
    let (number, unit) = text.split_at(end);
    (number.strip_prefix('+').unwrap_or(number), unit.trim())
}

/// Why a decimal number is not a whole number of base units.
pub enum Inexact {
    /// It is not a decimal number.
    Malformed,
    /// It has a fraction of a base unit.
    TooFine,
    /// It exceeds 64 bits.
    TooLarge,
}

/// `number * factor`, exactly, for a decimal number without sign or exponent.
///
/// # Errors
/// Why there is no such integer.
pub fn scaled(number: &str, factor: u128) -> Result<u64, Inexact> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    let digits = format!("{whole}{fraction}");
    if whole.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Inexact::Malformed);
    }
    let digits: u128 = digits.parse().map_err(|_| Inexact::TooLarge)?;
    let divisor = 10u128.checked_pow(fraction.len() as u32).ok_or(Inexact::TooFine)?;
    let product = digits.checked_mul(factor).ok_or(Inexact::TooLarge)?;
    if product % divisor != 0 {
        return Err(Inexact::TooFine);
    }
    u64::try_from(product / divisor).map_err(|_| Inexact::TooLarge)
}

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $kind:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(pub u64);

        impl Scalar for $name {
            const KIND: Kind = Kind::$name;

            fn read(raw: &Raw) -> Result<Self, String> {
                $kind.read(raw).map(Self)
            }

            fn shown(&self) -> String {
                $kind.shown(self.0)
            }
        }
    };
}

quantity!(
    /// A time in ns.
    Duration,
    DURATION
);
quantity!(
    /// A rate in bit/s; may be zero, see [`positive`].
    Rate,
    RATE
);
quantity!(
    /// A size in bytes.
    Size,
    SIZE
);
quantity!(
    /// A length in bits.
    Bits,
    BITS
);
quantity!(
    /// A number of packets.
    Packets,
    PACKETS
);

/// A ratio of powers in dB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decibel(pub f64);

impl Scalar for Decibel {
    const KIND: Kind = Kind::Snr;

    fn read(raw: &Raw) -> Result<Self, String> {
        let allowed = "an SNR is a number with its unit dB, for example \"30 dB\"";
        let text = match raw {
            Raw::Text(text) => text,
            Raw::Number(_) => return Err(format!("the unit is missing: {allowed}")),
            _ => return Err(allowed.to_owned()),
        };
        let (number, unit) = split_unit(text);
        match (number.parse::<f64>(), unit) {
            (Ok(value), "dB") => Ok(Self(value)),
            (Ok(_), "") => Err(format!("the unit is missing: {allowed}")),
            (Ok(_), unit) => Err(format!("unknown unit `{unit}`: {allowed}{}", nearest(unit, &["dB"]))),
            (Err(_), _) => Err(allowed.to_owned()),
        }
    }

    fn shown(&self) -> String {
        quoted(&format!("{} dB", self.0))
    }
}

/// A pure number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(pub f64);

impl Scalar for Number {
    const KIND: Kind = Kind::Number(f64::MIN, f64::MAX);

    fn read(raw: &Raw) -> Result<Self, String> {
        match raw {
            Raw::Number(text) => text.parse().map(Self).map_err(|_| format!("`{text}` is not a number")),
            _ => Err("a number without a unit is needed, for example 0.93".to_owned()),
        }
    }

    fn shown(&self) -> String {
        format!("{:?}", self.0)
    }
}

impl Scalar for u32 {
    const KIND: Kind = Kind::Whole(0, u32::MAX);

    fn read(raw: &Raw) -> Result<Self, String> {
        let allowed = || format!("a whole number from 0 to {} is needed", u32::MAX);
        match raw {
            Raw::Number(text) => text.parse().map_err(|_| allowed()),
            _ => Err(allowed()),
        }
    }

    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Scalar for bool {
    const KIND: Kind = Kind::Switch;

    fn read(raw: &Raw) -> Result<Self, String> {
        match raw {
            Raw::Bool(value) => Ok(*value),
            _ => Err("true or false is needed".to_owned()),
        }
    }

    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Scalar for String {
    const KIND: Kind = Kind::Text;

    fn read(raw: &Raw) -> Result<Self, String> {
        match raw {
            Raw::Text(text) => Ok(text.clone()),
            _ => Err("a string in quotes is needed".to_owned()),
        }
    }

    fn shown(&self) -> String {
        quoted(self)
    }
}

/// A value that may be switched off with `false`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch<T>(pub Option<T>);

impl<T: Scalar> Scalar for Switch<T> {
    const KIND: Kind = Kind::OrFalse(&T::KIND);

    fn read(raw: &Raw) -> Result<Self, String> {
        match raw {
            Raw::Bool(false) => Ok(Self(None)),
            _ => T::read(raw)
                .map(|value| Self(Some(value)))
                .map_err(|why| format!("{why}; false switches it off")),
        }
    }

    fn shown(&self) -> String {
        self.0.as_ref().map_or_else(|| "false".to_owned(), Scalar::shown)
    }
}

/// Limit of a queue as it is written: packets, bytes, or multiples of the bandwidth-delay product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BufferSize {
    /// So many packets.
    Packets(u32),
    /// So many on-air bytes.
    Bytes(u64),
    /// Thousandths of the bandwidth-delay product.
    MilliBdp(u64),
}

impl Scalar for BufferSize {
    const KIND: Kind = Kind::Buffer;

    fn read(raw: &Raw) -> Result<Self, String> {
        let allowed = "a buffer is a number with its unit, pkt, B, kB, MB or BDP, for example \"100 pkt\" or \"1 BDP\"";
        let text = match raw {
            Raw::Text(text) => text,
            Raw::Number(_) => return Err(format!("the unit is missing: {allowed}")),
            _ => return Err(allowed.to_owned()),
        };
        let (number, unit) = split_unit(text);
        let limit = if unit == "BDP" {
            scaled(number, 1_000)
                .map(Self::MilliBdp)
                .map_err(|_| format!("{allowed}; a BDP has at most 3 decimals"))?
        } else if PACKETS.factor(unit).is_some() {
            let packets = PACKETS.read(raw)?;
            Self::Packets(u32::try_from(packets).map_err(|_| format!("at most {} packets", u32::MAX))?)
        } else if SIZE.factor(unit).is_some() {
            Self::Bytes(SIZE.read(raw)?)
        } else if unit.is_empty() {
            return Err(format!("the unit is missing: {allowed}"));
        } else {
            let near = nearest(unit, &["pkt", "packets", "B", "kB", "MB", "BDP"]);
            return Err(format!("unknown unit `{unit}`: {allowed}{near}"));
        };
        match limit {
            Self::Packets(0) | Self::Bytes(0) | Self::MilliBdp(0) => Err("a buffer holds more than nothing".to_owned()),
            limit => Ok(limit),
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Packets(packets) => PACKETS.shown(u64::from(*packets)),
            Self::Bytes(bytes) => SIZE.shown(*bytes),
            Self::MilliBdp(milli) => quoted(&format!("{} BDP", *milli as f64 / 1_000.0)),
        }
    }
}

/// A number, possibly with a fraction, with one of several spellings of one unit.
///
/// # Errors
/// A missing or another unit, with what is allowed.
pub fn tagged_number(raw: &Raw, spellings: &[&str], example: &str) -> Result<f64, String> {
    let allowed = || format!("a number with its unit is needed, for example {}", quoted(example));
    let Raw::Text(text) = raw else { return Err(allowed()) };
    let (number, unit) = split_unit(text);
    if !spellings.contains(&unit) {
        return Err(format!("{}{}", allowed(), nearest(unit, spellings)));
    }
    number.parse().map_err(|_| allowed())
}

/// Refuses zero.
///
/// # Errors
/// When the value is zero.
pub fn positive(value: u64, what: &str) -> Result<u64, String> {
    if value == 0 {
        Err(format!("{what} must be greater than zero"))
    } else {
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Raw {
        Raw::Text(value.to_owned())
    }

    #[test]
    fn values_are_exact() {
        // Goal: a decimal with a unit becomes exactly its integer, and what is finer than the base is refused.
        assert_eq!(Duration::read(&text("0.1 ms")).unwrap(), Duration(100_000));
        assert_eq!(Duration::read(&text("1.000000001s")).unwrap(), Duration(1_000_000_001));
        assert_eq!(Rate::read(&text("4.5 Mbit/s")).unwrap(), Rate(4_500_000));
        assert_eq!(Size::read(&text("64 kB")).unwrap(), Size(64_000));
        assert_eq!(Bits::read(&text("800 bit")).unwrap(), Bits(800));
        assert_eq!(Packets::read(&text("100 packets")).unwrap(), Packets(100));
        assert!(Duration::read(&text("0.1 ns")).unwrap_err().contains("finer"));
        assert!(
            Rate::read(&text("99999999999999999999 Gbit/s"))
                .unwrap_err()
                .contains("at most \"10000 Gbit/s\"")
        );
    }

    #[test]
    fn what_is_written_reads_back() {
        // Goal: the canonical form of a value is the value, and it uses the largest unit without a fraction.
        assert_eq!(Duration(1_500_000_000).shown(), "\"1500 ms\"");
        assert_eq!(Duration(0).shown(), "\"0 s\"");
        assert_eq!(Rate(54_000_000).shown(), "\"54 Mbit/s\"");
        assert_eq!(Size(1040).shown(), "\"1040 B\"");
        assert_eq!(Decibel(4.5).shown(), "\"4.5 dB\"");
        assert_eq!(BufferSize::MilliBdp(1_500).shown(), "\"1.5 BDP\"");
        for value in ["0.5 BDP", "10 pkt", "64 kB"] {
            let limit = BufferSize::read(&text(value)).unwrap();
            assert_eq!(limit.shown(), format!("\"{value}\""));
        }
    }

    #[test]
    fn wrong_values_are_explained() {
        // Goal: each way to get a quantity wrong names what is allowed, and a near unit is suggested.
        assert!(
            Duration::read(&Raw::Number("80".into()))
                .unwrap_err()
                .starts_with("the unit is missing")
        );
        assert!(
            Duration::read(&text("80 msec"))
                .unwrap_err()
                .contains("unknown unit `msec`")
        );
        assert!(
            Rate::read(&text("54 Mbits/s"))
                .unwrap_err()
                .contains("did you mean `Mbit/s`?")
        );
        for (given, meant) in [
            ("54 Mbps", "Mbit/s"),
            ("9 kbps", "kbit/s"),
            ("9 bps", "bit/s"),
            ("1 gbps", "Gbit/s"),
        ] {
            let why = Rate::read(&text(given)).unwrap_err();
            assert!(why.contains(&format!("did you mean `{meant}`?")), "{why}");
        }
        assert!(
            Duration::read(&text("80 msec"))
                .unwrap_err()
                .contains("did you mean `ms`?")
        );
        assert!(Rate::read(&text("-1 Mbit/s")).unwrap_err().contains("negative"));
        assert!(Size::read(&text("..")).unwrap_err().contains("\"64 kB\""));
        assert!(
            BufferSize::read(&text("1 BPD"))
                .unwrap_err()
                .contains("did you mean `BDP`?")
        );
        assert!(BufferSize::read(&text("0 pkt")).is_err());
        assert!(
            Decibel::read(&Raw::Number("30".into()))
                .unwrap_err()
                .contains("\"30 dB\"")
        );
        assert!(Number::read(&text("0.93")).unwrap_err().contains("without a unit"));
        assert!(
            u32::read(&Raw::Number("2.5".into()))
                .unwrap_err()
                .contains("whole number")
        );
    }
}
