//! Ctrl-C, or a request to terminate: a flag that whoever runs something long looks at.

use std::process;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit status of a program that a person stopped: 128 + SIGINT.
const INTERRUPTED: i32 = 130;

static PRESSED: AtomicBool = AtomicBool::new(false);

/// The flag, which Ctrl-C sets from now on; a second one ends the program at once. May be asked for more than once.
///
/// Where no handler can be set Ctrl-C still ends the program, and no partial result has a final name: nothing is lost.
pub fn flag() -> &'static AtomicBool {
    // Only the first call sets the handler; for the others it stands already.
    let _ = ctrlc::set_handler(|| press(&PRESSED, |status| process::exit(status)));
    &PRESSED
}

/// Whoever presses again does not want to wait: what runs may be where nobody looks at the flag.
fn press(pressed: &AtomicBool, end: impl FnOnce(i32)) {
    if pressed.swap(true, Ordering::Relaxed) {
        end(INTERRUPTED);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn the_second_press_ends_the_program() {
        // Goal: the first Ctrl-C only asks, the second ends with the status of an interrupt.
        let (pressed, ended) = (AtomicBool::new(false), Cell::new(None));
        press(&pressed, |status| ended.set(Some(status)));
        assert!(pressed.load(Ordering::Relaxed));
        assert_eq!(ended.get(), None);
        press(&pressed, |status| ended.set(Some(status)));
        assert_eq!(ended.get(), Some(130));
    }
}
