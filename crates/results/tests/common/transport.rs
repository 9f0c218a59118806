//! The transport of all synthetic flows.

use fadelab_run::transport::{
    FeedbackForm, IpId, Pacing, PartialAcks, Recovery, RecoveryExit, RtoVariance, RttSamples, Transport,
};

use super::SECOND;

pub fn transport() -> Transport {
    Transport {
        packet_bytes: 1000,
        header_bytes: 40,
        ack_bytes: 40,
        sack_on_wire: false,
        cwnd_pkts_initial: 2,
        ssthresh_pkts_initial: 64,
        rwnd_pkts: 1000,
        rwnd_grows: false,
        send_buffer: false,
        recovery: Recovery::Sack,
        dupthresh: 3,
        limited_transmit: true,
        delayed_ack_ns: None,
        rto_ns_min: SECOND,
        rto_min_over_srtt: false,
        rto_whole_ticks: false,
        timer_tick_ns: 0,
        rto_ns_max: 60 * SECOND,
        rto_ns_initial: SECOND,
        ts_tick_ns: 1_000_000,
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
    }
}
