//! Values of a law's memory that somebody may want to see: what a header declares, and how they are read.

use serde::{Deserialize, Serialize};

use crate::abi;

/// Units of values to watch, beside choices joined by `|`.
pub(crate) const UNITS: [&str; 6] = ["us", "B", "B/s", "pkt", "1", "bool"];

/// One value to watch as its header declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchInfo {
    pub name: &'static str,
    /// Unit of what is shown: `us`, `B`, `B/s`, `pkt`, `1`, `bool`, or choices joined by `|`, counted from 0.
    pub unit: &'static str,
    /// Integers per unit: what is shown is the law's integer divided by this.
    pub scale: u64,
    /// One sentence, with the symbol of the paper where it has one.
    pub meaning: &'static str,
    /// Where it lies.
    pub field: Field,
}

/// Where in the memory of a law a value lies: all that is needed to read it where the law itself is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Bytes of the state before it.
    offset: u32,
    /// Its size: 1, 2, 4 or 8.
    bytes: u32,
    /// Whether the integer has a sign.
    pub is_signed: bool,
}

impl Field {
    /// The law's integer in its memory, as 64 bits: extended by its sign where it has one.
    ///
    /// # Panics
    /// If the memory is shorter than that of the law.
    fn raw(self, state: &[u64]) -> u64 {
        // A field may reach into the next word where its law packs them.
        let (place, shift_bits) = (self.offset as usize / 8, self.offset % 8 * 8);
        let next = state.get(place + 1).copied().unwrap_or(0);
        self.extended(((u128::from(next) << 64 | u128::from(state[place])) >> shift_bits) as u64)
    }

    /// The same of memory that is given byte by byte; `None` where it is shorter than that of the law.
    pub fn raw_of(self, state: &[u8]) -> Option<u64> {
        let start = self.offset as usize;
        let field = state.get(start..start + self.bytes as usize)?;
        let word = field.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        Some(self.extended(word))
    }

    /// The field, which is at the lowest bits, without what lies above it.
    fn extended(self, word: u64) -> u64 {
        let unused_bits = 64 - 8 * self.bytes;
        let word = word << unused_bits;
        if self.is_signed {
            (word as i64 >> unused_bits) as u64
        } else {
            word >> unused_bits
        }
    }
}

impl WatchInfo {
    /// Of a row of a header and its texts.
    pub(crate) fn new(row: &abi::Watch, name: &'static str, unit: &'static str, meaning: &'static str) -> Self {
        const { assert!(cfg!(target_endian = "little"), "raw takes the lowest byte first") };
        Self {
            name,
            unit,
            scale: row.scale,
            meaning,
            field: Field {
                offset: row.offset,
                bytes: row.bytes,
                is_signed: row.is_signed != 0,
            },
        }
    }

    /// The law's integer in its memory, as 64 bits: extended by its sign where it has one.
    ///
    /// # Panics
    /// If the memory is shorter than that of the law.
    pub fn raw(&self, state: &[u64]) -> u64 {
        self.field.raw(state)
    }

    /// As [`Self::raw`], of memory that is given byte by byte; `None` where it is shorter than that of the law.
    pub fn raw_of(&self, state: &[u8]) -> Option<u64> {
        self.field.raw_of(state)
    }

    /// An integer of the law in the unit.
    pub fn shown(&self, raw: u64) -> f64 {
        let integer = if self.field.is_signed {
            raw as i64 as f64
        } else {
            raw as f64
        };
        integer / self.scale as f64
    }

    /// An integer of the law as a person reads it: `1.25 pkt`, `350 us`, `0.98`, `true` or the name of a choice.
    pub fn written(&self, raw: u64) -> String {
        let named = |names: &mut dyn Iterator<Item = &'static str>| names.nth(raw as usize).unwrap_or("?").to_owned();
        match self.unit {
            "bool" => named(&mut ["false", "true"].into_iter()),
            unit if unit.contains('|') => named(&mut unit.split('|')),
            unit => {
                let decimals = if self.scale == 1 { 0 } else { 4 };
                let number = format!("{:.decimals$}", self.shown(raw));
                if unit == "1" {
                    number
                } else {
                    format!("{number} {unit}")
                }
            }
        }
    }

    /// Bytes of the state up to the end of the field.
    #[cfg(test)]
    pub(crate) fn end(&self) -> u32 {
        self.field.offset + self.field.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(offset: u32, bytes: u32, is_signed: bool, scale: u64) -> WatchInfo {
        WatchInfo {
            name: "x",
            unit: "1",
            scale,
            meaning: "x",
            field: Field {
                offset,
                bytes,
                is_signed,
            },
        }
    }

    #[test]
    fn a_field_is_read_where_it_lies_in_its_size_and_with_its_sign() {
        // Goal: each size, with a sign and without, gives the integer that C put there, and nothing of its neighbours.
        let state = [0xffff_1234_22ff_fe11, 0x8000_0000_0000_0001];
        let cases = [
            (field(1, 1, false, 1), 0xfe, 254.0),
            (field(1, 1, true, 1), -2_i64 as u64, -2.0),
            (field(1, 2, true, 1), -2_i64 as u64, -2.0),
            (field(4, 2, true, 2), 0x1234, 2330.0),
            (field(4, 4, true, 1), 0xffff_ffff_ffff_1234, -60876.0),
            (field(4, 4, false, 1), 0xffff_1234, 4_294_906_420.0),
            (field(6, 4, false, 1), 0x0001_ffff, 131_071.0),
            (field(8, 8, false, 1 << 63), 0x8000_0000_0000_0001, 1.0),
            (field(8, 8, true, 1 << 62), 0x8000_0000_0000_0001, -2.0),
        ];
        let bytes = state.map(u64::to_le_bytes).concat();
        for (info, raw, shown) in cases {
            assert_eq!(info.raw_of(&bytes), Some(raw), "{info:?}");
            assert_eq!(info.raw_of(&bytes[..info.end() as usize - 1]), None, "{info:?}");
            assert_eq!(info.raw(&state), raw, "{info:?}");
            assert!((info.shown(raw) - shown).abs() < 1e-9, "{info:?}: {}", info.shown(raw));
        }
    }

    #[test]
    fn values_are_written_as_a_person_reads_them() {
        // Goal: numbers have their unit, choices and switches their names, and what is none of them says so.
        let of = |unit, scale, raw| {
            WatchInfo {
                unit,
                ..field(0, 8, true, scale)
            }
            .written(raw)
        };
        assert_eq!(of("pkt", 4, 5), "1.2500 pkt");
        assert_eq!(of("us", 1, 350), "350 us");
        assert_eq!(of("1", 2, -3_i64 as u64), "-1.5000");
        assert_eq!(
            [of("bool", 1, 1), of("no|yes", 1, 0), of("no|yes", 1, 2)],
            ["true", "no", "?"]
        );
    }

    #[test]
    fn every_declared_value_is_one_of_its_law() {
        // Goal: over the whole registry, a value lies inside the state of its law, in a known unit, once, and says what
        // it is.
        let mut declared = 0;
        let mut check = |law: &str, state_bytes: u32, watch: &[WatchInfo]| {
            for info in watch {
                let place = format!("{law}.{}", info.name);
                assert!(info.end() <= state_bytes, "{place} lies beyond the state");
                assert!([1, 2, 4, 8].contains(&info.field.bytes), "{place}");
                assert!(info.scale > 0, "{place}");
                assert!(
                    UNITS.contains(&info.unit) || info.unit.contains('|'),
                    "{place}: {}",
                    info.unit
                );
                assert!(
                    !info.meaning.is_empty() && !info.meaning.ends_with('.'),
                    "{place}: {}",
                    info.meaning
                );
                assert_eq!(
                    watch.iter().filter(|other| other.name == info.name).count(),
                    1,
                    "{place}"
                );
                declared += 1;
            }
        };
        for law in crate::senders() {
            check(law.name(), law.state_bytes(), law.watch());
        }
        for law in crate::routers() {
            check(law.name(), law.state_bytes(), law.watch());
        }
        for part in crate::capacities() {
            check(part.name(), part.state_bytes(), part.watch());
        }
        assert!(declared > 0, "no law declares anything");
    }
}
