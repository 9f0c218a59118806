//! Decides the fate of each packet of a link.
//!
//! # Bits
//!
//! The chain over bits steps in bit times of the link, while it is idle too. Between two packets the state is known at
//! the end of the first; over a gap of `n` idle bits its law becomes `stationary + lambda^n (known - stationary)`. The
//! packet's size has a joint law of loss and state after, given the state before, computed at the first packet of that
//! size. One uniform number picks loss and state after together. The result is a correct realisation of the chain and
//! its errors, seen through the packets' fates.
//!
//! # Common random numbers
//!
//! The uniform number belongs to the link's name and a time slot, the air time of 40 bytes: two runs that send at the
//! same time meet the same number, however many packets they sent before. Small numbers mean loss, and then the bad
//! state after it, in every law. No two packets of 40 bytes or more start in one slot; of shorter ones, later packets
//! in a slot take further numbers of that slot.

use crate::channel::{ChannelSpec, Model, PacketKind};
use crate::gilbert_elliott::{BAD, GOOD, Mixing};
use crate::packet_error::PacketLaw;
use crate::packet_scale::{LossGivenPath, Scratch, Sojourns, TimeChain};
use crate::random::CounterDraw;

/// Sizes whose tables are kept. A link sees a handful; more only cost time.
const SIZES_KEPT: usize = 64;

/// A channel of one link at work: decides the fate of each packet.
#[derive(Clone, Debug)]
pub struct Channel {
    spec: ChannelSpec,
    draw: SlotDraw,
    sampler: Sampler,
}

#[derive(Clone, Debug)]
enum Sampler {
    Bits(BitSampler),
    Time(Box<TimeSampler>),
    Random { data: f64, ack: f64 },
}

impl Channel {
    /// The channel of the link `link_name`, which sends `rate_bps` bits per second on the air, under `seed`. The
    /// specification is valid, see [`ChannelSpec::validate`].
    ///
    /// # Panics
    /// If `rate_bps` is 0.
    pub fn new(spec: &ChannelSpec, seed: u64, link_name: &str, rate_bps: u64) -> Self {
        assert!(
            rate_bps > 0,
            "the channel of link {link_name} was given a rate of 0 bit/s; give at least 1 bit/s"
        );
        let sampler = match spec.model {
            Model::Random { data, ack } => Sampler::Random { data, ack },
            Model::GilbertElliott { .. } => {
                let mixing = spec.bit_chain().expect("the model is a chain over bits").mixing;
                Sampler::Bits(BitSampler::new(mixing, rate_bps))
            }
            Model::PacketScale { .. } => {
                let chain = spec.time_chain().expect("the model is a chain in continuous time");
                let sojourns = Sojourns::new(&chain, seed, &format!("{link_name}.sojourns"));
                Sampler::Time(Box::new(TimeSampler::new(chain, sojourns, rate_bps)))
            }
        };
        let draw = SlotDraw::new(CounterDraw::new(seed, &format!("{link_name}.fate")), rate_bps);
        Self {
            spec: spec.clone(),
            draw,
            sampler,
        }
    }

    /// Whether the packet is lost whose transmission starts at `start_ns`.
    ///
    /// Packets are asked about in order of time and do not overlap: the next one starts when this one's air bytes have
    /// been sent at the link's rate, or later.
    #[inline]
    pub fn is_lost(&mut self, start_ns: u64, kind: PacketKind, ip_bytes: u32) -> bool {
        let uniform = self.draw.uniform(start_ns);
        match &mut self.sampler {
            Sampler::Random { data, ack } => uniform < if kind == PacketKind::Data { *data } else { *ack },
            Sampler::Bits(bits) => bits.is_lost(&self.spec, uniform, start_ns, kind, ip_bytes),
            Sampler::Time(time) => time.is_lost(&self.spec, uniform, start_ns, kind, ip_bytes),
        }
    }
}

/// Uniform numbers by time slot.
#[derive(Clone, Debug)]
struct SlotDraw {
    draw: CounterDraw,
    slot_ns: u64,
    last_slot: u64,
    repeat: u64,
}

impl SlotDraw {
    fn new(draw: CounterDraw, rate_bps: u64) -> Self {
        // No time reaches the last slot of u64, so the first packet never counts as a repetition.
        Self {
            draw,
            slot_ns: (40 * 8 * 1_000_000_000 / rate_bps).max(1),
            last_slot: u64::MAX,
            repeat: 0,
        }
    }

    #[inline]
    fn uniform(&mut self, start_ns: u64) -> f64 {
        let slot = start_ns / self.slot_ns;
        self.repeat = if slot == self.last_slot { self.repeat + 1 } else { 0 };
        self.last_slot = slot;
        self.draw.uniform_at(slot, self.repeat)
    }
}

/// Tables by kind and size, found by a scan over the few sizes seen. Beyond the limit the oldest makes room: a table is
/// a function of its size, so that only time is lost.
#[derive(Clone, Debug)]
struct Sizes<T> {
    tables: Vec<(PacketKind, u32, T)>,
    oldest: usize,
}

impl<T> Sizes<T> {
    fn new() -> Self {
        Self {
            tables: Vec::new(),
            oldest: 0,
        }
    }

    #[inline]
    fn get_or_build(&mut self, kind: PacketKind, ip_bytes: u32, build: impl FnOnce() -> T) -> &T {
        let found = self
            .tables
            .iter()
            .position(|&(its_kind, its_bytes, _)| its_bytes == ip_bytes && its_kind == kind);
        let index = found.unwrap_or_else(|| self.insert((kind, ip_bytes, build())));
        &self.tables[index].2
    }

    #[cold]
    fn insert(&mut self, entry: (PacketKind, u32, T)) -> usize {
        if self.tables.len() < SIZES_KEPT {
            self.tables.push(entry);
            return self.tables.len() - 1;
        }
        let index = self.oldest;
        self.tables[index] = entry;
        self.oldest = (index + 1) % SIZES_KEPT;
        index
    }
}

/// What is left of a state's memory after a gap, [`Mixing::memory`], as a product over the gap's digits to the base
/// 256: an exponential per packet would cost more than all the rest.
#[derive(Clone, Debug)]
struct Memory {
    mixing: Mixing,
    digits: Box<[[f64; 256]; 3]>,
}

impl Memory {
    fn new(mixing: Mixing) -> Self {
        let mut digits = Box::new([[0.0; 256]; 3]);
        for (place, powers) in digits.iter_mut().enumerate() {
            for (digit, power) in (0u64..).zip(powers) {
                *power = mixing.memory(digit << (8 * place));
            }
        }
        Self { mixing, digits }
    }

    #[inline]
    fn after(&self, bits: u64) -> f64 {
        if bits >> 24 == 0 {
            let digit = |place: usize| self.digits[place][(bits >> (8 * place)) as usize & 255];
            digit(0) * digit(1) * digit(2)
        } else {
            self.mixing.memory(bits)
        }
    }
}

/// The chain over bits.
#[derive(Clone, Debug)]
struct BitSampler {
    memory: Memory,
    stationary_good: f64,
    bits_per_ns: f64,
    sizes: Sizes<BitTable>,
    /// Probability of the good state at the end of the last packet: 0 or 1 after the first.
    good: f64,
    last_start_ns: u64,
    last_bits: f64,
}

/// A packet size. Thresholds are by state before; the uniform number is compared with their mixture.
#[derive(Clone, Copy, Debug)]
struct BitTable {
    /// Lost, and bad after.
    lost_bad: [f64; 2],
    /// Lost.
    lost: [f64; 2],
    /// Lost, or received and bad after.
    lost_or_bad: [f64; 2],
    air_bits: f64,
}

impl BitTable {
    fn new(law: &PacketLaw, air_bytes: u32) -> Self {
        let each = [GOOD, BAD];
        Self {
            lost_bad: each.map(|before| law.lost[before][BAD]),
            lost: each.map(|before| law.lost[before][GOOD] + law.lost[before][BAD]),
            lost_or_bad: each.map(|before| law.lost[before][GOOD] + law.lost[before][BAD] + law.received[before][BAD]),
            air_bits: 8.0 * f64::from(air_bytes),
        }
    }
}

impl BitSampler {
    fn new(mixing: Mixing, rate_bps: u64) -> Self {
        Self {
            memory: Memory::new(mixing),
            stationary_good: mixing.stationary()[GOOD],
            bits_per_ns: rate_bps as f64 * 1e-9,
            sizes: Sizes::new(),
            good: mixing.stationary()[GOOD],
            last_start_ns: 0,
            last_bits: 0.0,
        }
    }

    #[inline]
    fn is_lost(&mut self, spec: &ChannelSpec, uniform: f64, start_ns: u64, kind: PacketKind, ip_bytes: u32) -> bool {
        let table = self.sizes.get_or_build(kind, ip_bytes, || {
            let (law, _) = spec
                .packet_law(kind, ip_bytes, 1)
                .expect("a chain over bits has a law at every rate");
            BitTable::new(&law, spec.air_bytes(kind, ip_bytes))
        });
        let idle = (start_ns - self.last_start_ns) as f64 * self.bits_per_ns - self.last_bits;
        // The cast rounds to the nearest bit and takes a gap below 0, from times in whole ns, for none.
        let memory = self.memory.after((idle + 0.5) as u64);
        let good = self.stationary_good + memory * (self.good - self.stationary_good);
        let threshold = |by_state: [f64; 2]| by_state[BAD] + good * (by_state[GOOD] - by_state[BAD]);
        let lost = uniform < threshold(table.lost);
        let bad_after = uniform < threshold(if lost { table.lost_bad } else { table.lost_or_bad });
        self.good = f64::from(u8::from(!bad_after));
        self.last_start_ns = start_ns;
        self.last_bits = table.air_bits;
        lost
    }
}

/// The chain in continuous time.
#[derive(Clone, Debug)]
struct TimeSampler {
    chain: TimeChain,
    sojourns: Sojourns,
    byte_ns: f64,
    sizes: Sizes<LossGivenPath>,
    changes_ns: Vec<f64>,
    scratch: Scratch,
}

impl TimeSampler {
    fn new(chain: TimeChain, sojourns: Sojourns, rate_bps: u64) -> Self {
        Self {
            chain,
            sojourns,
            byte_ns: 8e9 / rate_bps as f64,
            sizes: Sizes::new(),
            changes_ns: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    #[inline]
    fn is_lost(&mut self, spec: &ChannelSpec, uniform: f64, start_ns: u64, kind: PacketKind, ip_bytes: u32) -> bool {
        let size = self.sizes.get_or_build(kind, ip_bytes, || {
            LossGivenPath::new(&self.chain, &spec.words(kind, ip_bytes), self.byte_ns)
        });
        let start = start_ns as f64;
        let state = self.sojourns.pass(start, start + size.air_ns, &mut self.changes_ns);
        for change in &mut self.changes_ns {
            *change -= start;
        }
        uniform < size.loss(state, &self.changes_ns, &mut self.scratch)
    }
}
