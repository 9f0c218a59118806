//! What a run is made of: the counters of links and flows, read from the kernel at each tick.
//!
//! The kernel keeps totals and the state of now. What it keeps no total of (the integral of a queue, round-trip times,
//! recoveries) is summed over ticks, which are short beside any round trip.

use fadelab_path::counters::LinkCounters;
use fadelab_run::record::{Completion, FlowCounters, RunRecord, Series, Watched};
use fadelab_run::tunnel::TunnelRecord;

use super::build::{SIDES, side_of};
use super::emulated::LaneState;
use super::laws::AtLink;
use super::link_stats::{Asker, Place, Stats};
use super::memory;
use super::spaces::Spaces;
use super::tcp_info::{CWR, LOSS, RECOVERY, TcpInfo};
use super::{Outcome, failed};
use crate::plan::{Discipline, Plan, Way};

/// A shown link.
pub struct LinkMeter<'a> {
    way: Way,
    /// The kernel's part of it; `None`: all of it is the emulator's.
    kernels: Option<InKernel>,
    /// Its law, where it is one of fadelab's.
    law: Option<&'a AtLink>,
    /// At the beginning: what had crossed the link before.
    before: Option<[Stats; 3]>,
    now_ns: u64,
    counters: LinkCounters,
}

/// Disciplines of a link that the kernel counts at.
struct InKernel {
    node: Asker,
    bucket: Place,
    queue: Place,
    /// What is behind the queue; `None`: the emulator.
    wire: Option<(Asker, Place)>,
}

impl<'a> LinkMeter<'a> {
    /// Meters of all shown links.
    pub fn all(plan: &Plan, spaces: &Spaces, routers: &'a [AtLink]) -> Outcome<Vec<Self>> {
        plan.shown()
            .into_iter()
            .map(|(cable, end, way)| Self::new(plan, spaces, routers, cable, end, way))
            .collect()
    }

    fn new(plan: &Plan, spaces: &Spaces, routers: &'a [AtLink], cable: usize, end: usize, way: &Way) -> Outcome<Self> {
        let is_whole = way.emulated.as_ref().is_some_and(|emulated| emulated.whole);
        let kernels = if is_whole {
            None
        } else {
            Some(InKernel::new(plan, spaces, cable, end)?)
        };
        Ok(Self {
            way: way.clone(),
            kernels,
            law: routers.iter().find(|router| router.link == way.link),
            before: None,
            now_ns: 0,
            counters: LinkCounters::default(),
        })
    }

    /// Reads the counters at `now_ns`, of which those of lanes are given. What was counted at the first call is where
    /// counting begins.
    pub fn read(&mut self, now_ns: u64, lanes: &[LaneState]) -> Outcome<LinkCounters> {
        let lane = lanes.iter().find(|lane| lane.link == self.way.link);
        let lane = lane.map(|lane| lane.counters).unwrap_or_default();
        let Some(kernels) = &mut self.kernels else {
            return Ok(lane);
        };
        let stats = kernels.ask()?;
        let before = *self.before.get_or_insert(stats);
        let [wire, queue, bucket] = stats;
        let [wire_0, queue_0, bucket_0] = before;
        let old = self.counters;
        let elapsed_ns = u128::from(now_ns - self.now_ns);
        // Half of what was there and half of what is: the queue changed on the way.
        let mean = |old: u64, now: u64| u128::from(old + now) * elapsed_ns / 2;
        let drops = bucket.drops - bucket_0.drops;
        let is_kernels = matches!(self.way.queue.discipline, Discipline::Kernel { .. });
        let counted = self.law.map(|law| law.router.counters()).transpose();
        let of_law = counted.map_err(failed("a router's counters"))?.unwrap_or_default();
        let sent_pkts = bucket.packets - bucket_0.packets;
        let sent_bytes = bucket.bytes - bucket_0.bytes;
        let dropped_bytes = (drops + of_law.dropped) * u64::from(self.way.packet_bytes);
        let is_emulated = self.way.emulated.is_some();
        let lost = wire.drops - wire_0.drops;
        let is_data = self.way.loss > 0.0 && self.way.carries.data && !self.way.carries.acks;
        self.now_ns = now_ns;
        self.counters = LinkCounters {
            arrived_pkts: sent_pkts + drops + of_law.dropped + u64::from(bucket.queue_pkts),
            arrived_bytes: sent_bytes + dropped_bytes + u64::from(bucket.queue_bytes),
            sent_pkts,
            sent_bytes,
            offered_bytes: (u128::from(self.way.rate_bps) * u128::from(now_ns) / 8_000_000_000) as u64,
            dropped_full_pkts: if is_kernels { 0 } else { drops },
            dropped_law_pkts: if is_kernels { drops } else { of_law.dropped },
            dropped_bytes,
            lost_air_pkts: if is_emulated { lane.lost_air_pkts } else { lost },
            marked_pkts: u64::from(queue.marked - queue_0.marked) + of_law.marked.iter().sum::<u64>(),
            sent_data_pkts: match (is_emulated, is_data) {
                (true, _) => lane.sent_data_pkts,
                (false, true) => sent_pkts,
                (false, false) => 0,
            },
            lost_air_data_pkts: match (is_emulated, is_data) {
                (true, _) => lane.lost_air_data_pkts,
                (false, true) => lost,
                (false, false) => 0,
            },
            queue_byte_ns: old.queue_byte_ns + mean(old.queue_bytes, u64::from(bucket.queue_bytes)),
            queue_pkt_ns: old.queue_pkt_ns + mean(u64::from(old.queue_pkts), u64::from(bucket.queue_pkts)),
            queue_bytes: u64::from(bucket.queue_bytes),
            queue_pkts: bucket.queue_pkts,
            retransmitted_pkts: lane.retransmitted_pkts,
            recovered_pkts: lane.recovered_pkts,
            reordered_pkts: lane.reordered_pkts,
        };
        Ok(self.counters)
    }

    /// What its laws have to show.
    pub fn watch(&self, lanes: &[LaneState]) -> Outcome<Watched> {
        if self.kernels.is_none() {
            let lane = lanes.iter().find(|lane| lane.link == self.way.link);
            return Ok(lane.map(|lane| lane.watched.clone()).unwrap_or_default());
        }
        self.law.map_or_else(|| Ok(Watched::new()), memory::of_link)
    }
}

impl InKernel {
    fn new(plan: &Plan, spaces: &Spaces, cable: usize, end: usize) -> Outcome<Self> {
        let node = plan.cables[cable].ends[end];
        let near = format!("{}{cable}", side_of(&plan.cables[cable], node));
        let (bucket, queue, asker) = spaces.at(node, || {
            Ok((Place::of(&near, 1)?, Place::of(&near, 0x10)?, Asker::new()?))
        })?;
        let far = format!("{}{cable}", SIDES[1 - end]);
        let wire = if plan.cables[cable].is_emulated() {
            None
        } else {
            Some(spaces.at_wires(|| Ok((Asker::new()?, Place::of(&far, 1)?)))?)
        };
        Ok(Self {
            node: asker,
            bucket,
            queue,
            wire,
        })
    }

    /// What is behind the queue, the queue and the bucket. The bucket last: what was lost behind it is never more than
    /// what left it, and laws' memories are read next.
    fn ask(&mut self) -> Outcome<[Stats; 3]> {
        let wire = self.wire.as_mut().map(|(asker, place)| asker.ask(*place));
        Ok([
            wire.transpose()?.unwrap_or_default(),
            self.node.ask(self.queue)?,
            self.node.ask(self.bucket)?,
        ])
    }
}

/// The counters of a flow over all its connections.
#[derive(Default)]
pub struct FlowMeter {
    /// Those of connections that ended.
    ended: FlowCounters,
    now: FlowCounters,
    last: TcpInfo,
}

impl FlowMeter {
    /// Looks at the present connection.
    pub fn look(&mut self, info: &TcpInfo) {
        let delivered = u64::from(info.delivered.saturating_sub(self.last.delivered));
        let entered = |state: u8| u64::from(info.ca_state == state && self.last.ca_state != state);
        // Each further timeout of the same packet doubles the timer once more.
        let timeouts = entered(LOSS) + u64::from(info.backoff.saturating_sub(self.last.backoff.max(1)));
        let now = &mut self.now;
        now.sent_pkts = u64::from(info.data_segs_out);
        now.retransmitted_pkts = u64::from(info.total_retrans);
        now.timeouts = (now.timeouts + timeouts).max(u64::from(info.total_rto));
        now.recoveries += entered(RECOVERY);
        now.ecn_reductions += entered(CWR);
        if info.rtt_us > 0 {
            now.rtt_samples += delivered;
            now.rtt_us_sum += delivered * u64::from(info.rtt_us);
        }
        now.cwnd_pkts = info.snd_cwnd;
        now.ssthresh_pkts = info.snd_ssthresh;
        now.srtt_us = info.rtt_us;
        now.in_flight_pkts = info.in_flight_pkts();
        self.last = *info;
    }

    /// The present connection has ended; the next one begins at zero.
    pub fn end(&mut self) {
        let at_rest = FlowCounters {
            in_flight_pkts: 0,
            ..self.counters(0)
        };
        *self = Self {
            ended: at_rest,
            ..Self::default()
        };
    }

    /// A datagram was sent.
    pub fn sent_datagram(&mut self) {
        self.now.sent_pkts += 1;
    }

    /// Totals so far, and the state of the present connection or, between two, of the last one.
    pub fn counters(&self, delivered_bytes: u64) -> FlowCounters {
        let (ended, now) = (&self.ended, &self.now);
        let state = if now.cwnd_pkts > 0 { now } else { ended };
        FlowCounters {
            sent_pkts: ended.sent_pkts + now.sent_pkts,
            retransmitted_pkts: ended.retransmitted_pkts + now.retransmitted_pkts,
            delivered_bytes,
            timeouts: ended.timeouts + now.timeouts,
            recoveries: ended.recoveries + now.recoveries,
            ecn_reductions: ended.ecn_reductions + now.ecn_reductions,
            rtt_samples: ended.rtt_samples + now.rtt_samples,
            rtt_us_sum: ended.rtt_us_sum + now.rtt_us_sum,
            cwnd_pkts: state.cwnd_pkts,
            ssthresh_pkts: state.ssthresh_pkts,
            srtt_us: state.srtt_us,
            in_flight_pkts: state.in_flight_pkts,
        }
    }
}

/// The record of a run while it grows.
pub struct Recorder {
    warmup_ns: u64,
    duration_ns: u64,
    interval_ns: Option<u64>,
    record: RunRecord,
}

impl Recorder {
    /// Of a run that begins.
    pub fn new(plan: &Plan) -> Self {
        let link_ids: Vec<u32> = plan.shown().iter().map(|(_, _, way)| way.link).collect();
        let series = plan.record_interval_ns.map(|_| Series {
            time_ns: Vec::new(),
            links: vec![Vec::new(); link_ids.len()],
            flows: vec![Vec::new(); plan.flows.len()],
            link_ids: link_ids.clone(),
            links_watched: vec![Vec::new(); link_ids.len()],
            flows_watched: vec![Vec::new(); plan.flows.len()],
        });
        Self {
            warmup_ns: plan.warmup_ns,
            duration_ns: plan.duration_ns,
            interval_ns: plan.record_interval_ns,
            record: RunRecord {
                link_ids,
                series: series.unwrap_or_default(),
                ..RunRecord::default()
            },
        }
    }

    /// Whether the series has a sample of `now_ns`.
    pub fn is_sampled(&self, now_ns: u64) -> bool {
        self.interval_ns
            .is_some_and(|interval_ns| now_ns.is_multiple_of(interval_ns))
    }

    /// Keeps what laws had to show, of the sample that was kept last.
    pub fn keep_watched(&mut self, links: &[Watched], flows: &[&Watched]) {
        let series = &mut self.record.series;
        for (samples, values) in series.links_watched.iter_mut().zip(links) {
            samples.extend(values);
        }
        for (samples, values) in series.flows_watched.iter_mut().zip(flows) {
            samples.extend(*values);
        }
    }

    /// Keeps what was read at `now_ns`, if that is an instant that results have.
    pub fn keep(&mut self, now_ns: u64, links: &[LinkCounters], flows: &[FlowCounters]) {
        let is_sampled = self.is_sampled(now_ns);
        let record = &mut self.record;
        if is_sampled {
            record.series.time_ns.push(now_ns);
            for (samples, link) in record.series.links.iter_mut().zip(links) {
                samples.push(*link);
            }
            for (samples, flow) in record.series.flows.iter_mut().zip(flows) {
                samples.push(*flow);
            }
        }
        if now_ns == self.warmup_ns {
            (record.links_warmup, record.flows_warmup) = (links.to_vec(), flows.to_vec());
        }
        if now_ns == self.duration_ns {
            (record.links_end, record.flows_end) = (links.to_vec(), flows.to_vec());
        }
    }

    /// Whether totals are asked for at `now_ns`: where the measured interval begins and ends.
    pub fn is_bound(&self, now_ns: u64) -> bool {
        [self.warmup_ns, self.duration_ns].contains(&now_ns)
    }

    /// Keeps what tunnels have counted since they were made, at both bounds of the measured interval.
    pub fn keep_tunnels(&mut self, tunnels: Vec<TunnelRecord>) {
        if self.record.tunnels.is_empty() {
            self.record.tunnels = tunnels;
            return;
        }
        for (measured, now) in self.record.tunnels.iter_mut().zip(tunnels) {
            measured.entered_pkts = now.entered_pkts - measured.entered_pkts;
            measured.left_pkts = now.left_pkts - measured.left_pkts;
            measured.no_sa_entering_pkts = now.no_sa_entering_pkts - measured.no_sa_entering_pkts;
            measured.no_sa_leaving_pkts = now.no_sa_leaving_pkts - measured.no_sa_leaving_pkts;
        }
    }

    /// A transfer or session has ended.
    pub fn completed(&mut self, completion: Completion) {
        self.record.completions.push(completion);
    }

    /// The first instant after `now_ns` at which something is kept, at most one tick away.
    pub fn next_ns(&self, now_ns: u64, tick_ns: u64) -> u64 {
        let multiple = |step_ns: u64| (now_ns / step_ns + 1) * step_ns;
        let fixed = [self.warmup_ns, self.duration_ns]
            .into_iter()
            .filter(|&at_ns| at_ns > now_ns);
        let next = fixed.chain(self.interval_ns.map(multiple)).chain([multiple(tick_ns)]);
        next.min().expect("there is a tick")
    }

    /// The record of a run that has ended.
    pub fn finish(self) -> RunRecord {
        self.record
    }
}
