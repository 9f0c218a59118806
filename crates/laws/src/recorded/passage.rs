//! What a router's law did: passages of packets, runs of its timers, and its start.

use std::fmt::Debug;

use super::{CallHead, HEAD_BYTES, RecordedHead, RouterHead};
use crate::guard::{fields_of, read, to_hex};
use crate::host::RouterHost;
use crate::{Capacity, Params, Router, abi};

/// `struct passage_event` of the kernel's programs, up to what differs by function.
const TOLD_BYTES: usize = 40;
const EVENT_BYTES: usize = TOLD_BYTES + 2 * size_of::<abi::Packet>();
pub(super) const FIXED_BYTES: usize = HEAD_BYTES + EVENT_BYTES;
pub(super) const HOST_BYTES: usize = size_of::<abi::Host>();

/// What a program asks of the host of its law, `enum call_passage`.
const FUNCTIONS: [&str; 3] = ["start", "packet", "timers"];

/// A router's law and its capacity part, with their parameters.
#[derive(Clone, Debug)]
pub struct RouterLaws {
    pub law: &'static Router,
    pub params: Params,
    /// The capacity part.
    pub part: &'static Capacity,
    pub part_params: Params,
}

impl RouterLaws {
    /// Those of a recording, to the last digit.
    ///
    /// # Errors
    /// The law or part that is not there, or the parameter that it does not have any more.
    pub fn of(head: &RecordedHead, router: &RouterHead) -> Result<Self, String> {
        let law = crate::router(&head.law).ok_or_else(|| format!("no router's law is named {}", head.law))?;
        let part = crate::capacity(&router.part).ok_or_else(|| format!("no capacity part is named {}", router.part))?;
        let gone = |of: &str, name: String| format!("{of} has no parameter {name} any more");
        Ok(Self {
            law,
            params: super::values(law.params(), &head.params).map_err(|name| gone(law.name(), name))?,
            part,
            part_params: super::values(part.params(), &router.part_params).map_err(|name| gone(part.name(), name))?,
        })
    }
}

/// What was told, and what came of it.
#[derive(Clone, Debug)]
enum Told {
    Start(abi::Link),
    Packet([abi::Packet; 2]),
    Timers(abi::HostMeter),
}

/// One passage of a packet through a router's law, one run of its timers, or its start.
#[derive(Clone, Debug)]
pub struct Passage {
    /// When, by the kernel's clock.
    pub time_ns: u64,
    now_us: u64,
    is_full: bool,
    queue: (u64, u32),
    /// Of a packet `enum law_host_fate`, otherwise when the next timer is due, us.
    result: u64,
    random: [u32; abi::TIMERS_MAX],
    told: Told,
    before: Vec<u8>,
    after: Vec<u8>,
    /// Where the part's state begins in both.
    part_at: usize,
}

impl Passage {
    /// From the bytes of a call; `None` where they are none of a router's.
    pub(super) fn parse(bytes: &[u8], state_bytes: usize) -> Option<Self> {
        let head = CallHead::parse(bytes.get(..HEAD_BYTES)?);
        let memory_bytes = bytes.len().checked_sub(FIXED_BYTES)? / 2;
        let (event, memories) = bytes[HEAD_BYTES..].split_at(EVENT_BYTES);
        let (told, rest) = event.split_at(TOLD_BYTES);
        let long = |at: usize| u64::from_ne_bytes(told[at..at + 8].try_into().expect("eight bytes"));
        let word = |at: usize| u32::from_ne_bytes(told[at..at + 4].try_into().expect("four bytes"));
        let packet_bytes = size_of::<abi::Packet>();
        let of = match *FUNCTIONS.get(head.function as usize)? {
            "start" => Told::Start(read(&rest[..size_of::<abi::Link>()])),
            "packet" => Told::Packet([read(&rest[..packet_bytes]), read(&rest[packet_bytes..])]),
            _ => Told::Timers(read(&rest[..size_of::<abi::HostMeter>()])),
        };
        (head.event_bytes == EVENT_BYTES).then(|| Self {
            time_ns: head.time_ns,
            now_us: head.arguments[0],
            is_full: head.arguments[1] != 0,
            queue: (long(0), long(8) as u32),
            result: long(16),
            random: [24, 28, 32, 36].map(word),
            told: of,
            before: memories[..memory_bytes].to_vec(),
            after: memories[memory_bytes..].to_vec(),
            part_at: HOST_BYTES + state_bytes,
        })
    }

    /// What was asked of the law's host.
    pub fn name(&self) -> &'static str {
        match self.told {
            Told::Start(_) => "start",
            Told::Packet(_) => "packet",
            Told::Timers(_) => "timers",
        }
    }

    /// What the law was shown of the packet, and what it left of it.
    pub fn packet(&self) -> Option<&[abi::Packet; 2]> {
        match &self.told {
            Told::Packet(packets) => Some(packets),
            _ => None,
        }
    }

    /// What became of the packet: dropped, and marked.
    pub fn fate(&self) -> (bool, bool) {
        let fate = self.packet().map_or(0, |_| self.result as u32);
        let dropped = abi::HOST_DROPPED | abi::HOST_DROPPED_LATE;
        (fate & dropped != 0, fate & abi::HOST_MARKED != 0)
    }

    /// The law's memory after it.
    pub fn state_after(&self) -> &[u8] {
        &self.after[HOST_BYTES..self.part_at]
    }

    /// Does it again and tells what comes to something else: nothing where all is the same.
    ///
    /// A law that users brought may be found at fault, which [`crate::guard::catch`] tells.
    pub fn differences(&self, laws: &RouterLaws) -> Vec<String> {
        let mut host = self.host(laws);
        let mut differences = Vec::new();
        let result = match &self.told {
            Told::Start(link) => {
                host.start(link);
                host.due_ns()
            }
            Told::Packet([shown, left]) => {
                let mut packet = *shown;
                let fate = host.meet(self.now_us, self.is_full, &mut packet);
                differences.extend(differing("packet", &fields(left), &fields(&packet)));
                u64::from(fate.bits())
            }
            Told::Timers(meter) => {
                host.run_timers_as_set(self.now_us.saturating_mul(1000), meter);
                host.due_ns()
            }
        };
        let (what, recorded) = match self.told {
            Told::Packet(_) => ("fate", self.result),
            _ => ("next timer, ns", self.result.saturating_mul(1000)),
        };
        differences.extend((result != recorded).then(|| format!("{what}: {recorded} in the kernel, {result} here")));
        let kept: abi::Host = read(&self.after[..HOST_BYTES]);
        differences.extend(differing("host", &lines(&kept), &lines(host.host())));
        let kept = [&self.after[HOST_BYTES..self.part_at], &self.after[self.part_at..]];
        for ((whose, kept), words) in ["law", "capacity part"].iter().zip(kept).zip(host.states()) {
            let here: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            let word = here.chunks(8).zip(kept.chunks(8)).position(|(here, kept)| here != kept);
            differences.extend(word.map(|word| {
                let shown = |memory: &[u8]| to_hex(memory.chunks(8).nth(word).unwrap_or_default());
                let (kept, here) = (shown(kept), shown(&here));
                format!(
                    "memory of the {whose}, from byte {} on: {kept} in the kernel, {here} here",
                    8 * word
                )
            }));
        }
        differences
    }

    /// A host as it was before, with what it was shown of its queue.
    fn host(&self, laws: &RouterLaws) -> RouterHost {
        // With the zones around them that the guard of a user's law looks at.
        let mut states = [laws.law.new_state(), laws.part.new_state()];
        let kept = [&self.before[HOST_BYTES..self.part_at], &self.before[self.part_at..]];
        for (state, kept) in states.iter_mut().zip(kept) {
            state.fill(&kept[..state.bytes().min(kept.len())]);
        }
        let mut host = RouterHost::with_memory(
            (laws.law, &laws.params),
            (laws.part, &laws.part_params),
            &read(&self.before[..HOST_BYTES]),
            states,
        );
        let (bytes, pkts) = self.queue;
        if !matches!(self.told, Told::Start(_)) {
            host.set_queue(bytes, pkts);
        }
        for (place, word) in self.random.into_iter().enumerate() {
            host.set_random(place, word);
        }
        host
    }
}

/// A packet field by field.
fn fields(packet: &abi::Packet) -> Vec<String> {
    let fields = fields_of(*packet);
    fields.iter().map(|(name, value)| format!("{name}: {value}")).collect()
}

/// A struct field by field.
fn lines(of: &impl Debug) -> Vec<String> {
    format!("{of:#?}").lines().map(|line| line.trim().to_owned()).collect()
}

/// Fields that are others here than in the kernel.
fn differing(of: &str, kernel: &[String], here: &[String]) -> Vec<String> {
    let pairs = kernel.iter().zip(here).filter(|(kernel, here)| kernel != here);
    pairs
        .map(|(kernel, here)| format!("{of}: {} in the kernel, {} here", plain(kernel), plain(here)))
        .collect()
}

fn plain(field: &str) -> &str {
    field.trim_end_matches(',')
}
