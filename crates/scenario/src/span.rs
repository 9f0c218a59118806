//! Times that may be random: `"3 s"`, `"uniform 0 s..10 s"`, `"exponential 5 s"`.

use fadelab_run::app::Span;

use crate::document::{Raw, quoted};
use crate::kind::Kind;
use crate::unit::{Duration, Scalar};

const ALLOWED: &str =
    "a time is written as \"3 s\", \"uniform 0 s..10 s\" (drawn once per use) or \"exponential 5 s\" (its mean)";

impl Scalar for Span {
    const KIND: Kind = Kind::Span;

    fn read(raw: &Raw) -> Result<Self, String> {
        let Raw::Text(text) = raw else {
            return Err(ALLOWED.to_owned());
        };
        let duration = |text: &str| {
            Duration::read(&Raw::Text(text.to_owned()))
                .map(|value| value.0)
                .map_err(|why| format!("{why}; {ALLOWED}"))
        };
        if let Some(range) = text.trim().strip_prefix("uniform ") {
            let (min, max) = range.split_once("..").ok_or(ALLOWED)?;
            let (min_ns, max_ns) = (duration(min)?, duration(max)?);
            if min_ns >= max_ns {
                return Err("a uniform time needs an upper end above its lower end".to_owned());
            }
            return Ok(Self::Uniform { min_ns, max_ns });
        }
        if let Some(mean) = text.trim().strip_prefix("exponential ") {
            return match duration(mean)? {
                0 => Err("an exponential time needs a mean above zero".to_owned()),
                mean_ns => Ok(Self::Exponential { mean_ns }),
            };
        }
        duration(text).map(|ns| Self::Fixed { ns })
    }

    fn shown(&self) -> String {
        let plain = |ns: u64| Duration(ns).shown().trim_matches('"').to_owned();
        quoted(&match self {
            Self::Fixed { ns } => plain(*ns),
            Self::Uniform { min_ns, max_ns } => format!("uniform {}..{}", plain(*min_ns), plain(*max_ns)),
            Self::Exponential { mean_ns } => format!("exponential {}", plain(*mean_ns)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_reads_back() {
        // Goal: fixed, uniform and exponential times survive writing and reading.
        for value in ["3 s", "uniform 0 s..10 s", "exponential 500 ms"] {
            let span = Span::read(&Raw::Text(value.to_owned())).unwrap();
            assert_eq!(span.shown(), format!("\"{value}\""));
        }
    }

    #[test]
    fn impossible_spans_are_refused() {
        // Goal: an empty range, a zero mean, an unknown word and a missing unit are refused with the three forms.
        for value in [
            "uniform 10 s..10 s",
            "uniform 1 s",
            "exponential 0 s",
            "normal 3 s",
            "3",
        ] {
            assert!(Span::read(&Raw::Text(value.to_owned())).is_err(), "{value}");
        }
        assert!(
            Span::read(&Raw::Number("3".into()))
                .unwrap_err()
                .contains("exponential")
        );
    }
}
