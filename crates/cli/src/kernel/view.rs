//! What a router does, second by second: redrawn in place on a terminal, else one line each.

use std::fmt::Write;
use std::time::Duration;

use console::Term;
use fadelab_kernel::router::{Counters, EdgeCounters, Router};
use fadelab_lab::Failure;

use crate::output;

/// Cells of the bar of the load.
const BAR_CELLS: usize = 30;
/// The load at the right end of the bar.
const BAR_LOAD: f64 = 1.5;

/// Names of the ECN field's values as VCP's codes (One more bit is enough, section 3).
const CODES: [&str; 4] = ["", "low", "high", "overload"];

/// What a router and its surroundings have counted so far.
#[derive(Clone, Copy)]
pub struct Seen {
    pub router: Counters,
    /// Dropped by the queueing discipline behind the law.
    pub queue_dropped: u64,
    pub edges: EdgeCounters,
}

impl Seen {
    /// Of a router now.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn of(router: &mut Router) -> Result<Self, Failure> {
        Ok(Self {
            router: router.counters().map_err(Failure::failed)?,
            queue_dropped: router.queue_dropped(),
            edges: router.edge_counters(),
        })
    }
}

/// The view of one router.
pub struct View {
    title: String,
    edges: usize,
    term: Term,
    lines: usize,
    at: Duration,
    before: Counters,
}

impl View {
    /// Of a law at a device, with so many devices at the edge.
    pub fn new(dev: &str, law: &str, edges: usize) -> Self {
        Self {
            title: format!("{law} at {dev}"),
            edges,
            term: Term::stdout(),
            lines: 0,
            at: Duration::ZERO,
            before: Counters::default(),
        }
    }

    /// Shows the counters at a time since the start.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn show(&mut self, at: Duration, now: &Seen) -> Result<(), Failure> {
        let rate = self.rate(at, &now.router);
        let done = if self.term.is_term() {
            let text = self.block(rate, now);
            let cleared = self.term.clear_last_lines(self.lines);
            self.lines = text.lines().count();
            cleared
                .and_then(|()| self.term.write_str(&text))
                .map_err(|error| output::not_written(&error))
        } else {
            let head = if self.lines == 0 { head() } else { String::new() };
            self.lines = 1;
            output::print(&format!("{head}{}", line(at, rate, now)))
        };
        (self.at, self.before) = (at, now.router);
        done
    }

    /// Says how it was in all.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn end(&mut self, at: Duration, now: &Seen) -> Result<(), Failure> {
        (self.at, self.before) = (Duration::ZERO, Counters::default());
        self.show(at, now)
    }

    /// Bits per second on the air since the last time.
    fn rate(&self, at: Duration, now: &Counters) -> f64 {
        let seconds = at.saturating_sub(self.at).as_secs_f64().max(0.001);
        now.air_bytes.saturating_sub(self.before.air_bytes) as f64 * 8.0 / seconds
    }

    fn block(&self, rate: f64, seen: &Seen) -> String {
        let (now, edges) = (&seen.router, &seen.edges);
        let load = load(rate, now);
        let filled = ((load / BAR_LOAD).clamp(0.0, 1.0) * BAR_CELLS as f64).round() as usize;
        let bar = format!("{}{}", "━".repeat(filled), "─".repeat(BAR_CELLS - filled));
        let bar = match load {
            _ if load >= 1.0 => console::style(bar).red(),
            _ if load >= 0.8 => console::style(bar).yellow(),
            _ => console::style(bar).green(),
        };
        let code = CODES[now.code as usize % CODES.len()];
        let mut text = format!("{}, Ctrl-C ends\n", console::style(&self.title).bold());
        let _ = writeln!(text, "  load      {load:5.2} {bar} {code}");
        let capacity = now.capacity_bytes_per_s as f64 * 8.0;
        let _ = writeln!(text, "  arriving  {} of {}", bits(rate), bits(capacity));
        let _ = writeln!(
            text,
            "  queue     {} in {} pkt, at most {} so far, dropped {}",
            bytes(now.queue_bytes),
            now.queue_pkts,
            bytes(now.queue_bytes_max),
            seen.queue_dropped
        );
        let _ = writeln!(
            text,
            "  packets   {}, of the law's wire {}",
            now.packets, now.own_packets
        );
        let [none, low, high, over] = now.left;
        let _ = writeln!(text, "  left as   00 {none}, 01 {low}, 10 {high}, 11 {over}");
        let marked: u64 = now.marked.iter().sum();
        let _ = writeln!(
            text,
            "  law       marked {marked}, rewrote {}, dropped {}",
            now.rewritten, now.dropped
        );
        if self.edges > 0 {
            let _ = writeln!(
                text,
                "  edges     {} packets left the domain, {} marks cleared, {} marked of nobody knows whom",
                edges.own_packets, edges.cleared, edges.unknown
            );
        }
        text
    }
}

/// The law's load factor, or where it has none what arrives over what the link carries.
fn load(rate: f64, now: &Counters) -> f64 {
    let capacity = (now.capacity_bytes_per_s as f64 * 8.0).max(1.0);
    now.load().unwrap_or(rate / capacity)
}

/// Names of the columns where there is no terminal, as wide as these.
fn head() -> String {
    let wide =
        ["packets", "own", "marked", "rewritten", "dropped", "cleared", "unknown"].map(|name| format!(" {name:>10}"));
    let [time, load, code, rate] = ["time_s", "load", "code", "rate_Mbps"];
    let (bytes, pkts) = ("queue_bytes", "queue_pkts");
    format!(
        "{time:>8} {load:>6} {code:8} {rate:>10} {bytes:>11} {pkts:>10}{}\n",
        wide.concat()
    )
}

fn line(at: Duration, rate: f64, seen: &Seen) -> String {
    let (now, edges) = (&seen.router, &seen.edges);
    let marked: u64 = now.marked.iter().sum();
    let code = Some(CODES[now.code as usize % CODES.len()]).filter(|code| !code.is_empty());
    format!(
        "{:8.1} {:6.3} {:8} {:10.3} {:11} {:10} {:10} {:10} {:10} {:10} {:10} {:10} {:10}\n",
        at.as_secs_f64(),
        load(rate, now),
        code.unwrap_or("-"),
        rate / 1e6,
        now.queue_bytes,
        now.queue_pkts,
        now.packets,
        now.own_packets,
        marked,
        now.rewritten,
        now.dropped + seen.queue_dropped,
        edges.cleared,
        edges.unknown
    )
}

pub(super) fn bits(per_s: f64) -> String {
    match per_s {
        _ if per_s >= 1e9 => format!("{:.2} Gbit/s", per_s / 1e9),
        _ if per_s >= 1e6 => format!("{:.2} Mbit/s", per_s / 1e6),
        _ => format!("{:.1} kbit/s", per_s / 1e3),
    }
}

pub(super) fn bytes(bytes: u64) -> String {
    if bytes >= 10_000 {
        format!("{:.1} kB", bytes as f64 / 1e3)
    } else {
        format!("{bytes} B")
    }
}
