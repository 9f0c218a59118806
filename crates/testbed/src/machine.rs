//! One run of a guest under QEMU, from its start to its last word.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fadelab_kernel::Version;
use fadelab_run::record::RunRecord;
use nix::sched::CpuSet;
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::guest::{self, CALLS, PASSAGES};
use crate::image::{Image, QEMU, archive};
use crate::message::Message;
use crate::plan::Plan;
use crate::{Error, Recordings};

/// A guest that has said nothing for so many seconds, by the wall clock, hangs. It speaks at each virtual second, which
/// takes a few seconds at most, unless the machine is very slow: then `FADELAB_GUEST_SILENCE_S` says how long to wait.
const SILENCE_S_MAX: u64 = 120;

/// How often whoever watches is asked whether to go on.
const LOOK: Duration = Duration::from_millis(20);

/// Lines of the console that a message quotes.
const CONSOLE_LINES: usize = 12;

/// Memory of the guest. What it does not touch is not taken from the host.
const MEMORY_MB: u32 = 1024;

/// What makes time virtual and each run the same: a processor that is interpreted, two nanoseconds an instruction, idle
/// time skipped, the date fixed and no randomness from the machine.
const CLOCKWORK: [&str; 8] = [
    "-accel",
    "tcg,thread=single",
    "-smp",
    "1",
    "-icount",
    "shift=1,sleep=off",
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

/// What makes QEMU's threads take turns, without which runs would differ by microseconds now and then: a library that
/// is loaded into it (`qemu/turns.c`).
static TURNS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/turns.so"));

/// What the thread of the guest's processor calls itself when it takes turns.
const NAME_IN_TURN: &str = "CPU in turn";

/// What a message calls the files that only QEMU has.
const IN_MEMORY: &str = "the guest's files in memory";

/// Runs a plan in a guest that has `objects`, paths and contents of files. Calls of its law go into the file `calls`.
pub fn run(
    plan: &Plan,
    objects: Vec<(String, Vec<u8>)>,
    image: &Image,
    recordings: &Recordings,
    mut report: impl FnMut(u64) -> bool,
) -> Result<RunRecord, Error> {
    let mut guest = Guest::start(plan, objects, image, recordings)?;
    let given = std::env::var("FADELAB_GUEST_SILENCE_S").ok();
    let silence_s_max = given.and_then(|text| text.parse().ok()).unwrap_or(SILENCE_S_MAX);
    let mut heard = Instant::now();
    let mut when = "before it booted".to_owned();
    let mut time_ns = 0;
    loop {
        if !report(time_ns) {
            return Err(Error::Stopped);
        }
        // Asked first: what it said before it ended is there then.
        let has_ended = guest.has_ended();
        let messages = guest.hear();
        if !messages.is_empty() {
            heard = Instant::now();
        } else if has_ended {
            let console = guest.console();
            return Err(Error::Ended { when, console });
        } else if heard.elapsed() > Duration::from_secs(silence_s_max) {
            return Err(Error::Hangs {
                silent_s: silence_s_max,
                when,
                console: guest.console(),
            });
        } else {
            thread::sleep(LOOK);
        }
        for message in messages {
            match message {
                Message::Booted { release } => {
                    guest.takes_turns()?;
                    when = format!("after Linux {release} had booted");
                }
                Message::Reached { time_ns: now_ns } => {
                    time_ns = now_ns;
                    when = format!("at {} s of virtual time", time_ns / 1_000_000_000);
                }
                Message::Failed { why } => return Err(Error::InGuest(why)),
                Message::Done { record } => return Ok(*record),
            }
        }
    }
}

/// A running guest; it ends with this value.
struct Guest {
    qemu: Child,
    messages: File,
    /// A line that has no end yet.
    begun: Vec<u8>,
    console: File,
}

impl Guest {
    fn start(
        plan: &Plan,
        objects: Vec<(String, Vec<u8>)>,
        image: &Image,
        recordings: &Recordings,
    ) -> Result<Self, Error> {
        let initrd = initrd(plan, objects, image)?;
        let console = in_memory("console")?;
        let messages = in_memory("messages")?;
        let mut turns = in_memory("turns")?;
        turns.write_all(TURNS).map_err(Error::file("write", IN_MEMORY))?;
        let mut command = command(plan, image, &initrd, &console, &messages);
        command.env("LD_PRELOAD", inherited(&turns));
        let files = [(&recordings.sender, CALLS), (&recordings.router, PASSAGES)];
        for (file, port) in files {
            if let Some(file) = file {
                record_calls(&mut command, file, port);
            }
        }
        let qemu = command.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::NoProgram {
                program: QEMU.to_owned(),
                purpose: "runs the kernel in virtual time",
                package: "qemu-system-x86",
            },
            _ => Error::Tool {
                what: format!("starting {QEMU}"),
                why: error.to_string(),
            },
        })?;
        Ok(Self {
            qemu,
            messages,
            begun: Vec::new(),
            console,
        })
    }

    /// Fails where QEMU's threads do not take turns: the dynamic linker left the library out, or QEMU is not as we know
    /// it. One that has ended already has no threads, and its own words say why.
    fn takes_turns(&mut self) -> Result<(), Error> {
        let folder = format!("/proc/{}/task", self.qemu.id());
        let threads = fs::read_dir(folder).into_iter().flatten().flatten();
        let name = |thread: fs::DirEntry| fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
        if threads.map(name).any(|name| name.trim_end() == NAME_IN_TURN) || self.has_ended() {
            return Ok(());
        }
        Err(Error::Tool {
            what: format!("making the threads of {QEMU} take turns"),
            why: "runs would not repeat; is it a static program, is vm.memfd_noexec set, or is it a very new one?"
                .to_owned(),
        })
    }

    fn has_ended(&mut self) -> bool {
        matches!(self.qemu.try_wait(), Ok(Some(_)))
    }

    /// What the guest has said since it was last asked.
    fn hear(&mut self) -> Vec<Message> {
        let mut messages = Vec::new();
        // A file in memory can be read.
        let _ = self.messages.read_to_end(&mut self.begun);
        while let Some(end) = self.begun.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.begun.drain(..=end).collect();
            messages.push(serde_json::from_slice(&line).unwrap_or_else(|error| Message::Failed {
                why: format!("it said what nobody understands: {error}"),
            }));
        }
        messages
    }

    /// The last lines of QEMU and of the guest.
    fn console(&mut self) -> String {
        let _ = self.qemu.kill();
        let mut text = Vec::new();
        if let Some(errors) = &mut self.qemu.stderr {
            let _ = errors.read_to_end(&mut text);
        }
        let _ = self.console.rewind();
        let _ = self.console.read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim_end)
            .filter(|line| !line.is_empty())
            .collect();
        lines[lines.len().saturating_sub(CONSOLE_LINES)..].join("\n")
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}

/// A file without a name, which is gone when its last user is, however that one ends.
fn in_memory(name: &str) -> Result<File, Error> {
    let name = CString::new(name).expect("the name has no zero");
    // QEMU inherits it, so it is not closed on exec.
    let fd: OwnedFd = memfd_create(name.as_c_str(), MFdFlags::empty()).map_err(|error| Error::Tool {
        what: "making a file in memory".to_owned(),
        why: error.to_string(),
    })?;
    Ok(File::from(fd))
}

/// The path by which QEMU has a file of ours.
fn inherited(file: &File) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// The image's archive with that of the run behind it: Linux unpacks one after the other.
fn initrd(plan: &Plan, objects: Vec<(String, Vec<u8>)>, image: &Image) -> Result<File, Error> {
    let mut initrd = in_memory("initrd")?;
    let mut base = File::open(image.archive()).map_err(Error::file("open", image.archive()))?;
    std::io::copy(&mut base, &mut initrd).map_err(Error::file("write", IN_MEMORY))?;
    let json = serde_json::to_vec(plan).expect("a plan has nothing that JSON has not");
    let archive = archive::Archive::default().file(guest::PLAN, 0o644, json);
    let add = |archive: archive::Archive, (path, bytes): (String, Vec<u8>)| archive.file(&path, 0o644, bytes);
    let bytes = objects
        .into_iter()
        .fold(archive, add)
        .finish()
        .map_err(Error::file("write", IN_MEMORY))?;
    initrd.write_all(&bytes).map_err(Error::file("write", IN_MEMORY))?;
    Ok(initrd)
}

/// The command line of QEMU: a serial console and a port for messages, both into memory. A pipe would do for messages
/// only while it never fills: what waits for room when the guest switches off is lost.
fn command(plan: &Plan, image: &Image, initrd: &File, console: &File, messages: &File) -> Command {
    let mut command = Command::new(QEMU);
    command.args([
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-no-reboot",
        "-M",
        "q35",
    ]);
    command.args(CLOCKWORK);
    let (since, newer) = NEWER;
    command.args(["-cpu", if image.version() >= since { newer } else { PROCESSOR }]);
    // Threads have names.
    command.args(["-name", "guest,debug-threads=on"]);
    command.args(["-m", &MEMORY_MB.to_string(), "-seed", &plan.seed.to_string()]);
    command.arg("-kernel").arg(image.kernel());
    command.args(["-initrd", &inherited(initrd)]);
    command.args([
        "-append",
        &format!(
            "console=ttyS0 quiet panic=-1 mitigations=off nokaslr random.trust_cpu=off PATH=/bin rdinit={} -- {}",
            guest::PROGRAM,
            guest::ARGUMENTS.join(" ")
        ),
    ]);
    command.args(["-chardev", &format!("file,id=console,path={}", inherited(console))]);
    command.args(["-serial", "chardev:console"]);
    // Without an event file descriptor a message is taken at the instruction that sends it, not when QEMU's other
    // thread wakes up.
    command.args(["-device", "virtio-serial-pci,ioeventfd=off"]);
    command.args(["-chardev", &format!("file,id=messages,path={}", inherited(messages))]);
    command.args(["-device", "virtserialport,chardev=messages"]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    tie(&mut command);
    command
}

/// Another port, for the calls of a law. A comma in QEMU's options is written twice.
fn record_calls(command: &mut Command, file: &Path, port: u32) {
    let file = file.display().to_string().replace(',', ",,");
    command.args(["-chardev", &format!("file,id=calls{port},path={file}")]);
    command.args(["-device", &format!("virtserialport,chardev=calls{port},nr={port}")]);
}

/// However we end, QEMU does not outlive us. Ctrl-C is ours to answer, so it has a session of its own. All its threads
/// share one processor: they take turns anyway, thousands of times a virtual second, and waking another processor each
/// time costs more than the work.
#[allow(unsafe_code)]
fn tie(command: &mut Command) {
    let place = processor();
    // SAFETY: between fork and exec only system calls are made, which are safe to call there.
    unsafe {
        command.pre_exec(move || {
            nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
            nix::unistd::setsid()?;
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
