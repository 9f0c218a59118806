//! What the service manager is told, in the protocol of `sd_notify(3)`: lines in a datagram to `$NOTIFY_SOCKET`.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

/// How long a manager may take that has much to read: routers wait meanwhile.
const PATIENCE: Duration = Duration::from_millis(100);

/// The way to the service manager, where there is one.
#[derive(Debug)]
pub struct Manager {
    socket: Option<UnixDatagram>,
    /// How often it wants to hear that the service is alive.
    watchdog: Option<Duration>,
    told: Instant,
}

impl Manager {
    /// From the environment that it started this process with.
    pub fn from_environment() -> Self {
        let socket = std::env::var_os("NOTIFY_SOCKET").and_then(|name| {
            let address = match name.as_bytes() {
                [b'@', rest @ ..] => SocketAddr::from_abstract_name(rest),
                path => SocketAddr::from_pathname(std::path::Path::new(std::ffi::OsStr::from_bytes(path))),
            };
            let socket = UnixDatagram::unbound().ok()?;
            socket.set_write_timeout(Some(PATIENCE)).ok()?;
            socket.connect_addr(&address.ok()?).ok().map(|()| socket)
        });
        let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
        let is_ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        Self {
            socket,
            // Twice as often as it looks, as `sd_watchdog_enabled(3)` recommends.
            watchdog: number("WATCHDOG_USEC")
                .filter(|_| is_ours)
                .map(|us| Duration::from_micros(us / 2)),
            told: Instant::now(),
        }
    }

    /// All is in place, and how it stands.
    pub fn ready(&self, status: &str) {
        self.tell(&format!("READY=1\nSTATUS={status}"));
    }

    /// The configuration is read anew.
    pub fn reloading(&self) {
        let now_us = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |now| Duration::from(now).as_micros());
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={now_us}"));
    }

    pub fn stopping(&self) {
        self.tell("STOPPING=1");
    }

    /// How it stands.
    pub fn status(&self, status: &str) {
        self.tell(&format!("STATUS={status}"));
    }

    /// That the service is alive, when the time for it has come.
    pub fn alive(&mut self) {
        if self.watchdog.is_some_and(|every| self.told.elapsed() >= every) {
            self.told = Instant::now();
            self.tell("WATCHDOG=1");
        }
    }

    /// A manager that does not listen is no reason to end.
    fn tell(&self, text: &str) {
        if let Some(socket) = &self.socket {
            let _ = socket.send(text.as_bytes());
        }
    }
}
