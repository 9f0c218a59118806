//! The laws of fadelab inside an unmodified Linux kernel.
//!
//! A law is compiled for BPF when it is needed ([`compile`]) and loaded into the kernel: at the ends of connections as
//! a congestion control ([`sender`]), between them at a device ([`router`]), at the ends of tunnels ([`gateway`]). The
//! programs in `bpf/` are plumbing only; what they call are the headers of `laws/`.

pub mod attach;
pub mod cgroup;
pub mod check;
pub mod clean;
pub mod compile;
mod compiled;
pub mod container;
pub mod default;
pub mod device;
pub mod gateway;
pub mod hurry;
pub mod kept;
pub mod left;
pub mod loading;
pub mod object;
mod packed;
pub mod process;
mod recorder;
pub mod router;
pub mod segments;
pub mod sender;
mod set;
pub mod spaces;
pub mod stack;
pub mod store;
pub mod tunnel;
mod turn;
pub mod version;

pub use recorder::Recorder;
pub use version::Version;
