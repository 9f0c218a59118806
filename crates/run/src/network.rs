//! The network of a run.

/// Index into [`crate::spec::RunSpec::links`].
pub type LinkId = u32;
