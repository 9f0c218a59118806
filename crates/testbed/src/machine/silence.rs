//! Whether a guest that says nothing hangs or only waits for a processor of a busy machine.

use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

/// A guest that has said nothing for so many seconds of its processor hangs. It speaks at each virtual second, which
/// takes a few seconds at most, unless the machine is very slow: then `FADELAB_GUEST_SILENCE_S` says how long to wait.
const S_MAX: u64 = 120;

/// A process that used less than this part of its time stands still.
const STANDS_STILL: u32 = 100;

/// How long a guest has been silent. What counts is the processor's time that it used: beside other guests it may have
/// a tenth of one. A guest that uses none stands still, and is judged by the wall clock.
pub struct Silence {
    clock: Option<ClockId>,
    most: Duration,
    /// The processor's time when it was last heard.
    heard: Duration,
    /// When it was last seen to use the processor, and what it had used by then.
    seen: (Instant, Duration),
}

impl Silence {
    /// Of a process that is heard now.
    pub fn of(process: u32) -> Self {
        let given = std::env::var("FADELAB_GUEST_SILENCE_S").ok();
        let clock = clock_getcpuclockid(Pid::from_raw(process as i32)).ok();
        let used = used(clock);
        Self {
            clock,
            most: Duration::from_secs(given.and_then(|text| text.parse().ok()).unwrap_or(S_MAX)),
            heard: used,
            seen: (Instant::now(), used),
        }
    }

    /// It is heard now.
    pub fn end(&mut self) {
        self.heard = used(self.clock);
        self.seen = (Instant::now(), self.heard);
    }

    /// For how many seconds it has been silent, if that is too long.
    pub fn too_long_s(&mut self) -> Option<u64> {
        self.is_too_long(Instant::now(), used(self.clock))
            .then_some(self.most.as_secs())
    }

    fn is_too_long(&mut self, now: Instant, used: Duration) -> bool {
        let (seen, used_then) = self.seen;
        if now.duration_since(seen) >= self.most {
            if used.saturating_sub(used_then) < self.most / STANDS_STILL {
                return true;
            }
            self.seen = (now, used);
        }
        used.saturating_sub(self.heard) >= self.most
    }
}

/// The processor's time of a process; that of one which has ended stands still.
fn used(clock: Option<ClockId>) -> Duration {
    clock
        .and_then(|clock| clock_gettime(clock).ok())
        .map_or(Duration::ZERO, Duration::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `too_long_s` would say second by second of a process with these shares of a processor, until it does.
    fn seconds_until_too_long(share: impl Fn(u64) -> f64) -> Option<u64> {
        let mut silence = Silence::of(std::process::id());
        let (begin, mut used) = (silence.seen.0, silence.heard);
        (1..=100_000).find(|&second| {
            used += Duration::from_secs_f64(share(second));
            silence.is_too_long(begin + Duration::from_secs(second), used)
        })
    }

    #[test]
    fn a_busy_machine_is_no_hang() {
        // Goal: a guest with a whole processor may be silent for 120 s, one with a tenth for ten times as long, one
        // that stands still for 120 s, and one that stops using its processor for no more than twice as long from then
        // on.
        assert_eq!(seconds_until_too_long(|_| 1.0), Some(120));
        assert!((1199..=1201).contains(&seconds_until_too_long(|_| 0.1).unwrap()));
        assert_eq!(seconds_until_too_long(|_| 0.0), Some(120));
        let stops = seconds_until_too_long(|second| if second <= 200 { 0.1 } else { 0.0 }).unwrap();
        assert!((320..=440).contains(&stops), "{stops}");
    }

    #[test]
    fn a_guest_that_is_heard_begins_anew() {
        // Goal: what was used before the last word does not count.
        let mut silence = Silence::of(std::process::id());
        let used = silence.heard + Duration::from_secs(119);
        assert!(!silence.is_too_long(silence.seen.0 + Duration::from_secs(119), used));
        (silence.heard, silence.seen.1) = (used, used);
        assert!(!silence.is_too_long(silence.seen.0 + Duration::from_secs(121), used + Duration::from_secs(2)));
    }
}
