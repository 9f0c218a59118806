//! The machine that QEMU emulates: its command line, and how it is tied to us.

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use fadelab_kernel::Version;
use nix::sched::CpuSet;

use crate::given;
use crate::guest::{self, CALLS, PACKETS, PASSAGES, TRANSITS};
use crate::image::{Image, QEMU};

/// Memory of the guest. What it does not touch is not taken from the host.
pub const MEMORY_BYTES: u64 = 1 << 30;

/// What makes time virtual and each run the same: a processor that is interpreted, a nanosecond an instruction, than
/// which QEMU knows none shorter, idle time skipped, the date fixed and no randomness from the machine.
const CLOCKWORK: [&str; 8] = [
    "-accel",
    "tcg,thread=single",
    "-smp",
    "1",
    "-icount",
    "shift=0,sleep=off",
    "-rtc",
    "base=2026-01-01,clock=vm",
];

/// The processor: without `cmpxchg16b`, which QEMU 7.2 does wrongly at an interrupt: kernels then panicked in their
/// allocator. What else it lacks would only cost: the kernel patches itself for it, or does byte by byte what it
/// otherwise does by words.
const PROCESSOR: &str = "max,-rdrand,-rdseed,-cx16,-smap,-smep,-xsave,-erms,-fsrm";

/// For newer kernels. Their allocator, which works otherwise, gives BPF programs no timer without `cmpxchg16b`; and the
/// tests of their ciphers take AVX for usable where it is announced, although nothing could save its registers. Older
/// ones go on as they were measured.
const NEWER: (Version, &str) = (
    Version::new(6, 19),
    "max,-rdrand,-rdseed,-smap,-smep,-xsave,-erms,-fsrm,-avx,-avx2",
);

/// What the kernel is told.
const KERNEL: &str = "console=ttyS0 quiet panic=-1 mitigations=off nokaslr random.trust_cpu=off PATH=/bin";

/// Files that a machine begins with, and those that it writes.
pub struct Files {
    /// Its memory.
    pub memory: File,
    /// The state that belongs to its memory; without one it boots. With one the file of the memory stays as it is, and
    /// guests share what none of them has written.
    pub state: Option<File>,
    /// What it is given behind the point at which snapshots are taken ([`given`]).
    pub given: File,
    pub console: File,
    pub messages: File,
    /// What laws did, and packets, by port. Ports are there whether or not anybody records, so that each machine is the
    /// same.
    pub calls: File,
    pub passages: File,
    pub packets: File,
    pub transits: File,
}

/// What a machine is, whatever it does: two that differ in this have nothing of each other's snapshots.
pub fn machine(image: &Image) -> Vec<String> {
    let (since, newer) = NEWER;
    let cpu = if image.version() >= since { newer } else { PROCESSOR };
    let append = format!("{KERNEL} rdinit={} -- {}", guest::PROGRAM, guest::ARGUMENTS.join(" "));
    let memory = format!("{}", MEMORY_BYTES >> 20);
    let mut arguments = [
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-no-reboot",
        "-M",
        "q35,memory-backend=memory",
        "-m",
        &memory,
        "-cpu",
        cpu,
        "-append",
        &append,
    ]
    .map(str::to_owned)
    .to_vec();
    arguments.extend(CLOCKWORK.map(str::to_owned));
    // The guest's own randomness begins with the seed of its plan, which it is given later.
    arguments.extend(["-seed", "0"].map(str::to_owned));
    arguments.extend(
        DEVICES
            .into_iter()
            .flat_map(|device| ["-device".to_owned(), device.to_owned()]),
    );
    let port = |(name, port)| ["-device".to_owned(), format!("virtserialport,chardev={name},nr={port}")];
    arguments.extend(PORTS.into_iter().flat_map(port));
    arguments
}

/// What the guest finds: what stops it where snapshots are taken, what it is given behind that point, and ports.
const DEVICES: [&str; 3] = [
    "pvpanic-pci",
    "ivshmem-plain,memdev=given,master=on",
    // Without an event file descriptor a message is taken at the instruction that sends it, not when QEMU's other
    // thread wakes up.
    "virtio-serial-pci,ioeventfd=off",
];

const PORTS: [(&str, u32); 5] = [
    ("messages", guest::MESSAGES),
    ("calls", CALLS),
    ("passages", PASSAGES),
    ("packets", PACKETS),
    ("transits", TRANSITS),
];

/// The command line of QEMU: a serial console and ports for messages and records, all into files. A pipe would do for
/// messages only while it never fills: what waits for room when the guest switches off is lost.
pub fn command(image: &Image, files: &Files, monitor: &UnixStream) -> Command {
    let mut command = Command::new(QEMU);
    let share = if files.state.is_some() { "off" } else { "on" };
    let backed = |name: &str, bytes: u64, file: &File| {
        format!(
            "memory-backend-file,id={name},size={bytes},share={share},mem-path={}",
            ours(file)
        )
    };
    command.args(["-object", &backed("memory", MEMORY_BYTES, &files.memory)]);
    command.args(["-object", &backed("given", given::ROOM_BYTES as u64, &files.given)]);
    let into = |name: &str, file: &File| format!("file,id={name},path={}", ours(file));
    let written = [
        &files.messages,
        &files.calls,
        &files.passages,
        &files.packets,
        &files.transits,
    ];
    for ((name, _), file) in PORTS.into_iter().zip(written) {
        command.args(["-chardev", &into(name, file)]);
    }
    command.args([
        "-chardev",
        &into("console", &files.console),
        "-serial",
        "chardev:console",
    ]);
    command.args(machine(image));
    // Threads have names.
    command.args(["-name", "guest,debug-threads=on"]);
    command.arg("-kernel").arg(image.kernel());
    command.arg("-initrd").arg(image.archive());
    command.args(["-chardev", &format!("socket,id=monitor,fd={}", monitor.as_raw_fd())]);
    command.args(["-mon", "chardev=monitor,mode=readline"]);
    // The guest stops itself where snapshots are taken.
    command.args(["-action", "panic=pause"]);
    if files.state.is_some() {
        command.args(["-incoming", "defer"]);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let state = files.state.as_ref().map(AsRawFd::as_raw_fd);
    tie(&mut command, [Some(monitor.as_raw_fd()), state]);
    command
}

/// However we end, QEMU does not outlive us. Ctrl-C is ours to answer, so it has a session of its own. All its threads
/// share one processor: they take turns anyway, thousands of times a virtual second, and waking another processor each
/// time costs more than the work.
#[allow(unsafe_code)]
fn tie(command: &mut Command, inherited: [Option<RawFd>; 2]) {
    let place = processor();
    // SAFETY: between fork and exec only system calls are made, which are safe to call there.
    unsafe {
        command.pre_exec(move || {
            nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
            nix::unistd::setsid()?;
            // It alone has them: other guests that begin meanwhile close them.
            for file in inherited.into_iter().flatten() {
                if nix::libc::fcntl(file, nix::libc::F_SETFD, 0) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
            }
            if let Some(place) = place {
                nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &place)?;
            }
            Ok(())
        });
    }
}

/// One of the processors that we may use, each guest the next.
fn processor() -> Option<CpuSet> {
    static GUESTS: AtomicUsize = AtomicUsize::new(0);
    let allowed = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)).ok()?;
    let allowed: Vec<usize> = (0..CpuSet::count())
        .filter(|&cpu| allowed.is_set(cpu) == Ok(true))
        .collect();
    // Several fadelabs at the same time do not all begin with the first one.
    let first = std::process::id() as usize;
    let chosen = allowed[(first + GUESTS.fetch_add(1, Ordering::Relaxed)) % allowed.len()];
    let mut place = CpuSet::new();
    place.set(chosen).ok()?;
    Some(place)
}

/// A path by which QEMU, and who it loads, opens a file of ours anew.
pub fn ours(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}
