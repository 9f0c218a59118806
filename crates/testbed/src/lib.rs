//! Scenarios in a Linux kernel, in virtual time.
//!
//! [`Image::prepare`] makes a guest from Debian's packages, [`run`] does with it what [`fadelab_sim::run`] does with the
//! simulator: it takes a spec and gives a record. The guest is a machine that QEMU emulates with a clock that counts
//! instructions, so that its time is virtual and a run gives the same bytes each time. Inside, [`guest::main`] builds
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
mod topology;
mod translate;

use fadelab_sim::record::RunRecord;
use fadelab_sim::spec::RunSpec;

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
    let draft = translate::draft(spec)?;
    let objects = objects::compiled(&draft, image.version())?;
    let mut plan = draft.plan;
    plan.modules = image.modules().to_vec();
    machine::run(&plan, objects, image, report)
}
