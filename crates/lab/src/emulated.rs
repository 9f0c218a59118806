//! Links that are emulated in real time: each way of one is a link of a scenario.

use std::path::Path;

use fadelab_emu::LaneSpec;
use fadelab_scenario::{Options, plan::Plan};

use crate::Failure;

/// A scenario with one link, of which a way is made where no scenario is given.
const BASE: &str = r#"
title = "An emulated link"

[run]
duration = "1 s"

[topology]
preset = "dumbbell"

[topology.bottleneck]

[topology.access]
rate = "100 Gbit/s"
delay = "0 s"

[flow]
law = "reno+droptail"
"#;

/// The link's keys may be given as those of a table `link`.
const LINK_KEYS: [&str; 2] = ["link.", "topology.bottleneck."];

const BUFFER_KEY: &str = "topology.bottleneck.buffer";

/// Full packets for which a link without a buffer of its own has room.
pub const BUFFER_PKTS_MIN: u32 = 100;

/// A way of keys alone, each `key=value`, later ones before earlier ones. A link so short that a bandwidth-delay
/// product holds hardly a packet has room for [`BUFFER_PKTS_MIN`] unless a key says otherwise.
///
/// # Errors
/// Keys that make no link.
pub fn of_keys(name: &str, sets: &[String], seed: u64, packet_bytes: u16) -> Result<LaneSpec, Failure> {
    let [short, long] = LINK_KEYS;
    let spelt = |set: &String| {
        let rest = set.strip_prefix(short);
        rest.map_or_else(|| set.clone(), |rest| format!("{long}{rest}"))
    };
    let own = [
        format!("transport.packet={packet_bytes} B"),
        format!("run.seeds={seed}"),
    ];
    let mut sets: Vec<String> = own.into_iter().chain(sets.iter().map(spelt)).collect();
    let is_given = sets.iter().any(|set| set.starts_with(BUFFER_KEY));
    let way = of_sets(name, &sets, packet_bytes)?;
    // A bandwidth-delay product is counted in packets.
    let has_room = way.link.buffer.packets >= Some(BUFFER_PKTS_MIN);
    if is_given || has_room {
        return Ok(way);
    }
    sets.push(format!("{BUFFER_KEY}={BUFFER_PKTS_MIN} pkt"));
    of_sets(name, &sets, packet_bytes)
}

fn of_sets(name: &str, sets: &[String], packet_bytes: u16) -> Result<LaneSpec, Failure> {
    let options = Options {
        sets: sets.to_vec(),
        ..Options::default()
    };
    let plan = fadelab_scenario::parse(BASE.as_bytes(), name, Path::new(""), &options)?;
    let mut way = of_plan(&plan, None, packet_bytes)?;
    way.link.name = name.into();
    Ok(way)
}

/// A way that is a link of a plan; without a name the one that results show.
///
/// # Errors
/// No such link, or a plan of several runs, which are several links.
pub fn of_plan(plan: &Plan, link: Option<&str>, packet_bytes: u16) -> Result<LaneSpec, Failure> {
    let [run] = plan.runs.as_slice() else {
        return Err(Failure::Invalid(format!(
            "the scenario has {} runs, over {}; an emulated link is of one: choose with --set, for example --set \
             run.seeds=1",
            plan.runs.len(),
            plan.sweep_keys.join(", ")
        )));
    };
    let links = &run.spec.network.links;
    let found = match link {
        Some(link) => links.iter().find(|edge| &*edge.name == link),
        None => links.iter().find(|edge| edge.shown),
    };
    let names = || {
        links
            .iter()
            .map(|edge| edge.name.to_string())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let found = found.ok_or_else(|| {
        let given = link.unwrap_or("a link that results show");
        Failure::Invalid(format!("{given}: there is no such link; allowed are {}", names()))
    })?;
    Ok(LaneSpec {
        link: found.link.clone(),
        seed: run.seed,
        packet_bytes,
        sizes: None,
    })
}

/// How a router's law is written as the law of a run: behind a sender that brings it along, or behind any.
pub fn run_law(router: &str) -> String {
    let brings_it = fadelab_laws::sender(router).is_some_and(|sender| sender.router() == Some(router));
    if brings_it {
        router.to_owned()
    } else {
        format!("reno+{router}")
    }
}

#[cfg(test)]
mod tests {
    use fadelab_path::spec::LinkSpec;

    use super::*;

    fn way(sets: &[&str]) -> LinkSpec {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        of_keys("up", &sets, 7, 1500).expect("a link").link
    }

    #[test]
    fn a_short_link_has_room_for_a_hundred_packets() {
        // Goal: without a key for it a buffer is a bandwidth-delay product of both ways, at least 100 packets; a key
        // counts whatever it says.
        let link = ["link.rate=12 Mbit/s", "link.delay=0 s"];
        assert_eq!(way(&link).buffer.packets, Some(100));
        assert_eq!(
            way(&["link.rate=12 Mbit/s", "link.delay=200 ms"]).buffer.packets,
            Some(400)
        );
        assert_eq!(
            way(&[&link[..], &["link.buffer=3 pkt"]].concat()).buffer.packets,
            Some(3)
        );
    }

    #[test]
    fn a_way_is_what_its_keys_say() {
        // Goal: rate, delay, name and router of a way come from its keys; keys that make several links are refused with
        // what to choose.
        let law = format!("flow.law={}", run_law("vcp"));
        let link = way(&["link.rate=3 Mbit/s", "link.rate=5 Mbit/s", "link.delay=7 ms", &law]);
        assert_eq!(
            (&*link.name, link.delay_ns, link.router.law.name()),
            ("up", 7_000_000, "vcp")
        );
        assert_eq!(link.capacity.rate_bps_mean(), 5_000_000, "the last one counts");
        let several = [
            "link.rate=[\"1 Mbit/s\", \"2 Mbit/s\"]".to_owned(),
            "link.delay=1 ms".to_owned(),
        ];
        let refusal = of_keys("up", &several, 7, 1500).expect_err("two links").to_string();
        assert!(refusal.contains("2 runs") && refusal.contains("--set"), "{refusal}");
    }
}
