//! The laws of senders in this machine's kernel.

mod common;

use common::{Pair, possible, report, run};
use fadelab_kernel::Version;
use fadelab_kernel::sender::{Sender, Unit, flows};
use libbpf_rs::MapCore;

fn name_of(law: &str) -> String {
    format!("{law}{}", std::process::id() % 100_000)
}

#[test]
fn bulk() {
    if !possible(&["ip", "iperf3", "tc"]) {
        return;
    }
    let law = std::env::var("LAW").unwrap_or("vcp".into());
    let pair = Pair::new();
    let version = Version::running().expect("Linux");
    let law = fadelab_laws::sender(&law).unwrap();
    let unit = Unit {
        name: name_of(law.name()),
        ..Unit::new(law, version)
    };
    let object = unit.compile().unwrap();
    let devices = [pair.device(&pair.sender), pair.device(&pair.receiver)];
    let sender = Sender::load(&object, &pair.cgroup, &devices).unwrap();
    if let Ok(tc) = std::env::var("TC") {
        run(&format!("tc -n {} qdisc add dev wire root {tc}", pair.sender));
    }
    if std::env::var("SEGS").is_ok() {
        for n in [&pair.sender, &pair.receiver] {
            run(&format!("ip -n {n} link set wire gso_max_segs 1"));
        }
    }
    let _server = pair.start(&pair.receiver, "iperf3 -s");
    std::thread::sleep(std::time::Duration::from_millis(300));
    let client = pair.start(&pair.sender, &format!("iperf3 -c 10.77.0.2 -t 4 -i 1 -C {}", unit.name));
    let dump = std::env::var("DUMP").map(|d| pair.start(&pair.sender, &format!("tcpdump -i wire -c 4000 -w {d}")));
    for _ in 0..5 {
        std::thread::sleep(std::time::Duration::from_millis(900));
        let map = sender.object().maps().find(|map| map.name() == "live").unwrap();
        for flow in flows(&map).unwrap() {
            report(&format!("{flow:?}"));
        }
        report(&run(&format!("ip netns exec {} ss -tin", pair.sender)));
        report(&run(&format!("tc -s -n {} qdisc show dev wire", pair.sender)));
    }
    drop(client);
    drop(dump);
}
