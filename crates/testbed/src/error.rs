//! Why a scenario did not run in a kernel.

use std::path::PathBuf;

use fadelab_run::spec::Misfit;
use thiserror::Error;

/// Why a scenario did not run in a kernel. Each message says what to do.
#[derive(Debug, Error)]
pub enum Error {
    /// The scenario has something that the ground has not.
    #[error("`{key}` has no counterpart in a kernel: {why}")]
    NoCounterpart {
        /// The key that asks for it.
        key: String,
        /// Why, and what there is instead.
        why: String,
    },
    /// A flow without a way through the network.
    #[error(transparent)]
    Misfit(#[from] Misfit),
    /// A program is missing.
    #[error("there is no `{program}`, which {purpose}; install it (Debian: apt-get install {package})")]
    NoProgram {
        /// Its name.
        program: String,
        /// What it is for.
        purpose: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// A kernel that nobody packages.
    #[error("unknown kernel `{given}`: allowed are {allowed}")]
    UnknownKernel { given: String, allowed: String },
    /// The machine's package sources do not lead to Debian.
    #[error(
        "apt knows no Debian mirror (`apt-get indextargets` lists none), from which the kernel's package would come"
    )]
    NoMirror,
    /// The kernel's package could not be had.
    #[error("the package of kernel {series} cannot be had from {suite}: {why}; is the network there?")]
    NoPackage {
        /// The kernel.
        series: String,
        /// The suite of Debian.
        suite: String,
        /// What apt said.
        why: String,
    },
    /// A program of the system failed.
    #[error("{what} failed: {why}")]
    Tool {
        /// What it should do.
        what: String,
        /// What it said.
        why: String,
    },
    /// A file could not be read or written.
    #[error("cannot {what} {}: {source}", path.display())]
    File {
        /// What should be done to it.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// QEMU did not begin, or ended before its time.
    #[error("the guest ended {when}{}", told(.console))]
    Ended {
        /// How far it had come.
        when: String,
        /// The last lines of QEMU and of the guest's console.
        console: String,
    },
    /// The guest says nothing any more.
    #[error("the guest has said nothing for {silent_s} s {when} and was ended{}", told(.console))]
    Hangs {
        /// For how long, of its processor, or by the wall clock where it used none.
        silent_s: u64,
        /// How far it had come.
        when: String,
        /// The last lines of the guest's console.
        console: String,
    },
    /// A law could not be compiled for the kernel.
    #[error(transparent)]
    Compile(#[from] fadelab_kernel::compile::CompileError),
    /// Calls can be recorded of one law.
    #[error(
        "calls can be recorded of one law of fadelab's, and the run has {count}: choose one with --set flow.law=vcp"
    )]
    NothingToRecord {
        /// How many laws of fadelab's it has.
        count: usize,
    },
    /// No router to record.
    #[error(
        "no link of the run has a router's law of fadelab's to record: choose one with --set flow.law=vcp, or leave \
         --record-router out"
    )]
    NoRouterToRecord,
    /// No gateway to record.
    #[error(
        "no tunnel of the run has gateways with a law of fadelab's to record: set tunnel.NAME.law=dcp_ew, or leave \
         --record-gateway out"
    )]
    NoGatewayToRecord,
    /// Only root makes network namespaces and loads laws.
    #[error("the live ground needs root, for network namespaces and laws in the kernel; the virtual one does without")]
    NoRoot,
    /// What went wrong in a run on this machine.
    #[error("on this machine: {0}")]
    OnMachine(String),
    /// What the guest was asked for went wrong inside.
    #[error("in the guest: {0}")]
    InGuest(String),
    /// Whoever watches the run asked for its end.
    #[error("the run was stopped")]
    Stopped,
}

impl Error {
    pub(crate) fn file(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { what, path, source }
    }

    /// Whether the scenario or the options are at fault, and nothing was run.
    pub fn is_invalid_input(&self) -> bool {
        matches!(
            self,
            Self::NoCounterpart { .. }
                | Self::UnknownKernel { .. }
                | Self::NothingToRecord { .. }
                | Self::NoRouterToRecord
                | Self::NoGatewayToRecord
        )
    }
}

fn told(console: &str) -> String {
    if console.is_empty() {
        return "; its console is empty".to_owned();
    }
    format!("; the end of its console:\n{console}")
}
