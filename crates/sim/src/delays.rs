//! How long packets waited and round trips took in the measured interval, as it is recorded.

use std::rc::Rc;

use fadelab_path::counters::LinkCounters;
use fadelab_path::histogram::Histogram;
use fadelab_run::classes::Classes;
use fadelab_run::record::{self, OfGroup, RunRecord, Waits};

use crate::network::Network;
use crate::tcp::round_trips::RoundTrips;

/// What the flows count together, by group; links count by themselves.
#[derive(Debug)]
pub(crate) struct Delays {
    round_trips: Vec<Rc<RoundTrips>>,
}

impl Delays {
    /// Nothing was counted yet.
    pub fn of(net: &Network) -> Self {
        Self {
            round_trips: net.groups().names.iter().map(|_| Rc::default()).collect(),
        }
    }

    /// What the flows of each group count in.
    pub fn round_trips(&self) -> &[Rc<RoundTrips>] {
        &self.round_trips
    }

    /// The measured interval begins; a snapshot was taken just now.
    pub fn forget(&self, net: &mut Network) {
        self.round_trips.iter().for_each(|trips| trips.forget());
        net.forget_delays();
    }

    /// What was counted, to the last snapshot, which is in the record.
    pub fn record(&self, record: &RunRecord, net: &mut Network) -> record::Delays {
        let delays = net.delays().into_iter();
        let names = &net.groups().names;
        let links = record.links_warmup.iter().zip(&record.links_end);
        record::Delays {
            rtts_us: self.rtts_us(record, net),
            waits_ns: delays
                .zip(links)
                .map(|((counted, classes), (from, to))| {
                    waits(counted, &classes, names, left_pkts(to) - left_pkts(from))
                })
                .collect(),
        }
    }

    fn rtts_us(&self, record: &RunRecord, net: &Network) -> Vec<OfGroup> {
        let groups = net.groups();
        let mut samples = vec![0; groups.names.len()];
        let flows = record.flows_warmup.iter().zip(&record.flows_end);
        for ((from, to), &group) in flows.zip(&groups.of_flow) {
            samples[group as usize] += to.rtt_samples - from.rtt_samples;
        }
        let named = groups.names.iter().zip(&self.round_trips).zip(samples);
        let of_group = |((name, trips), samples): ((&String, &Rc<RoundTrips>), u64)| OfGroup {
            group: name.clone(),
            histogram: trips.histogram(samples),
        };
        named.map(of_group).collect()
    }
}

/// Packets that left the queue for the transmitter.
fn left_pkts(counters: &LinkCounters) -> u64 {
    let dropped_pkts = counters.dropped_full_pkts + counters.dropped_law_pkts;
    counters.arrived_pkts - dropped_pkts - u64::from(counters.queue_pkts)
}

/// The waits at a link that `left_pkts` packets left. What was counted of none of its classes did not wait.
fn waits(mut counted: Vec<Histogram>, classes: &Classes, names: &[String], left_pkts: u64) -> Waits {
    let mut all = Histogram::default();
    for of_class in &counted {
        all.add_all(of_class);
    }
    let at_once_pkts = left_pkts - all.count();
    all.add(0, at_once_pkts);
    counted[0].add(0, at_once_pkts);
    let of_group = |&group: &u32| OfGroup {
        group: names[group as usize].clone(),
        histogram: counted[usize::from(classes.class(group))].clone(),
    };
    let told = classes.groups.iter().take(classes.told_groups());
    Waits {
        groups: told.map(of_group).collect(),
        all,
    }
}
