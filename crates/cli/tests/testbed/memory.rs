//! What laws in a kernel remember, as results tell it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use fadelab_lab::replay::kernel;

use super::common::guest::possible;
use super::common::{Scratch, column};
use super::{SCENARIO, fadelab, run, said, scenario};

/// The values of `watch.csv` as the laws' integers, sample by sample, by whose they are and role and name.
pub fn watched(scratch: &Scratch, out: &str) -> BTreeMap<(String, String), Vec<i64>> {
    let text = fs::read_to_string(scratch.0.join(out).join("csv/watch.csv")).unwrap();
    let mut values: BTreeMap<_, Vec<i64>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [who, role, name, raw] = [6, 7, 9, cells.len() - 1].map(|place| cells[place]);
        let value = values.entry((who.to_owned(), format!("{role}.{name}"))).or_default();
        value.push(raw.parse().unwrap());
    }
    values
}

#[test]
fn what_a_flow_s_law_remembers_in_a_kernel_is_what_its_calls_left() {
    // Goal: each sample of the values to watch of a flow is, all of them together, what one call of its law left in
    // its memory, as the recording of all calls has it; the window among them is the one of the same sample. `replay`
    // prints them, and refuses a flow that is not in the recording.
    if !possible("6.12") {
        return;
    }
    let scratch = scenario(SCENARIO);
    let vcp = [
        "--set",
        "flow.law=vcp",
        "--seeds",
        "1",
        "--kernel",
        "6.12",
        "--record",
        "vcp.calls",
    ];
    run(&scratch, "out", &vcp);
    let calls = scratch.0.join("vcp.calls");
    let history = |flow| kernel::history(kernel::open(&calls).unwrap().unwrap(), Some(flow), &[]);
    // Both ends of a connection have the law.
    let left: BTreeSet<Vec<u64>> = (1..=4)
        .filter_map(|flow| history(flow).ok())
        .flat_map(|history| history.changes.into_iter().map(|change| change.values))
        .collect();
    let watched = watched(&scratch, "out");
    let names = ["window", "code", "phase", "mi_gain_pkts", "ai_gain_pkts"];
    let windows = column(&scratch, "out/csv/flows.csv", "cwnd_pkts");
    for (flow, windows) in ["flow.1", "flow.2"].iter().zip(windows.chunks(41)) {
        let columns = names.map(|name| &watched[&((*flow).to_owned(), format!("sender.{name}"))]);
        assert!(
            columns.iter().all(|column| column.len() == 41),
            "each tenth of a second"
        );
        let mut seen = BTreeSet::new();
        // It may not have begun at the first ones.
        for (sample, window) in windows.iter().enumerate().skip(5) {
            let values: Vec<u64> = columns.iter().map(|column| column[sample] as u64).collect();
            assert!(left.contains(&values), "{flow}, sample {sample}: {values:?}");
            assert_eq!(values[0] >> 32, *window as u64, "{flow}, sample {sample}");
            seen.insert(values);
        }
        assert!(seen.len() > 20, "{flow}: {} memories", seen.len());
    }
    let replay = |flow: &str| {
        let asked = ["replay", "vcp.calls", "--watch", "--flow", flow];
        let output = fadelab(&scratch, &asked).output().unwrap();
        (output.status.code(), said(&output))
    };
    let (status, text) = replay("1");
    let mut lines = text.lines();
    assert_eq!(status, Some(0), "{text}");
    assert!(lines.next().unwrap().starts_with("flow 1, law vcp: "), "{text}");
    let head: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(head, [&["time", "event"][..], &names].concat());
    assert!(lines.count() > 100 && text.contains("an ACK of 1 packet  "), "{text}");
    let (status, text) = replay("9");
    assert!(
        status == Some(2) && text.contains("--flow 9") && text.contains("allowed are 1 to "),
        "{text}"
    );
}

#[test]
fn what_an_own_law_remembers_at_a_router_in_a_kernel_is_told() {
    // Goal: an own law in all roles, whose senders are iperf3's sockets: the router's has seen each packet that came,
    // in fields of every size and sign, its capacity part has been called, and the senders' count the ACKs.
    if !possible("6.1") {
        return;
    }
    let scratch = scenario(&SCENARIO.replace("[flow]\n", "[router]\ncapacity = \"gauge\"\n\n[flow]\n"));
    let text = include_str!("../../../lab/tests/watch/gauge.h");
    fs::write(scratch.0.join("gauge.h"), text).unwrap();
    let own = ["--law", "./gauge.h", "--set", "flow.law=gauge+gauge", "--iperf3"];
    run(&scratch, "out", &[&own[..], &["--seeds", "1"]].concat());
    let watched = watched(&scratch, "out");
    let of = |who: &str, value: &str| &watched[&(who.to_owned(), value.to_owned())];
    let arrived = column(&scratch, "out/csv/links.csv", "arrived_pkts");
    let seen = of("bottleneck", "router.seen_pkts").iter().map(|&raw| raw as f64);
    // The memory is read behind the counters: packets may come in between.
    let later: Vec<f64> = seen.zip(&arrived).map(|(seen, arrived)| seen - arrived).collect();
    assert!(
        arrived[40] > 1000.0 && later.iter().all(|n| (0.0..=2.0).contains(n)),
        "{later:?}"
    );
    let all = [
        ("bottleneck", "router"),
        ("bottleneck", "capacity"),
        ("flow.1", "sender"),
        ("flow.2", "sender"),
    ];
    for (who, role) in all {
        let names = ["seen_pkts", "down_Bps", "below"];
        let [seen, down, below] = names.map(|name| of(who, &format!("{role}.{name}"))[40]);
        assert!(
            seen > 20 && down == -seen && below == -3,
            "{who} {role}: {seen} {down} {below}"
        );
    }
}
