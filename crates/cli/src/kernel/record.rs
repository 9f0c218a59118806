//! `--record`: the calls of a law into a file until Ctrl-C.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fadelab_kernel::Recorder;
use fadelab_kernel::object::LoadError;
use fadelab_kernel::sender::{Sender, Unit};
use fadelab_lab::Failure;
use fadelab_laws::recorded::RecordedHead;

use crate::{interrupt, output};

/// Between two looks at whether to end.
const LOOK: Duration = Duration::from_millis(100);

/// A file that calls are written into.
pub struct Recording<'a> {
    recorder: Recorder,
    file: &'a Path,
}

impl<'a> Recording<'a> {
    /// Begins a file with what `record` makes of it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn begin(
        file: &'a Path,
        record: impl FnOnce(Box<dyn Write>) -> Result<Recorder, LoadError>,
    ) -> Result<Self, Failure> {
        let opened = File::create(file).map_err(|error| failed(file, &error))?;
        let recorder = record(Box::new(BufWriter::new(opened))).map_err(|error| failed(file, &error))?;
        Ok(Self { recorder, file })
    }

    /// Waits up to `timeout` for calls and writes what came.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn poll(&mut self, timeout: Duration) -> Result<(), Failure> {
        self.recorder
            .poll(timeout)
            .map(|_| ())
            .map_err(|error| failed(self.file, &error))
    }

    /// Ends the file and says what is in it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn end(self) -> Result<(), Failure> {
        let (calls_n, lost_n) = self.recorder.finish().map_err(|error| failed(self.file, &error))?;
        let lost = if lost_n == 0 {
            String::new()
        } else {
            format!("; {lost_n} more found no room")
        };
        let shown = self.file.display();
        output::print(&format!(
            "{calls_n} calls in {shown}{lost}\n`fadelab replay {shown}` makes them again\n"
        ))
    }
}

fn failed(file: &Path, error: &dyn std::error::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", file.display()))
}

/// Release of the kernel that runs.
pub fn release() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    text.trim().to_owned()
}

/// Records a sender's law until somebody presses Ctrl-C or asks to end.
///
/// # Errors
/// When the file cannot be written.
pub fn record(sender: &Sender, unit: &Unit<'_>, file: &Path) -> Result<(), Failure> {
    let head = RecordedHead::new(unit.law, &unit.params, release());
    let mut recording = Recording::begin(file, |out| sender.recorder(&head, out))?;
    output::tell(format!("{} is loaded and recorded until Ctrl-C", unit.name));
    let pressed = interrupt::flag();
    while !pressed.load(Ordering::Relaxed) {
        recording.poll(LOOK)?;
    }
    recording.end()
}
