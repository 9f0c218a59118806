//! Senders that are wrong in one respect, and the rows that must tell them from ns-2's: named before any of them ran.

use super::networks::Figure::{self, Drops, Retransmissions, Timeouts, Utilisation};

#[derive(Clone, Debug)]
pub struct Wrong {
    /// In the table.
    pub name: &'static str,
    /// Keys that make it.
    pub sets: &'static [&'static str],
    /// Network and figure of rows that must miss their bound.
    pub rows: &'static [(&'static str, Figure)],
}

pub fn all() -> [Wrong; 5] {
    [
        Wrong {
            name: "halves rounded down",
            sets: &["law.reno.halving=whole"],
            rows: &[
                ("SACK, 10 flows, 0.1 BDP", Utilisation),
                ("NewReno, 10 flows, 0.5 BDP", Drops),
                ("NewReno, 10 flows, 0.5 BDP", Utilisation),
            ],
        },
        Wrong {
            name: "an RTT sample from each ACK",
            sets: &["transport.rtt_samples=per ack"],
            rows: &[
                ("SACK, 50 flows, 10 BDP", Timeouts),
                ("SACK, 50 flows, 10 BDP", Retransmissions),
            ],
        },
        Wrong {
            name: "growth counts segments",
            sets: &["law.reno.counting=segments"],
            rows: &[
                ("SACK, delayed ACKs, 0.5 BDP", Drops),
                ("SACK, delayed ACKs, 0.5 BDP", Retransmissions),
            ],
        },
        Wrong {
            name: "no fast recovery",
            sets: &["transport.dupthresh=1000"],
            rows: &[
                ("SACK, 1 flow, 0.5 BDP", Timeouts),
                ("SACK, 0.1 % loss", Utilisation),
                ("NewReno, 1 % loss", Timeouts),
            ],
        },
        Wrong {
            name: "half the timeout",
            sets: &["transport.rto_min=100 ms"],
            rows: &[
                ("SACK, 5 % loss, 10 ms", Utilisation),
                ("Reno, 5 % loss, 10 ms", Utilisation),
                ("Reno, 5 % loss, 10 ms", Timeouts),
            ],
        },
    ]
}
