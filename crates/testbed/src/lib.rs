//! Scenarios in a Linux kernel, in virtual time.
//!
//! [`Image::prepare`] makes a guest from Debian's packages, [`run`] does with it what the simulator does in
//! a process: it takes a spec and gives a record. The guest is a machine that QEMU emulates with a clock that
//! counts instructions, so that its time is virtual and nothing outside disturbs it. Inside, [`guest::main`] builds
//! the network from namespaces, runs the applications and measures.
//!
//! From the top down: `translate` turns a spec into a [`plan::Plan`] or says what has no counterpart, `image` makes
//! kernel and archive, `machine` runs the guest, `message` is what the guest says, `guest` is what runs in it.

mod error;
pub mod guest;
pub mod host_laws;
pub mod image;
mod machine;
mod message;
mod objects;
pub mod plan;
mod translate;

use std::fs::File;
use std::path::Path;

use fadelab_laws::recorded::RecordedHead;
use fadelab_run::record::RunRecord;
use fadelab_run::spec::RunSpec;

pub use error::Error;
pub use image::Image;
pub use translate::{RATE_BPS_MAX, check};

/// Name of the ground in results.
pub const GROUND: &str = "virtual";

/// Runs a spec to its end in a guest. `report` is told the virtual time now and then, and says whether to go on.
///
/// # Errors
/// A spec that has no counterpart, a guest that does not boot, hangs or fails, or a stop that `report` asked for.
pub fn run(spec: &RunSpec, image: &Image, report: impl FnMut(u64) -> bool) -> Result<RunRecord, Error> {
    run_draft(translate::draft(spec)?, image, None, report)
}

/// As [`run`]; each call of the sender's law goes into the file `calls`, for `fadelab replay`.
///
/// # Errors
/// As [`run`]; also where the flows have no law of fadelab's, or several, or the file cannot be written.
pub fn run_recorded(
    spec: &RunSpec,
    image: &Image,
    calls: &Path,
    report: impl FnMut(u64) -> bool,
) -> Result<RunRecord, Error> {
    let mut draft = translate::draft(spec)?;
    let count = draft.plan.senders.len();
    let ([planned], [(law, params)]) = (draft.plan.senders.as_mut_slice(), draft.senders.as_slice()) else {
        return Err(Error::NothingToRecord { count });
    };
    planned.calls = Some(RecordedHead::new(law, params, image.package().to_owned()));
    File::create(calls).map_err(Error::file("write", calls))?;
    run_draft(draft, image, Some(calls), report)
}

fn run_draft(
    draft: translate::Draft<'_>,
    image: &Image,
    calls: Option<&Path>,
    report: impl FnMut(u64) -> bool,
) -> Result<RunRecord, Error> {
    let objects = objects::compiled(&draft, image.version())?;
    let mut plan = draft.plan;
    plan.modules = image.modules().to_vec();
    plan.iperf3 = image.has_iperf3();
    machine::run(&plan, objects, image, calls, report)
}
