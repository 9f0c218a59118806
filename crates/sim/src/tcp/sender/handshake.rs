//! The exchange of SYNs with which a connection begins where the transport has one.

use fadelab_laws::abi;
use fadelab_path::packet::{FeedbackBytes, Header, PacketId};
use fadelab_path::violation::Checked;

use super::Sender;
use crate::clock::Now;
use crate::network::Network;
use crate::packet::{Packet, SYN_BYTES, flag};
use crate::tcp::plan::{Arrivals, Plan};
use crate::tcp::segments::Segments;

/// How far a connection is that the other end, a client, asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Serves {
    /// No client has asked for one.
    Nobody,
    /// The answer to its SYN is on the way, or its ACK.
    Greeting,
    /// The connection stands, and the request did not come yet.
    Listening,
    /// The request is heard.
    Asked,
}

impl Sender {
    /// A connection is asked for. Until the answer comes the window is shut.
    pub fn greet(&mut self, now: Now, plan: &Plan, net: &mut Network) -> Checked<()> {
        self.set_window(0);
        self.set_timer(now, plan, self.rtt.rto_ns(&plan.tcp));
        let mut packet = syn(now, self.identity.flow, None);
        let feedback = self.feedback_of_syn(now, plan, packet.header.ip_bytes);
        if let Some(feedback) = &feedback {
            carry(&mut packet, plan, self.law.wire() as u8, feedback);
        }
        let bytes = feedback.as_ref().map(|feedback| &feedback.bytes);
        net.inject(now.ns, packet, self.identity.route_at, bytes)
    }

    /// Whether the answer to a SYN has not come yet: no law shuts its window.
    #[inline]
    pub(super) fn is_greeting(&self) -> bool {
        self.window_pkts() == 0
    }

    /// The timer fired with nothing outstanding: what was lost is a SYN, if anything.
    #[cold]
    pub(super) fn greet_again(&mut self, now: Now, plan: &Plan, net: &mut Network) -> Checked<()> {
        if !self.is_greeting() {
            return Ok(());
        }
        self.rtt.back_off();
        if self.serves == Serves::Greeting {
            return self.answer(now, plan, net);
        }
        self.greet(now, plan, net)
    }

    /// A packet of a client, which opens a connection or asks for a download on it.
    fn on_client(&mut self, now: Now, plan: &Plan, packet: &Packet, net: &mut Network) -> Checked<()> {
        let since_us = |then_us: u32| now.clock_us().wrapping_sub(then_us);
        // What names an earlier connection, or echoes an answer of one, is left of it.
        let is_left = self.serves != Serves::Nobody && since_us(packet.ts_ecr_us) > since_us(self.connected_us);
        if is_left {
            return Ok(());
        }
        if packet.tcp_flags & flag::GREETED == 0 {
            return self.accept(now, plan, packet, net);
        }
        if self.serves == Serves::Nobody {
            return Ok(());
        }
        if self.serves == Serves::Greeting {
            self.serves = Serves::Listening;
            self.take_rtt(since_us(packet.ts_ecr_us), plan);
            self.rto_due_ns = u64::MAX;
            self.begin(now, plan, abi::Feedback::default());
        }
        if packet.tcp_flags & flag::REQUEST == 0 || self.serves == Serves::Asked {
            return Ok(());
        }
        self.serves = Serves::Asked;
        let answer = Segments::of(plan);
        let last_ip_bytes = plan.tcp.packet_bytes - answer.short_by_bytes;
        self.write(
            self.board.una().saturating_add(answer.count),
            Some(last_ip_bytes as u16),
        );
        self.send(now, plan, net)
    }

    /// A client's SYN: of a connection that it asked for before, or of a new one. With that it says that it has all of
    /// the last one, whose ACKs may be lost.
    fn accept(&mut self, now: Now, plan: &Plan, syn: &Packet, net: &mut Network) -> Checked<()> {
        if self.serves == Serves::Nobody || self.connected_us != syn.ts_ecr_us {
            if self.board.outstanding_pkts() > 0 {
                self.board.acknowledge(self.board.nxt());
            }
            self.connect(now, plan);
            self.set_window(0);
            (self.serves, self.connected_us) = (Serves::Greeting, syn.ts_ecr_us);
        }
        if self.serves != Serves::Greeting {
            return Ok(());
        }
        self.answer(now, plan, net)
    }

    /// The answer to a client's SYN, which names its connection. Whatever goes this way counts as data, for the channel
    /// and for routers.
    fn answer(&mut self, now: Now, plan: &Plan, net: &mut Network) -> Checked<()> {
        self.set_timer(now, plan, self.rtt.rto_ns(&plan.tcp));
        let mut packet = syn(now, self.identity.flow, Some(self.connected_us));
        packet.header.flags = abi::PACKET_DATA;
        net.inject(now.ns, packet, self.identity.route_at, None)
    }

    /// A packet that acknowledges nothing of this connection: the answer to a SYN, whose number is beyond all that was
    /// sent; while none has come, an ACK that is left of an earlier connection, which a host would not know any more;
    /// else a violation.
    #[cold]
    #[inline(never)]
    pub(super) fn on_no_ack_of_this(&mut self, now: Now, plan: &Plan, id: PacketId, net: &mut Network) -> Checked<()> {
        let (packet, brought) = (*net.slab.get(id), net.slab.feedback_of(id).copied());
        net.discard(id);
        if packet.tcp_flags & flag::SYN != 0 && plan.arrivals == Arrivals::Download {
            return self.on_client(now, plan, &packet, net);
        }
        if packet.tcp_flags & flag::SYN != 0 {
            return self.on_answer(now, plan, &packet, brought, net);
        }
        if packet.seq > self.board.nxt() {
            let detail = format!("ACK {} of {}", packet.seq, self.board.nxt());
            return self.broken("only what was sent is acknowledged", now, detail);
        }
        Ok(())
    }

    /// The answer came and the connection stands: the law begins with a round-trip time (Linux: `tcp_init_transfer` of
    /// `net/ipv4/tcp_input.c`). A second answer says nothing new, nor does one to a SYN of an earlier connection.
    fn on_answer(
        &mut self,
        now: Now,
        plan: &Plan,
        packet: &Packet,
        brought: Option<FeedbackBytes>,
        net: &mut Network,
    ) -> Checked<()> {
        let since_us = |then_us: u32| now.clock_us().wrapping_sub(then_us);
        if !self.is_greeting() || since_us(packet.ts_ecr_us) > since_us(self.connected_us) {
            return Ok(());
        }
        self.take_rtt(since_us(packet.ts_ecr_us), plan);
        self.rto_due_ns = u64::MAX;
        let feedback = brought.map(|bytes| abi::Feedback {
            bytes,
            len: packet.header.feedback_len,
            present: 1,
            confirmed: packet.header.confirmed,
            ..abi::Feedback::default()
        });
        self.begin(now, plan, feedback.unwrap_or_default());
        self.send(now, plan, net)
    }
}

/// A SYN, or the answer to one, carries feedback of a law: as an option where that takes room.
pub(crate) fn carry(packet: &mut Packet, plan: &Plan, wire: u8, feedback: &abi::Feedback) {
    packet.header.wire = wire;
    (packet.header.feedback_len, packet.header.confirmed) = (feedback.len, feedback.confirmed);
    packet.header.ip_bytes += u32::from(plan.option_bytes);
}

/// A SYN on its way there, or the answer to the one that left at `answers_us`.
pub(crate) fn syn(now: Now, flow: u32, answers_us: Option<u32>) -> Packet {
    Packet {
        header: Header {
            // Whatever goes this way counts as data, for the channel and for routers.
            flags: if answers_us.is_none() { abi::PACKET_DATA } else { 0 },
            ip_bytes: SYN_BYTES,
            ..Header::default()
        },
        tcp_flags: flag::SYN,
        flow,
        // Beyond all that can be sent, so that segments and ACKs need not be asked whether they are one.
        seq: u32::MAX,
        ts_val_us: now.clock_us(),
        ts_ecr_us: answers_us.unwrap_or_default(),
        ..Packet::default()
    }
}
