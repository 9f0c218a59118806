//! Signals that a law at fault raises, and the one that tells that it does not come back.
//!
//! Handlers stand from the first call of a law that a user brought, never without one. A signal that does not come from
//! a guarded call goes on to whoever handled it before, so that Rust's message about a stack overflow stays.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

use super::{CURRENT, Call};

/// Signals of the processor.
const TRAPS: [c_int; 5] = [libc::SIGILL, libc::SIGTRAP, libc::SIGFPE, libc::SIGSEGV, libc::SIGBUS];

/// The signal of the timer that counts a thread's own processor time.
const TICK: c_int = libc::SIGVTALRM;

/// Between two ticks.
const TICK_NS: i64 = 250_000_000;

/// A call in which that many ticks fall is one that does not come back: it took between one and one and a quarter
/// seconds of processor time, where the slowest law takes microseconds.
const TICKS_MAX: u32 = 5;

/// What handled each of [`TRAPS`] before.
static BEFORE: OnceLock<[libc::sigaction; TRAPS.len()]> = OnceLock::new();

/// The timer of a thread.
struct Timer(libc::timer_t);

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the timer was created by this thread and is deleted once.
        unsafe { libc::timer_delete(self.0) };
    }
}

thread_local! {
    static TIMER: Timer = new_timer();
    static IS_WATCHED: Cell<bool> = const { Cell::new(false) };
    /// The call in which the last tick fell, and how many fell in it.
    static TICKS: Cell<(u64, u32)> = const { Cell::new((0, 0)) };
    /// Number of the call that is being made.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// To be called before each guarded call.
pub(super) fn watch_this_thread() {
    CALLS.set(CALLS.get().wrapping_add(1));
    if !IS_WATCHED.get() {
        BEFORE.get_or_init(install);
        TIMER.with(|_| {});
        IS_WATCHED.set(true);
    }
}

/// Installs the handlers; gives back what stood before.
fn install() -> [libc::sigaction; TRAPS.len()] {
    let handler = |handle: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void)| {
        // SAFETY: a sigaction of zeros is one; its mask is emptied as it must be.
        let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        action.sa_sigaction = handle as *const () as usize;
        // Nothing is blocked, since the handlers leave by a jump that restores no mask.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER | libc::SA_RESTART;
        // SAFETY: the mask is ours.
        unsafe { libc::sigemptyset(&raw mut action.sa_mask) };
        action
    };
    let set = |signal: c_int, action: &libc::sigaction| {
        // SAFETY: as in handler.
        let mut before: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        // SAFETY: the handlers touch nothing but memory of the thread and what OnceLock has made.
        let status = unsafe { libc::sigaction(signal, action, &raw mut before) };
        assert_eq!(status, 0, "the signal exists and can be handled");
        before
    };
    set(TICK, &handler(on_tick));
    TRAPS.map(|signal| set(signal, &handler(on_trap)))
}

/// A timer that raises [`TICK`] in this thread for each [`TICK_NS`] of processor time that it takes.
fn new_timer() -> Timer {
    // SAFETY: a sigevent and a time of zeros are ones; the timer is the thread's own.
    unsafe {
        let mut event: libc::sigevent = MaybeUninit::zeroed().assume_init();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = TICK;
        event.sigev_notify_thread_id = libc::gettid();
        let mut timer: libc::timer_t = ptr::null_mut();
        let status = libc::timer_create(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut event, &raw mut timer);
        assert_eq!(status, 0, "a thread can have a timer");
        let period = libc::timespec {
            tv_sec: 0,
            tv_nsec: TICK_NS,
        };
        let setting = libc::itimerspec {
            it_interval: period,
            it_value: period,
        };
        let status = libc::timer_settime(timer, 0, &raw const setting, ptr::null_mut());
        assert_eq!(status, 0, "a timer can be set");
        Timer(timer)
    }
}

extern "C" fn on_tick(signal: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    let call = CURRENT.get();
    if call.is_null() {
        return;
    }
    let number = CALLS.get();
    let (last, ticks) = TICKS.get();
    let ticks = if last == number { ticks + 1 } else { 1 };
    TICKS.set((number, ticks));
    if ticks >= TICKS_MAX {
        end(call, signal, 0);
    }
}

extern "C" fn on_trap(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let call = CURRENT.get();
    if !call.is_null() {
        // SAFETY: the kernel passes the info of the signal.
        let address = unsafe { (*info).si_addr() } as u64;
        end(call, signal, address);
    }
    hand_on(signal, info, context);
}

/// Leaves the call for where its wrapper began it.
fn end(call: *mut Call, signal: c_int, address: u64) {
    CURRENT.set(ptr::null_mut());
    // SAFETY: the wrapper of the call is still on this thread's stack, since it clears CURRENT before it returns; what
    // is jumped over is the law, which has no destructors, and handlers that hold nothing.
    unsafe {
        if (*call).watched == 0 {
            return;
        }
        (*call).signal = signal;
        (*call).address = address;
        ((*call).jump)(call);
    }
}

/// Lets whoever handled the signal before handle it.
fn hand_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let place = TRAPS.iter().position(|trap| *trap == signal);
    let Some(before) = place.and_then(|place| BEFORE.get().map(|before| before[place])) else {
        return;
    };
    // SAFETY: the handler is called as the kernel would have called it. Without one, the default comes back and the
    // instruction that raised the signal raises it again.
    unsafe {
        match before.sa_sigaction {
            libc::SIG_DFL | libc::SIG_IGN => {
                libc::sigaction(signal, &raw const before, ptr::null_mut());
            }
            handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
                let handle: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = std::mem::transmute(handler);
                handle(signal, info, context);
            }
            handler => {
                let handle: extern "C" fn(c_int) = std::mem::transmute(handler);
                handle(signal);
            }
        }
    }
}

/// What ended a call, in words for the author of a law.
pub(super) fn why(call: &Call) -> String {
    if !call.undefined.is_null() {
        // SAFETY: literals of the law's own translation unit.
        let (what, file) = unsafe { (CStr::from_ptr(call.undefined), CStr::from_ptr(call.file)) };
        let (what, file) = (what.to_string_lossy(), file.to_string_lossy());
        return format!("{what}, at {file}:{}:{}", call.line, call.column);
    }
    match call.signal {
        TICK => "it did not come back within a second of processor time: a loop without end".to_owned(),
        libc::SIGFPE => "a division by zero or one that overflows".to_owned(),
        libc::SIGSEGV | libc::SIGBUS => format!(
            "an access to memory at {:#x}, which is not the law's, or a recursion without end",
            call.address
        ),
        _ => "a trap: undefined behaviour, such as an overflow".to_owned(),
    }
}
