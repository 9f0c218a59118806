//! Programs of the system that carry flows, in place of sockets of fadelab's own.

use std::path::PathBuf;

use fadelab_run::app::App;
use fadelab_run::spec::RunSpec;

use crate::Error;
use crate::need::{self, Need};

const IPERF3: Need = ("iperf3", "carries the flows that always have data", "iperf3");
const CURL: Need = ("curl", "asks for downloads", "curl");
const NGINX: Need = ("nginx", "serves downloads", "nginx");

/// Which of them a run uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applications {
    /// iperf3 carries the flows that always have data.
    pub iperf3: bool,
    /// curl and nginx carry downloads.
    pub http: bool,
}

impl Applications {
    /// Those that some of these runs needs; `iperf3` is for whoever asks to say.
    pub fn of<'a>(iperf3: bool, runs: impl IntoIterator<Item = &'a RunSpec>) -> Self {
        let is_download = |flow: &fadelab_run::flow::FlowSpec| matches!(flow.app, App::Http { .. });
        Self {
            iperf3,
            http: runs.into_iter().any(|spec| spec.flows.iter().any(is_download)),
        }
    }

    /// Whether these are among `others`.
    pub fn are_in(self, others: Self) -> bool {
        (!self.iperf3 || others.iperf3) && (!self.http || others.http)
    }

    pub(crate) fn needs(self) -> Vec<Need> {
        let iperf3 = self.iperf3.then_some(IPERF3);
        let http = self.http.then_some([CURL, NGINX]);
        iperf3.into_iter().chain(http.into_iter().flatten()).collect()
    }

    /// Says whether this machine has them.
    ///
    /// # Errors
    /// The first that is missing, with the package that has it.
    pub(crate) fn find(self) -> Result<Vec<(&'static str, PathBuf)>, Error> {
        let needs = self.needs().into_iter();
        needs.map(|need| Ok((need.0, need::find(&need)?))).collect()
    }
}
