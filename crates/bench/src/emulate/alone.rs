//! What waiting takes on this machine: a timer that rings as often as a link delivers, with nothing to do.

use std::time::{Duration, Instant};

use fadelab_emu::Priority;
use nix::sys::resource::{UsageWho, getrusage};

/// So long it rings.
const LASTS: Duration = Duration::from_secs(2);

/// How late it rings, 99 of 100 times, in us, and the share of a processor that it takes. It has the priority that the
/// emulator has.
pub fn timer(per_s: f64) -> Result<(f64, f64), String> {
    let gap = Duration::from_secs_f64(1.0 / per_s);
    let rings = (LASTS.as_secs_f64() * per_s) as u32;
    let ring = move || {
        let priority = Priority::take();
        let (begin, used_before) = (Instant::now(), used());
        let mut late_us: Vec<f64> = (1..=rings)
            .map(|number| {
                let due = begin + gap * number;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                due.elapsed().as_secs_f64() * 1e6
            })
            .collect();
        let share = used().saturating_sub(used_before).as_secs_f64() / begin.elapsed().as_secs_f64();
        priority.give_back();
        late_us.sort_by(f64::total_cmp);
        (late_us[late_us.len() * 99 / 100], share)
    };
    let thread = std::thread::spawn(ring);
    thread.join().map_err(|_| "the timer's thread broke".to_owned())
}

/// Processor time of this thread.
fn used() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).expect("the kernel counts it");
    let micros = |time: nix::sys::time::TimeVal| (time.tv_sec() * 1_000_000 + time.tv_usec()) as u64;
    Duration::from_micros(micros(usage.user_time()) + micros(usage.system_time()))
}
