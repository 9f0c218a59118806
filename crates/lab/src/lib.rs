//! The laboratory: runs the plans of scenarios where they can run, and answers questions about what came of it.
//!
//! A [`Ground`] is a place where scenarios run: [`Simulator`], [`Virtual`] and [`Live`]. A [`Job`] runs a plan on one
//! or several of them, on all cores, takes up runs that were [`Kept`] from an interrupted sweep, and writes one result.
//! What is asked of results afterwards runs scenarios again: [`explain`] says why a window moved, [`packets`] logs what
//! a host saw, [`replay`] makes recorded calls of a law again.
//!
//! Nothing is printed here and no signal is caught: a [`Watch`] is told how far runs have come, and says when to stop.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use fadelab_lab::explain::{Subject, Which};
//! use fadelab_lab::{Job, Simulator, Unwatched};
//! use fadelab_results::Target;
//!
//! let plan = fadelab_scenario::load(Path::new("satellite"), &fadelab_scenario::Options::default())?;
//! let job = Job {
//!     plan: &plan,
//!     scenario_path: Path::new("satellite"),
//!     target: &Target::Exact("result".into()),
//!     threads: 2,
//!     threads_alone: 1,
//!     csv: false,
//! };
//! let done = job.run(&[&Simulator], &[], &Unwatched)?;
//! let flow = Subject::of(&done.folder, &Which::default(), &|_| ())?;
//! println!("{:?}", flow.around(12_400_000_000)?.until.back());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod amount;
pub mod channel;
pub mod code_rates;
pub mod emulated;
pub mod explain;
mod failure;
mod ground;
mod job;
mod kept;
mod live;
pub mod own_law;
pub mod packets;
pub mod parameters;
pub mod replay;
pub mod settings;
mod simulator;
mod sweep;
mod virtual_time;
mod watch;
mod workers;

pub use fadelab_path::punctuality::Punctuality;
pub use failure::Failure;
pub use ground::{Ground, NoRecord, Refusal, refuse};
pub use job::{Done, Job, experiment, foreign_preset, prepare};
pub use kept::Kept;
pub use live::Live;
pub use simulator::Simulator;
pub use sweep::{Stop, Swept, sweep};
pub use virtual_time::Virtual;
pub use watch::{Progress, Unwatched, Watch};
