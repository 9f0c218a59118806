//! `fadelab kernel load --record`: the calls of a law into a file until Ctrl-C.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fadelab_kernel::sender::{Recorder, Sender, Unit};
use fadelab_lab::Failure;
use fadelab_laws::recorded::RecordedHead;

use crate::{interrupt, output};

/// Between two looks at whether to end.
const LOOK: Duration = Duration::from_millis(100);

/// Records until somebody presses Ctrl-C or asks to end.
///
/// # Errors
/// When the file cannot be written.
pub fn record(sender: &Sender, unit: &Unit<'_>, file: &Path) -> Result<(), Failure> {
    let opened = File::create(file).map_err(|error| Failure::Failed(format!("{}: {error}", file.display())))?;
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let head = RecordedHead::new(unit.law, &unit.params, kernel.trim().to_owned());
    let out: Box<dyn Write> = Box::new(BufWriter::new(opened));
    let failed = |error| Failure::Failed(format!("{}: {error}", file.display()));
    let mut recorder = Recorder::new(sender, &head, out).map_err(failed)?;
    output::tell(format!("{} is loaded and recorded until Ctrl-C", unit.name));
    let pressed = interrupt::flag();
    while !pressed.load(Ordering::Relaxed) {
        recorder.poll(LOOK).map_err(failed)?;
    }
    let (calls_n, lost_n) = recorder.finish().map_err(failed)?;
    let lost = if lost_n == 0 {
        String::new()
    } else {
        format!("; {lost_n} more found no room")
    };
    let shown = file.display();
    output::print(&format!(
        "{calls_n} calls in {shown}{lost}\n`fadelab replay {shown}` makes them again\n"
    ))
}
