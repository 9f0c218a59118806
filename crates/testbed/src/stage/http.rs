//! Downloads by curl from nginx: programs that know nothing of laws, each in the namespace of its host. Who sends is
//! who is asked, so that the law comes by the route of its answers (`congctl`, ip-route(8)).
//!
//! A download's time is what curl says that it took. Of nginx's socket a copy is held as long as the download lasts: so
//! its last counters are read when all is over, and nothing is sent for it but nginx's own FIN, later.

use std::fs::File;
use std::io::Write;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::process::Command;
use std::time::Duration;

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::socket::{SockaddrIn, getpeername, getsockname};

use super::process::Process;
use super::spaces::Spaces;
use super::tcp_info::TcpInfo;
use super::{Outcome, failed};
use crate::plan::{Flow, PORT, address};

/// A folder that is there: nginx wants one for what it keeps of requests and answers, of which there is nothing.
const FOLDER: &str = "/tmp";

/// What curl says when it is done: seconds, bytes of the body and of the header.
const WORDS: &str = "%{time_total} %{size_download} %{size_header}\n";

/// Both ends of a flow.
pub struct Http {
    server: Process,
    client: Option<Process>,
    /// nginx's end of the connection, once it was seen.
    socket: Option<OwnedFd>,
    /// What earlier downloads brought, headers included, and this one so far: its socket is closed before curl ends.
    ended_bytes: u64,
    arrived_bytes: u64,
    /// What nginx serves, how it is told to, and where it notes its number.
    _files: [File; 3],
}

/// A download that is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Download {
    pub took: Duration,
    pub body_bytes: u64,
    header_bytes: u64,
}

impl Http {
    /// Starts the server of a flow and waits until it listens.
    pub fn listen(spaces: &Spaces, number: usize, flow: &Flow, bytes: u64) -> Outcome<Self> {
        let own = address(number, false);
        let (served, served_path) = file()?;
        // It has no contents: what is read of it are zeros that take no memory.
        served.set_len(bytes).map_err(failed("a file in memory"))?;
        let (note, note_path) = file()?;
        let (mut settings, settings_path) = file()?;
        settings
            .write_all(of_nginx(own, &served_path, &note_path).as_bytes())
            .map_err(failed("a file in memory"))?;
        let mut command = Command::new("nginx");
        command.args(["-p", FOLDER, "-e", "stderr", "-c", &settings_path]);
        let mut server = spaces.at(flow.from, || Process::start(command))?;
        server.wait_until_it_listens(own).map_err(failed(&flow.name))?;
        Ok(Self {
            server,
            client: None,
            socket: None,
            ended_bytes: 0,
            arrived_bytes: 0,
            _files: [served, settings, note],
        })
    }

    /// Starts a download. What is given is ready to be read when it is over.
    pub fn get(&mut self, spaces: &Spaces, number: usize, flow: &Flow) -> Outcome<BorrowedFd<'_>> {
        let [from, own] = [false, true].map(|is_receiver| address(number, is_receiver).to_string());
        let mut command = Command::new("curl");
        // Nobody's settings, and no proxy of the environment.
        command.args([
            "--disable",
            "--noproxy",
            "*",
            "--silent",
            "--show-error",
            "--fail",
            "--http1.1",
        ]);
        command.args(["--interface", &own, "--output", "/dev/null", "--write-out", WORDS]);
        command.arg(format!("http://{from}:{PORT}/file"));
        let client = spaces.at(flow.to, || Process::start(command))?;
        let client: &Process = self.client.insert(client);
        Ok(client.as_fd())
    }

    /// The server's socket, once the connection stands, and how many bytes the flow's downloads have brought.
    pub fn look(&mut self) -> Outcome<(Option<&OwnedFd>, u64)> {
        self.server.check()?;
        if let Some(client) = &mut self.client {
            let is_connected = |socket: &OwnedFd| peer(socket).is_some_and(|peer| peer.port() == PORT);
            if let Some(socket) = client.socket(is_connected) {
                self.arrived_bytes = TcpInfo::of(&socket).bytes_received;
                if self.socket.is_none()
                    && let Ok(own) = getsockname::<SockaddrIn>(socket.as_raw_fd())
                {
                    let is_other_end = |socket: &OwnedFd| peer(socket) == Some(own);
                    self.socket = self.server.find(is_other_end).map(|(_, socket)| socket);
                }
            }
        }
        Ok((self.socket.as_ref(), self.ended_bytes + self.arrived_bytes))
    }

    /// The download that is over, and the server's socket, if it was seen. `None`: it is not over.
    pub fn end(&mut self) -> Outcome<Option<(Download, Option<OwnedFd>)>> {
        let Some(client) = &mut self.client else {
            return Ok(None);
        };
        let Some(status) = client.ended()? else {
            return Ok(None);
        };
        if !status.success() {
            return Err(client.last_words(status));
        }
        let said = client.said();
        let download = Download::of(&said).ok_or_else(|| format!("curl says nothing of its download: {said}"))?;
        self.ended_bytes += download.body_bytes + download.header_bytes;
        self.arrived_bytes = 0;
        self.client = None;
        // Between two looks a short one comes and goes; nginx has only this flow's connections.
        let seen = self.socket.take();
        let socket = seen.or_else(|| Some(self.server.find(|socket| peer(socket).is_some())?.1));
        Ok(Some((download, socket)))
    }
}

impl Download {
    /// From what curl said.
    fn of(said: &str) -> Option<Self> {
        let mut words = said.lines().last()?.split_whitespace();
        let took_s: f64 = words.next()?.parse().ok()?;
        let mut bytes = || words.next()?.parse().ok();
        Some(Self {
            took: Duration::try_from_secs_f64(took_s).ok()?,
            body_bytes: bytes()?,
            header_bytes: bytes()?,
        })
    }
}

/// A file in memory, and by which path others reach it as long as it is open.
fn file() -> Outcome<(File, String)> {
    let file = memfd_create(c"nginx", MFdFlags::MFD_CLOEXEC).map_err(failed("a file in memory"))?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    Ok((File::from(file), path))
}

/// One file and no surroundings: a process that serves it whole, without a log.
fn of_nginx(own: Ipv4Addr, served_path: &str, note_path: &str) -> String {
    let folders: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|user| format!("{user}_temp_path {FOLDER};\n"))
        .concat();
    format!(
        "daemon off;\nmaster_process off;\nuser root root;\npid {note_path};\nevents {{}}\nhttp {{\naccess_log off;\n\
         server_tokens off;\nsendfile on;\ntcp_nopush on;\n{folders}server {{\nlisten {own}:{PORT};\n\
         location = /file {{\nalias {served_path};\n}}\n}}\n}}\n"
    )
}

fn peer(socket: &OwnedFd) -> Option<SockaddrIn> {
    getpeername(socket.as_raw_fd()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_curl_says_is_taken_as_it_is() {
        // Goal: time and sizes of the last line; of anything else nothing.
        let download = Download {
            took: Duration::from_micros(1_234_567),
            body_bytes: 5_000_000,
            header_bytes: 187,
        };
        assert_eq!(Download::of("1.234567 5000000 187\n"), Some(download));
        assert_eq!(
            Download::of("curl: (18) end of response\n1.234567 5000000 187\n"),
            Some(download)
        );
        for other in ["", "1.2", "1.2 5", "-1 5 5", "a 5 5", "1.2 5 x"] {
            assert_eq!(Download::of(other), None, "{other}");
        }
    }
}
