//! What a sender knows of each segment between `snd_una` and `snd_nxt`: RFC 6675 with SACK, RFC 6582 without.
//!
//! Every operation is O(1) per segment over the segment's life: losses are found by a frontier that only moves forward,
//! retransmissions by a pointer that does, and SACK blocks that repeat themselves are recognised as ranges.

mod departures;
mod losses;
pub(super) mod sacks;

use prefetch_index::prefetch_index;

use crate::packet::SACK_BLOCKS_MAX;
use crate::ranges::{Range, RangeSet};
use departures::Departures;

/// Flags of a segment.
mod is {
    pub const SACKED: u32 = 1 << 31;
    pub const LOST: u32 = 1 << 30;
    pub const RETRANSMITTED: u32 = 1 << 29;
    pub const APP_LIMITED: u32 = 1 << 28;
    /// Sent more than once, wherever the last repetition is by now.
    pub const REPEATED: u32 = 1 << 27;
    pub const ALL: u32 = SACKED | LOST | RETRANSMITTED | APP_LIMITED | REPEATED;
}

/// Segments for which there is room from the first one on.
const SEGMENTS_MIN: usize = 8;

/// What the rate sample needs to know of the moment a segment was sent
/// (draft-cheng-iccrg-delivery-rate-estimation, section 3.2), and the segment's flags.
#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    sent_ns: u64,
    /// From the sending of the newest delivered segment then to this one's.
    send_elapsed_us: u32,
    /// From the newest delivery then to this sending.
    delivered_ago_us: u32,
    delivered_pkts: u32,
    in_flight_and_flags: u32,
}

/// What the rate sample of a segment that is sent now will say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sampling {
    /// Nothing: nobody will ask for it.
    None,
    /// What the network carried.
    Plain,
    /// What the application had to send.
    AppLimited,
}

/// When a segment was sent, and its number: segments that were sent at once are in the order of their numbers.
pub(crate) type Sent = (u64, u32);

/// Newest segment that an ACK delivered, and what was delivered with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RateSample {
    /// Delivered since that segment was sent.
    pub delivered_pkts: u32,
    /// Over this time; 0: no sample.
    pub interval_us: u32,
    pub prior_in_flight_pkts: u32,
    pub prior_delivered_pkts: u32,
    pub app_limited: bool,
}

/// What a cumulative acknowledgement says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    /// Newly acknowledged.
    pub acked_pkts: u32,
    /// Newly delivered: those of them that were not acknowledged selectively before.
    pub delivered_pkts: u32,
    /// The one of these that was sent last.
    pub newest: Option<u32>,
}

/// See the module's documentation. The fields that each ACK touches stand first.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Scoreboard {
    /// Segment `s` is at `s & (len - 1)`; the length is a power of two and at least `nxt - una`.
    segments: Vec<Segment>,
    /// Rate estimation: when the last segment was delivered, when the newest delivered one was sent, and how many were.
    delivered_ns: u64,
    first_sent_ns: u64,
    delivered_pkts: u32,
    una: u32,
    nxt: u32,
    /// Kept up by each event; the sum over the other counters must give the same.
    in_flight_pkts: u32,
    lost_pkts: u32,
    retransmitted_pkts: u32,
    /// Duplicate ACKs that stand for segments that left the network, without SACK.
    duplicate_pkts: u32,
    sacked_pkts: u32,
    /// Segments below are acknowledged, sacked or marked lost.
    frontier: u32,
    /// Sacked segments from the frontier on.
    frontier_sacked: u32,
    /// Segments below need no retransmission.
    retransmit_from: u32,
    /// Of the segments that the last ACK with news delivered, the one that was sent last.
    newest: u32,
    sacked: RangeSet,
    /// SACK blocks that came last at their places, apart, since most senders never see one.
    blocks: Option<Box<[Range; SACK_BLOCKS_MAX]>>,
    departures: Option<Box<Departures>>,
}

impl Scoreboard {
    /// Oldest segment not acknowledged.
    #[inline]
    pub fn una(&self) -> u32 {
        self.una
    }

    /// Next segment never sent.
    #[inline]
    pub fn nxt(&self) -> u32 {
        self.nxt
    }

    /// Sent and not yet acknowledged cumulatively.
    #[inline]
    pub fn outstanding_pkts(&self) -> u32 {
        self.nxt - self.una
    }

    /// Pipe of RFC 6675: what is believed to be in the network.
    #[inline]
    pub fn in_flight_pkts(&self) -> u32 {
        self.in_flight_pkts
    }

    /// Left the network though not acknowledged cumulatively.
    #[inline]
    pub fn sacked_pkts(&self) -> u32 {
        self.sacked_pkts + self.duplicate_pkts
    }

    /// Whether duplicate ACKs stand for segments that left the network, without SACK.
    #[inline]
    pub fn has_duplicates(&self) -> bool {
        self.duplicate_pkts > 0
    }

    /// Whether something that was lost is under way again.
    pub fn has_repetitions(&self) -> bool {
        self.retransmitted_pkts > 0
    }

    /// Delivered since the connection began.
    pub fn delivered_pkts(&self) -> u32 {
        self.delivered_pkts
    }

    /// A new connection over the same sequence numbers, with nothing outstanding: deliveries count from 0 again.
    pub fn restart_count(&mut self) {
        self.delivered_pkts = 0;
        self.restart_departures();
    }

    /// Whether the oldest segment is marked lost: recovery must begin.
    #[inline]
    pub fn oldest_is_lost(&self) -> bool {
        self.lost_pkts > 0 && self.una < self.nxt && self.segment(self.una).in_flight_and_flags & is::LOST != 0
    }

    #[inline]
    fn index(&self, seq: u32) -> usize {
        seq as usize & (self.segments.len() - 1)
    }

    #[inline]
    fn segment(&self, seq: u32) -> &Segment {
        &self.segments[self.index(seq)]
    }

    #[inline]
    fn segment_mut(&mut self, seq: u32) -> &mut Segment {
        let index = self.index(seq);
        &mut self.segments[index]
    }

    /// When segment `seq` was sent last: one that is outstanding, or that the last ACK acknowledged.
    pub fn sent_ns(&self, seq: u32) -> u64 {
        self.segment(seq).sent_ns
    }

    /// Asks for the segments that are acknowledged and sent next.
    #[inline]
    pub fn fetch(&self) {
        let mask = self.segments.len().wrapping_sub(1);
        prefetch_index(&self.segments, self.una as usize & mask);
        prefetch_index(&self.segments, self.nxt as usize & mask);
    }

    /// A new segment is sent. Returns its number.
    #[inline(always)]
    pub fn send_new(&mut self, now_ns: u64, sampling: Sampling) -> u32 {
        if self.outstanding_pkts() as usize == self.segments.len() {
            self.grow();
        }
        let seq = self.nxt;
        self.nxt += 1;
        let flags = if sampling == Sampling::AppLimited {
            is::APP_LIMITED
        } else {
            0
        };
        self.stamp(seq, now_ns, flags, sampling);
        seq
    }

    /// Segment `seq`, marked lost, is sent again.
    #[inline]
    pub fn send_again(&mut self, seq: u32, now_ns: u64, sampling: Sampling) {
        self.retransmitted_pkts += 1;
        self.retransmit_from = seq + 1;
        self.stamp(seq, now_ns, is::LOST | is::RETRANSMITTED | is::REPEATED, sampling);
    }

    #[inline]
    fn stamp(&mut self, seq: u32, now_ns: u64, flags: u32, sampling: Sampling) {
        let (send_elapsed_us, delivered_ago_us) = match sampling {
            Sampling::None => (0, 0),
            _ => self.elapsed_us(now_ns),
        };
        *self.segment_mut(seq) = Segment {
            sent_ns: now_ns,
            send_elapsed_us,
            delivered_ago_us,
            delivered_pkts: self.delivered_pkts,
            in_flight_and_flags: self.in_flight_pkts | flags,
        };
        self.in_flight_pkts += 1;
        if self.departures.is_some() {
            self.note_departure(seq);
        }
    }

    /// What a segment that is sent now keeps of the time since the newest delivered one was sent, and arrived.
    #[inline(never)]
    fn elapsed_us(&mut self, now_ns: u64) -> (u32, u32) {
        if self.in_flight_pkts == 0 {
            (self.first_sent_ns, self.delivered_ns) = (now_ns, now_ns);
        }
        let since_us = |then_ns: u64| ((now_ns - then_ns) / 1000) as u32;
        (since_us(self.first_sent_ns), since_us(self.delivered_ns))
    }

    #[cold]
    fn grow(&mut self) {
        let length = (self.segments.len() * 2).max(SEGMENTS_MIN);
        let mut segments = vec![Segment::default(); length];
        for seq in self.una..self.nxt {
            segments[seq as usize & (length - 1)] = *self.segment(seq);
        }
        if let Some(departures) = &mut self.departures {
            let mask = self.segments.len().wrapping_sub(1);
            let places = (self.una..self.nxt).map(|seq| seq as usize);
            departures.grow(length, places.map(|seq| (seq & (length - 1), seq & mask)));
        }
        self.segments = segments;
    }

    /// All below `ack` arrived.
    #[inline]
    pub fn acknowledge(&mut self, ack: u32) -> Acknowledged {
        if self.lost_pkts > 0 || self.sacked_pkts() > 0 {
            return self.acknowledge_with_holes(ack);
        }
        // Each was sent once and none arrived before: the last of them is the newest.
        let acked_pkts = ack - self.una;
        self.in_flight_pkts -= acked_pkts;
        self.delivered_pkts += acked_pkts;
        self.advance(ack);
        Acknowledged {
            acked_pkts,
            delivered_pkts: acked_pkts,
            newest: Some(ack - 1),
        }
    }

    #[inline]
    fn advance(&mut self, ack: u32) {
        self.una = ack;
        self.frontier = self.frontier.max(ack);
        self.retransmit_from = self.retransmit_from.max(ack);
    }

    /// The same when some are lost, sent again or acknowledged selectively.
    #[inline(never)]
    fn acknowledge_with_holes(&mut self, ack: u32) -> Acknowledged {
        let acked_pkts = ack - self.una;
        if self.duplicate_pkts > 0 {
            self.forget_duplicates(if ack == self.nxt {
                u32::MAX
            } else {
                acked_pkts.saturating_sub(1)
            });
        }
        let (mut delivered_pkts, mut newest) = (0, None);
        for seq in self.una..ack {
            let flags = self.segment(seq).in_flight_and_flags;
            if flags & is::SACKED != 0 {
                self.sacked_pkts -= 1;
                self.frontier_sacked -= u32::from(seq >= self.frontier);
            } else {
                self.leave(seq, &mut newest);
                delivered_pkts += 1;
            }
        }
        self.advance(ack);
        if !self.sacked.is_empty() {
            self.sacked.remove_below(ack);
        }
        if self.duplicate_pkts > 0 {
            // The oldest segment did not arrive, so duplicates can stand for all others at most.
            let most = (self.outstanding_pkts() - self.lost_pkts).saturating_sub(1);
            self.forget_duplicates(self.duplicate_pkts.saturating_sub(most));
        }
        Acknowledged {
            acked_pkts,
            delivered_pkts,
            newest,
        }
    }

    /// Whether one of the segments that were acknowledged last had been sent more than once.
    #[cold]
    pub fn were_repeated(&self, acked_pkts: u32) -> bool {
        let flags = |seq| self.segment(seq).in_flight_and_flags;
        (self.una - acked_pkts..self.una).any(|seq| flags(seq) & is::REPEATED != 0)
    }

    /// RFC 6582: of the duplicates seen, one stood for each segment now acknowledged but the retransmitted one. Outside
    /// of recovery none outlives an ACK that advances, or it would widen the window for good.
    #[inline]
    pub fn forget_duplicates(&mut self, count: u32) {
        let gone = self.duplicate_pkts.min(count);
        self.duplicate_pkts -= gone;
        self.in_flight_pkts += gone;
    }

    /// Segment `seq` is known to have arrived. `newest` is the one of this ACK that was sent last, as far as is known.
    #[inline]
    fn leave(&mut self, seq: u32, newest: &mut Option<u32>) {
        let segment = *self.segment(seq);
        let flags = segment.in_flight_and_flags;
        let (lost, again) = (flags & is::LOST != 0, flags & is::RETRANSMITTED != 0);
        self.lost_pkts -= u32::from(lost);
        self.retransmitted_pkts -= u32::from(again);
        self.in_flight_pkts -= u32::from(!lost || again);
        self.delivered_pkts += 1;
        if newest.is_none_or(|newest| segment.delivered_pkts >= self.segment(newest).delivered_pkts) {
            *newest = Some(seq);
        }
    }

    /// A duplicate ACK without SACK: one more segment left the network (RFC 6582). Returns how many did.
    pub fn duplicate(&mut self) -> u32 {
        let unaccounted = self.outstanding_pkts() - self.lost_pkts - self.duplicate_pkts;
        let news = u32::from(unaccounted > u32::from(!self.oldest_is_lost()));
        self.duplicate_pkts += news;
        self.in_flight_pkts -= news;
        news
    }

    /// Duplicates that stand for segments that left the network.
    #[inline]
    pub fn duplicate_pkts(&self) -> u32 {
        self.duplicate_pkts
    }

    /// What duplicates told of was delivered, or was counted for one of them already.
    pub fn count_delivered(&mut self, pkts: i32) {
        self.delivered_pkts = self.delivered_pkts.wrapping_add_signed(pkts);
    }

    /// Of the segments that the ACK just taken delivered, `seq` was sent last.
    #[inline]
    pub fn note_newest(&mut self, seq: u32) {
        self.newest = seq;
    }

    /// The rate sample of the ACK just taken, of which segment `newest` was sent last; to be asked once per ACK.
    #[inline]
    pub fn rate_sample(&mut self, now_ns: u64, newest: Option<u32>) -> RateSample {
        let Some(seq) = newest else {
            return RateSample::default();
        };
        let newest = *self.segment(seq);
        let prior_delivered_ns = newest.sent_ns - u64::from(newest.delivered_ago_us) * 1000;
        let ack_elapsed_us = ((now_ns - prior_delivered_ns) / 1000) as u32;
        (self.first_sent_ns, self.delivered_ns) = (newest.sent_ns, now_ns);
        RateSample {
            delivered_pkts: self.delivered_pkts - newest.delivered_pkts,
            interval_us: ack_elapsed_us.max(newest.send_elapsed_us),
            prior_in_flight_pkts: newest.in_flight_and_flags & !is::ALL,
            prior_delivered_pkts: newest.delivered_pkts,
            app_limited: newest.in_flight_and_flags & is::APP_LIMITED != 0,
        }
    }

    /// Whether nothing is lost, sent again or gone before its turn.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.lost_pkts | self.retransmitted_pkts | self.sacked_pkts() == 0
    }

    /// Pair check: whether what each event kept up is the sum of what is unacknowledged.
    #[inline]
    pub fn is_sound(&self) -> bool {
        if self.is_whole() {
            return self.in_flight_pkts == self.outstanding_pkts() && self.sacked.is_empty();
        }
        let sum = |parts: [u32; 4]| parts.into_iter().map(u64::from).sum::<u64>();
        let [in_flight, sacked, lost] = [self.in_flight_pkts, self.sacked_pkts, self.lost_pkts];
        sum([in_flight, sacked, self.duplicate_pkts, lost])
            == sum([self.outstanding_pkts(), self.retransmitted_pkts, 0, 0])
            && self.retransmitted_pkts <= self.lost_pkts
            && self.sacked_pkts == self.sacked.total()
    }

    /// The numbers of [`Self::is_sound`].
    #[cold]
    pub fn describe(&self) -> String {
        format!(
            "una {} nxt {} in flight {} sacked {} (ranges {}) duplicates {} lost {} retransmitted {}",
            self.una,
            self.nxt,
            self.in_flight_pkts,
            self.sacked_pkts,
            self.sacked.total(),
            self.duplicate_pkts,
            self.lost_pkts,
            self.retransmitted_pkts
        )
    }

    /// Breaks the count, to show that [`Self::is_sound`] sees it.
    #[cfg(feature = "fault-injection")]
    pub fn miscount(&mut self) {
        self.in_flight_pkts += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_of_several_samples_the_newest() {
        // Goal: an ACK of several segments, with holes or without, gives the rate sample of the one that was sent last.
        for duplicates in [0, 1] {
            let mut board = Scoreboard::default();
            for sent_ns in [0, 1_000_000, 2_000_000] {
                board.send_new(sent_ns, Sampling::Plain);
            }
            (0..duplicates).for_each(|_| assert_eq!(board.duplicate(), 1));
            let news = board.acknowledge(2);
            assert_eq!((news.acked_pkts, news.delivered_pkts, news.newest), (2, 2, Some(1)));
            let sample = board.rate_sample(10_000_000, news.newest);
            assert_eq!((sample.prior_in_flight_pkts, sample.delivered_pkts), (1, 2));
            assert!(board.is_sound(), "{}", board.describe());
        }
    }

    #[test]
    fn what_is_probed_twice_is_in_flight_once() {
        // Goal: a second probe of the last segment counts the first one as lost.
        let mut board = Scoreboard::default();
        (0..2).for_each(|sent_ns| {
            board.send_new(sent_ns, Sampling::None);
        });
        for sent_ns in [2, 3] {
            let (last, from) = board.lose_last();
            board.send_again(last, sent_ns, Sampling::None);
            board.look_from(from);
            assert!(board.is_sound(), "{}", board.describe());
            assert_eq!((last, from, board.in_flight_pkts()), (1, 0, 2));
        }
    }
}
