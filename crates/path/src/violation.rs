//! What a broken invariant looks like. It stops the run: a result that breaks one is worth nothing.

/// An invariant that did not hold. The driver adds seed and scenario so that the run can be replayed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invariant broken at {time_ns} ns in {place}: {invariant}: {detail}")]
pub struct Violation {
    /// Which invariant, as a short sentence.
    pub invariant: &'static str,
    /// Node or flow.
    pub place: String,
    /// Virtual time.
    pub time_ns: u64,
    /// The numbers that disagree.
    pub detail: String,
}

/// Boxed so that the hot path returns one word.
pub type Checked<T> = Result<T, Box<Violation>>;

/// Builds the error off the hot path.
///
/// # Errors
/// Always: it is the error.
#[cold]
#[inline(never)]
pub fn violated<T>(invariant: &'static str, place: &str, time_ns: u64, detail: String) -> Checked<T> {
    Err(Box::new(Violation {
        invariant,
        place: place.to_owned(),
        time_ns,
        detail,
    }))
}
