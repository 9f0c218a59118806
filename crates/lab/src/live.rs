//! This machine, in real time, as a ground.

use std::sync::Arc;

use fadelab_results::Guest;
use fadelab_run::record::RunRecord;
use fadelab_scenario::plan::{Plan, PlannedRun};
use fadelab_testbed::{Applications, Place, Recordings, Sysctl, live};

use crate::Failure;
use crate::ground::{self, Ground, NoRecord, Refusal};
use crate::packets::{self, Written};
use crate::virtual_time::{applications, no_record};

/// This machine's own kernel in real time, with every link emulated; needs root.
#[derive(Debug, Default)]
pub struct Live {
    /// Whether iperf3 carries the flows that always have data, in place of fadelab's own sockets.
    pub iperf3: bool,
    /// Settings of each host and router.
    pub sysctls: Vec<Sysctl>,
    /// Files for what laws do; only a plan of one run can be recorded.
    pub recordings: Recordings,
    /// Files for packets, one of each run.
    pub packets: Option<Arc<Written>>,
}

impl Live {
    /// What of a plan no run in real time runs.
    pub fn refusals(plan: &Plan) -> Vec<Refusal> {
        ground::refusals_of_kernel(plan, &Place::Live { run: String::new() })
    }
}

impl Ground for Live {
    fn name(&self) -> &'static str {
        live::LIVE
    }

    fn check(&self, plan: &Plan) -> Vec<Refusal> {
        Self::refusals(plan)
    }

    fn prepare(&mut self, plan: &Plan, _tell: &dyn Fn(&str)) -> Result<(), Failure> {
        live::check_machine(applications(self.iperf3, plan)).map_err(Failure::failed)
    }

    fn run(&self, run: &PlannedRun, report: &mut dyn FnMut(u64) -> bool) -> Result<RunRecord, NoRecord> {
        let applications = Applications::of(self.iperf3, [&run.spec]);
        let recordings = packets::recordings_of(run, &self.recordings, self.packets.as_deref());
        live::run(&run.spec, applications, &self.sysctls, &recordings, report).map_err(no_record)
    }

    fn guest(&self) -> Option<Guest> {
        Some(Guest {
            kernel: live::kernel(),
            greedy: if self.iperf3 { "iperf3" } else { "sockets" },
            sysctls: self.sysctls.iter().map(ToString::to_string).collect(),
        })
    }

    fn is_alone(&self) -> bool {
        true
    }
}
