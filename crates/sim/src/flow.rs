//! A flow: an application, the two ends of its transport, and what it counts.

use fadelab_laws::abi;
use fadelab_path::packet::{FeedbackBytes, Header};
use fadelab_path::violation::Checked;
use fadelab_phy::random::Stream;

use crate::app::{Application, Wish};
use crate::network::Network;
use crate::packet::Packet;
use crate::record::{Completion, FlowCounters};
use crate::spec::{App, FlowSpec, Transport};
use crate::tcp::receiver::Receiver;
use crate::tcp::sender::{Identity, Sender};

/// IP and UDP header of a datagram of a flow without a law.
const UDP_HEADER_BYTES: u32 = 28;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Flow {
    id: u32,
    tcp: Transport,
    route_at: u32,
    route_back_at: u32,
    app: Application,
    /// `None` sends datagrams and hears nothing back.
    sender: Option<Box<Sender>>,
    receiver: Receiver,
    mss_bytes: u32,
    /// Segments written before the last connection began, all of them full.
    written: u32,
    short_by_bytes: u64,
    opened_una: u32,
    closing: bool,
    datagrams_sent: u64,
    datagrams_received: u64,
    acks_sent: u16,
}

impl Flow {
    pub fn new(id: u32, spec: &FlowSpec, seed: u64, net: &mut Network) -> Self {
        let mut random = Stream::new(seed, &format!("flow {}", spec.name));
        let (route_at, route_back_at) = net.add_routes(id, &spec.route, &spec.route_back);
        let identity = Identity { flow: id, route_at };
        let word = random.next_u64();
        let sender = spec
            .sender
            .map(|law| Box::new(Sender::new(identity, spec.transport, law, spec.params.clone(), word)));
        let header_bytes = if sender.is_some() {
            spec.transport.header_bytes
        } else {
            UDP_HEADER_BYTES
        };
        Self {
            id,
            tcp: spec.transport,
            route_at,
            route_back_at,
            app: Application::new(spec.app, random),
            sender,
            receiver: Receiver::new(spec.receiver),
            mss_bytes: spec.transport.packet_bytes - header_bytes,
            written: 0,
            short_by_bytes: 0,
            opened_una: 0,
            closing: matches!(spec.app, App::Transfer { .. }),
            datagrams_sent: 0,
            datagrams_received: 0,
            acks_sent: 0,
        }
    }

    /// When it wants an event.
    #[inline]
    pub fn next_due(&self) -> u64 {
        let sender = self.sender.as_ref().map_or(u64::MAX, |sender| sender.next_due());
        sender.min(self.app.due_ns()).min(self.receiver.ack_due_ns())
    }

    /// Its event: the application first, then the delayed ACK, then the sender's timers. A session that is closed after
    /// all of it was acknowledged is added to `completed`.
    pub fn on_event(&mut self, now_ns: u64, net: &mut Network, completed: &mut Vec<Completion>) -> Checked<()> {
        while self.app.due_ns() <= now_ns {
            let wish = self.app.wish(now_ns, self.mss_bytes);
            self.fulfil(wish, now_ns, net)?;
            if wish == Wish::Close {
                self.complete(now_ns, completed);
            }
        }
        if self.receiver.ack_due_ns() <= now_ns {
            self.send_ack(now_ns, net)?;
        }
        match &mut self.sender {
            Some(sender) if sender.next_due() <= now_ns => sender.on_timer(now_ns, net),
            _ => Ok(()),
        }
    }

    fn fulfil(&mut self, wish: Wish, now_ns: u64, net: &mut Network) -> Checked<()> {
        let Some(sender) = &mut self.sender else {
            return if wish == Wish::Segment {
                self.send_datagram(now_ns, net)
            } else {
                Ok(())
            };
        };
        match wish {
            Wish::Open(bytes) => {
                sender.connect(now_ns);
                self.receiver.restart(now_ns);
                self.opened_una = sender.board().una();
                let mut last_ip_bytes = None;
                self.written = match bytes {
                    None => u32::MAX,
                    Some(0) => self.opened_una,
                    Some(bytes) => {
                        let segments = bytes.div_ceil(u64::from(self.mss_bytes));
                        self.short_by_bytes = segments * u64::from(self.mss_bytes) - bytes;
                        last_ip_bytes = Some((u64::from(self.tcp.packet_bytes) - self.short_by_bytes) as u16);
                        self.opened_una.saturating_add(segments.min(u64::from(u32::MAX)) as u32)
                    }
                };
                sender.write(self.written, last_ip_bytes);
            }
            Wish::Segment => {
                self.written += 1;
                sender.write(self.written, None);
            }
            Wish::Close => {
                sender.close();
                self.written = sender.board().nxt();
                self.closing = self.app.has_sessions();
            }
        }
        sender.send(now_ns, net)
    }

    /// A packet of this flow reached the end of its route. A transfer or session that it completes is added to
    /// `completed`.
    #[inline]
    pub fn on_packet(
        &mut self,
        now_ns: u64,
        packet: &Packet,
        feedback: Option<&FeedbackBytes>,
        net: &mut Network,
        completed: &mut Vec<Completion>,
    ) -> Checked<()> {
        if packet.header.is_data() {
            if self.sender.is_none() {
                self.datagrams_received += 1;
            } else if self.receiver.on_data(now_ns, packet, feedback, &self.tcp) {
                self.send_ack(now_ns, net)?;
            }
        } else if let Some(sender) = &mut self.sender {
            sender.on_ack(now_ns, packet, feedback, net)?;
            self.complete(now_ns, completed);
        }
        Ok(())
    }

    /// Notes the end of the transfer or session, if it ends now: it writes no more, and all that it wrote is
    /// acknowledged.
    #[inline]
    fn complete(&mut self, now_ns: u64, completed: &mut Vec<Completion>) {
        let Some(sender) = &self.sender else { return };
        if !self.closing || !sender.is_finished() {
            return;
        }
        self.closing = false;
        self.app.finished(now_ns);
        let segments = u64::from(sender.board().una() - self.opened_una);
        completed.push(Completion {
            flow: self.id,
            start_ns: self.app.start_ns(),
            end_ns: now_ns,
            bytes: segments * u64::from(self.mss_bytes) - self.short_by_bytes,
        });
    }

    #[inline]
    fn send_ack(&mut self, now_ns: u64, net: &mut Network) -> Checked<()> {
        let header = Header {
            ip_id: self.acks_sent,
            ..Header::default()
        };
        let mut ack = Packet {
            header,
            flow: self.id,
            ..Packet::default()
        };
        self.acks_sent = self.acks_sent.wrapping_add(1);
        let feedback = self.receiver.fill_ack(now_ns, &mut ack, &self.tcp);
        net.inject(now_ns, ack, self.route_back_at, feedback.as_ref())
    }

    fn send_datagram(&mut self, now_ns: u64, net: &mut Network) -> Checked<()> {
        let header = Header {
            ip_bytes: self.tcp.packet_bytes as u16,
            ip_id: self.datagrams_sent as u16,
            flags: abi::PACKET_DATA as u8,
            ..Header::default()
        };
        self.datagrams_sent += 1;
        let packet = Packet {
            header,
            flow: self.id,
            ..Packet::default()
        };
        net.inject(now_ns, packet, self.route_at, None)
    }

    /// Where the states of the law's sender and receiver lie.
    pub fn state_addresses(&self) -> [Option<usize>; 2] {
        let sender = self.sender.as_ref().map(|sender| sender.state_address());
        [sender, self.receiver.state_address()]
    }

    /// What it has counted so far.
    pub fn snapshot(&self) -> FlowCounters {
        let Some(sender) = &self.sender else {
            let delivered_bytes = self.datagrams_received * u64::from(self.mss_bytes);
            return FlowCounters {
                sent_pkts: self.datagrams_sent,
                delivered_bytes,
                ..FlowCounters::default()
            };
        };
        let counters = sender.counters();
        let complete = self.short_by_bytes > 0 && self.receiver.nxt() == self.written;
        let short_by_bytes = if complete { self.short_by_bytes } else { 0 };
        FlowCounters {
            sent_pkts: counters.sent_pkts,
            retransmitted_pkts: counters.retransmitted_pkts,
            delivered_bytes: u64::from(self.receiver.nxt()) * u64::from(self.mss_bytes) - short_by_bytes,
            timeouts: counters.timeouts,
            recoveries: counters.recoveries,
            ecn_reductions: counters.ecn_reductions,
            rtt_samples: counters.rtt_samples,
            rtt_us_sum: counters.rtt_us_sum,
            cwnd_pkts: sender.control().cwnd_pkts,
            ssthresh_pkts: sender.control().ssthresh_pkts,
            srtt_us: sender.srtt_us(),
            in_flight_pkts: sender.board().in_flight_pkts(),
        }
    }

    #[cfg(feature = "fault-injection")]
    pub fn receiver_mut(&mut self) -> &mut Receiver {
        &mut self.receiver
    }

    #[cfg(feature = "fault-injection")]
    pub fn sender_mut(&mut self) -> Option<&mut Sender> {
        self.sender.as_deref_mut()
    }
}
