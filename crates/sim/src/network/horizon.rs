//! What is before a horizon goes through a pipe at once, ahead of its time.
//!
//! Into some pipes packets come from the hosts at the end of one other pipe alone (`layout::horizon`). These have their
//! turns in the order of time, so it is known when the next of them can send at the earliest, and what it sends will be
//! in the pipe for a while: that is the horizon of what comes out. What comes out before it need not wait in the pipe,
//! but goes on to the link behind as soon as it is in, together with all that waits and comes out before it. Two may
//! look at that link in the meantime: the engine, so nothing goes through that comes out after the next of its own
//! events; and the law of the link itself, whose timers are run between the packets, as they would be in their time.

use fadelab_path::packet::Parcel;
use fadelab_path::violation::Checked;
use fadelab_path::wire::Passage;

use super::Network;
use crate::pipe::{Answers, NodeBehind};

/// The pipe through which packets go at once, and until when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Horizon {
    /// `usize::MAX`: there is none.
    pipe: usize,
    /// The node behind it, and the key of the next timer of its law.
    behind: Option<NodeBehind>,
    timer: u64,
    /// The first key at which something may come out of which nothing is known yet, or at which the engine looks.
    known: u64,
    /// The first key that is not before both.
    until: u64,
    /// How long packets are in it at least.
    least_ns: u64,
}

impl Horizon {
    pub fn none() -> Self {
        Self {
            pipe: usize::MAX,
            behind: None,
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
    /// Packets come out of pipe `hosts` from now on. Returns how long answers are at least in the pipe into which they
    /// go, as a key.
    #[inline(always)]
    pub(super) fn begin_answers(&mut self, hosts: usize) -> u64 {
        let Some(Answers { pipe, behind, least_ns }) = self.pipes[hosts].answers() else {
            self.horizon.pipe = usize::MAX;
            return 0;
        };
        (self.horizon.pipe, self.horizon.behind, self.horizon.least_ns) = (pipe, behind, least_ns);
        self.horizon.timer = self.next_timer();
        // Less is safe, where time has nearly run out.
        self.keys.key(least_ns, 0).min(u64::MAX - self.end_key)
    }

    /// A packet that a host sent has its time at the end of the first link.
    #[inline(always)]
    pub(super) fn go_in(&mut self, now_ns: u64, link: u32, passage: Passage, parcel: Parcel) -> Checked<()> {
        if passage.kind != self.horizon.pipe {
            return self.go_ahead(now_ns, link, passage, parcel);
        }
        debug_assert!(
            passage.due_ns >= now_ns + self.horizon.least_ns,
            "a smaller packet than all"
        );
        let key = self.keys.key(passage.due_ns, link);
        if key < self.horizon.until {
            self.go_through(key, passage.due_ns, parcel)
        } else {
            self.go_in_late(now_ns, key, passage.due_ns, parcel)
        }
    }

    /// As [`Self::go_in`], of a packet that had to wait for the link, as few do.
    #[inline(always)]
    pub(super) fn go_in_behind(&mut self, now_ns: u64, link: u32, passage: Passage, parcel: Parcel) -> Checked<()> {
        if passage.kind != self.horizon.pipe {
            return self.go_ahead(now_ns, link, passage, parcel);
        }
        let key = self.keys.key(passage.due_ns, link);
        self.go_in_late(now_ns, key, passage.due_ns, parcel)
    }

    /// A packet may come out after what is known, or after the next timer of the law behind.
    #[inline(never)]
    fn go_in_late(&mut self, now_ns: u64, key: u64, due_ns: u64, parcel: Parcel) -> Checked<()> {
        let pipe = self.horizon.pipe;
        if key < self.horizon.known {
            if key >= self.horizon.until {
                self.run_timers_before(key)?;
            }
            return self.go_through(key, due_ns, parcel);
        }
        if self.pipes[pipe].push(key, now_ns, parcel) {
            self.pipes_due.advance(pipe, key);
        }
        Ok(())
    }

    /// A packet goes through the pipe, behind what comes out before it.
    #[inline(always)]
    fn go_through(&mut self, key: u64, due_ns: u64, parcel: Parcel) -> Checked<()> {
        if self.pipes[self.horizon.pipe].next_key() <= key {
            self.flush(key)?;
        }
        self.events_more += 1;
        self.forward_to_law(due_ns, parcel)
    }

    /// What waits in the pipe goes on, up to `last_key`.
    #[inline(never)]
    fn flush(&mut self, last_key: u64) -> Checked<()> {
        let at = self.horizon.pipe;
        loop {
            let pipe = &mut self.pipes[at];
            let key = pipe.next_key();
            if key > last_key {
                self.pipes_due.set(at, key);
                return Ok(());
            }
            let (at_ns, link) = self.keys.split(key);
            let (arrived_ns, parcel) = pipe.pop();
            if at_ns < arrived_ns + pipe.delay_ns() {
                return self.broken_early(at_ns, link as usize, arrived_ns);
            }
            self.events_more += 1;
            self.forward_to_law(at_ns, parcel)?;
        }
    }

    /// Runs the timers of the law behind the pipe that are due before `key`, each after the packets that come
    /// out before it.
    fn run_timers_before(&mut self, key: u64) -> Checked<()> {
        while self.horizon.timer < key
            && let Some(node) = self.horizon.behind
        {
            if self.pipes[self.horizon.pipe].next_key() < self.horizon.timer {
                self.flush(self.horizon.timer)?;
            }
            let (due_ns, link) = self.keys.split(self.horizon.timer);
            self.events_more += 1;
            self.nodes[node.at].service(due_ns, &mut self.slab)?;
            self.schedule_node(node.at, link);
            self.horizon.timer = self.next_timer();
        }
        self.horizon.keep_until(self.horizon.known);
        Ok(())
    }

    /// Key of the next timer of the law behind the pipe.
    #[inline]
    fn next_timer(&self) -> u64 {
        let key = |node: NodeBehind| self.keys.key(self.nodes[node.at].next_due(), node.link);
        self.horizon.behind.map_or(u64::MAX, key)
    }
}
