//! Exits: lanes at whose end packets are at the end of their way; and outlets, those of them where hosts answer over
//! links of their own.
//!
//! What two outlets do is not seen by the other for a while: an answer is at least `answer_delay_ns` under way before
//! it can meet another packet, and the two ends of a flow have nothing in common but packets (`layout::outlets`). So
//! packets come out of one of them in one go until something else than an outlet has its turn, or until then.

use fadelab_path::packet::PacketId;
use fadelab_path::violation::Checked;

use super::Network;
use crate::lane::Role;
use crate::schedule::Schedule;

/// What comes out of an exit in one go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outflow {
    lane: usize,
    /// The first key that has to wait for whatever answers may meet.
    horizon: u64,
    /// The first key that has to wait for what is no outlet, too.
    until: u64,
    /// How long a packet is in the funnel at least into which answers go, as a key.
    lead: u64,
}

/// A packet that came out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub at_ns: u64,
    /// When it went into the lane.
    entered_ns: u64,
    pub link: usize,
    pub id: PacketId,
}

impl Network {
    /// The next key of all that are no outlets.
    #[inline(always)]
    pub(super) fn next_key_but_outlets(&self) -> u64 {
        self.key_at_host().min(self.looks_due.next_key())
    }

    /// What is to come out of the lane behind link `link` at the event `key`, if the lane is an exit.
    #[inline(always)]
    pub fn outflow(&mut self, key: u64, now_ns: u64, link: usize) -> Option<Outflow> {
        let lane = self.lane_of[link] as usize;
        let role = self.lanes[lane].role();
        if matches!(role, Role::Passage | Role::Funnel) || self.lanes[lane].next_key() != key {
            return None;
        }
        let lead = self.open_behind(lane);
        let horizon = if role == Role::Outlet {
            let until_ns = now_ns.saturating_add(self.answer_delay_ns);
            // Hosts move nobody's look at a link.
            self.keys
                .key(until_ns, 0)
                .min(self.end_key)
                .min(self.looks_due.next_key())
        } else {
            // The next packet waits for its turn.
            0
        };
        let until = horizon.min(self.key_at_host());
        Some(Outflow {
            lane,
            horizon,
            until,
            lead,
        })
    }

    /// The next key of all at which a host may be asked, but outlets.
    #[inline(always)]
    fn key_at_host(&self) -> u64 {
        self.lanes_due.next_key().min(self.flows_due.next_key())
    }

    /// Takes the next packet out. Nobody may look at it before [`Self::admit`].
    #[inline(always)]
    pub fn let_out(&mut self, outflow: Outflow) -> Arrived {
        let lane = &mut self.lanes[outflow.lane];
        let (at_ns, link) = self.keys.split(lane.next_key());
        let (entered_ns, parcel) = lane.pop();
        let next_key = lane.next_key().min(outflow.until);
        let known = self.keys.at_time_of(next_key) + outflow.lead;
        self.open.keep_until(known.min(self.looked_at_key));
        Arrived {
            at_ns,
            entered_ns,
            link: link as usize,
            id: parcel.id(),
        }
    }

    /// Sees to what has to be before anybody looks at a packet that came out.
    ///
    /// # Errors
    /// It came out too early, or an invariant of a link is broken.
    #[inline(always)]
    pub fn admit(&mut self, outflow: Outflow, arrived: Arrived) -> Checked<()> {
        self.see_off(arrived.at_ns, arrived.link, outflow.lane, arrived.entered_ns)
    }

    /// A packet that went into a lane at `arrived_ns`, behind link `link`, came out of it and is about to be looked at.
    #[inline(always)]
    pub(super) fn see_off(&mut self, now_ns: u64, link: usize, player: usize, arrived_ns: u64) -> Checked<()> {
        let lane = &self.lanes[player];
        if now_ns < arrived_ns + lane.delay_ns() {
            return self.broken_early(now_ns, link, arrived_ns);
        }
        if let Some(at) = lane.settles() {
            match (at as usize).checked_sub(self.laws.len()) {
                None => self.laws[at as usize].settle(now_ns, &mut self.slab)?,
                Some(at) => self.links[at].settle(now_ns, &mut self.slab)?,
            }
        }
        Ok(())
    }

    /// Whether another packet comes out now. If not, the exit gets its next event.
    #[inline(always)]
    pub fn flows_on(&mut self, outflow: &mut Outflow) -> bool {
        let next_key = self.lanes[outflow.lane].next_key();
        outflow.until = outflow.horizon.min(self.key_at_host());
        let flows_on = next_key < outflow.until;
        if flows_on {
            self.events_more += 1;
        } else {
            self.schedule_of(outflow.lane).set(outflow.lane, next_key);
        }
        flows_on
    }

    /// Sees to it that a lane into which a packet came with the least key has its event then.
    #[inline(never)]
    pub(super) fn hasten(&mut self, lane: usize, key: u64) {
        self.schedule_of(lane).advance(lane, key);
    }

    #[inline]
    fn schedule_of(&mut self, lane: usize) -> &mut Schedule {
        if self.lanes[lane].role() == Role::Outlet {
            &mut self.outlets_due
        } else {
            &mut self.lanes_due
        }
    }
}
