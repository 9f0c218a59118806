//! Open funnels: packets go through them at once, ahead of their time.
//!
//! Into some funnels packets come from the hosts at the end of one outlet alone (`layout::open`). These have their
//! turns in the order of time, so it is known when the next of them can send at the earliest, and what it sends will
//! be in the funnel for a while. What comes out before that is known: it need not wait in the lane, but goes on to the
//! link behind as soon as it is in, together with all that waits and comes out before it. Two may look at that link in
//! the meantime: the engine, so nothing goes through that comes out after the next of its own events; and the law of
//! the link itself, whose timers are run between the packets, as they would be in their time.

use fadelab_path::packet::Parcel;
use fadelab_path::violation::Checked;
use fadelab_path::wire::Passage;

use super::Network;
use crate::lane::{LawBehind, Opens};

/// The funnel through which packets go at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    /// Its lane.
    funnel: usize,
    /// The law behind it, and the key of its next timer.
    law: Option<LawBehind>,
    timer: u64,
    /// The first key at which something may come out of which nothing is known yet, or at which the engine looks.
    known: u64,
    /// The first key that is not before both.
    until: u64,
    /// How long packets are in it at least.
    least_ns: u64,
}

impl Open {
    /// None is.
    pub fn none() -> Self {
        Self {
            funnel: usize::MAX,
            law: None,
            timer: 0,
            known: 0,
            until: 0,
            least_ns: 0,
        }
    }

    /// All is known that comes out before `known`. Whoever sends without knowing more comes out later.
    #[inline(always)]
    pub fn keep_until(&mut self, known: u64) {
        self.known = known;
        self.until = known.min(self.timer);
    }
}

impl Network {
    /// Packets come out of outlet `lane` from now on. Returns how long answers are at least in the funnel that this
    /// opens, as a key.
    #[inline(always)]
    pub(super) fn open_behind(&mut self, lane: usize) -> u64 {
        let Some(Opens { funnel, law, least_ns }) = self.lanes[lane].opens() else {
            self.open.funnel = usize::MAX;
            return 0;
        };
        (self.open.funnel, self.open.law, self.open.least_ns) = (funnel, law, least_ns);
        self.open.timer = self.next_timer();
        // Less is safe, where time has nearly run out.
        self.keys.key(least_ns, 0).min(u64::MAX - self.end_key)
    }

    /// A packet that a host sent has its time at the end of the first link.
    #[inline(always)]
    pub(super) fn go_in(&mut self, now_ns: u64, link: u32, passage: Passage, parcel: Parcel) -> Checked<()> {
        if passage.kind != self.open.funnel {
            return self.go_ahead(now_ns, link, passage, parcel);
        }
        debug_assert!(
            passage.due_ns >= now_ns + self.open.least_ns,
            "a smaller packet than all"
        );
        let key = self.keys.key(passage.due_ns, link);
        if key < self.open.until {
            self.go_through(key, passage.due_ns, parcel)
        } else {
            self.go_in_late(now_ns, key, passage.due_ns, parcel)
        }
    }

    /// As [`Self::go_in`], of a packet that had to wait for the link, as few do.
    #[inline(always)]
    pub(super) fn go_in_behind(&mut self, now_ns: u64, link: u32, passage: Passage, parcel: Parcel) -> Checked<()> {
        if passage.kind != self.open.funnel {
            return self.go_ahead(now_ns, link, passage, parcel);
        }
        let key = self.keys.key(passage.due_ns, link);
        self.go_in_late(now_ns, key, passage.due_ns, parcel)
    }

    /// A packet may come out of the open funnel after what is known, or after the next timer of the law behind.
    #[inline(never)]
    fn go_in_late(&mut self, now_ns: u64, key: u64, due_ns: u64, parcel: Parcel) -> Checked<()> {
        let funnel = self.open.funnel;
        if key < self.open.known {
            self.run_timers_before(key)?;
            return self.go_through(key, due_ns, parcel);
        }
        if self.lanes[funnel].push(key, now_ns, parcel) {
            self.hasten(funnel, key);
        }
        Ok(())
    }

    /// A packet goes through the open funnel, behind what comes out before it.
    #[inline(always)]
    fn go_through(&mut self, key: u64, due_ns: u64, parcel: Parcel) -> Checked<()> {
        if self.lanes[self.open.funnel].next_key() <= key {
            self.flush(key)?;
        }
        self.events_more += 1;
        self.forward_out_of_funnel(due_ns, parcel)
    }

    /// What waits in the open funnel goes on, up to `last_key`.
    #[inline(never)]
    fn flush(&mut self, last_key: u64) -> Checked<()> {
        let funnel = self.open.funnel;
        loop {
            let lane = &mut self.lanes[funnel];
            let key = lane.next_key();
            if key > last_key {
                self.lanes_due.set(funnel, key);
                return Ok(());
            }
            let (at_ns, link) = self.keys.split(key);
            let (arrived_ns, parcel) = lane.pop();
            if at_ns < arrived_ns + lane.delay_ns() {
                return self.broken_early(at_ns, link as usize, arrived_ns);
            }
            self.events_more += 1;
            self.forward_out_of_funnel(at_ns, parcel)?;
        }
    }

    /// Runs the timers of the law behind the open funnel that are due before `key`, each after the packets that come
    /// out before it.
    fn run_timers_before(&mut self, key: u64) -> Checked<()> {
        while self.open.timer < key
            && let Some(law) = self.open.law
        {
            if self.lanes[self.open.funnel].next_key() < self.open.timer {
                self.flush(self.open.timer)?;
            }
            let (due_ns, link) = self.keys.split(self.open.timer);
            self.events_more += 1;
            self.laws[law.at].run_timers(due_ns, &mut self.slab)?;
            self.schedule_link(law.at, link);
            self.open.timer = self.next_timer();
        }
        self.open.keep_until(self.open.known);
        Ok(())
    }

    /// Key of the next timer of the law behind the open funnel.
    #[inline]
    fn next_timer(&self) -> u64 {
        let key = |law: LawBehind| self.keys.key(self.laws[law.at].next_due(), law.link);
        self.open.law.map_or(u64::MAX, key)
    }
}
