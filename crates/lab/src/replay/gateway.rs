//! What a kernel recorded of a gateway's law, made again: every packet that entered its tunnels or left them.

use std::collections::BTreeMap;

use fadelab_laws::guard;
use fadelab_laws::own;
use fadelab_laws::recorded::{Damage, Step, Transit};
use fadelab_laws::replay::Replayer;
use fadelab_laws::{Gateway, Params, WatchInfo};

use super::Differences;
use super::kernel::Recording;
use crate::Failure;

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// Packets that entered a tunnel,
    pub entered_n: usize,
    /// and that left one.
    pub left_n: usize,
    /// Of both, those of which the law changed an ECN field.
    pub marked_n: usize,
    /// Tunnels that began.
    pub tunnels_n: usize,
    pub differences: Differences,
    /// Calls that found no room; `None`: the end of the file was not reached.
    pub lost_n: Option<u64>,
    /// Where the file is not as it was written. What is behind was not made again.
    pub damage: Option<Damage>,
}

impl Found {
    /// All calls.
    pub fn calls_n(&self) -> usize {
        self.entered_n + self.left_n + self.tunnels_n
    }
}

/// The law of a recording with its parameters, whose memory is as it was.
fn law(recording: &Recording) -> Result<(&'static Gateway, Params), Failure> {
    let head = recording.head();
    for source in &head.laws {
        own::load_text(source)?;
    }
    let law = fadelab_laws::gateway(&head.law).ok_or_else(|| {
        Failure::Invalid(format!(
            "no gateway's law is named {}, and the recording keeps no text of it",
            head.law
        ))
    })?;
    let gone = |name| Failure::Invalid(format!("gateway's law {} has no parameter {name} any more", head.law));
    let params = head.values_of_gateway(law).map_err(gone)?;
    if head.fits_gateway(law) {
        return Ok((law, params));
    }
    Err(Failure::Invalid(format!(
        "{}: the gateway's law {} has memory of another size now than when it was recorded, {} bytes then; take that \
         version",
        recording.shown(),
        head.law,
        head.state_bytes
    )))
}

/// Makes all calls again, up to the end or the first damage, and keeps the first `shown_max` of what differs.
///
/// # Errors
/// A law that does not compile, or is another one now.
pub fn replay(mut recording: Recording, shown_max: usize) -> Result<Found, Failure> {
    let (law, params) = law(&recording)?;
    let head = recording.head().clone();
    let mut replayer = Replayer::new(head.laws.clone());
    let mut found = Found::default();
    loop {
        let transit = match recording.step() {
            Ok(Step::Transit(transit)) => transit,
            // A head with a gateway has no calls of others.
            Ok(Step::Call(_) | Step::Receipt(_) | Step::Passage(_)) => continue,
            Ok(Step::End { lost_n }) => {
                found.lost_n = Some(lost_n);
                return Ok(found);
            }
            Err(damage) => {
                found.damage = Some(damage);
                return Ok(found);
            }
        };
        found.count(&transit);
        let again = guard::catch(|| transit.agrees(law, &params));
        let differences = &mut found.differences;
        differences.judge(&again, (&mut replayer, shown_max), || transit.record(&head, law))?;
    }
}

impl Found {
    fn count(&mut self, transit: &Transit) {
        let Some([_, before, after]) = transit.packets() else {
            self.tunnels_n += 1;
            return;
        };
        let enters = transit.name() == "encapsulate";
        self.entered_n += usize::from(enters);
        self.left_n += usize::from(!enters);
        let field = |packet: &fadelab_laws::abi::Packet| if enters { packet.outer_ecn } else { packet.ecn };
        self.marked_n += usize::from(field(&before) != field(&after));
    }
}

/// What the values to watch of a tunnel were after a call that changed one of them.
#[derive(Clone, Debug)]
pub struct Watched {
    /// Time, ns.
    pub time_ns: u64,
    /// The tunnel by its name.
    pub place: String,
    /// The function that was called.
    pub function: &'static str,
    /// As the integers that the law computes with, in the order in which it declares them.
    pub values: Vec<u64>,
}

/// The values to watch of a recording's law, in the order of the calls. Nothing is called for it: memories are in the
/// file.
///
/// # Errors
/// As [`replay`]; also where the law declares none, or the file is damaged.
pub fn history(mut recording: Recording) -> Result<(&'static [WatchInfo], Vec<Watched>), Failure> {
    let (law, _) = law(&recording)?;
    if law.watch().is_empty() {
        return Err(super::kernel::no_watch(law.name()));
    }
    let head = recording.head().clone();
    let mut last: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut changes = Vec::new();
    loop {
        let transit = match recording.step() {
            Ok(Step::Transit(transit)) => transit,
            Ok(Step::Call(_) | Step::Receipt(_) | Step::Passage(_)) => continue,
            Ok(Step::End { .. }) => return Ok((law.watch(), changes)),
            Err(damage) => return Err(Failure::Failed(format!("{}: damaged: {damage}", recording.shown()))),
        };
        let values = law.watch().iter().map(|info| info.raw_of(transit.state_after()));
        let values: Vec<u64> = values.map(Option::unwrap_or_default).collect();
        if last.get(&transit.tunnel) != Some(&values) {
            last.insert(transit.tunnel, values.clone());
            changes.push(Watched {
                time_ns: transit.time_ns,
                place: transit.place(&head),
                function: transit.name(),
                values,
            });
        }
    }
}
