//! Flows of chance: one group or several, of different laws, applications and ways.

use fadelab_laws::{Sender, senders};

use super::draw::{Draw, Text};
use super::network::{Network, Shape};
use super::scenario::{Frame, PACKETS_MAX};

/// The groups, before it is known how long the run is.
pub struct Plan {
    groups: Vec<Group>,
}

struct Group {
    count: u64,
    direction: &'static str,
    /// Its own law, other than that of the run.
    law: Option<&'static str>,
    app: &'static str,
}

impl Plan {
    pub fn of(draw: &mut Draw) -> Self {
        let groups = if draw.one_in(2) { 1 } else { 2 + draw.below(3) };
        let many = groups > 1;
        let group = |_| Group {
            count: if draw.one_in(12) {
                draw.magnitude(1, 100)
            } else {
                draw.magnitude(1, 8)
            },
            direction: draw.pick(&["forward", "forward", "backward", "both"]),
            law: (many && draw.one_in(2)).then(|| law(draw)),
            app: draw.pick(&[
                "greedy", "greedy", "greedy", "transfer", "transfer", "cbr", "sessions", "sessions", "http", "http",
            ]),
        };
        Self {
            groups: (0..groups).map(group).collect(),
        }
    }

    /// All of them, at most: those of a set on each hop of a parking lot are as many more.
    pub fn flows(&self) -> u64 {
        self.groups.iter().map(|group| 2 * group.count).sum()
    }

    /// Whether some law expects its router on the path. Without it nothing may bound its window.
    pub fn is_guided(&self, sender: &Sender) -> bool {
        let own = self.groups.iter().filter_map(|group| fadelab_laws::sender(group.law?));
        sender.router().is_some() || own.into_iter().any(|law| law.router().is_some())
    }

    pub fn write(&self, draw: &mut Draw, text: &mut Text, law: &str, network: &Network, frame: &Frame) {
        text.table("flow");
        text.text("law", law);
        if let [group] = &self.groups[..] {
            group.write(draw, text, network, frame);
            return;
        }
        for (number, group) in self.groups.iter().enumerate() {
            text.table(&format!("flow.g{number}"));
            if let Some(law) = group.law {
                text.text("law", law);
                if law != "udp" && draw.one_in(4) {
                    text.bare("shadow", "[\"westwood\", \"new_jersey\", \"veno\"]");
                }
            }
            group.write(draw, text, network, frame);
        }
    }
}

/// Constant bit rates that a law controls are as good as those that none does.
fn law(draw: &mut Draw) -> &'static str {
    let laws: Vec<&str> = senders().iter().map(Sender::name).collect();
    draw.pick(&laws)
}

impl Group {
    fn write(&self, draw: &mut Draw, text: &mut Text, network: &Network, frame: &Frame) {
        text.text("app", self.app);
        text.bare("count", self.count);
        text.text("direction", self.direction);
        way(draw, text, network);
        if draw.one_in(2) {
            text.text("start", span(draw, frame.duration_ns / 3));
        }
        match self.app {
            "transfer" => text.text("size", format_args!("{} B", draw.magnitude(1, 1_000_000))),
            "cbr" => self.write_cbr(draw, text, network, frame),
            "sessions" => {
                text.text("on", span(draw, frame.duration_ns / 2));
                write_pause(draw, text, frame);
            }
            "http" => {
                text.text("size", format_args!("{} B", draw.magnitude(1, 1_000_000)));
                write_pause(draw, text, frame);
            }
            _ => {}
        }
    }

    /// Below the rate of the fastest link or above it, as long as there are not too many packets.
    fn write_cbr(&self, draw: &mut Draw, text: &mut Text, network: &Network, frame: &Frame) {
        let bits_ns = u128::from(PACKETS_MAX / self.count.max(1) * frame.packet_bytes * 8) * 1_000_000_000;
        let most_bps = u64::try_from(bits_ns / u128::from(frame.duration_ns)).unwrap_or(u64::MAX);
        let rate_bps_max = (2 * network.rate_bps_max).min(most_bps).clamp(1, 10_000_000_000_000);
        text.rate("rate", draw.magnitude(rate_bps_max / 100_000, rate_bps_max));
        if draw.one_in(3) {
            text.time("stop", draw.between(1, frame.duration_ns));
        }
    }
}

fn write_pause(draw: &mut Draw, text: &mut Text, frame: &Frame) {
    if draw.one_in(3) {
        text.bare("off", false);
    } else {
        text.text("off", span(draw, frame.duration_ns / 3));
    }
}

/// A time that may be random, of about `most_ns` at most and not so short that there would be ever so many of them.
fn span(draw: &mut Draw, most_ns: u64) -> String {
    let (first_ns, second_ns) = (
        draw.magnitude(most_ns / 200, most_ns.max(2)),
        draw.magnitude(most_ns / 200, most_ns.max(2)),
    );
    match draw.below(3) {
        0 => format!("{first_ns} ns"),
        1 => format!("uniform {first_ns} ns..{} ns", first_ns + second_ns),
        _ => format!("exponential {first_ns} ns"),
    }
}

/// Where it goes from and to.
fn way(draw: &mut Draw, text: &mut Text, network: &Network) {
    match &network.shape {
        Shape::Dumbbell { .. } => {}
        Shape::ParkingLot { rates_bps, .. } => {
            let first = 1 + draw.below(rates_bps.len());
            let last = first + draw.below(rates_bps.len() + 1 - first);
            let path = match draw.below(3) {
                0 => "all".to_owned(),
                1 => "each".to_owned(),
                _ => format!("{first}..{last}"),
            };
            text.text("path", path);
        }
        Shape::Graph { nodes, .. } => {
            let from = draw.below(*nodes);
            let to = (from + 1 + draw.below(nodes - 1)) % nodes;
            text.text("from", format_args!("n{from}"));
            text.text("to", format_args!("n{to}"));
            let between: Vec<usize> = (0..*nodes).filter(|node| *node != from && *node != to).collect();
            if !between.is_empty() && draw.one_in(4) {
                text.bare("via", format_args!("[\"n{}\"]", draw.pick(&between)));
            }
        }
    }
}
