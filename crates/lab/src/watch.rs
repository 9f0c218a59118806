//! Who watches runs: hears how far they have come, and says when to stop.

use fadelab_scenario::plan::Plan;

/// Watches sweeps.
pub trait Watch: Sync {
    /// A sweep over the plan begins on the ground of this name; what is given is told of its runs, and dropped at its
    /// end.
    fn begin<'a>(&'a self, _ground: &str, _plan: &'a Plan) -> Box<dyn Progress + 'a> {
        Box::new(Unwatched)
    }

    /// Whether somebody asked for an end; asked now and then by every thread.
    fn is_interrupted(&self) -> bool {
        false
    }
}

/// Hears of the runs of a sweep, by their place in the plan, from several threads at once.
pub trait Progress: Sync {
    /// The run has come to this virtual time, ns.
    fn reach(&self, _run: usize, _time_ns: u64) {}

    /// The run has come to its end.
    fn end(&self, _run: usize) {}

    /// The run is not run, because it was kept.
    fn spare(&self, _run: usize) {}
}

/// Nobody: runs go to their end.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watch for Unwatched {}

impl Progress for Unwatched {}
