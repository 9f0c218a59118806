//! Which hops of a row of links a flow crosses.

use crate::document::Raw;
use crate::kind::Kind;
use crate::unit::Scalar;

/// Which hops of a parking lot a flow crosses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// All.
    All,
    /// One set of flows per hop, each crossing only that hop.
    Each,
    /// From hop `first` to hop `last`, counted from 1.
    Hops { first: u32, last: u32 },
}

impl Scalar for Way {
    const KIND: Kind = Kind::Way;

    fn read(raw: &Raw) -> Result<Self, String> {
        let allowed = "a path is \"all\", \"each\", one hop such as \"2\" or several such as \"2..3\", counted from 1";
        let (Raw::Text(text) | Raw::Number(text)) = raw else {
            return Err(allowed.to_owned());
        };
        let hop = |text: &str| {
            text.trim()
                .parse()
                .ok()
                .filter(|hop: &u32| *hop > 0)
                .ok_or(allowed.to_owned())
        };
        match text.trim() {
            "all" => Ok(Self::All),
            "each" => Ok(Self::Each),
            range => {
                let (first, last) = range.split_once("..").unwrap_or((range, range));
                let (first, last) = (hop(first)?, hop(last)?);
                if first <= last {
                    Ok(Self::Hops { first, last })
                } else {
                    Err(allowed.to_owned())
                }
            }
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::All => "\"all\"".to_owned(),
            Self::Each => "\"each\"".to_owned(),
            Self::Hops { first, last } if first == last => format!("\"{first}\""),
            Self::Hops { first, last } => format!("\"{first}..{last}\""),
        }
    }
}
