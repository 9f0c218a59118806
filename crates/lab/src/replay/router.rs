//! What a kernel recorded of a router's law, made again: every packet that passed it, and every run of its timers.

use fadelab_laws::WatchInfo;
use fadelab_laws::guard;
use fadelab_laws::own;
use fadelab_laws::recorded::{Damage, Passage, RouterHead, RouterLaws, Step};

use super::kernel::Recording;
use crate::Failure;

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// Packets that passed the law, a super-packet being one.
    pub packets_n: usize,
    /// Of them, those that it dropped,
    pub dropped_n: usize,
    /// and those whose ECN field it changed.
    pub marked_n: usize,
    /// Runs of its timers.
    pub timers_n: usize,
    /// Whether its start is in the recording.
    began: bool,
    /// What comes to something else here.
    pub different_n: usize,
    /// Where a law that users brought is at fault here, whatever the kernel made of it.
    pub at_fault_n: usize,
    /// The first of both.
    pub different: Vec<Different>,
    /// Records that found no room; `None`: the end of the file was not reached.
    pub lost_n: Option<u64>,
    /// Where the file is not as it was written. What is behind was not made again.
    pub damage: Option<Damage>,
}

/// Something that a router did, and what comes of it here.
#[derive(Clone, Debug)]
pub struct Different {
    /// Its place in the recording, from 1.
    pub number: usize,
    /// `packet`, `timers` or `start`.
    pub what: &'static str,
    /// Time, ns.
    pub time_ns: u64,
    /// What is other here, each in words.
    pub told: Vec<String>,
}

impl Found {
    /// All that was recorded, its start among it.
    pub fn steps_n(&self) -> usize {
        self.packets_n + self.timers_n + usize::from(self.began)
    }
}

/// The laws of a recording, whose memories are as they were.
fn laws(recording: &Recording, router: &RouterHead) -> Result<RouterLaws, Failure> {
    let head = recording.head();
    for source in &head.laws {
        own::load_text(source)?;
    }
    let laws = RouterLaws::of(head, router).map_err(Failure::Invalid)?;
    if head.fits_router(&laws) {
        return Ok(laws);
    }
    Err(Failure::Invalid(format!(
        "{}: the law {}, its capacity part {} or their host have memory of another size now than when it was recorded; \
         take that version",
        recording.shown(),
        head.law,
        router.part
    )))
}

/// Does all of it again, up to the end or the first damage, and keeps the first `shown_max` of what differs.
///
/// # Errors
/// A law that does not compile, or is another one now.
pub fn replay(mut recording: Recording, router: &RouterHead, shown_max: usize) -> Result<Found, Failure> {
    let laws = laws(&recording, router)?;
    let mut found = Found::default();
    loop {
        match recording.step() {
            Ok(Step::Passage(passage)) => found.again(&passage, &laws, shown_max),
            // A head with a router has no calls of others.
            Ok(Step::Call(_) | Step::Receipt(_) | Step::Transit(_)) => {}
            Ok(Step::End { lost_n }) => {
                found.lost_n = Some(lost_n);
                return Ok(found);
            }
            Err(damage) => {
                found.damage = Some(damage);
                return Ok(found);
            }
        }
    }
}

impl Found {
    fn again(&mut self, passage: &Passage, laws: &RouterLaws, shown_max: usize) {
        match passage.name() {
            "packet" => self.packets_n += 1,
            "timers" => self.timers_n += 1,
            _ => self.began = true,
        }
        let (dropped, marked) = passage.fate();
        self.dropped_n += usize::from(dropped);
        self.marked_n += usize::from(marked);
        let told = match guard::catch(|| passage.differences(laws)) {
            Ok(told) if told.is_empty() => return,
            Ok(told) => {
                self.different_n += 1;
                told
            }
            Err(fault) => {
                self.at_fault_n += 1;
                vec![format!("law {} is at fault: {}", fault.record.law, fault.why())]
            }
        };
        if self.different.len() < shown_max {
            self.different.push(Different {
                number: self.steps_n(),
                what: passage.name(),
                time_ns: passage.time_ns,
                told,
            });
        }
    }
}

/// What the values to watch were after something that changed one of them.
#[derive(Clone, Debug)]
pub struct Watched {
    /// Time, ns.
    pub time_ns: u64,
    /// `packet`, `timers` or `start`.
    pub what: &'static str,
    /// As the integers that the law computes with, in the order in which it declares them.
    pub values: Vec<u64>,
}

/// The values to watch of a recording's law. Nothing is called for it: memories are in the file.
///
/// # Errors
/// As [`replay`]; also where the law declares none, or the file is damaged.
pub fn history(mut recording: Recording, router: &RouterHead) -> Result<(&'static [WatchInfo], Vec<Watched>), Failure> {
    let law = laws(&recording, router)?.law;
    if law.watch().is_empty() {
        return Err(super::kernel::no_watch(law.name()));
    }
    let mut changes: Vec<Watched> = Vec::new();
    loop {
        let passage = match recording.step() {
            Ok(Step::Passage(passage)) => passage,
            Ok(Step::Call(_) | Step::Receipt(_) | Step::Transit(_)) => continue,
            Ok(Step::End { .. }) => return Ok((law.watch(), changes)),
            Err(damage) => return Err(Failure::Failed(format!("{}: damaged: {damage}", recording.shown()))),
        };
        let values = law.watch().iter().map(|info| info.raw_of(passage.state_after()));
        let values: Vec<u64> = values.map(Option::unwrap_or_default).collect();
        if changes.last().is_none_or(|last| last.values != values) {
            changes.push(Watched {
                time_ns: passage.time_ns,
                what: passage.name(),
                values,
            });
        }
    }
}
