//! What flows of a kind have in common and nothing changes during a run.
//!
//! It is kept once for all of them: with a thousand flows the memory that an ACK touches decides how long it takes, and
//! this stays in the cache.

use std::ptr;
use std::rc::Rc;

use fadelab_laws::shadow::Onlooker;
use fadelab_laws::{Codec, Params, Receiver as ReceiverLaw, Sender as Law, abi};
use fadelab_run::app::App;
use fadelab_run::flow::FlowSpec;
use fadelab_run::transport::{FeedbackForm, Recovery, Transport, option_bytes};

use crate::clock::TickClock;
use crate::tcp::round_trips::RoundTrips;

/// IP and UDP header of a datagram of a flow without a law.
const UDP_HEADER_BYTES: u32 = 28;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Plan {
    pub tcp: Transport,
    /// Clock of the timestamps.
    pub clock: TickClock,
    /// `None` sends datagrams and hears nothing back.
    pub law: Option<&'static Law>,
    pub params: Params,
    /// Laws that see what the law is shown.
    pub onlookers: Vec<Onlooker>,
    /// Whether one of all these reads more of ACKs than counts, times and feedback.
    pub wants_samples: bool,
    /// Whether one of them is told of each lost segment.
    pub tells_losses: bool,
    pub receiver_law: Option<&'static ReceiverLaw>,
    /// What both ends agreed to (`ECN_MODE_*`). Where the law reads the bits by itself that is nothing.
    ecn_mode: u32,
    pub app: App,
    /// Who takes what comes to the receiving end.
    pub arrivals: Arrivals,
    /// Payload of a full packet.
    pub mss_bytes: u32,
    /// The receive window at the beginning of a connection; one that does not grow has all of it then.
    pub rwnd_pkts_initial: u32,
    /// Duplicates that tell of a loss; where time does, none do.
    pub dupthresh: u32,
    /// The option with the law's feedback in every header.
    pub option_bytes: u16,
    /// What rounds feedback where it travels as an option; `None`: it travels as it is.
    pub codec: Option<Codec>,
    /// An ACK without SACK blocks, that option included.
    pub ack_ip_bytes: u16,
    /// What all flows of a group count together.
    pub round_trips: Rc<RoundTrips>,
}

/// Who takes what comes to the receiving end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrivals {
    /// A TCP without a law.
    Plain,
    /// A TCP with the receiver's half of the law.
    ForLaw,
    /// Nobody: datagrams are counted.
    Datagrams,
    /// The client of a download, before either TCP.
    Download,
}

impl Arrivals {
    fn of(spec: &FlowSpec) -> Self {
        match (spec.sender, spec.app, spec.receiver) {
            (None, ..) => Self::Datagrams,
            (_, App::Http { .. }, _) => Self::Download,
            (_, _, Some(_)) => Self::ForLaw,
            (_, _, None) => Self::Plain,
        }
    }
}

/// What a SYN can offer before its window is scaled (`tcp_select_initial_window` of `net/ipv4/tcp_output.c`, 6.12).
const RWND_BYTES_INITIAL: u32 = 65_535;

/// With SACK a window that grows is never in the way, since it grows behind a hole, too.
fn rwnd_pkts_initial(tcp: &Transport, mss_bytes: u32) -> u32 {
    if tcp.rwnd_grows && !tcp.recovery.has_sack() {
        (RWND_BYTES_INITIAL / mss_bytes).clamp(1, tcp.rwnd_pkts)
    } else {
        tcp.rwnd_pkts
    }
}

impl Plan {
    /// Whether duplicates count as delivered, as Linux needs it without SACK for what it does with such counts.
    #[inline]
    pub fn counts_duplicates(&self) -> bool {
        !self.tcp.recovery.has_sack() && (self.tcp.rate_reduction || self.tcp.rwnd_grows)
    }

    /// Whether both ends agreed to ECN (RFC 3168), so that marks are echoed.
    #[inline]
    pub fn has_ecn(&self) -> bool {
        self.ecn_mode != abi::ECN_MODE_NONE
    }

    /// Whether the receiver hurries with ACKs, as Linux does, where a mark may have made the window very small.
    #[inline]
    pub fn is_quick_for_ecn(&self) -> bool {
        self.ecn_mode == abi::ECN_MODE_CLASSIC && self.tcp.quick_acks_pkts > 0
    }

    fn new(spec: &FlowSpec, round_trips: Rc<RoundTrips>) -> Self {
        let header_bytes = if spec.sender.is_some() {
            spec.transport.header_bytes
        } else {
            UDP_HEADER_BYTES
        };
        let laws = || spec.sender.into_iter().chain(spec.onlookers.iter().map(|one| one.law));
        let sender = spec.sender.filter(|_| spec.transport.option_space);
        let option_bytes = sender.map_or(0, |law| option_bytes(law, spec.receiver));
        let mss_bytes = spec.transport.packet_bytes - header_bytes - option_bytes;
        let sender_with_ecn = spec.sender.filter(|_| spec.transport.ecn);
        Self {
            tcp: spec.transport,
            clock: TickClock::new(spec.transport.ts_tick_ns),
            law: spec.sender,
            params: spec.params.clone(),
            wants_samples: laws().any(|law| law.flags() & abi::SENDER_PLAIN_ACKS == 0),
            tells_losses: laws().any(Law::has_on_lost),
            onlookers: spec.onlookers.clone(),
            receiver_law: spec.receiver,
            ecn_mode: sender_with_ecn.map_or(abi::ECN_MODE_NONE, Law::ecn_mode),
            app: spec.app,
            arrivals: Arrivals::of(spec),
            mss_bytes,
            rwnd_pkts_initial: rwnd_pkts_initial(&spec.transport, mss_bytes),
            dupthresh: if spec.transport.recovery == Recovery::Rack {
                u32::MAX
            } else {
                spec.transport.dupthresh
            },
            option_bytes: option_bytes as u16,
            codec: spec
                .sender
                .filter(|_| spec.transport.feedback == FeedbackForm::Option)
                .and_then(|law| Codec::of(law, spec.receiver))
                .filter(|codec| codec.option_bytes() <= fadelab_laws::OPTION_BYTES_MAX),
            ack_ip_bytes: (spec.transport.ack_bytes + option_bytes) as u16,
            round_trips,
        }
    }

    /// The plan of `spec`, whose group counts `round_trips`: that of the flow before it, where it is the same.
    pub fn of(spec: &FlowSpec, round_trips: &Rc<RoundTrips>, before: Option<&Rc<Self>>) -> Rc<Self> {
        let same = before.filter(|plan| {
            plan.law.map(ptr::from_ref) == spec.sender.map(ptr::from_ref)
                && plan.receiver_law.map(ptr::from_ref) == spec.receiver.map(ptr::from_ref)
                && plan.tcp == spec.transport
                && plan.params == spec.params
                && plan.onlookers == spec.onlookers
                && plan.app == spec.app
                && Rc::ptr_eq(&plan.round_trips, round_trips)
        });
        same.map_or_else(|| Rc::new(Self::new(spec, Rc::clone(round_trips))), Rc::clone)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use fadelab_run::app::Span;
    use fadelab_run::flow::FlowKind;
    use fadelab_run::transport::{IpId, Pacing, PartialAcks, Recovery, RecoveryExit, RtoVariance, RttSamples};

    /// A flow under the law `name` over link 0, back over link 1.
    pub(crate) fn spec(name: &str) -> FlowSpec {
        let law = fadelab_laws::sender(name).expect("registered");
        let transport = Transport {
            packet_bytes: 1040,
            header_bytes: 40,
            ack_bytes: 40,
            sack_on_wire: false,
            cwnd_pkts_initial: 2,
            ssthresh_pkts_initial: 100,
            rwnd_pkts: 100,
            rwnd_grows: false,
            send_buffer: false,
            recovery: Recovery::Sack,
            dupthresh: 3,
            limited_transmit: true,
            delayed_ack_ns: None,
            rto_ns_min: 1,
            rto_min_over_srtt: false,
            rto_whole_ticks: false,
            timer_tick_ns: 0,
            rto_ns_max: 2,
            rto_ns_initial: 1,
            ts_tick_ns: 1000,
            rto_variance: RtoVariance::Sample,
            rtt_samples: RttSamples::PerAck,
            recovery_exit: RecoveryExit::Hold,
            partial_acks: PartialAcks::First,
            pacing: Pacing::Rate,
            ecn: false,
            small_queue: false,
            ecn_after_recovery: false,
            keeps_recovery_point: false,
            handshake: false,
            quick_acks_pkts: 0,
            option_space: false,
            feedback: FeedbackForm::Exact,
            rate_reduction: false,
            timestamps: true,
            undo: false,
            frto: false,
            dsack: false,
            ip_id: IpId::Counting,
        };
        let kind = FlowKind {
            group: "a".to_owned(),
            sender: Some(law),
            params: law.default_params(),
            onlookers: Vec::new(),
            receiver: fadelab_laws::receiver(name),
            app: App::Greedy {
                start: Span::Fixed { ns: 0 },
            },
            transport,
        };
        FlowSpec {
            name: "a".into(),
            from: 0,
            to: 1,
            route: vec![0],
            route_back: vec![1],
            kind: kind.into(),
        }
    }

    #[test]
    fn only_flows_of_a_kind_share_a_plan() {
        // Goal: a flow that differs in anything but its name and its routes has a plan of its own.
        let group = Rc::default();
        let first = Plan::of(&spec("reno"), &group, None);
        let shares = |spec: &FlowSpec| Rc::ptr_eq(&first, &Plan::of(spec, &group, Some(&first)));
        assert!(!Rc::ptr_eq(
            &first,
            &Plan::of(&spec("reno"), &Rc::default(), Some(&first))
        ));
        let mut same = spec("reno");
        (same.name, same.route) = ("b".into(), vec![7]);
        assert!(shares(&same));
        let changes: [fn(&mut FlowSpec); 5] = [
            |other| other.sender = fadelab_laws::sender("cubic"),
            |other| other.receiver = fadelab_laws::receiver("xcp"),
            |other| {
                let law = fadelab_laws::sender("reno").expect("registered");
                other.params = law.params_from(&[("limit_pkts", 2.0)]).expect("in range");
            },
            |other| other.transport.delayed_ack_ns = Some(1),
            |other| {
                other.app = App::Greedy {
                    start: Span::Fixed { ns: 1 },
                }
            },
        ];
        for change in changes {
            let mut other = spec("reno");
            change(&mut other);
            assert!(!shares(&other), "{other:?}");
        }
    }
}
