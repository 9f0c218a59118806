//! What a link and a flow count: each counter described once, for the tables that write it and for reading them back.

use fadelab_path::counters::LinkCounters;
use fadelab_run::record::FlowCounters;

/// A counter of `C`: its name and unit, what it means, and how it is taken out and put back.
pub struct Counter<C> {
    /// Name of its column.
    pub name: &'static str,
    /// Its unit; `1` is a pure number.
    pub unit: &'static str,
    /// What it means.
    pub about: &'static str,
    /// Whether it only grows, so that a difference of two samples is a total; else it is the state of an instant.
    pub grows: bool,
    /// Takes it out.
    pub get: fn(&C) -> u64,
    /// Puts it back.
    pub set: fn(&mut C, u64),
}

/// What has counters of one kind.
pub trait Counted<C> {
    fn counters(&self) -> &C;
}

/// What happened between two samples: the growth of what grows, nothing else.
pub fn growth<C: Default>(counters: &[Counter<C>], from: &C, to: &C) -> C {
    let mut growth = C::default();
    for counter in counters.iter().filter(|counter| counter.grows) {
        (counter.set)(&mut growth, (counter.get)(to) - (counter.get)(from));
    }
    growth
}

/// Parquet has no 128-bit integers. Microseconds keep an integral exact to a part in 10^9 of any that matters, and
/// figures are computed from them too, so that a table read back gives the very figures of the run.
pub fn per_us(integral_ns: u128) -> u64 {
    u64::try_from(integral_ns / 1000).unwrap_or(i64::MAX as u64)
}

/// A counter that is a field of the same name.
macro_rules! field {
    ($name:ident, $unit:literal, $grows:literal, $about:literal) => {
        Counter {
            name: stringify!($name),
            unit: $unit,
            about: $about,
            grows: $grows,
            get: |counters| counters.$name.into(),
            // Each value was taken out of a field of this width.
            set: |counters, value| counters.$name = value as _,
        }
    };
}

pub const LINK: &[Counter<LinkCounters>] = &[
    field!(
        arrived_pkts,
        "pkt",
        true,
        "packets that reached the queue, later dropped ones included"
    ),
    field!(arrived_bytes, "B", true, "their on-air bytes"),
    field!(
        sent_pkts,
        "pkt",
        true,
        "packets of any kind (data, ACKs, SYNs, probes) whose transmission ended, the first one where the link repeats \
         them"
    ),
    field!(
        sent_bytes,
        "B",
        true,
        "on-air bytes sent, repetitions and what was sent of the packet in transmission included"
    ),
    field!(
        offered_bytes,
        "B",
        true,
        "on-air bytes that the transmitter could have sent, used or not"
    ),
    field!(
        dropped_full_pkts,
        "pkt",
        true,
        "packets dropped for want of room: they found the queue full, or were the oldest of the longest of several"
    ),
    field!(dropped_law_pkts, "pkt", true, "packets dropped by the router's law"),
    field!(dropped_bytes, "B", true, "on-air bytes of the packets dropped"),
    field!(
        lost_air_pkts,
        "pkt",
        true,
        "packets lost on the air, for good where the link repeats them"
    ),
    field!(
        marked_pkts,
        "pkt",
        true,
        "of the packets sent, those whose ECN field the law changed at their arrival or departure"
    ),
    Counter {
        name: "queue_byte_us",
        unit: "B µs",
        about: "integral over time of the bytes waiting",
        grows: true,
        get: |counters| per_us(counters.queue_byte_ns),
        set: |counters, value| counters.queue_byte_ns = u128::from(value) * 1000,
    },
    Counter {
        name: "queue_pkt_us",
        unit: "pkt µs",
        about: "integral over time of the packets waiting",
        grows: true,
        get: |counters| per_us(counters.queue_pkt_ns),
        set: |counters, value| counters.queue_pkt_ns = u128::from(value) * 1000,
    },
    field!(
        queue_bytes,
        "B",
        false,
        "on-air bytes waiting at this instant, the packet in transmission excluded"
    ),
    field!(queue_pkts, "pkt", false, "packets waiting at this instant"),
    field!(
        sent_data_pkts,
        "pkt",
        true,
        "data packets sent, probes, datagrams and SYNs to the receiver among them, counted with the last try where the \
         link repeats them"
    ),
    field!(
        lost_air_data_pkts,
        "pkt",
        true,
        "of those, lost on the air: for good where the link repeats them"
    ),
    field!(
        retransmitted_pkts,
        "pkt",
        true,
        "repetitions sent by the link itself (ARQ), which sent_pkts leaves out and sent_bytes counts"
    ),
    field!(
        recovered_pkts,
        "pkt",
        true,
        "packets that arrived although a try was lost on the air"
    ),
    field!(
        reordered_pkts,
        "pkt",
        true,
        "packets delivered after one that left the queue later"
    ),
];

pub const FLOW: &[Counter<FlowCounters>] = &[
    field!(
        sent_pkts,
        "pkt",
        true,
        "data packets sent, retransmissions and probes included, SYNs and ACKs not, as Linux's tcpi_data_segs_out; \
         links count those too"
    ),
    field!(retransmitted_pkts, "pkt", true, "retransmissions"),
    field!(
        delivered_bytes,
        "B",
        true,
        "payload that the receiving application got, in order and once"
    ),
    field!(timeouts, "1", true, "retransmission timeouts"),
    field!(recoveries, "1", true, "fast recoveries entered"),
    field!(ecn_reductions, "1", true, "reactions to ECN echoes"),
    field!(rtt_samples, "1", true, "RTT samples"),
    field!(rtt_us_sum, "µs", true, "sum of the RTT samples"),
    field!(
        cwnd_pkts,
        "pkt",
        false,
        "congestion window at this instant, in whole packets; 1 for a law whose window is less than one"
    ),
    field!(ssthresh_pkts, "pkt", false, "slow start threshold at this instant"),
    field!(srtt_us, "µs", false, "smoothed RTT at this instant; 0: no sample yet"),
    field!(in_flight_pkts, "pkt", false, "packets in flight at this instant"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_counter_is_left_out() {
        // Goal: a field without a column would be lost when a result is read back. Every column, set to a number of its
        // own, is a field of its own, and there are as many as fields.
        let mut link = LinkCounters::default();
        for (value, counter) in (1..).zip(LINK) {
            (counter.set)(&mut link, value);
        }
        for (value, counter) in (1..).zip(LINK) {
            assert_eq!((counter.get)(&link), value, "{}", counter.name);
        }
        assert_eq!(format!("{link:?}").matches(": ").count(), LINK.len());
        let mut flow = FlowCounters::default();
        for (value, counter) in (1..).zip(FLOW) {
            (counter.set)(&mut flow, value);
        }
        for (value, counter) in (1..).zip(FLOW) {
            assert_eq!((counter.get)(&flow), value, "{}", counter.name);
        }
        assert_eq!(format!("{flow:?}").matches(": ").count(), FLOW.len());
    }
}
