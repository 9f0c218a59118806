//! Programs are loaded although signals interrupt the kernel's verifier for a while.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use common::possible;
use fadelab_kernel::object::{LoadError, load};
use fadelab_kernel::router::edge;
use nix::sys::pthread::{Pthread, pthread_kill, pthread_self};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

extern "C" fn nothing(_: i32) {}

/// What a program becomes under signals that come for so long, far more often than one can be verified.
fn under_signals(bytes: &[u8], lasting: Duration) -> Result<u32, LoadError> {
    let action = SigAction::new(SigHandler::Handler(nothing), SaFlags::SA_RESTART, SigSet::empty());
    #[expect(unsafe_code, reason = "a handler that does nothing is safe at any moment")]
    let before = unsafe { sigaction(Signal::SIGUSR2, &action) };
    before.expect("a signal for users");
    let (loading, has_ended): (Pthread, AtomicBool) = (pthread_self(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            let steps_n = lasting.as_micros() / 200;
            for _ in (0..steps_n).take_while(|_| !has_ended.load(Ordering::Relaxed)) {
                pthread_kill(loading, Signal::SIGUSR2).expect("the thread is there");
                thread::sleep(Duration::from_micros(200));
            }
        });
        let mut prepared_n = 0;
        let loaded = load(bytes, |_| {
            prepared_n += 1;
            Ok(())
        });
        has_ended.store(true, Ordering::Relaxed);
        loaded.map(|_| prepared_n)
    })
}

#[test]
fn a_verification_that_is_interrupted_is_begun_anew() {
    // Goal: a signal that is pending while the kernel verifies says nothing about the program: it is loaded as soon as
    // signals leave time for it, and not called refused.
    if !possible(&["clang"]) {
        return;
    }
    let bytes = edge().expect("it compiles");
    let attempts_n = under_signals(&bytes, Duration::from_secs(1)).expect("it loads");
    assert!(attempts_n > 1, "nothing was interrupted");
}

#[test]
fn signals_without_end_are_named() {
    // Goal: who sends signals for as long as we try learns that it is them, and not his kernel or the law.
    if !possible(&["clang"]) {
        return;
    }
    let error = under_signals(&edge().expect("it compiles"), Duration::from_secs(120)).expect_err("no time for it");
    assert!(
        matches!(&error, LoadError::Interrupted { program } if program.starts_with("bleach_")),
        "{error}"
    );
    assert!(error.to_string().contains("signals reach this process"), "{error}");
}
