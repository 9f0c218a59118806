//! What papers claim: ledgers of claims with criteria and recorded verdicts, what is run for them, pictures of the
//! papers' figures, and studies of causes.
//!
//! A folder under `papers/` is [`read`]. The plan of its [`Ledger`] is for [`fadelab_lab::sweep`], and
//! [`Ledger::judge`] holds what came out against the criteria.

mod channels;
mod criterion;
mod embedded;
mod figures;
mod files;
mod groups;
mod ledger;
mod over_time;
mod paper;
mod pictures;
mod quantity;
mod reproduce;
mod stated;
mod study;
mod told;
mod variants;

pub use criterion::Outcome;
pub use fadelab_lab::Failure;
pub use ledger::read;
pub use ledger::{Entry, text};
pub use paper::{Claimed, Claims, FOLDER, Ground, Studies, Study, folder};
pub use reproduce::{Judged, Ledger, Part};
pub use stated::unmeasured;
