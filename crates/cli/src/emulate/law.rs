//! A law in this kernel for as long as an emulator runs.

use std::ffi::OsString;

use fadelab_emu::Error;
use fadelab_emu::shell::{Ended, Shell};
use fadelab_kernel::loading::LoadingError;
use fadelab_lab::Failure;

use crate::kernel::load::{self, LoadArgs};

/// Most letters of a law in the name of its congestion control, which has 15 with those of the run.
const LAW_LETTERS_MAX: usize = 5;

/// Whether `--set` is of a sender's law.
pub fn is_of_law(set: &str) -> bool {
    set.starts_with("law.")
}

/// A law that is to be loaded.
pub struct Loads<'a> {
    law: &'a str,
    /// Under which the kernel will know it.
    pub name: String,
}

impl<'a> Loads<'a> {
    /// By its name, or a header of one's own.
    pub fn new(law: &'a str) -> Self {
        Self { law, name: name(law) }
    }

    /// The command that takes it away where this process cannot.
    pub fn unload_words(&self) -> Vec<OsString> {
        let program = std::env::current_exe().unwrap_or_else(|_| "fadelab".into());
        let words = ["kernel", "unload", &self.name].map(OsString::from);
        std::iter::once(program.into()).chain(words).collect()
    }

    /// Loads it for both ends of the link, makes it that of new connections over it, and runs what is to be run.
    ///
    /// # Errors
    /// What the machine or the law does not allow.
    pub fn run(
        &self,
        shell: Shell,
        sets: &[String],
        run: impl FnOnce(Shell) -> Result<Ended, Error>,
    ) -> Result<Result<Ended, Error>, Failure> {
        let (outer, inner, inside) = shell.devices();
        let arguments = LoadArgs {
            law: self.law.to_owned(),
            devices: vec![outer.to_owned(), format!("{inside}:{inner}")],
            tunnels: Vec::new(),
            cgroup: None,
            name: Some(self.name.clone()),
            default: None,
            allow: Vec::new(),
            sets: sets.iter().filter(|set| is_of_law(set)).cloned().collect(),
            record: None,
        };
        let loading = load::loading(&arguments)?;
        let name = loading.name().to_owned();
        let mut ran = None;
        let held = loading.hold(|_, _| {
            shell.set_default(&name).map_err(Stopped::Shell)?;
            ran = Some(run(shell));
            Ok(())
        });
        match held {
            Err(Stopped::Loading(error)) => Err(load::refused(error)),
            Err(Stopped::Shell(error)) => Err(Failure::failed(error)),
            Ok(()) => Ok(ran.expect("it ran while the law was held")),
        }
    }
}

/// A name that no other run has.
fn name(law: &str) -> String {
    let stem = std::path::Path::new(law)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy();
    let letters: String = stem
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .take(LAW_LETTERS_MAX)
        .collect();
    format!("fa_{letters}_{:x}", std::process::id() & 0xf_ffff)
}

/// Why it did not come to the command.
enum Stopped {
    Loading(LoadingError),
    Shell(Error),
}

impl From<LoadingError> for Stopped {
    fn from(error: LoadingError) -> Self {
        Self::Loading(error)
    }
}
