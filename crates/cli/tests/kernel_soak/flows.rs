//! Transfers that go on for ever: an end that was killed, or could not begin, is started again.

use std::process::{Child, Command, Stdio};

use super::site::{CUBIC, DATAGRAMS, Site, VCP, VCP_OUTSIDE, XCP};

/// Transfers under a law of ours are short: a connection whose law was killed lives on without feedback, and there
/// would be hardly any of ours to change.
const OWN_SECONDS: &str = "5";

/// Connections of each transfer: there are many packets of ours to change then, and what a timeout takes from one of
/// CUBIC's is a small part of what all of them have.
const STREAMS: &str = "6";

/// One of them.
struct Flow {
    port: u16,
    control: String,
    /// Under a law of ours, or Reno in its place.
    is_own: bool,
    server: Option<Child>,
    client: Option<Child>,
}

/// All of a site.
pub struct Flows(Vec<Flow>);

impl Flows {
    /// Under VCP inside and outside, XCP, and the kernel's CUBIC; beside them datagrams that leave in fragments.
    pub fn new(vcp: &str, xcp: &str) -> Self {
        let flow = |port, control: &str| Flow {
            port,
            control: control.to_owned(),
            is_own: [VCP, VCP_OUTSIDE, XCP].contains(&port),
            server: None,
            client: None,
        };
        Self(vec![
            flow(VCP, vcp),
            flow(CUBIC, "cubic"),
            flow(VCP_OUTSIDE, vcp),
            flow(XCP, xcp),
            flow(DATAGRAMS, ""),
        ])
    }

    /// Starts whatever does not run.
    pub fn tend(&mut self, site: &Site) {
        for flow in &mut self.0 {
            let (host, address) = site.host_of(flow.port);
            let port = flow.port.to_string();
            keep(&mut flow.server, || in_space(host, &["iperf3", "-s", "-p", &port]));
            keep(&mut flow.client, || {
                let words = [
                    "iperf3",
                    "-p",
                    &port,
                    "-t",
                    if flow.is_own { OWN_SECONDS } else { "86400" },
                    "--connect-timeout",
                    "1000",
                    "-c",
                    address,
                ];
                let kind = match (flow.port, flow.control.as_str()) {
                    (DATAGRAMS, _) => vec!["-u", "-b", "500K", "-l", "4000"],
                    // Nothing slows the way outside.
                    (VCP_OUTSIDE, control) => vec!["-b", "3M", "-P", STREAMS, "-C", control],
                    (_, control) => vec!["-P", STREAMS, "-C", control],
                };
                in_space(&site.a, &[&words[..], &kind].concat())
            });
        }
    }

    /// Kills an end of one of them.
    pub fn kill(&mut self, number: u64) {
        let flow = &mut self.0[number as usize / 2 % 5];
        end(if number.is_multiple_of(2) {
            &mut flow.client
        } else {
            &mut flow.server
        });
    }

    pub fn stop(&mut self) {
        for flow in &mut self.0 {
            end(&mut flow.client);
            end(&mut flow.server);
        }
    }
}

impl Drop for Flows {
    fn drop(&mut self) {
        self.stop();
    }
}

fn keep(child: &mut Option<Child>, start: impl FnOnce() -> Child) {
    let runs = child
        .as_mut()
        .is_some_and(|child| child.try_wait().is_ok_and(|status| status.is_none()));
    if !runs {
        *child = Some(start());
    }
}

fn end(child: &mut Option<Child>) {
    if let Some(mut child) = child.take() {
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn in_space(space: &str, words: &[&str]) -> Child {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net=/run/netns/{space}")).args(words);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("nsenter")
}
