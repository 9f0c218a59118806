//! The laws of fadelab inside an unmodified Linux kernel.

pub mod compile;
