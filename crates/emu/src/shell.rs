//! A shell behind a link: a command whose packets all cross two lanes, one each way, to what its parent reaches.
#![allow(unsafe_code)]

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::SyncSender;

use nix::sched::{CloneFlags, setns};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;

use crate::clock::Clock;
use crate::emulator::{Emulator, Error, Way};
use crate::lane::Lane;
use crate::log::LinkLog;
use crate::outcome::{Outcome, WayOutcome};
use crate::outside::{Guard, Translation, forward, note};
use crate::priority::{Priority, used};
use crate::record::Recorder;
use crate::resolver;
use crate::space::{Space, ip};
use crate::tun::{Tun, dropped_pkts};
use crate::unprivileged::Place;

/// Shells of one namespace: as many networks of four addresses as there are in 100.64.0.0/10 (RFC 6598).
const NETWORKS: u32 = 1 << 20;

/// What the device inside is called.
const INSIDE: &str = "fade0";

/// Packets that may wait at a device while the emulator is busy: those of 100 ms at 1 Gbit/s.
const QUEUE_PKTS: &str = "10000";

/// What the command is told: the address of whatever is outside.
pub const OUTSIDE: &str = "FADELAB_OUTSIDE";

/// Signals that are for the command, or that end us both.
const SIGNALS: [Signal; 4] = [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGHUP];

/// The link goes on behind its command for so long at most, and until nobody has answered for so long.
const DRAIN_NS_MAX: u64 = 5_000_000_000;
const ANSWER_NS: u64 = 20_000_000;

const NS_PER_S: u64 = 1_000_000_000;

/// How a shell is built.
pub struct Plan {
    /// From the command to the outside, and back.
    pub lanes: [Lane; 2],
    /// Of the devices.
    pub mtu_bytes: u32,
    /// Whose the network namespace is from which the shell is made.
    pub place: Place,
    pub recorder: Option<Recorder>,
    /// Of either lane, if there is to be one.
    pub logs: [Option<LinkLog>; 2],
    /// The command that undoes what is done beside where this process is killed; none where it has no words.
    pub if_killed: Vec<OsString>,
}

/// How a command ended, what there is to say of the link, and whether what was written of it is whole.
pub type Ended = (ExitStatus, Outcome, io::Result<bool>);

/// A shell that is ready for its command.
pub struct Shell {
    emulator: Emulator,
    inside: Space,
    outside: Space,
    /// Addresses of the end outside and of that inside.
    gateway: String,
    address: String,
    /// Why the command reaches no more than the shell itself.
    pub closed: Option<String>,
    has_priority: bool,
    dropped_before_pkts: [u64; 2],
    signals: SignalFd,
    // In the order in which they go: the guard is the last.
    _translation: Option<Translation>,
    guard: Guard,
}

impl Shell {
    /// Makes the devices and the way outside.
    ///
    /// # Errors
    /// What this process may not do, or a program that is missing.
    pub fn new(plan: Plan) -> Result<Self, Error> {
        // From here on, since whoever ends us while it is made ends it in order as well.
        let signals = SigSet::from_iter(SIGNALS);
        signals
            .thread_block()
            .map_err(|error| system("blocking signals")(error.into()))?;
        let signals = SignalFd::with_flags(&signals, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
            .map_err(|error| system("waiting for signals")(error.into()))?;
        let outside = Space::here().map_err(system("the network namespace"))?;
        let inside = Space::new().map_err(system("making a network namespace"))?;
        let (outer, number) = outer().map_err(system(
            "making a TUN device (/dev/net/tun, which a container must be given, with the right CAP_NET_ADMIN)",
        ))?;
        let [gateway, address] = addresses(number);
        let mtu = plan.mtu_bytes.to_string();
        let inner = inside.within(|| {
            let tun = Tun::new(INSIDE)?;
            set_up(INSIDE, &mtu, &address, &gateway)?;
            ip(&["route", "add", "default", "via", &gateway, "dev", INSIDE])?;
            Ok(tun)
        });
        let inner = inner.map_err(system("making the device inside"))?;
        set_up(outer.name(), &mtu, &gateway, &address).map_err(system("setting up the device outside"))?;
        let note = note().map_err(system("the network namespace"))?;
        let noted = Some(note.as_path()).filter(|_| plan.place == Place::Shared);
        let guard = Guard::new(&inside, noted, plan.if_killed).map_err(system("starting sh"))?;
        let [up, down] = plan.lanes;
        let mut ways = vec![Way::new(up, 0, 1), Way::new(down, 1, 0)];
        for (way, log) in ways.iter_mut().zip(plan.logs) {
            way.log = log;
        }
        let (translation, closed) = match way_out(plan.place, &note, (number, outer.name()), &address) {
            Ok(translation) => (Some(translation), None),
            Err(error) => (None, Some(error.to_string())),
        };
        Ok(Self {
            emulator: Emulator::new(vec![inner, outer], ways, plan.recorder)?,
            inside,
            outside,
            gateway,
            address,
            closed,
            has_priority: false,
            dropped_before_pkts: [0; 2],
            signals,
            _translation: translation,
            guard,
        })
    }

    /// The devices at the end outside and inside, and by which path the namespace of the latter is reached as long as
    /// the shell is there.
    pub fn devices(&self) -> (&str, &str, String) {
        let path = format!("/proc/{}/fd/{}", std::process::id(), self.inside.as_fd().as_raw_fd());
        (self.emulator.tuns()[1].name(), INSIDE, path)
    }

    /// Makes a congestion control that the kernel has the default of new sockets inside, and of those outside that send
    /// to what is inside.
    ///
    /// # Errors
    /// The kernel does not take it.
    pub fn set_default(&self, name: &str) -> Result<(), Error> {
        let inside = self
            .inside
            .within(|| fs::write("/proc/sys/net/ipv4/tcp_congestion_control", name));
        inside.map_err(system("making the law the default inside"))?;
        let (outer, ..) = self.devices();
        let words = [
            "route",
            "replace",
            &self.address,
            "dev",
            outer,
            "src",
            &self.gateway,
            "congctl",
            name,
        ];
        ip(&words)
            .map(drop)
            .map_err(system("making the law that of the way inside"))
    }

    /// Runs a command behind the link until it ends. Once a second what there is to say so far goes to `view`; where
    /// that one has not taken the last, it misses this.
    ///
    /// # Errors
    /// The command cannot be started, or what goes wrong while packets pass.
    pub fn run(mut self, words: &[OsString], view: Option<&SyncSender<Outcome>>) -> Result<Ended, Error> {
        // What was sent before the other end was up has nothing to do with the command.
        self.dropped_before_pkts = self.overrun_pkts();
        self.emulator.begin(Clock::start());
        let mut child = self.start(words)?;
        let ended = pidfd(&child).map_err(system("watching the command"))?;
        self.emulator.watch(ended.as_fd())?;
        self.emulator.watch(self.signals.as_fd())?;
        let mut priority = Priority::take();
        let mut shown_s = 0;
        let status = loop {
            if self.emulator.turn()? {
                while let Ok(Some(signal)) = self.signals.read_signal() {
                    pass_on(signal.ssi_signo, &child);
                }
                if let Some(status) = child.try_wait().map_err(system("waiting for the command"))? {
                    break status;
                }
            }
            priority.look();
            if let Some(view) = view.filter(|_| self.emulator.now_ns() / NS_PER_S > shown_s) {
                shown_s = self.emulator.now_ns() / NS_PER_S;
                let _ = view.try_send(self.outcome([0; 2])?);
            }
        };
        // Both stay readable from now on, or may become so.
        self.emulator.watch_no_more(ended.as_fd())?;
        self.emulator.watch_no_more(self.signals.as_fd())?;
        self.drain()?;
        self.has_priority = priority.give_back();
        let overrun_pkts = self.overrun_pkts();
        let outcome = self.outcome(overrun_pkts)?;
        let Self { emulator, guard, .. } = self;
        let written = emulator.end();
        drop(guard);
        Ok((status, outcome, written))
    }

    /// Whoever is told that a transfer ended has it ended at the other end as well: what is under way arrives, and so
    /// do the answers to it.
    fn drain(&mut self) -> Result<(), Error> {
        let end_ns = self.emulator.now_ns() + DRAIN_NS_MAX;
        let mut empty_since_ns = u64::MAX;
        loop {
            self.emulator.turn()?;
            let now_ns = self.emulator.now_ns();
            let is_empty = self.emulator.ways_mut().iter().all(|way| way.lane.held_pkts() == 0);
            empty_since_ns = if is_empty { empty_since_ns.min(now_ns) } else { u64::MAX };
            if now_ns > end_ns || now_ns.saturating_sub(empty_since_ns) > ANSWER_NS {
                return Ok(());
            }
        }
    }

    /// Packets that found no room at the devices inside and outside, since the command began.
    fn overrun_pkts(&self) -> [u64; 2] {
        [(&self.inside, 0), (&self.outside, 1)].map(|(space, at)| {
            let name = self.emulator.tuns()[at].name();
            let dropped_pkts = space.within(|| dropped_pkts(name)).unwrap_or(0);
            dropped_pkts - self.dropped_before_pkts[at]
        })
    }

    fn start(&self, words: &[OsString]) -> Result<Child, Error> {
        let (program, arguments) = words.split_first().expect("a command has a word at least");
        let inside = self.inside.as_fd().as_raw_fd();
        let mut command = Command::new(program);
        command.args(arguments).env(OUTSIDE, &self.gateway);
        // SAFETY: between fork and exec only system calls are made, which are safe to call there.
        unsafe {
            command.pre_exec(move || {
                setns(std::os::fd::BorrowedFd::borrow_raw(inside), CloneFlags::CLONE_NEWNET)?;
                // They are for us alone.
                SigSet::from_iter(SIGNALS).thread_unblock()?;
                prctl::set_pdeathsig(Signal::SIGKILL)?;
                Ok(())
            });
        }
        resolver::reach(&mut command);
        command.spawn().map_err(|source| Error::Command {
            program: program.clone(),
            source,
        })
    }

    /// What there is to say so far, beside packets that found no room at the devices.
    fn outcome(&mut self, overrun_pkts: [u64; 2]) -> Result<Outcome, Error> {
        let (mut ways, served_ns) = (Vec::new(), self.emulator.served_ns());
        for (way, overrun_pkts) in self.emulator.ways_mut().iter_mut().zip(overrun_pkts) {
            let at_ns = way.lane.now_ns().max(served_ns);
            ways.push(WayOutcome {
                name: way.lane.name().to_owned(),
                tally: way.tally,
                counters: way.lane.counters(at_ns)?,
                undecided_drops_pkts: overrun_pkts + way.tally.refused_pkts,
            });
        }
        Ok(Outcome {
            duration_ns: self.emulator.now_ns(),
            ways,
            // What the kernel sends through a device waits there for us.
            punctuality: self.emulator.punctuality(overrun_pkts.iter().sum()),
            cpu_ns: used().as_nanos() as u64,
            has_priority: self.has_priority,
        })
    }
}

fn system(what: &str) -> impl FnOnce(io::Error) -> Error {
    let what = what.to_owned();
    move |source| Error::System { what, source }
}

/// Opens the way from a shell to what its parent reaches; what is changed for it is noted.
fn way_out(place: Place, note: &Path, (number, device): (u32, &str), address: &str) -> io::Result<Translation> {
    if place == Place::Shared {
        forward(note)?;
    } else {
        fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
    }
    if place == Place::Own(false) {
        // The outside is as empty as can be, but for its end of the link.
        ip(&["link", "set", "lo", "up"])?;
        let why = "without root a way out needs pasta; install it (Debian: apt-get install passt)";
        return Err(io::Error::other(why));
    }
    Translation::new(number, device, address)
}

/// The device outside, whose name no other shell here has, and its number.
fn outer() -> io::Result<(Tun, u32)> {
    let routes = String::from_utf8_lossy(&ip(&["-4", "route", "show", "table", "all"])?).into_owned();
    let first = std::process::id() % NETWORKS;
    for number in (first..NETWORKS).chain(0..first) {
        let is_taken = addresses(number).iter().any(|address| names(&routes, address));
        if is_taken {
            continue;
        }
        match Tun::new(&format!("fade{number}")) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {}
            made => return made.map(|tun| (tun, number)),
        }
    }
    Err(io::Error::other("all networks of 100.64.0.0/10 are taken"))
}

/// Whether an address stands in the words of a text.
fn names(text: &str, address: &str) -> bool {
    text.split_whitespace().any(|word| word == address)
}

/// Addresses of the end outside and of that inside.
fn addresses(number: u32) -> [String; 2] {
    let base = u32::from_be_bytes([100, 64, 0, 0]) + 4 * number;
    [1, 2].map(|host| std::net::Ipv4Addr::from(base + host).to_string())
}

/// Gives a device its address and the one at its far end, and lets it work.
fn set_up(device: &str, mtu_bytes: &str, address: &str, peer: &str) -> io::Result<()> {
    ip(&["addr", "add", address, "peer", peer, "dev", device])?;
    let words = [
        "link",
        "set",
        "dev",
        device,
        "mtu",
        mtu_bytes,
        "txqueuelen",
        QUEUE_PKTS,
        "up",
    ];
    ip(&words).map(drop)
}

/// A file that becomes readable when a process ends.
fn pidfd(child: &Child) -> io::Result<OwnedFd> {
    use std::os::fd::FromRawFd;
    // SAFETY: the call takes a number and gives a file of ours, or an error.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is open, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Who ends us ends the command; what is pressed at the terminal goes to it already.
fn pass_on(number: u32, child: &Child) {
    if let Ok(signal @ (Signal::SIGTERM | Signal::SIGHUP)) = Signal::try_from(number as i32) {
        let _ = kill(Pid::from_raw(child.id().cast_signed()), signal);
    }
}

/// The status by which a shell tells how a command ended.
pub fn status_code(status: ExitStatus) -> u8 {
    const SIGNALLED: i32 = 128;
    let signalled = status.signal().map(|signal| SIGNALLED + signal);
    status.code().or(signalled).unwrap_or(1) as u8
}
