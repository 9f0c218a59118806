//! iperf3 as the application of a greedy flow: a program that knows nothing of the laws below it.
//!
//! Its sockets are its own. What the meters read of them is `TCP_INFO` of a copy (`pidfd_getfd(2)`) that is closed at
//! once. Beside its data iperf3 has a connection of control over the same path, on which the two ends agree first:
//! data flow some four round trips after the start.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::socket::{SockaddrIn, getpeername, getsockname};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::spaces::Spaces;
use super::tcp_info::TcpInfo;
use super::{Outcome, failed};
use crate::plan::{Flow, PORT, address};

/// Port of the sender's end of the data, by which it is told from the connection of control.
const DATA_PORT: u16 = 5002;

/// Longer than any run: iperf3's own limit, in seconds.
const FOREVER: &str = "86400";

/// How often a receiver that starts is looked at, and how often at most.
const START: Duration = Duration::from_millis(1);
const STARTS_MAX: usize = 5_000;

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
        for _ in 0..STARTS_MAX {
            if receiver.listens(address(number, true))? {
                return Ok(Self { receiver, sender: None });
            }
            receiver.check()?;
            std::thread::sleep(START);
        }
        Err(format!("{}: iperf3 does not listen", flow.name))
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
        let sent = sender.socket(|socket| is_data(getsockname(socket.as_raw_fd())))?;
        let received = self
            .receiver
            .socket(|socket| is_data(getpeername(socket.as_raw_fd())))?;
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

/// An iperf3 that runs.
struct Process {
    child: Child,
    handle: OwnedFd,
    /// What it says, which is of interest only where it ends.
    log: File,
    /// The number that its data socket has there, once it was seen.
    data: Option<i32>,
}

impl Process {
    fn start(mut command: Command) -> Outcome<Self> {
        let log = memfd_create(c"iperf3", MFdFlags::MFD_CLOEXEC).map_err(failed("a file in memory"))?;
        let log = File::from(log);
        let [file, other] = [log.try_clone(), log.try_clone()];
        let (file, other) = (file.map_err(failed("iperf3"))?, other.map_err(failed("iperf3"))?);
        let child = command
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(other)
            .spawn()
            .map_err(failed("iperf3"))?;
        let handle = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).map_err(failed("iperf3"))?;
        Ok(Self {
            child,
            handle,
            log,
            data: None,
        })
    }

    /// Fails where it has ended, with its last words.
    fn check(&mut self) -> Outcome<()> {
        let Some(status) = self.child.try_wait().map_err(failed("iperf3"))? else {
            return Ok(());
        };
        let mut said = String::new();
        // What it wrote moved the place that its file has in common with ours.
        let _ = self.log.rewind().and_then(|()| self.log.read_to_string(&mut said));
        // A server rules off with dashes.
        let speaks = |line: &&str| line.chars().any(char::is_alphanumeric);
        let last = said.lines().rfind(speaks).unwrap_or("nothing");
        Err(format!("iperf3 ended too early ({status}); its last words: {last}"))
    }

    /// Whether a socket listens on the address and the port (state 0A of `/proc/net/tcp`).
    fn listens(&self, address: Ipv4Addr) -> Outcome<bool> {
        let path = format!("/proc/{}/net/tcp", self.child.id());
        let text = fs::read_to_string(&path).map_err(failed(&path))?;
        // The address is a number of the machine's, as its bytes lie in memory.
        let local = format!("{:08X}:{PORT:04X}", u32::from_ne_bytes(address.octets()));
        let mut sockets = text.lines().map(|line| line.split_whitespace().skip(1));
        Ok(sockets.any(|mut words| words.next() == Some(&local) && words.nth(1) == Some("0A")))
    }

    /// A copy of its data socket, once it has one.
    fn socket(&mut self, is_data: impl Fn(&OwnedFd) -> bool) -> Outcome<Option<OwnedFd>> {
        let copy = |number| pidfd_getfd(self.handle.as_fd(), number, PidfdGetfdFlags::empty());
        if let Some(number) = self.data {
            return copy(number).map(Some).map_err(failed("iperf3's data"));
        }
        let folder = format!("/proc/{}/fd", self.child.id());
        for entry in fs::read_dir(&folder).map_err(failed(&folder))?.flatten() {
            let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            // It may have closed the file meanwhile.
            if let Ok(socket) = copy(number)
                && is_data(&socket)
            {
                self.data = Some(number);
                return Ok(Some(socket));
            }
        }
        Ok(None)
    }
}
