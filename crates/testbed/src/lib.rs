//! Scenarios inside a Linux kernel.
