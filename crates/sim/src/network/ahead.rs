//! What comes out of a pipe, as far ahead as nobody can tell.
//!
//! At the event of a pipe nothing anywhere is pending before it. What comes into the pipe from then on stays in it for
//! its delay, and where it goes nobody else comes (`layout::lookahead`): so all that comes out within the lookahead is
//! dealt with at once, though events elsewhere are due before. The horizon is the first key that has to wait: that of
//! the lookahead's end, of the next look at a link, and, where hosts are at the end, of the next event of a flow, which
//! what came out before may have moved.

use fadelab_path::packet::{PacketId, Parcel};
use fadelab_path::violation::Checked;

use super::{GATE, Network, ROUTE_END};

/// What comes out of a pipe in one go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch {
    pipe: usize,
    /// The end of the lookahead, as a key.
    limit: u64,
    /// The first key that has to wait.
    horizon: u64,
    /// How long a packet is at least in the pipe into which answers go, as a key.
    lead: u64,
    /// Whether hosts are at the end.
    pub has_hosts: bool,
    /// Whether data come of flows that begin anew.
    pub reopens: bool,
}

/// A packet that came out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub at_ns: u64,
    pub link: usize,
    pub parcel: Parcel,
}

impl Network {
    /// What is to come out of the pipe behind link `link` at the event `key`, if that is the pipe's.
    #[inline(always)]
    pub fn batch(&mut self, key: u64, now_ns: u64, link: usize) -> Option<Batch> {
        let at = self.pipe_of[link] as usize;
        let pipe = &self.pipes[at];
        if pipe.next_key() != key {
            return None;
        }
        let exits = pipe.exits();
        let until = self.keys.key(now_ns.saturating_add(pipe.lookahead_ns()), 0);
        let feeder_key = pipe.feeder().map_or(u64::MAX, |at| self.pipes[at as usize].next_key());
        let mut batch = Batch {
            pipe: at,
            limit: until.min(feeder_key).min(self.end_key),
            horizon: 0,
            lead: 0,
            has_hosts: exits.any(),
            reopens: exits.reopens,
        };
        if batch.has_hosts {
            batch.lead = self.begin_answers(at);
        }
        batch.horizon = self.horizon_of(batch.limit);
        Some(batch)
    }

    #[inline(always)]
    fn horizon_of(&self, limit: u64) -> u64 {
        limit.min(self.looks_due.next_key()).min(self.flows_due.next_key())
    }

    /// Says where hosts are, while a packet is out, when the next one can be.
    #[inline(always)]
    pub fn tell_horizon(&mut self, batch: &Batch) {
        let next_key = self.pipes[batch.pipe].next_key().min(batch.horizon);
        let known = self.keys.at_time_of(next_key) + batch.lead;
        self.horizon.keep_until(known.min(self.looked_at_key));
    }

    /// Takes the next packet out, and sees to what has to be before anybody looks at it.
    ///
    /// # Errors
    /// It came out too early, or an invariant of a link is broken.
    #[inline(always)]
    pub fn take(&mut self, batch: &Batch) -> Checked<Arrived> {
        let pipe = &mut self.pipes[batch.pipe];
        let (at_ns, link) = self.keys.split(pipe.next_key());
        let (entered_ns, parcel) = pipe.pop();
        if at_ns < entered_ns + pipe.delay_ns() {
            return self.broken_early(at_ns, link as usize, entered_ns);
        }
        if let Some(at) = pipe.settles() {
            self.nodes[at as usize].settle(at_ns, &mut self.slab)?;
        }
        Ok(Arrived {
            at_ns,
            link: link as usize,
            parcel,
        })
    }

    /// Whether another packet comes out now. If not, or if the next one `waits` for its turn, the pipe gets its next
    /// event.
    #[inline(always)]
    pub fn goes_on(&mut self, batch: &mut Batch, waits: bool) -> bool {
        let next_key = self.pipes[batch.pipe].next_key();
        batch.horizon = self.horizon_of(batch.limit);
        let goes_on = next_key < batch.horizon && !waits;
        if goes_on {
            self.events_more += 1;
        } else {
            self.pipes_due.set(batch.pipe, next_key);
        }
        goes_on
    }

    /// The packet that comes out next, as far as is known.
    #[inline]
    pub fn next_of(&self, batch: &Batch) -> Option<PacketId> {
        self.pipes[batch.pipe].upcoming(0).map(|entry| entry.parcel.id())
    }

    /// All that comes out goes on to links.
    #[inline(never)]
    pub fn pass_on_all(&mut self, mut batch: Batch) -> Checked<()> {
        loop {
            if self.fetches() {
                self.fetch_behind(batch.pipe);
            }
            let Arrived { at_ns, parcel, .. } = self.take(&batch)?;
            self.forward_to_law(at_ns, parcel)?;
            if !self.goes_on(&mut batch, false) {
                return Ok(());
            }
        }
    }

    /// A packet came out where hosts are. Returns it when it is at its end, else it goes on.
    #[inline(always)]
    pub fn come_out(&mut self, now_ns: u64, parcel: Parcel) -> Checked<Option<PacketId>> {
        let hop = self.hops[parcel.tag() as usize];
        if hop == ROUTE_END {
            return Ok(Some(parcel.id()));
        }
        if hop >= GATE {
            return self.come_to_mark(now_ns, hop, parcel);
        }
        self.forward_elsewhere_alone(now_ns, parcel).map(|()| None)
    }
}
