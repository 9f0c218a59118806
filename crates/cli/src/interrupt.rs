//! Ctrl-C, or a request to terminate: a flag that whoever runs something long looks at.

use std::sync::atomic::{AtomicBool, Ordering};

static PRESSED: AtomicBool = AtomicBool::new(false);

/// The flag, which Ctrl-C sets from now on. May be asked for more than once.
///
/// Where no handler can be set Ctrl-C still ends the program, and no partial result has a final name: nothing is lost.
pub fn flag() -> &'static AtomicBool {
    // Only the first call sets the handler; for the others it stands already.
    let _ = ctrlc::set_handler(|| PRESSED.store(true, Ordering::Relaxed));
    &PRESSED
}
