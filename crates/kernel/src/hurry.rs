//! A higher priority for what must not wait.
#![allow(unsafe_code)]

/// Above programs that have the usual priority (0), below those that must not wait (-20).
const HURRIED: libc::c_int = -10;

/// A higher priority of this thread, and of what it starts, for as long as it lives: where a law or a router was
/// killed, packets have none until the next is there, and a busy machine lets whoever loads it wait.
#[derive(Debug)]
pub struct Hurry(libc::c_int);

impl Hurry {
    /// Takes it, where that is allowed.
    pub fn begin() -> Self {
        // SAFETY: both take numbers alone; zero names this thread.
        let before = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        set(HURRIED.min(before));
        Self(before)
    }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        set(self.0);
    }
}

fn set(priority: libc::c_int) {
    // SAFETY: as above.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, priority) };
}
