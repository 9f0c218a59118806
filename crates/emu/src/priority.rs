//! A real-time priority, where we may have one and do not need all of a processor.
#![allow(unsafe_code)]

use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

/// Linux stops threads with such a priority for 50 ms of each second that they fill.
const SHARE_MAX: f64 = 0.9;

/// The share of a processor is looked at over so long.
const LOOK: Duration = Duration::from_secs(1);

/// Of this thread.
#[derive(Debug)]
pub struct Priority {
    has: bool,
    since: Instant,
    used: Duration,
}

impl Priority {
    /// Takes it, where that is allowed.
    pub fn take() -> Self {
        Self {
            has: schedule(libc::SCHED_FIFO, 1),
            since: Instant::now(),
            used: used(),
        }
    }

    /// To be called now and then: lays it down where the thread fills its processor.
    pub fn look(&mut self) {
        let passed = self.since.elapsed();
        if !self.has || passed < LOOK {
            return;
        }
        let used = used();
        let share = used.saturating_sub(self.used).as_secs_f64() / passed.as_secs_f64();
        if share > SHARE_MAX {
            self.has = !schedule(libc::SCHED_OTHER, 0);
        }
        (self.since, self.used) = (Instant::now(), used);
    }

    /// Ends it. Returns whether there was one to the end.
    pub fn give_back(self) -> bool {
        if self.has {
            schedule(libc::SCHED_OTHER, 0);
        }
        self.has
    }
}

/// Processor time of this thread.
pub fn used() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("the kernel counts it");
    let [user, system] = [usage.user_time(), usage.system_time()];
    let seconds = user.tv_sec() + system.tv_sec();
    let micros = user.tv_usec() + system.tv_usec();
    Duration::from_micros((seconds * 1_000_000 + micros) as u64)
}

fn schedule(policy: libc::c_int, priority: libc::c_int) -> bool {
    let parameter = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: the struct is read, and zero names this thread.
    unsafe { libc::sched_setscheduler(0, policy | libc::SCHED_RESET_ON_FORK, &raw const parameter) == 0 }
}
