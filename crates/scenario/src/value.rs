//! Types of values that say what a key takes: words and ranges, and how fields of a run hold a value.

use crate::document::{Raw, quoted};
use crate::error::{nearest, one_of};
use crate::kind::Kind;
use crate::unit::{Duration, Packets, Scalar, Size, Switch};

/// A type whose values are words.
pub trait Words: Copy + PartialEq + 'static {
    /// Each word with its value.
    const WORDS: &'static [(&'static str, Self)];
    /// The words alone.
    const NAMES: &'static [&'static str];
}

/// Says how the values of a type are written, each a word.
macro_rules! words {
    ($type:ty: $($word:literal => $value:expr),+ $(,)?) => {
        impl $crate::value::Words for $type {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, $value)),+];
            const NAMES: &'static [&'static str] = &[$($word),+];
        }
    };
}
pub(crate) use words;

impl<T: Words> Scalar for T {
    const KIND: Kind = Kind::Choice(T::NAMES);

    fn read(raw: &Raw) -> Result<Self, String> {
        let word = String::read(raw)?;
        let found = T::WORDS.iter().find(|(name, _)| *name == word);
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| format!("allowed is {}{}", one_of(T::NAMES), nearest(&word, T::NAMES)))
    }

    fn shown(&self) -> String {
        let word = T::WORDS.iter().find(|(_, value)| value == self);
        quoted(word.map_or("", |(word, _)| word))
    }
}

/// A value, or that of the other direction or of the other end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Same<T> {
    Same,
    Own(T),
}

impl<T: Scalar> Scalar for Same<T> {
    const KIND: Kind = Kind::Or(&T::KIND, "same");

    fn read(raw: &Raw) -> Result<Self, String> {
        match raw {
            Raw::Text(text) if text == "same" => Ok(Self::Same),
            _ => T::read(raw).map(Self::Own).map_err(|why| format!("{why}, or \"same\"")),
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Same => quoted("same"),
            Self::Own(value) => value.shown(),
        }
    }
}

/// A size from `MIN` to `MAX`, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes<const MIN: u32, const MAX: u32>(pub u32);

impl<const MIN: u32, const MAX: u32> Scalar for Sizes<MIN, MAX> {
    const KIND: Kind = Kind::Sizes(MIN, MAX);

    fn read(raw: &Raw) -> Result<Self, String> {
        let size = u32::try_from(Size::read(raw)?.0)
            .ok()
            .filter(|size| (MIN..=MAX).contains(size));
        size.map(Self).ok_or_else(|| format!("allowed is {MIN} B to {MAX} B"))
    }

    fn shown(&self) -> String {
        Size(u64::from(self.0)).shown()
    }
}

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole<const MIN: u32, const MAX: u32>(pub u32);

impl<const MIN: u32, const MAX: u32> Scalar for Whole<MIN, MAX> {
    const KIND: Kind = Kind::Whole(MIN, MAX);

    fn read(raw: &Raw) -> Result<Self, String> {
        let number = u32::read(raw)?;
        if (MIN..=MAX).contains(&number) {
            Ok(Self(number))
        } else {
            Err(format!("allowed is {MIN} to {MAX}"))
        }
    }

    fn shown(&self) -> String {
        self.0.to_string()
    }
}

/// A value as a field of a run holds it.
pub(crate) trait Held<V> {
    /// The value of the field.
    fn of(held: V) -> Self;
    /// The field of the value.
    fn held(self) -> V;
}

impl<T> Held<T> for T {
    fn of(held: T) -> Self {
        held
    }

    fn held(self) -> T {
        self
    }
}

macro_rules! held {
    ($([$($generics:tt)*] $type:ty as $field:ty: $of:expr, $held:expr;)+) => {
        $(impl<$($generics)*> Held<$field> for $type {
            fn of(held: $field) -> Self {
                ($of)(held)
            }

            fn held(self) -> $field {
                ($held)(self)
            }
        })+
    };
}

held! {
    [const MIN: u32, const MAX: u32] Sizes<MIN, MAX> as u32: Sizes, |size: Self| size.0;
    [const MIN: u32, const MAX: u32] Whole<MIN, MAX> as u32: Whole, |number: Self| number.0;
    [const MIN: u32] Whole<MIN, 10_000> as u16: |held| Self(u32::from(held)), |number: Self| number.0 as u16;
    [] Packets as u32: |held| Packets(u64::from(held)), |packets: Self| packets.0 as u32;
    [] Duration as u64: Duration, |time: Self| time.0;
    [] Switch<Duration> as Option<u64>:
        |held: Option<u64>| Switch(held.map(Duration)), |time: Self| time.0.map(|time| time.0);
}
