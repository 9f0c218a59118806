//! Tunnels of a scenario in a guest: the kernel's own IPsec, and the laws of its gateways.

use super::*;
use common::ipsec::{judged, log_of, place, python};

/// The ready-made scenario with a fifth of its bottleneck's rate, so that the guest's processor has time to encrypt.
const SLOW: [&str; 8] = [
    "--set",
    "run.duration=6 s",
    "--set",
    "run.warmup=2 s",
    "--set",
    "run.seeds=1",
    "--set",
    "link.inside.rate=2 Mbit/s",
];

fn ready_made(scratch: &Scratch, out: &str, more: &[&str]) -> Output {
    let arguments = ["testbed", "run", "dcp-ew-ipsec", "--quiet", "--csv", "--out", out];
    fadelab(scratch, &arguments).args(SLOW).args(more).output().unwrap()
}

#[test]
fn marks_cross_an_encrypted_network() {
    // Goal: with each law that has a gateway its routers mark outer headers and its sender hears of it: the link is
    // used, hardly anything is lost, nearly all data leave the bottleneck with a mark of the law, and what entered the
    // tunnel left it. Two runs give the same bytes. Each call of the law at the far gateway, which was recorded, comes
    // to the same in the same header here.
    if !possible("6.1") {
        return;
    }
    let scratch = Scratch::new();
    let runs = [("dcp_ew", "one"), ("dcp_ew", "two"), ("vcp", "vcp")];
    std::thread::scope(|scope| {
        for (law, out) in runs {
            let scratch = &scratch;
            scope.spawn(move || {
                let (law, record) = (format!("flow.law={law}"), format!("{out}.calls"));
                let output = ready_made(scratch, out, &["--set", &law, "--record-gateway", &record]);
                assert!(output.status.success(), "{}", said(&output));
                let again = fadelab(scratch, &["replay", &record]).output().unwrap();
                let text = said(&again);
                assert!(again.status.success() && text.contains(" 0 differ"), "{text}");
            });
        }
    });
    for (law, out) in runs {
        let file = |name: &str| format!("{out}/csv/{name}.csv");
        let total = |name: &str, column_of: &str| column(&scratch, &file(name), column_of).iter().sum::<f64>();
        let [entered, left] = ["entered_pkts", "left_pkts"].map(|name| total("tunnels", name));
        // What is on its way when the measured interval begins and ends: two windows of data and their ACKs.
        assert!(
            entered > 500.0 && (entered - left).abs() < 100.0,
            "{law}: {entered} entered, {left} left"
        );
        let ends = column(&scratch, &file("links"), "marked_pkts");
        assert!(ends.iter().copied().fold(0.0, f64::max) > 200.0, "{law}: routers mark");
        let delivered = total("flow_totals", "delivered_bytes");
        assert!(delivered > 0.5e6, "{law}: {delivered} B in four seconds of 2 Mbit/s");
        let timeouts = total("flow_totals", "timeouts");
        assert!(timeouts < 0.5, "{law}: {timeouts} timeouts");
    }
    for name in ["links", "flow_totals", "tunnels", "runs"] {
        let bytes = |out: &str| fs::read(scratch.0.join(format!("{out}/csv/{name}.csv"))).unwrap();
        assert_eq!(bytes("one"), bytes("two"), "{name}");
    }
    let calls = ["one", "two"].map(|out| fs::read(scratch.0.join(format!("{out}.calls"))).unwrap());
    assert!(calls[0] == calls[1] && calls[0].len() > 200_000, "{} B", calls[0].len());
}

#[test]
fn a_kernels_gateways_carry_each_half() {
    // Goal: in a kernel no bit that crosses the tunnel is another than figure 1 of dcp-ew-2010 says, by the account of
    // a program that has nothing of fadelab's, with a header of IPv4 outside, with one of IPv6, in UDP as through a
    // NAT, while associations are renewed, and with a memory for each flow; payload, IDs and what is not DCP-EW's are
    // as they were.
    if !possible("6.1") || python().is_none() {
        return;
    }
    let scratch = Scratch::new();
    let scenario = place("figure1.toml");
    std::thread::scope(|scope| {
        for outside in ["outer=ipv4", "outer=ipv6", "udp=true", "rekey=2 s", "memory=flow"] {
            let (scratch, scenario) = (&scratch, &scenario);
            let by_flow = outside == "memory=flow";
            let role = ["tunnel.vpn.role=sequence", "tunnel.vpn.role=written"][usize::from(by_flow)];
            scope.spawn(move || {
                let arguments = ["testbed", "run", scenario, "--quiet", "--out", outside];
                let set = format!("tunnel.vpn.{outside}");
                let output = fadelab(scratch, &arguments)
                    .args(["--set", "run.duration=6 s", "--set", &set, "--set", role])
                    .args(log_of())
                    .output()
                    .unwrap();
                assert!(output.status.success(), "{outside}: {}", said(&output));
                let told = ["--least-packets", "200", "--memory", "flow", "--role", "written"];
                judged(scratch, outside, if by_flow { &told } else { &told[..2] });
            });
        }
    });
}

/// What is set besides the ready-made scenario, and the totals of a run with it: packets that queues dropped, that
/// routers marked, and reductions for ECN at hosts.
fn totals(scratch: &Scratch, out: &str, sets: &[&str]) -> [f64; 3] {
    let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
    let output = ready_made(scratch, out, &sets);
    assert!(output.status.success(), "{out}: {}", said(&output));
    let total = |name: &str, of: &str| column(scratch, &format!("{out}/csv/{name}.csv"), of).iter().sum();
    [
        total("runs", "dropped_full_pkts") + total("runs", "dropped_law_pkts"),
        total("runs", "marked_pkts"),
        total("flow_totals", "ecn_reductions"),
    ]
}

#[test]
fn ends_may_be_unequal() {
    // Goal: the gateway that carries the load of routers in the tunnel is the one where data leave it: without it hosts
    // of DCP-EW overrun the queue inside, and without the other one they do not. With the flag `noecn` at one end, RED
    // cannot mark where packets enter there, and its marks do not come out where they leave there.
    if !possible("6.1") {
        return;
    }
    let scratch = Scratch::new();
    let red = ["flow.law=reno+red", "transport.ecn=true", "run.duration=12 s"];
    let run = |out: &str, sets: &[&str]| totals(&scratch, out, sets);
    let with_red = |out: &str, rules: &[&str]| run(out, &[&red[..], rules].concat());
    std::thread::scope(|scope| {
        let [no_far, no_near, no_marks, none_out] = [
            scope.spawn(|| run("no-far", &["tunnel.vpn.law_to=none"])),
            scope.spawn(|| run("no-near", &["tunnel.vpn.law=none", "tunnel.vpn.law_to=dcp_ew"])),
            scope.spawn(|| with_red("no-marks", &["tunnel.vpn.ecn=noecn", "tunnel.vpn.ecn_to=linux"])),
            scope.spawn(|| with_red("none-out", &["tunnel.vpn.ecn_to=noecn"])),
        ]
        .map(|run| run.join().expect("its own assertions hold"));
        assert!(no_far[0] > 100.0 && no_near[0] < 1.0, "{no_far:?}, {no_near:?}");
        assert!(no_marks[1] < 1.0 && no_marks[0] > 0.0, "{no_marks:?}");
        assert!(none_out[1] > 10.0 && none_out[2] < 1.0, "{none_out:?}");
    });
}

#[test]
fn hosts_mark_what_transport_mode_encrypts() {
    // Goal: where ESP is between the hosts themselves, routers that are told of it mark the packets' own headers and
    // senders hear of it: nothing is dropped. Where nobody told them, the buffer overflows.
    if !possible("6.1") {
        return;
    }
    let scratch = Scratch::new();
    let dropped = |law: &str, routers: &str| -> f64 {
        let out = format!("{law}-{routers}");
        let (law, routers) = (format!("flow.law={law}"), format!("tunnel.vpn.routers={routers}"));
        let between_hosts = ["mode=transport", "from=left", "to=right"].map(|set| format!("tunnel.vpn.{set}"));
        let sets = [&law, &routers].into_iter().chain(&between_hosts);
        let sets: Vec<&str> = sets.flat_map(|set| ["--set", set.as_str()]).collect();
        let output = ready_made(&scratch, &out, &sets);
        assert!(output.status.success(), "{out}: {}", said(&output));
        let of = |name: &str, what: &str| column(&scratch, &format!("{out}/csv/{name}.csv"), what);
        let [entered, left] = ["entered_pkts", "left_pkts"].map(|what| of("tunnels", what).iter().sum::<f64>());
        assert!(entered > 500.0 && left > 500.0, "{out}: {entered} entered, {left} left");
        let used = of("runs", "utilisation").iter().copied().fold(0.0, f64::max);
        assert!(used > 0.85, "{out}: {used} of the link is used");
        of("runs", "dropped_full_pkts").iter().sum()
    };
    std::thread::scope(|scope| {
        for law in ["dcp_ew", "vcp"] {
            scope.spawn(move || {
                assert!(dropped(law, "auto") < 1.0, "{law}");
                assert!(dropped(law, "blind") >= 1.0, "{law}: nobody told its routers");
            });
        }
    });
}

#[test]
fn what_the_kernels_ipsec_lacks_is_refused() {
    // Goal: rules, memories and ends that no gateway in a kernel has are refused by their key before a guest boots,
    // with what is allowed.
    let scratch = Scratch::new();
    let cases = [
        ("tunnel.vpn.ecn=rfc6040", "`tunnel.vpn.ecn`", "\"linux\" and \"noecn\""),
        (
            "tunnel.vpn.ecn_to=rfc6040",
            "`tunnel.vpn.ecn_to`",
            "\"linux\" and \"noecn\"",
        ),
        (
            "tunnel.vpn.memory=flow",
            "`tunnel.vpn.memory`",
            "set role = \"written\"",
        ),
        (
            "tunnel.vpn.from=left",
            "`tunnel.vpn`",
            "put a host in front of the gateway",
        ),
    ];
    for (set, key, allowed) in cases {
        let output = ready_made(&scratch, "out", &["--set", set]);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{set}: {text}");
        assert!(text.contains(key) && text.contains(allowed), "{set}: {text}");
    }
    let ids = ["--set", "tunnel.vpn.role=id", "--set", "tunnel.vpn.ip_id=random"];
    let text = said(&ready_made(&scratch, "out", &ids));
    assert!(
        text.contains("`tunnel.vpn.ip_id`") && text.contains("\"counting\""),
        "{text}"
    );
}

#[test]
fn associations_are_renewed_while_a_run_goes_on() {
    // Goal: with new associations every 2 s, and those before the last ones deleted, hosts get through the tunnel what
    // they get without, nothing times out, and what entered and left is counted over all of them. Where they expire
    // before others are there packets are dropped at both ends, which is counted, flows time out and go on.
    if !possible("6.1") {
        return;
    }
    let scratch = Scratch::new();
    let totals = |out: &str, rekey: &str, gap: &str| -> [f64; 6] {
        let [rekey, gap] = [("rekey", rekey), ("rekey_gap", gap)].map(|(key, to)| format!("tunnel.vpn.{key}={to}"));
        let output = ready_made(
            &scratch,
            out,
            &["--set", &rekey, "--set", &gap, "--set", "run.duration=13 s"],
        );
        assert!(output.status.success(), "{out}: {}", said(&output));
        [
            ("tunnels", "entered_pkts"),
            ("tunnels", "left_pkts"),
            ("flow_totals", "delivered_bytes"),
            ("flow_totals", "timeouts"),
            ("tunnels", "no_sa_entering_pkts"),
            ("tunnels", "no_sa_leaving_pkts"),
        ]
        .map(|(name, of)| column(&scratch, &format!("{out}/csv/{name}.csv"), of).iter().sum())
    };
    let [once, often, late] = std::thread::scope(|scope| {
        [
            ("once", "false", "0 s"),
            ("often", "2 s", "0 s"),
            ("late", "4 s", "300 ms"),
        ]
        .map(|(out, rekey, gap)| scope.spawn(move || totals(out, rekey, gap)))
        .map(|run| run.join().expect("its own assertions hold"))
    });
    for (once, often) in once.iter().zip(&often).take(3) {
        assert!(
            *once > 1000.0 && (often / once - 1.0).abs() < 0.05,
            "{once} once, {often} often"
        );
    }
    assert!((often[0] - often[1]).abs() < 100.0 && often[3] < 0.5, "{often:?}");
    assert_eq!([&once[4..], &often[4..]], [[0.0, 0.0]; 2], "none was late");
    let [entered, left, delivered, timeouts, entering, leaving] = late;
    assert!(entering > 5.0 && leaving > 20.0 && timeouts > 0.5, "{late:?}");
    assert!(
        (entered - left - leaving).abs() < 100.0,
        "each is counted once: {late:?}"
    );
    assert!(delivered > once[2] / 4.0, "{late:?}");
}
