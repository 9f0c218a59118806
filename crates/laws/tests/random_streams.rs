//! Every registered law under random streams of events with random content: no trap, and every promise of law.h kept.
//! Debug builds compile laws so that undefined behaviour traps.

use fadelab_laws::{ParamInfo, Params, RouterInstance, State, abi, capacities, receivers, routers, senders};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// `LAW_CAPACITY_BPS_MAX` of law.h.
const CAPACITY_BPS_MAX: u64 = 1 << 40;

/// splitmix64: proptest draws one seed for each event, the content of the event follows from it.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number of any magnitude, in one of four cases the smallest or the largest.
    fn size(&mut self) -> u64 {
        let shift = self.next() % 64;
        match self.next() % 8 {
            0 => 0,
            1 => u64::MAX,
            _ => self.next() >> shift,
        }
    }

    fn size32(&mut self) -> u32 {
        let shift = self.next() % 32;
        match self.next() % 8 {
            0 => 0,
            1 => u32::MAX,
            _ => (self.next() as u32) >> shift,
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn feedback(&mut self) -> abi::Feedback {
        let mut feedback = abi::Feedback {
            len: self.below(21) as u8,
            present: self.below(2) as u8,
            ..Default::default()
        };
        feedback.bytes.fill_with(|| self.next() as u8);
        feedback
    }

    /// Any values that the header allows.
    fn params(&mut self, infos: &[ParamInfo], from: impl Fn(&[(&str, f64)]) -> Params) -> Params {
        let mut pairs = Vec::new();
        // A fault is what a law of the tests commits on purpose.
        for info in infos.iter().filter(|info| info.name != "fault") {
            let value = match self.below(4) {
                0 => info.min,
                1 => info.max,
                _ => info.min + self.size().checked_rem(info.max - info.min + 1).unwrap_or(0),
            };
            if self.below(4) != 0 {
                pairs.push((info.name, info.to_user(value)));
            }
        }
        from(&pairs)
    }

    fn lost(&mut self, now_us: u64) -> abi::Lost {
        abi::Lost {
            retransmission: self.below(2) as u32,
            now_us,
            sent_us: self.below(now_us + 1),
            in_flight_pkts: self.size32(),
            delivered_pkts: self.size32(),
            lost_pkts: self.size32(),
            marked_pkts: self.size32(),
            ..Default::default()
        }
    }

    fn ack(&mut self, now_us: u64) -> abi::Ack {
        abi::Ack {
            flags: self.below(128) as u32,
            now_us,
            rtt_us: self.size32(),
            srtt_us: self.size32(),
            rtt_us_min: self.size32(),
            random: self.next() as u32,
            packet_bytes: self.size32(),
            mss_bytes: self.size32(),
            acked_pkts: self.size32(),
            sacked_pkts: self.size32(),
            lost_pkts: self.size32(),
            delivered_pkts: self.size32(),
            in_flight_pkts: self.size32(),
            ts_val: self.size32(),
            ts_ecr: self.size32(),
            marked_pkts: self.size32(),
            rate_delivered_pkts: self.size32(),
            rate_interval_us: self.size32(),
            rate_prior_in_flight_pkts: self.size32(),
            rate_marked_pkts: self.size32(),
            rate_prior_delivered_pkts: self.size(),
            delivered_total_pkts: self.size(),
            marked_total_pkts: self.size(),
            rwnd_pkts: self.size32(),
            feedback: self.feedback(),
            ..Default::default()
        }
    }

    fn packet(&mut self) -> abi::Packet {
        let mut packet = abi::Packet {
            flags: self.below(8) as u32,
            ip_bytes: self.size32(),
            air_bytes: self.size32(),
            ip_id: self.next() as u16,
            ecn: self.below(4) as u8,
            outer_ecn: self.below(4) as u8,
            role: self.below(2) as u8,
            wire: self.below(5) as u8,
            feedback_len: self.below(21) as u8,
            ..Default::default()
        };
        packet.feedback.fill_with(|| self.next() as u8);
        packet
    }

    fn queue(&mut self, now_us: u64) -> abi::Queue {
        abi::Queue {
            random: self.next() as u32,
            now_us,
            queue_bytes: self.size(),
            queue_pkts: self.size32(),
            full: self.below(2) as u32,
            wait_us: self.size(),
            spare_Bps: self.size() as i64,
            capacity_Bps: self.size(),
            queue_control_bytes: self.size() as i64,
            has_queue_control: self.below(2) as u32,
            last_bytes: self.size32(),
            last_start_us: self.size(),
            arrived_pkts: self.size(),
            arrived_bytes: self.size(),
            queue_bytes_min: self.size(),
            aggregate_Bps: self.size() as i64,
            has_aggregate: self.below(2) as u32,
            each_pkts: [self.size32(), self.size32().max(1), self.size32(), self.size32()],
            each_bytes: [(); 4].map(|()| self.size()),
            each_wait_us: [(); 4].map(|()| self.size()),
            ..Default::default()
        }
    }
}

/// What the host does to the window between events: recovery, ends of it, changes of its own.
fn host(random: &mut Random, control: &mut abi::Control) {
    match random.below(8) {
        0 => control.cwnd_pkts = control.ssthresh_pkts,
        1 => control.cwnd_pkts = random.size32().max(1),
        2 => control.ca_state = random.below(5) as u32,
        _ => {}
    }
}

/// Seeds of a run: how it begins, and each event. Taking away events leaves the others as they are, so that a failure
/// shrinks to the shortest run that shows it.
type Stream = (u64, Vec<u64>);

/// What a law made of a stream: windows and pacing after each event, and its memory at the end.
type Course = (Vec<(u32, u32, u64)>, Vec<u64>);

/// What a host may leave out of ACKs for a law with `LAW_SENDER_PLAIN_ACKS`.
fn without_samples(ack: abi::Ack) -> abi::Ack {
    abi::Ack {
        flags: ack.flags & !(abi::ACK_APP_LIMITED | abi::ACK_TIMESTAMPS),
        random: 0,
        ts_val: 0,
        ts_ecr: 0,
        rate_delivered_pkts: 0,
        rate_interval_us: 0,
        rate_prior_in_flight_pkts: 0,
        rate_marked_pkts: 0,
        rate_prior_delivered_pkts: 0,
        delivered_total_pkts: 0,
        prior_in_flight_pkts: 0,
        ..ack
    }
}

/// What a law may leave in its control; `decides`: in recovery too, as at a loss.
fn check_control(
    law: &fadelab_laws::Sender,
    before: &abi::Control,
    control: &abi::Control,
    decides: bool,
    ack: &abi::Ack,
) {
    let name = law.name();
    let paced = law.flags() & abi::SENDER_PACED != 0;
    assert!(
        control.cwnd_pkts >= 1 || (paced && control.cwnd_fraction >= 1),
        "{name}: {control:?} after {before:?} {ack:?}"
    );
    assert!(
        control.ssthresh_pkts >= 1,
        "{name}: {control:?} after {before:?} {ack:?}"
    );
    assert!(control.ecn <= 3 && control.ca_state == before.ca_state, "{name}");
    let may_act = law.flags() & abi::SENDER_OWNS_RECOVERY != 0 || before.ca_state != abi::CA_RECOVERY || decides;
    assert!(
        may_act || control.cwnd_pkts == before.cwnd_pkts,
        "{name} must leave cwnd alone in recovery"
    );
    assert!(paced || control.pacing_Bps == 0, "{name} paces without saying so");
}

fn sender_stream(
    (start, events): &Stream,
    law: &'static fadelab_laws::Sender,
    seen: fn(abi::Ack) -> abi::Ack,
) -> Course {
    let mut windows = Vec::new();
    let random = &mut Random(*start);
    let params = random.params(law.params(), |pairs| law.params_from(pairs).expect("within range"));
    let mut state: State = law.new_state();
    let (cwnd_pkts, ssthresh_pkts) = (random.size32().max(1), random.size32().max(1));
    let mut control = abi::Control {
        cwnd_pkts,
        ssthresh_pkts,
        ..Default::default()
    };
    let mut now_us = random.size() >> 2;
    let start = abi::Start {
        now_us,
        srtt_us: random.size32(),
        packet_bytes: random.size32(),
        ..Default::default()
    };
    law.init(&mut state, &params, &start, &mut control);
    for event in events {
        let random = &mut Random(*event);
        now_us += random.size() >> 20;
        host(random, &mut control);
        let (before, ack) = (control, seen(random.ack(now_us)));
        let kind = random.below(10);
        match kind {
            0 => law.on_loss(&mut state, &params, &ack, random.below(2) as u32, &mut control),
            1 => {
                control.cwnd_pkts = 1;
                law.on_rto(&mut state, &params, &ack, &mut control);
            }
            2 => law.on_restart(&mut state, &params, now_us, random.size(), &mut control),
            3 => {
                let mut send = abi::Send {
                    now_us,
                    srtt_us: random.size32(),
                    ..Default::default()
                };
                law.on_send(&mut state, &params, &mut send, &mut control);
                assert!(send.feedback.present == 0 || u32::from(send.feedback.len) == law.feedback_bytes());
            }
            4 => law.on_undo(&mut state, &params, &ack, random.below(3) as u32, &mut control),
            5 => law.on_lost(&mut state, &params, &random.lost(now_us), &mut control),
            _ => law.on_ack(&mut state, &params, &ack, &mut control),
        }
        check_control(law, &before, &control, kind < 5, &ack);
        windows.push((control.cwnd_pkts, control.ssthresh_pkts, control.pacing_Bps));
    }
    (windows, state.words().to_vec())
}

/// What a host shows a law that shows it no more than its table asks for: of the queue, and of which packets at all.
fn sparing(law: &fadelab_laws::Router, queue: abi::Queue, packet: &abi::Packet) -> Option<abi::Queue> {
    let is_data = packet.flags & abi::PACKET_DATA != 0;
    if law.wire() != abi::WIRE_NONE && (law.wire() != u32::from(packet.wire) || !is_data) {
        return None;
    }
    let blind = abi::Queue {
        random: queue.random,
        ..Default::default()
    };
    let is_blind = law.flags() & abi::ROUTER_BLIND != 0;
    Some(if is_blind { blind } else { queue })
}

/// What a router's law made of a stream: packets after each event, and its memory at the end.
fn router_stream(
    (start, events): &Stream,
    law: &'static fadelab_laws::Router,
    spares: bool,
) -> (Vec<(u32, u8, u8)>, Vec<u64>) {
    let mut fates = Vec::new();
    let random = &mut Random(*start);
    let params = random.params(law.params(), |pairs| law.params_from(pairs).expect("within range"));
    let (mut instance, mut due_us) = (RouterInstance::new(law, params), [abi::TIMER_OFF; abi::TIMERS_MAX]);
    let mut now_us = random.size() >> 2;
    let link = abi::Link {
        random: random.next() as u32,
        now_us,
        capacity_Bps: random.size(),
        delay_us: random.size(),
        limit_bytes: random.size().max(1),
        limit_pkts: random.size32(),
        packet_bytes: random.size32(),
        ..Default::default()
    };
    instance.init(&link, &mut due_us);
    let set = due_us.iter().filter(|&&due| due != abi::TIMER_OFF).count();
    assert_eq!(set, law.timers() as usize, "{}: init fills its timers", law.name());
    for event in events {
        let random = &mut Random(*event);
        now_us += random.size() >> 20;
        let (mut packet, queue) = (random.packet(), random.queue(now_us));
        let before = packet;
        let seen = if spares {
            sparing(law, queue, &before)
        } else {
            Some(queue)
        };
        if law.queues() > 0 {
            let (joined, picked) = (instance.classify(&packet, &queue), instance.pick(&queue));
            assert!(joined < law.queues() && picked < law.queues());
            assert!(queue.each_pkts[picked as usize] > 0, "{}: {queue:?}", law.name());
        }
        let verdict = match random.below(3) {
            0 => seen.map_or(abi::PASS, |queue| instance.on_enqueue(&mut packet, &queue)),
            1 => seen.map_or(abi::PASS, |queue| instance.on_dequeue(&mut packet, &queue)),
            _ => {
                let timer = random.below(u64::from(law.timers().max(1))) as u32;
                let due_us = instance.on_timer(timer, &queue);
                assert!(due_us > now_us, "{}: timer {timer} is due in the past", law.name());
                abi::PASS
            }
        };
        assert!(verdict <= abi::DROP && packet.ecn <= 3 && packet.outer_ecn <= 3);
        let foreign = law.wire() != abi::WIRE_NONE && u32::from(before.wire) != law.wire();
        assert!(
            !foreign || packet.ecn == before.ecn,
            "{} touches another format",
            law.name()
        );
        let touched = packet.feedback != before.feedback;
        assert!(
            !touched || (law.flags() & abi::ROUTER_FEEDBACK != 0 && !foreign),
            "{}: feedback",
            law.name()
        );
        let marked_plain = before.ecn == 0 && packet.ecn != 0 && law.wire() == abi::WIRE_NONE;
        assert!(!marked_plain, "{} marks what is not ECN-capable", law.name());
        fates.push((verdict, packet.ecn, packet.outer_ecn));
    }
    (fates, instance.state().words().to_vec())
}

fn receiver_stream((start, events): &Stream, law: &'static fadelab_laws::Receiver) {
    let random = &mut Random(*start);
    let mut state = law.new_state();
    law.init(&mut state, random.size());
    for event in events {
        let random = &mut Random(*event);
        let data = abi::Data {
            ecn: random.below(4) as u32,
            role: random.below(2) as u32,
            ip_id: random.below(65536) as u32,
            feedback: random.feedback(),
            ..Default::default()
        };
        law.on_data(&mut state, &data);
        let mut fill = abi::Fill::default();
        law.fill_ack(&mut state, &mut fill);
        assert!(
            u32::from(fill.feedback.len) == law.feedback_bytes() && fill.feedback.present == 1,
            "{}",
            law.name()
        );
        law.ack_written(&mut state, random.below(2) == 1);
    }
}

fn capacity_stream((start, events): &Stream, part: &'static fadelab_laws::Capacity) {
    let random = &mut Random(*start);
    let params = random.params(part.params(), |pairs| part.params_from(pairs).expect("within range"));
    let (mut state, mut out) = (part.new_state(), abi::Estimate::default());
    part.init(&mut state, &params, &abi::Link::default());
    for event in events {
        let random = &mut Random(*event);
        let interval = abi::Interval {
            interval_us: random.size(),
            offered_bytes: random.size(),
            arrived_bytes: random.size(),
            queue_bytes: random.size(),
            configured_Bps: random.size(),
            limit_bytes: random.size().max(1),
            received_bytes: random.size(),
            ..Default::default()
        };
        part.estimate(&mut state, &params, &interval, &mut out);
        assert!(
            out.capacity_Bps <= CAPACITY_BPS_MAX || out.capacity_Bps == interval.configured_Bps,
            "{}: {interval:?}",
            part.name()
        );
        assert!(
            !part.knows_capacity() || out.spare_Bps <= i64::try_from(out.capacity_Bps).unwrap_or(i64::MAX),
            "{}",
            part.name()
        );
    }
}

fn streams() -> impl Strategy<Value = Stream> {
    (any::<u64>(), prop::collection::vec(any::<u64>(), 0..400))
}

/// The same cases on every run, nothing written to the tree.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 300,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Default::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn senders_keep_their_promises_whatever_comes(stream in streams()) {
        // Goal: whatever a hostile network sends, no sender or receiver traps and no window falls below 1; a law that
        // says it reads no samples does the same without them.
        for law in senders() {
            let course = sender_stream(&stream, law, |ack| ack);
            if law.flags() & abi::SENDER_PLAIN_ACKS != 0 {
                assert!(course == sender_stream(&stream, law, without_samples), "{} reads samples", law.name());
            }
        }
        for law in receivers() {
            receiver_stream(&stream, law);
        }
    }

    #[test]
    fn routers_keep_their_promises_whatever_comes(stream in streams()) {
        // Goal: whatever arrives, no router or capacity part traps, no mark is foreign, no timer is due in the past; a
        // law does the same where it is shown no more than its table asks for.
        for law in routers() {
            let course = router_stream(&stream, law, false);
            assert!(course == router_stream(&stream, law, true), "{} reads more than it says", law.name());
        }
        for part in capacities() {
            capacity_stream(&stream, part);
        }
    }
}
