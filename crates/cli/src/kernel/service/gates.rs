//! The gateways of a service.

use std::time::{Duration, Instant};

use fadelab_kernel::gateway::{Counters, Gateway, StillGuarded};
use fadelab_lab::Failure;

use super::config::{Gated, is_own};
use super::{complain, forgive, is_missing};
use crate::kernel::gateway;
use crate::output;

/// A gateway of the file, and the one at work with its tunnels.
struct Kept {
    gated: Gated,
    gateway: Option<(Gateway, Vec<String>)>,
    complaint: Option<String>,
}

/// How often flows that are idle are looked for: it takes a moment where there are thousands.
const SWEEP: Duration = Duration::from_secs(10);

/// All of them.
#[derive(Default)]
pub struct Gates {
    kept: Vec<Kept>,
    swept: Option<Instant>,
    /// Guards of those that ended, until all that are wanted are at work.
    guarded: Vec<StillGuarded>,
}

/// What a gateway counted, by its tunnels; nothing where it is not at work.
pub type Counted<'a> = (&'a Gated, Option<Vec<(&'a str, Counters)>>);

impl Gates {
    /// Makes of what is kept what the file says; what is in both stays untouched.
    pub fn become_as(&mut self, wanted: &[Gated]) {
        let is_wanted = |kept: &Kept| wanted.contains(&kept.gated) && !is_own(&kept.gated.law);
        let gone = self.kept.extract_if(.., |kept| !is_wanted(kept));
        let gone = gone.filter_map(|kept| kept.gateway);
        self.guarded.extend(gone.map(|(gateway, _)| gateway.into_guarded()));
        for gated in wanted {
            if self.kept.iter().all(|kept| kept.gated != *gated) {
                self.kept.push(Kept {
                    gated: gated.clone(),
                    gateway: None,
                    complaint: None,
                });
            }
        }
    }

    /// Lets those begin that are not at work and wait for nothing.
    ///
    /// # Errors
    /// At the start what cannot be, unless it may come: a device or a tunnel that is not there.
    pub fn fill(&mut self, at_start: bool) -> Result<(), Failure> {
        self.kept.iter_mut().try_for_each(|kept| kept.fill(at_start))?;
        if self.kept.iter().all(|kept| kept.gateway.is_some()) {
            self.guarded.clear();
        }
        Ok(())
    }

    /// Has idle flows forgotten now and then.
    fn sweep(&mut self) {
        if self.swept.is_some_and(|at| at.elapsed() < SWEEP) {
            return;
        }
        self.swept = Some(Instant::now());
        for kept in &mut self.kept {
            if let Some((gateway, _)) = &kept.gateway
                && let Err(error) = gateway.forget_idle()
            {
                let complaint = format!("{}: {error}", kept.place());
                complain(&mut kept.complaint, complaint, false);
            }
        }
    }

    /// Ends those whose devices went.
    pub fn tend(&mut self) {
        self.sweep();
        for kept in &mut self.kept {
            let lost = kept.gateway.as_ref().and_then(|(gateway, _)| gateway.lost());
            if let Some(device) = lost {
                let complaint = format!(
                    "{}: device {} went; it is taken up again when it can be",
                    kept.place(),
                    device.name
                );
                complain(&mut kept.complaint, complaint, false);
                let gone = kept.gateway.take().map(|(gateway, _)| gateway.into_guarded());
                self.guarded.extend(gone);
            }
        }
    }

    /// Behind what is said of laws and routers; nothing where the file has none.
    pub fn status(&self) -> String {
        let at_work_n = self.kept.iter().filter(|kept| kept.gateway.is_some()).count();
        match self.kept.len() {
            0 => String::new(),
            n => format!(" and {at_work_n} of {n} gateways"),
        }
    }

    pub fn counted(&self) -> impl Iterator<Item = Counted<'_>> {
        self.kept.iter().map(|kept| (&kept.gated, kept.counted()))
    }

    /// Ends all but their guards.
    pub fn leave(self) {
        let now = self.kept.into_iter().filter_map(|kept| kept.gateway);
        let now: Vec<StillGuarded> = now.map(|(gateway, _)| gateway.into_guarded()).collect();
        if !now.is_empty() {
            output::note(&[
                "outer headers stay cleared at the ends of tunnels; `fadelab kernel clean` ends that".to_owned(),
            ]);
        }
        self.guarded.into_iter().chain(now).for_each(StillGuarded::leave);
    }
}

impl Kept {
    fn fill(&mut self, at_start: bool) -> Result<(), Failure> {
        if self.gateway.is_some() || (self.complaint.is_some() && self.misses_something()) {
            return Ok(());
        }
        let done = self.begin();
        let place = self.place();
        done.or_else(|error| {
            let is_missing = self.misses_something();
            forgive(error, at_start, &mut self.complaint, &place, is_missing)
        })
    }

    fn begin(&mut self) -> Result<(), Failure> {
        let (gateway, head) = gateway::begin(&self.gated.args())?;
        let tunnels = head.gateway.map_or(Vec::new(), |of| of.tunnels);
        output::note(&gateway::remarks(&head.law, &tunnels));
        self.gateway = Some((gateway, tunnels));
        self.complaint = None;
        Ok(())
    }

    fn misses_something(&self) -> bool {
        self.gated.named().iter().any(is_missing) || !gateway::has_tunnels(&self.gated.args())
    }

    fn place(&self) -> String {
        format!("gateway {} at {}", self.gated.law, self.gated.cipher)
    }

    fn counted(&self) -> Option<Vec<(&str, Counters)>> {
        let (gateway, tunnels) = self.gateway.as_ref()?;
        let states = gateway.states(0).ok()?.into_iter().map(|(counters, _)| counters);
        Some(tunnels.iter().map(String::as_str).zip(states).collect())
    }
}
