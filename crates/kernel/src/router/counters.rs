//! What a router's program counts.

use fadelab_laws::abi;

use crate::object::LoadError;

/// Since the start of the router, except what says now. As the program's struct `router_counters`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counters {
    /// Packets that came to the device; a super-packet counts as those that the device makes of it.
    pub packets: u64,
    pub air_bytes: u64,
    /// Of them, those with the option of the law's wire.
    pub own_packets: u64,
    /// Of these, by the ECN field with which they left.
    pub left: [u64; 4],
    /// Packets whose ECN field the law changed, by what it changed it to; those for which there is room in the queue.
    pub marked: [u64; 4],
    /// Packets whose feedback the law changed.
    pub rewritten: u64,
    /// Packets that the law dropped.
    pub dropped: u64,
    /// Intervals of the capacity part.
    pub intervals: u64,
    /// Bytes that the queueing discipline sent, as it counts them; 0 where it does not.
    pub sent_bytes: u64,
    /// Bytes in the queue, now.
    pub queue_bytes: u64,
    /// Packets in the queue, now.
    pub queue_pkts: u64,
    /// Most bytes that were in the queue.
    pub queue_bytes_max: u64,
    /// The capacity part's estimate in bytes per second, now.
    pub capacity_bytes_per_s: u64,
    /// What of it is spare, now.
    pub spare_bytes_per_s: i64,
    /// The law's load factor times 2^32, now.
    load_q32: u64,
    /// The law's code, now; 0 where it has none.
    pub code: u64,
    /// Runs of the law's timer.
    pub ticks: u64,
}

/// Where the counters stand in the program's map: behind a lock, a word and a timer.
const PLACE: usize = 24;

/// Where the law's state stands: behind the counters, the configuration, three words and its host.
pub(super) const STATE_PLACE: usize = PLACE + size_of::<Counters>() + 48 + 3 * 8 + size_of::<abi::Host>();

impl Counters {
    /// The law's load factor; `None` where it has none.
    pub fn load(&self) -> Option<f64> {
        (self.code != 0).then_some(self.load_q32 as f64 / 4_294_967_296.0)
    }

    /// From the value of the program's map.
    pub(super) fn of(value: &[u8]) -> Result<Self, LoadError> {
        let words: Option<Vec<u64>> = value.get(PLACE..PLACE + size_of::<Self>()).map(|bytes| {
            let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
            bytes.chunks_exact(8).map(word).collect()
        });
        let words = words.ok_or_else(|| LoadError::Failed {
            what: "the router's counters".to_owned(),
            why: "the program's map is too short".to_owned(),
        })?;
        let four = |at: usize| [words[at], words[at + 1], words[at + 2], words[at + 3]];
        Ok(Self {
            packets: words[0],
            air_bytes: words[1],
            own_packets: words[2],
            left: four(3),
            marked: four(7),
            rewritten: words[11],
            dropped: words[12],
            intervals: words[13],
            sent_bytes: words[14],
            queue_bytes: words[15],
            queue_pkts: words[16],
            queue_bytes_max: words[17],
            capacity_bytes_per_s: words[18],
            spare_bytes_per_s: words[19] as i64,
            load_q32: words[20],
            code: words[21],
            ticks: words[22],
        })
    }
}
