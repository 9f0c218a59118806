//! A Linux kernel in virtual time as a ground.

use std::path::PathBuf;
use std::sync::Arc;

use fadelab_results::Guest;
use fadelab_run::record::RunRecord;
use fadelab_scenario::plan::{Plan, PlannedRun};
use fadelab_testbed::image::{Kernel, Program};
use fadelab_testbed::{Applications, Error, Image, Place, Recordings, Sysctl};

use crate::Failure;
use crate::ground::{self, Ground, NoRecord, Refusal};
use crate::packets::{self, Written};

/// A Debian kernel in virtual time, under QEMU; needs no root and gives the same bytes each time.
#[derive(Debug)]
pub struct Virtual {
    kernel: String,
    program: PathBuf,
    iperf3: bool,
    /// What in the program names the commit that it was built from, see [`Program`]; empty where nothing does.
    pub stamp: &'static [u8],
    /// Files for what laws do; only a plan of one run can be recorded.
    pub recordings: Recordings,
    /// Files for packets, one of each run.
    pub packets: Option<Arc<Written>>,
    /// Settings of each host and router.
    pub sysctls: Vec<Sysctl>,
    /// Whether guests go on from a snapshot of one that has booted.
    pub snapshots: bool,
    /// Is told what is in the way of that.
    pub tell: fn(&str),
    image: Option<Image>,
}

impl Virtual {
    /// Guests with a kernel of the series `kernel`, such as `6.1`, in which `program` runs: there
    /// `PROGRAM testbed guest` is [`fadelab_testbed::guest::main`], as it is of fadelab's command. With `iperf3` that
    /// carries the flows that always have data, in place of fadelab's own sockets.
    pub fn new(kernel: &str, program: PathBuf, iperf3: bool) -> Self {
        Self {
            kernel: kernel.to_owned(),
            program,
            iperf3,
            stamp: &[],
            recordings: Recordings::default(),
            packets: None,
            sysctls: Vec::new(),
            snapshots: true,
            tell: |_| {},
            image: None,
        }
    }

    /// The image of the guest with these applications at least, made where there is none yet.
    ///
    /// # Errors
    /// An unknown kernel, or an image that cannot be made.
    pub fn image(&mut self, applications: Applications, tell: &dyn Fn(&str)) -> Result<&Image, Failure> {
        let program = Program {
            path: &self.program,
            stamp: self.stamp,
        };
        let known = self.image.take();
        let has_all = |image: &Image| applications.are_in(image.applications());
        let image = if let Some(image) = known.filter(has_all) {
            image
        } else {
            let mut image = Image::prepare(&Kernel::of(&self.kernel)?, program, applications, tell)?;
            if self.snapshots {
                image.keep_snapshot(self.tell);
            }
            image
        };
        Ok(self.image.insert(image))
    }

    /// What of a plan no kernel in virtual time runs, whichever it is.
    pub fn refusals(plan: &Plan) -> Vec<Refusal> {
        ground::refusals_of_kernel(plan, &Place::Guest)
    }
}

impl Ground for Virtual {
    fn name(&self) -> &'static str {
        fadelab_testbed::GROUND
    }

    fn check(&self, plan: &Plan) -> Vec<Refusal> {
        Self::refusals(plan)
    }

    fn prepare(&mut self, plan: &Plan, tell: &dyn Fn(&str)) -> Result<(), Failure> {
        self.image(applications(self.iperf3, plan), tell).map(drop)
    }

    fn run(&self, run: &PlannedRun, report: &mut dyn FnMut(u64) -> bool) -> Result<RunRecord, NoRecord> {
        let Some(image) = &self.image else {
            return Err(NoRecord::Failed("the guest was not prepared".to_owned()));
        };
        let recordings = packets::recordings_of(run, &self.recordings, self.packets.as_deref());
        let done = fadelab_testbed::run(&run.spec, image, &self.sysctls, &recordings, report);
        done.map_err(no_record)
    }

    fn guest(&self) -> Option<Guest> {
        self.image.as_ref().map(|image| Guest {
            kernel: image.package().to_owned(),
            greedy: if image.applications().iperf3 {
                "iperf3"
            } else {
                "sockets"
            },
            sysctls: self.sysctls.iter().map(ToString::to_string).collect(),
        })
    }
}

/// Programs of the system that runs of a plan need.
pub(crate) fn applications(iperf3: bool, plan: &Plan) -> Applications {
    Applications::of(iperf3, plan.runs.iter().map(|run| &run.spec))
}

/// Why a kernel gave no record.
pub(crate) fn no_record(error: Error) -> NoRecord {
    match error {
        Error::Stopped => NoRecord::Stopped,
        error if error.is_invalid_input() => NoRecord::Refused(error.to_string()),
        error => NoRecord::Failed(error.to_string()),
    }
}
