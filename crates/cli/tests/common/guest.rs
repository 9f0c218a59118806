//! Whether guests can run on this machine.

use std::sync::{Mutex, PoisonError};

use super::{Scratch, stderr};

/// Whether guests of a kernel can run here; says why not, and fails where they must.
pub fn possible(kernel: &str) -> bool {
    // One test makes the image, the others find it.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let made = Scratch::new().fadelab(&["testbed", "image", "--kernel", kernel]);
    if made.status.success() {
        return true;
    }
    let text = stderr(&made);
    assert!(
        std::env::var("FADELAB_REQUIRE_GUEST").as_deref() != Ok("1"),
        "a guest is required here, but\n{text}"
    );
    println!(
        "skipped: a guest with Linux {kernel}: {}",
        text.lines().last().unwrap_or("no reason")
    );
    false
}
