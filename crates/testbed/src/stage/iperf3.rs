//! iperf3 as the application of a greedy flow: a program that knows nothing of the laws below it.
//!
//! Its sockets are its own. What the meters read of them is `TCP_INFO` of a copy (`pidfd_getfd(2)`) that is closed at
//! once. Beside its data iperf3 has a connection of control over the same path, on which the two ends agree first:
//! data flow some four round trips after the start.

use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;

use nix::sys::socket::{SockaddrIn, getpeername, getsockname};

use super::process::Process;
use super::spaces::Spaces;
use super::tcp_info::TcpInfo;
use super::{Outcome, failed};
use crate::plan::{Flow, PORT, address};

/// Port of the sender's end of the data, by which it is told from the connection of control.
const DATA_PORT: u16 = 5002;

/// Longer than any run: iperf3's own limit, in seconds.
const FOREVER: &str = "86400";

/// Both ends of a flow.
pub struct Iperf3 {
    receiver: Process,
    sender: Option<Process>,
}

impl Iperf3 {
    /// Starts the receiver of a flow and waits until it listens.
    pub fn listen(spaces: &Spaces, number: usize, flow: &Flow) -> Outcome<Self> {
        let mut command = iperf3();
        command.args(["--server", "--one-off", "--bind", &address(number, true).to_string()]);
        let mut receiver = spaces.at(flow.to, || Process::start(command))?;
        receiver
            .wait_until_it_listens(address(number, true))
            .map_err(failed(&flow.name))?;
        Ok(Self { receiver, sender: None })
    }

    /// Starts the sender.
    pub fn send(&mut self, spaces: &Spaces, number: usize, flow: &Flow) -> Outcome<()> {
        let [from, to] = [false, true].map(|is_receiver| address(number, is_receiver).to_string());
        let (port, mss_bytes) = (DATA_PORT.to_string(), (flow.packet_bytes - 40).to_string());
        let mut command = iperf3();
        command.args([
            "--client",
            &to,
            "--bind",
            &from,
            "--cport",
            &port,
            "--set-mss",
            &mss_bytes,
        ]);
        command.args(["--time", FOREVER, "--interval", "0"]);
        // The receiver is told of it on the connection of control, and its socket has the law, too.
        command.args(flow.law.iter().flat_map(|law| ["--congestion", law]));
        self.sender = Some(spaces.at(flow.from, || Process::start(command))?);
        Ok(())
    }

    /// The sender's socket and how many bytes the receiver's has got, once they are connected.
    pub fn look(&mut self) -> Outcome<Option<(OwnedFd, u64)>> {
        let Some(sender) = &mut self.sender else {
            return Ok(None);
        };
        sender.check()?;
        self.receiver.check()?;
        let is_data = |address: nix::Result<SockaddrIn>| address.is_ok_and(|address| address.port() == DATA_PORT);
        let sent = sender.socket(|socket| is_data(getsockname(socket.as_raw_fd())));
        let received = self.receiver.socket(|socket| is_data(getpeername(socket.as_raw_fd())));
        let (Some(sent), Some(received)) = (sent, received) else {
            return Ok(None);
        };
        Ok(Some((sent, TcpInfo::of(received).bytes_received)))
    }
}

fn iperf3() -> Command {
    let mut command = Command::new("iperf3");
    command.args(["--port", &PORT.to_string()]);
    command
}
