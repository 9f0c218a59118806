//! What laws made of losses, beside what the sender cannot know: whether a queue had dropped anything.
//!
//! A law that tells losses by congestion from losses by errors can be wrong in two ways, and only who sees queues and
//! senders can count them. So what queues drop is kept, by flow and segment, until its sender hears of it.

use std::ops::Range;

use fadelab_run::record::AnswersOf;
use fadelab_run::spec::RunSpec;

use super::Network;

/// How a law answered a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Whole packets, and beyond them 2^-32 of one.
    pub before: (u32, u32),
    pub after: (u32, u32),
}

/// Recoveries, and sums over them.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    recoveries: u64,
    reduced: u64,
    cwnd_pkts_before: u64,
    cwnd_pkts_after: u64,
}

#[derive(Debug)]
pub(super) struct Answers {
    /// Of each flow the segments that queues dropped since it last missed some; `None` where nobody hears of that.
    dropped: Vec<Option<Vec<u32>>>,
    /// Of each group without a drop and with one.
    counted: Vec<[Counted; 2]>,
}

impl Answers {
    pub fn of(spec: &RunSpec, groups_n: usize) -> Self {
        Self {
            dropped: spec.flows.iter().map(|flow| flow.sender.map(|_| Vec::new())).collect(),
            counted: vec![Default::default(); groups_n],
        }
    }

    /// A queue dropped segment `seq` of a flow.
    pub fn note_drop(&mut self, flow: u32, seq: u32) {
        if let Some(dropped) = &mut self.dropped[flow as usize] {
            dropped.push(seq);
        }
    }

    /// All below `una` arrived.
    fn forget_below(&mut self, flow: u32, una: u32) {
        if let Some(dropped) = &mut self.dropped[flow as usize] {
            dropped.retain(|&seq| seq >= una);
        }
    }

    fn count(&mut self, group: usize, flow: u32, missing: Range<u32>, answer: Answer) {
        self.forget_below(flow, missing.start);
        let mut dropped = self.dropped[flow as usize].iter().flatten();
        let after_drop = dropped.any(|seq| missing.contains(seq));
        let counted = &mut self.counted[group][usize::from(after_drop)];
        counted.recoveries += 1;
        counted.reduced += u64::from(answer.after < answer.before);
        counted.cwnd_pkts_before += u64::from(answer.before.0);
        counted.cwnd_pkts_after += u64::from(answer.after.0);
    }
}

impl Network {
    /// The sender of a flow began a recovery and asked its law, when it missed some of `missing`: all that something
    /// above it has arrived of, so that what queues drop of it was dropped before.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_answer(&mut self, flow: u32, missing: Range<u32>, answer: Answer) {
        let group = self.delays.group_of(flow) as usize;
        self.answers.count(group, flow, missing, answer);
    }

    /// A timeout, at which no law may choose.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_timeout(&mut self, flow: u32, una: u32) {
        self.answers.forget_below(flow, una);
    }

    /// Answers are counted anew from now on.
    pub fn forget_answers(&mut self) {
        self.answers.counted.fill(Default::default());
    }

    /// Those that were counted, by groups, none of which saw no recovery.
    pub fn answers(&self) -> Vec<AnswersOf> {
        let groups = self.groups().names.iter().zip(&self.answers.counted);
        let kinds = groups.flat_map(|(group, [others, drops])| [(group, false, others), (group, true, drops)]);
        let one = |(group, after_drop, counted): (&String, bool, &Counted)| AnswersOf {
            group: group.clone(),
            after_drop,
            recoveries: counted.recoveries,
            reduced: counted.reduced,
            cwnd_pkts_before: counted.cwnd_pkts_before,
            cwnd_pkts_after: counted.cwnd_pkts_after,
        };
        kinds.filter(|(.., counted)| counted.recoveries > 0).map(one).collect()
    }
}
