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
//!
//! # Plain fates
//!
//! Large numbers mean that a packet is received and that the good state follows, whatever the state before. So most
//! packets are decided by one comparison with a limit that [`Plain`] keeps for the last size of each kind; only for the
//! others is the chain asked where it stands. Random loss has no state, and the limit says all; a chain in continuous
//! time says besides until when it stays in its state.

use super::{ChannelSpec, Model, PacketKind};
use crate::gilbert_elliott::{BAD, GOOD, Mixing};
use crate::packet_error::PacketLaw;
use crate::packet_scale::{LossGivenPath, Scratch, Sojourns, TimeChain};
use crate::random::CounterDraw;
use crate::slots::{NUMBERS, SlotDraw, limit_of};

/// No pure ACK is longer: headers of IPv6 and TCP with all options that these can have, and extension headers.
const ACK_BYTES_MAX: u32 = 256;

/// A channel of one link at work: decides the fate of each packet. What every packet touches stands first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Channel {
    /// Start of the last packet, in ns.
    last_start_ns: u64,
    last: Behind,
    plain: [Plain; 2],
    draw: SlotDraw,
    sampler: Sampler,
    spec: ChannelSpec,
    /// Sizes that are told apart are multiples of one more than that, by kind.
    rests: [u32; 2],
}

/// Which packets of a kind are received whatever the state, with the good state after them.
#[derive(Clone, Copy, Debug)]
struct Plain {
    /// Those whose transmission starts before this time, in ns,
    until_ns: u64,
    /// whose bits are this or more,
    from_bits: u64,
    /// and whose size is the one of the last packet of this kind.
    ip_bytes: u32,
    behind: Behind,
}

/// What a packet leaves behind it.
#[derive(Clone, Copy, Debug)]
struct Behind {
    air_bytes: u32,
    after: After,
}

/// What is known of the state of a chain over bits behind a packet.
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
enum After {
    /// Nothing: there was no packet.
    Nothing,
    Good,
    Bad,
}

#[derive(Clone, Debug)]
enum Sampler {
    Bits(Box<BitSampler>),
    Time(Box<TimeSampler>),
    Random { data: f64, ack: f64 },
}

impl Plain {
    /// None of this size so far.
    fn of(ip_bytes: u32, air_bytes: u32) -> Self {
        Self {
            until_ns: 0,
            from_bits: 0,
            ip_bytes,
            behind: Behind {
                air_bytes,
                after: After::Good,
            },
        }
    }
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
                Sampler::Bits(Box::new(BitSampler::new(mixing, rate_bps)))
            }
            Model::PacketScale { .. } => {
                let chain = spec.time_chain().expect("the model is a chain in continuous time");
                let sojourns = Sojourns::new(&chain, seed, &format!("{link_name}.sojourns"));
                Sampler::Time(Box::new(TimeSampler::new(chain, sojourns, rate_bps)))
            }
        };
        Self {
            last_start_ns: 0,
            last: Behind {
                air_bytes: 0,
                after: After::Nothing,
            },
            plain: [Plain::of(0, 0); 2],
            draw: SlotDraw::new(CounterDraw::new(seed, &format!("{link_name}.fate")), rate_bps),
            sampler,
            spec: spec.clone(),
            rests: [0; 2],
        }
    }

    /// Whether the packet is lost whose transmission starts at `start_ns`, which is below 2^63.
    ///
    /// Packets are asked about in order of time and do not overlap: the next one starts when this one's air bytes have
    /// been sent at the link's rate, or later.
    #[inline]
    pub fn is_lost(&mut self, start_ns: u64, kind: PacketKind, ip_bytes: u32) -> bool {
        self.make_ready(kind, ip_bytes);
        self.is_ready_lost(start_ns, kind)
    }

    /// Bytes on the air of a packet of `ip_bytes`, the size that [`Self::is_ready_lost`] is asked about next for its
    /// kind.
    #[inline(always)]
    pub fn make_ready(&mut self, kind: PacketKind, ip_bytes: u32) -> u32 {
        let plain = &mut self.plain[kind as usize];
        if plain.ip_bytes != ip_bytes {
            *plain = Plain::of(ip_bytes, self.spec.air_bytes(kind, ip_bytes));
        }
        plain.behind.air_bytes
    }

    /// Bytes on the air of a packet of `ip_bytes`, if its kind was made ready for this size.
    #[inline(always)]
    pub fn ready_bytes(&self, kind: PacketKind, ip_bytes: u32) -> Option<u32> {
        let plain = &self.plain[kind as usize];
        (plain.ip_bytes == ip_bytes).then_some(plain.behind.air_bytes)
    }

    /// Computes what has to be known of packets of this kind and size, so that none of them has to wait for it.
    pub fn prepare(&mut self, kind: PacketKind, ip_bytes: u32) {
        match &mut self.sampler {
            Sampler::Random { .. } => {}
            Sampler::Bits(bits) => {
                bits.table(&self.spec, kind, ip_bytes);
            }
            Sampler::Time(time) => time.know(&self.spec, kind, ip_bytes),
        }
    }

    /// Computes it for all packets of up to `ip_bytes_max`, so that none has to wait whatever its size. Where that
    /// would take more than some two seconds, packets are lost as those of the next size are that is a multiple of 2,
    /// 4, 8, ... bytes; what they take on the air stays theirs.
    pub fn prepare_all(&mut self, ip_bytes_max: u32) {
        for (kind, bytes_max) in [
            (PacketKind::Data, ip_bytes_max),
            (PacketKind::Ack, ip_bytes_max.min(ACK_BYTES_MAX)),
        ] {
            let sizes = |rest: u32| (1..=bytes_max + rest).filter(move |ip_bytes| ip_bytes & rest == 0);
            let steps = |rest| {
                sizes(rest)
                    .map(|ip_bytes| self.spec.recursion_steps(kind, ip_bytes))
                    .sum::<u64>()
            };
            let mut rest = 0;
            while steps(rest) > 2 * ChannelSpec::STEPS_MAX && rest < bytes_max {
                rest = 2 * rest + 1;
            }
            self.rests[kind as usize] = rest;
            sizes(rest).for_each(|ip_bytes| self.prepare(kind, ip_bytes));
        }
    }

    /// The size by which it is decided whether a packet is lost: its own, unless [`Self::prepare_all`] made it coarser.
    #[inline(always)]
    pub fn counted_as(&self, kind: PacketKind, ip_bytes: u32) -> u32 {
        let rest = self.rests[kind as usize];
        (ip_bytes + rest) & !rest
    }

    /// For how many kinds and sizes of packets that is known.
    pub fn sizes_known(&self) -> usize {
        match &self.sampler {
            Sampler::Random { .. } => 0,
            Sampler::Bits(bits) => bits.sizes.tables.len(),
            Sampler::Time(time) => time.sizes.tables.len(),
        }
    }

    /// As [`Self::is_lost`], of a packet of the size that its kind was made ready for.
    #[inline(always)]
    pub fn is_ready_lost(&mut self, start_ns: u64, kind: PacketKind) -> bool {
        let bits = self.draw.bits(start_ns);
        let plain = &self.plain[kind as usize];
        if bits >= plain.from_bits && start_ns < plain.until_ns {
            (self.last_start_ns, self.last) = (start_ns, plain.behind);
            return false;
        }
        self.decide(bits >> 11, start_ns, kind)
    }

    /// Asks the model, and notes which packets of this size are plain from now on.
    #[inline(never)]
    fn decide(&mut self, number: u64, start_ns: u64, kind: PacketKind) -> bool {
        let size = (kind, self.counted_as(kind, self.plain[kind as usize].ip_bytes));
        let (spec, plain) = (&self.spec, &mut self.plain[kind as usize]);
        let (is_lost, after, from_number, until_ns) = match &mut self.sampler {
            Sampler::Random { data, ack } => {
                let limit = limit_of(if kind == PacketKind::Data { *data } else { *ack });
                (number < limit, After::Good, limit, u64::MAX)
            }
            Sampler::Bits(bits) => {
                let since_ns = start_ns - self.last_start_ns;
                let (is_lost, after, from_number) = bits.decide(spec, number, self.last, since_ns, size);
                (is_lost, after, from_number, u64::MAX)
            }
            Sampler::Time(time) => {
                let (is_lost, from_number, until_ns) = time.decide(spec, number, start_ns, size);
                (is_lost, After::Good, from_number, until_ns)
            }
        };
        // Where even the largest number is not enough, no packet is plain.
        plain.until_ns = if from_number < NUMBERS { until_ns } else { 0 };
        plain.from_bits = from_number << 11;
        self.last_start_ns = start_ns;
        self.last = Behind { after, ..plain.behind };
        is_lost
    }
}

/// Tables by kind and size, in their order. A link sees a handful of sizes, an application's hundreds.
#[derive(Clone, Debug)]
struct Sizes<T> {
    keys: Vec<u64>,
    tables: Vec<T>,
    /// Where the last one was found.
    last: usize,
}

impl<T> Sizes<T> {
    fn new() -> Self {
        Self {
            keys: Vec::new(),
            tables: Vec::new(),
            last: 0,
        }
    }

    #[inline]
    fn get_or_build(&mut self, kind: PacketKind, ip_bytes: u32, build: impl FnOnce() -> T) -> &T {
        let key = u64::from(ip_bytes) << 1 | kind as u64;
        if self.keys.get(self.last) != Some(&key) {
            self.last = self.keys.binary_search(&key).unwrap_or_else(|place| {
                self.keys.insert(place, key);
                self.tables.insert(place, build());
                place
            });
        }
        &self.tables[self.last]
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
}

/// A packet size. Thresholds are by state before; the uniform number is compared with their mixture.
#[derive(Clone, Copy, Debug)]
struct BitTable {
    /// Lost, and bad after.
    lost_bad: [f64; 2],
    lost: [f64; 2],
    /// Lost, or received and bad after.
    lost_or_bad: [f64; 2],
    /// Numbers from here on are above every mixture of `lost_or_bad`, and so of `lost`.
    from_number: u64,
}

impl BitTable {
    fn new(law: &PacketLaw) -> Self {
        let each = [GOOD, BAD];
        let lost = each.map(|before| law.lost[before][GOOD] + law.lost[before][BAD]);
        let lost_or_bad = each.map(|before| law.lost[before][GOOD] + law.lost[before][BAD] + law.received[before][BAD]);
        // A mixture is computed by three operations, each of which rounds by at most half a number; eight are more.
        let largest = lost_or_bad[GOOD].max(lost_or_bad[BAD]);
        Self {
            lost_bad: each.map(|before| law.lost[before][BAD]),
            lost,
            lost_or_bad,
            from_number: limit_of(largest) + 8,
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
        }
    }

    #[inline]
    fn table(&mut self, spec: &ChannelSpec, kind: PacketKind, ip_bytes: u32) -> &BitTable {
        self.sizes.get_or_build(kind, ip_bytes, || {
            let (law, _) = spec
                .packet_law(kind, ip_bytes, 1)
                .expect("a chain over bits has a law at every rate");
            BitTable::new(&law)
        })
    }

    /// Whether the packet is lost that starts `since_ns` after the start of the `last` one, what comes after it, and
    /// from which number on packets of its size are plain.
    fn decide(
        &mut self,
        spec: &ChannelSpec,
        number: u64,
        last: Behind,
        since_ns: u64,
        (kind, ip_bytes): (PacketKind, u32),
    ) -> (bool, After, u64) {
        let table = *self.table(spec, kind, ip_bytes);
        let uniform = number as f64 * (1.0 / NUMBERS as f64);
        let idle = since_ns as f64 * self.bits_per_ns - 8.0 * f64::from(last.air_bytes);
        // The cast rounds to the nearest bit and takes a gap below 0, from times in whole ns, for none.
        let memory = self.memory.after((idle + 0.5) as u64);
        let good_before = match last.after {
            After::Nothing => self.stationary_good,
            After::Good => 1.0,
            After::Bad => 0.0,
        };
        let good = self.stationary_good + memory * (good_before - self.stationary_good);
        let threshold = |by_state: [f64; 2]| by_state[BAD] + good * (by_state[GOOD] - by_state[BAD]);
        let lost = uniform < threshold(table.lost);
        let bad_after = uniform < threshold(if lost { table.lost_bad } else { table.lost_or_bad });
        (
            lost,
            if bad_after { After::Bad } else { After::Good },
            table.from_number,
        )
    }
}

/// What has to be known of packets of a size over a chain in continuous time.
fn size_of(chain: &TimeChain, byte_ns: f64, spec: &ChannelSpec, kind: PacketKind, ip_bytes: u32) -> LossGivenPath {
    LossGivenPath::new(chain, &spec.words(kind, ip_bytes), byte_ns)
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

    fn know(&mut self, spec: &ChannelSpec, kind: PacketKind, ip_bytes: u32) {
        let (chain, byte_ns) = (&self.chain, self.byte_ns);
        self.sizes
            .get_or_build(kind, ip_bytes, || size_of(chain, byte_ns, spec, kind, ip_bytes));
    }

    /// Whether the packet is lost, and from which number on and until when packets of its size are plain. Those need
    /// not be told to the stays, which catch up with the time.
    fn decide(
        &mut self,
        spec: &ChannelSpec,
        number: u64,
        start_ns: u64,
        (kind, ip_bytes): (PacketKind, u32),
    ) -> (bool, u64, u64) {
        let (chain, byte_ns) = (&self.chain, self.byte_ns);
        let size = self
            .sizes
            .get_or_build(kind, ip_bytes, || size_of(chain, byte_ns, spec, kind, ip_bytes));
        let start = start_ns as f64;
        let state = self.sojourns.pass(start, start + size.air_ns, &mut self.changes_ns);
        for change in &mut self.changes_ns {
            *change -= start;
        }
        let is_lost = number < limit_of(size.loss(state, &self.changes_ns, &mut self.scratch));
        let (state, change_ns) = self.sojourns.stay();
        // Earlier by more than what the sum of start and air time is rounded by: at the border the chain is asked.
        let until_ns = change_ns - size.air_ns - change_ns * f64::EPSILON - 2.0;
        let from_number = limit_of(size.loss(state, &[], &mut self.scratch));
        (is_lost, from_number, until_ns as u64)
    }
}
