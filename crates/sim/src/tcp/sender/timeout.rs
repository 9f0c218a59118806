//! The retransmission timer of the sending end, RFC 6298.

use fadelab_laws::abi;
use fadelab_path::violation::Checked;
use fadelab_run::transport::Recovery;

use super::{NOT_TIMED, Sender};
use crate::clock::Now;
use crate::network::Network;
use crate::tcp::plan::Plan;
use crate::tcp::timers;

impl Sender {
    /// What a law sees of an instant at which no ACK came.
    pub(super) fn timer_ack(&mut self, now: Now, plan: &Plan) -> abi::Ack {
        let mut ack = abi::Ack {
            now_us: now.us,
            srtt_us: self.rtt.srtt_us(),
            rtt_us_min: self.rtt.rtt_us_min(),
            random: self.next_random(),
            packet_bytes: plan.tcp.packet_bytes,
            mss_bytes: plan.mss_bytes,
            in_flight_pkts: self.board.in_flight_pkts(),
            ..abi::Ack::default()
        };
        self.repeat_feedback(&mut ack);
        ack
    }

    /// RFC 6298, section 5: the timer fired.
    pub(super) fn time_out(&mut self, now: Now, plan: &Plan, net: &mut Network) -> Checked<()> {
        self.rto_due_ns = u64::MAX;
        if let Some(timer) = self.take_rack_timer() {
            return self.on_rack_timer(timer, now, plan, net);
        }
        if self.board.outstanding_pkts() == 0 {
            return self.greet_again(now, plan, net);
        }
        self.counters.timeouts += 1;
        net.note_timeout(self.identity.flow, self.board.una());
        let ack = self.timer_ack(now, plan);
        self.remember_window(plan, abi::LOSS_RTO);
        self.note_buffered_window(plan);
        self.suspect_timeout(plan);
        self.law.on_rto(plan, &ack, &mut self.control);
        self.set_window(1);
        self.control.ca_state = abi::CA_LOSS;
        (self.recover, self.recover_loss) = (self.board.nxt(), self.board.nxt() + 1);
        self.announce_reduction = self.has_classic_ecn(plan);
        self.duplicate_acks = 0;
        self.timed = NOT_TIMED;
        self.forget_probe();
        self.board.mark_all_lost();
        if self.board.has_found() {
            self.tell_lost(plan, &ack);
        }
        self.rtt.back_off();
        if let Some(seq) = self.board.next_retransmission() {
            self.transmit_again(now, plan, seq, net)?;
        }
        Ok(())
    }

    /// The first segment in flight leaves, or the oldest again: a flight that no ACK will tell of is probed too.
    #[inline(never)]
    pub(super) fn arm_first(&mut self, now: Now, plan: &Plan) {
        if plan.tcp.recovery == Recovery::Rack {
            self.arm_rack_timer(now, plan);
        } else {
            self.arm_rto(now, plan);
        }
    }

    #[inline]
    pub(super) fn arm_rto(&mut self, now: Now, plan: &Plan) {
        if self.board.outstanding_pkts() > 0 {
            self.set_timer(now, plan, self.rtt.rto_ns(&plan.tcp));
        } else {
            self.rto_due_ns = u64::MAX;
        }
    }

    /// With which tick it ends is asked when it would be due: most are set anew before.
    #[inline]
    pub(super) fn set_timer(&mut self, now: Now, plan: &Plan, wait_ns: u64) {
        self.rto_due_ns = now.ns + wait_ns;
        if plan.tcp.timer_tick_ns > 0 {
            self.repair.get_or_insert_default().timer_set_ns = Some(now.ns);
        }
    }

    /// Whether a timer that is due ends with a later tick, which is then its time.
    #[cold]
    pub(super) fn waits_for_tick(&mut self, now: Now, plan: &Plan) -> bool {
        if let Some(set_ns) = self.repair.as_mut().and_then(|repair| repair.timer_set_ns.take()) {
            self.rto_due_ns = timers::due_ns(set_ns, self.rto_due_ns - set_ns, plan.tcp.timer_tick_ns);
        }
        self.rto_due_ns > now.ns
    }
}
