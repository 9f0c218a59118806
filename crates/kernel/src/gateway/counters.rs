//! What a gateway's programs count.

use crate::object::LoadError;

/// Of one tunnel, since the start. As the programs' struct `gateway_counters`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that were encapsulated.
    pub entered: u64,
    /// Of them, data of the law.
    pub entered_own: u64,
    /// Of them, those that came through no plain device: the gateway's own, mostly.
    pub unseen: u64,
    /// By the outer ECN field with which they went into the tunnel.
    pub outer: [u64; 4],
    /// IP IDs that were written.
    pub written: u64,
    /// Packets that were decapsulated.
    pub left: u64,
    /// Of them, data of the law.
    pub left_own: u64,
    /// By the outer ECN field with which they came out of the tunnel.
    pub came: [u64; 4],
    /// Those whose inner ECN field the law changed, by what it changed it to.
    pub changed: [u64; 4],
    /// Packets of the law that offload had joined, both ways: they are for no half.
    pub joined: u64,
    /// Fragments of ESP that came, which are for none, too.
    pub fragments: u64,
    /// Where flows have memories of their own: data of the law, both ways, that went by the tunnel's.
    pub shared: u64,
}

/// Where the counters stand in the value of a tunnel: behind a lock and a word.
const PLACE: usize = 8;
/// Where the law's state stands: behind them and the time.
const STATE_PLACE: usize = PLACE + WORDS * 8 + 8;
const WORDS: usize = size_of::<Counters>() / 8;

impl Counters {
    /// From a tunnel's value, with the law's state of that many bytes.
    pub(super) fn of(value: &[u8], state_bytes: usize) -> Result<(Self, Vec<u8>), LoadError> {
        let too_short = || LoadError::Failed {
            what: "the gateway's counters".to_owned(),
            why: "the program's map is too short".to_owned(),
        };
        let place = value.get(PLACE..PLACE + WORDS * 8).ok_or_else(too_short)?;
        let state = value
            .get(STATE_PLACE..STATE_PLACE + state_bytes)
            .ok_or_else(too_short)?;
        let words: Vec<u64> = place
            .chunks_exact(8)
            .map(|bytes| u64::from_ne_bytes(bytes.try_into().expect("eight bytes")))
            .collect();
        let four = |at: usize| [words[at], words[at + 1], words[at + 2], words[at + 3]];
        let counters = Self {
            entered: words[0],
            entered_own: words[1],
            unseen: words[2],
            outer: four(3),
            written: words[7],
            left: words[8],
            left_own: words[9],
            came: four(10),
            changed: four(14),
            joined: words[18],
            fragments: words[19],
            shared: words[20],
        };
        Ok((counters, state.to_vec()))
    }
}
