//! Objects of BPF programs on their way into the kernel, and what the kernel says of them.

use std::cell::RefCell;
use std::sync::Once;
use std::thread::sleep;
use std::time::Duration;

use libbpf_rs::{ErrorKind, ObjectBuilder, OpenObject, PrintLevel, ProgramInput, ProgramMut};
use thiserror::Error;

/// Why programs could not be loaded or attached.
#[derive(Debug, Error)]
pub enum LoadError {
    /// Not root, or a sandbox that forbids it.
    #[error("the kernel does not allow it to load BPF programs: {why}; run it as root (sudo), not in a container")]
    NotAllowed {
        /// What the system said.
        why: String,
    },
    /// The verifier found fault with a program.
    #[error("the kernel's verifier refuses {program}:\n{lines}")]
    Refused {
        /// Name of the program.
        program: String,
        /// The end of its log, where the reason stands.
        lines: String,
    },
    /// The verifier was interrupted in each attempt before it came to an end.
    #[error(
        "the kernel's verifier was interrupted in each of {ATTEMPTS_MAX} attempts to load {program}: signals reach \
         this process, or it is frozen and thawed (as a container that is paused), more often than a program can be \
         verified; load it when that is over"
    )]
    Interrupted {
        /// Name of the program.
        program: String,
    },
    /// Anything else.
    #[error("{what}: {why}")]
    Failed {
        /// What was tried.
        what: String,
        /// What the system or libbpf said.
        why: String,
    },
}

impl LoadError {
    /// From libbpf's error when `what` was tried.
    pub(crate) fn of(what: impl Into<String>, error: &libbpf_rs::Error) -> Self {
        let what = what.into();
        if error.kind() == ErrorKind::PermissionDenied {
            return Self::NotAllowed {
                why: format!("{what}: {error}"),
            };
        }
        Self::Failed {
            what,
            why: error.to_string(),
        }
    }

    /// From the system's error when `what` was tried.
    pub(crate) fn system(what: impl Into<String>, error: &std::io::Error) -> Self {
        Self::Failed {
            what: what.into(),
            why: error.to_string(),
        }
    }
}

/// Runs a program of traffic control on a packet of nobody, with a context where one is given; it is done with 0.
pub(crate) fn run_once(what: &str, program: &ProgramMut<'_>, context: Option<&mut [u8]>) -> Result<(), LoadError> {
    // The kernel takes no packet shorter than an Ethernet header.
    let packet = [0u8; 64];
    let input = ProgramInput {
        context_in: context,
        data_in: Some(&packet),
        ..ProgramInput::default()
    };
    let output = program.test_run(input).map_err(|error| LoadError::of(what, &error))?;
    match output.return_value {
        0 => Ok(()),
        step => Err(LoadError::Failed {
            what: what.to_owned(),
            why: format!("step {step} failed in the kernel"),
        }),
    }
}

/// Most lines of the verifier's log that are passed on.
const LINES_MAX: usize = 12;

thread_local! {
    /// What libbpf said on this thread while it loaded an object; `None`: it loads none.
    static SAID: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// libbpf's callback is one for the whole process; it is called on the thread that loads, so that objects may be loaded
/// side by side.
#[expect(clippy::needless_pass_by_value, reason = "the type of libbpf's callback")]
fn hear(_: PrintLevel, text: String) {
    SAID.with_borrow_mut(|said| match said {
        Some(said) => said.push_str(&text),
        None => eprint!("{text}"),
    });
}

/// How often a load is tried whose verification is interrupted each time.
const ATTEMPTS_MAX: u32 = 100;
/// Between two of these attempts. They are counted, not timed: a process that is frozen for an hour goes on behind it.
const PAUSE: Duration = Duration::from_millis(50);

/// Opens an object, lets `prepare` change what is not loaded yet, and loads it.
///
/// The kernel breaks a verification off (`EAGAIN`) where a signal is pending, or where the process shall freeze, which
/// says nothing about the program. libbpf tries five times without a pause, which a burst of signals outlasts.
///
/// # Errors
/// What the kernel says; of a verifier's log the lines with the reason.
pub fn load(
    bytes: &[u8],
    mut prepare: impl FnMut(&mut OpenObject) -> Result<(), LoadError>,
) -> Result<libbpf_rs::Object, LoadError> {
    for _ in 1..ATTEMPTS_MAX {
        match attempt(bytes, &mut prepare) {
            Err(LoadError::Interrupted { .. }) => sleep(PAUSE),
            done => return done,
        }
    }
    attempt(bytes, &mut prepare)
}

fn attempt(
    bytes: &[u8],
    prepare: &mut impl FnMut(&mut OpenObject) -> Result<(), LoadError>,
) -> Result<libbpf_rs::Object, LoadError> {
    static HEARS: Once = Once::new();
    HEARS.call_once(|| {
        libbpf_rs::set_print(Some((PrintLevel::Warn, hear)));
    });
    SAID.set(Some(String::new()));
    let loaded = open(bytes).and_then(|mut object| {
        prepare(&mut object)?;
        object.load().map_err(|error| explain(&error))
    });
    SAID.set(None);
    loaded
}

fn open(bytes: &[u8]) -> Result<OpenObject, LoadError> {
    let opened = ObjectBuilder::default().open_memory(bytes);
    opened.map_err(|error| LoadError::of("the programs cannot be read", &error))
}

fn explain(error: &libbpf_rs::Error) -> LoadError {
    let said = SAID.with_borrow(Clone::clone).unwrap_or_default();
    if error.kind() == ErrorKind::WouldBlock {
        let program = program(&said).unwrap_or("a program").to_owned();
        return LoadError::Interrupted { program };
    }
    match refusal(&said) {
        Some((program, lines)) => LoadError::Refused { program, lines },
        None => LoadError::of("the programs cannot be loaded", error),
    }
}

/// The program that libbpf spoke of last.
fn program(said: &str) -> Option<&str> {
    said.rsplit_once("prog '")?.1.split('\'').next()
}

/// The program whose log is there, and the end of the log: the instruction and what is wrong with it.
fn refusal(said: &str) -> Option<(String, String)> {
    let (before, log) = said.split_once("-- BEGIN PROG LOAD LOG --\n")?;
    let (log, _) = log.split_once("-- END PROG LOAD LOG --").unwrap_or((log, ""));
    let program = program(before)?.to_owned();
    let is_reason = |line: &&str| !line.starts_with("processed ") && !line.trim().is_empty();
    let lines: Vec<&str> = log.lines().filter(is_reason).collect();
    if lines.is_empty() {
        return None;
    }
    Some((program, lines[lines.len().saturating_sub(LINES_MAX)..].join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_the_end_of_the_log() {
        // Goal: who reads a refusal sees the reason, not ten thousand lines before it.
        let log = [
            "libbpf: prog 'control_ack': BPF program load failed: Permission denied\n\
             libbpf: prog 'control_ack': -- BEGIN PROG LOAD LOG --\n",
            &"7: r0 = 0\n".repeat(100),
            "R1 invalid mem access 'scalar'\nprocessed 100 insns (limit 1000000)\n-- END PROG LOAD LOG --\n",
        ];
        let (program, lines) = refusal(&log.concat()).expect("a log");
        assert_eq!(program, "control_ack");
        assert_eq!(lines.lines().count(), LINES_MAX);
        assert!(lines.ends_with("R1 invalid mem access 'scalar'"), "{lines}");
        assert_eq!(refusal("libbpf: failed to find BTF\n"), None);
    }
}
