//! The networks that both simulators run, in the words of each.

/// A network in both simulators, and what is compared there.
#[derive(Clone, Debug)]
pub struct Case {
    /// In the table.
    pub name: String,
    /// Script of ns-2, without its ending.
    pub script: &'static str,
    pub arguments: Vec<(&'static str, &'static str)>,
    /// Our scenario, from the top of the project.
    pub scenario: &'static str,
    /// Keys laid over it.
    pub sets: Vec<&'static str>,
    /// Whether packets are lost at random.
    pub is_lossy: bool,
    pub compared: Compared,
    /// Keys that stand for what ns-2 does otherwise than we, and the cause.
    pub quirk: Option<Quirk>,
}

/// A choice of ns-2's that is not ours.
#[derive(Clone, Copy, Debug)]
pub struct Quirk {
    /// Keys with which we choose as ns-2 does.
    pub sets: &'static [&'static str],
    /// What it is, with the evidence.
    pub cause: &'static str,
}

/// What is compared in a case.
#[derive(Clone, Debug)]
pub enum Compared {
    /// Utilisation, queue, drops, marks and fairness of the bottleneck, `back` too where data flows both ways.
    Bottleneck,
    /// Utilisation of the bottleneck alone: laws that were written apart.
    Utilisation,
    /// Utilisation of each hop, what each class of flows has of a link, (class, Mbit/s), and by how much each class of
    /// local flows has more than the long ones.
    Hops(usize, Vec<(&'static str, f64)>),
}

/// Seeds of both simulators.
pub const SEEDS: [u64; 3] = [1, 2, 3];

const DUMBBELL: &str = "scenarios/dumbbell54.toml";
const LENGTH: [&str; 4] = [
    "run.duration=200 s",
    "run.warmup=50 s",
    "run.seeds=1..3",
    "run.record=false",
];
/// ns-2's settings of RED in network.tcl: thresholds at thirds of the buffer, packets of one size.
const RED: [&str; 5] = [
    "router.red.thresholds=limit",
    "router.red.q_w=0.002",
    "router.red.max_p=0.1",
    "router.red.bytes=false",
    "router.red.mean_bytes=1040 B",
];
/// ns-2's settings of REM there.
const REM: [&str; 6] = [
    "router.rem.gamma=0.001",
    "router.rem.phi=1.001",
    "router.rem.alpha=0.1",
    "router.rem.target_pkts=20 pkt",
    "router.rem.update_us=2 ms",
    "router.rem.mean_bytes=1040 B",
];

/// All cases, in the order of the page.
pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for law in ["newreno", "sack"] {
        for queue in ["droptail", "red", "rem"] {
            cases.push(tcp(law, queue));
        }
    }
    cases.push(xcp(false));
    cases.push(xcp(true));
    cases.push(satellite());
    cases.push(beside_cbr("2", "flow.flow.count=2"));
    cases.push(beside_cbr("10", "flow.flow.count=10"));
    for is_lossy in [false, true] {
        for law in ["veno", "westwood", "bic", "cubic"] {
            cases.push(of_linux(law, is_lossy));
        }
    }
    cases.push(parking_lot(false));
    cases.push(parking_lot(true));
    cases
}

fn dumbbell(name: &str, law: &'static str, queue: &'static str, is_lossy: bool) -> Case {
    let mut arguments = vec![("law", law), ("queue", queue), ("duration", "200"), ("warmup", "50")];
    let mut sets = LENGTH.to_vec();
    if is_lossy {
        arguments.push(("loss", "0.01"));
        sets.extend(["channel.model=random", "channel.loss_data=0.01"]);
    }
    Case {
        name: format!("{name}{}", if is_lossy { ", 1 % loss" } else { "" }),
        script: "dumbbell",
        arguments,
        scenario: DUMBBELL,
        sets,
        is_lossy,
        compared: Compared::Bottleneck,
        quirk: None,
    }
}

fn tcp(law: &'static str, queue: &'static str) -> Case {
    let (law_name, recovery) = match law {
        "newreno" => ("NewReno", "transport.recovery=newreno"),
        _ => ("SACK", "transport.recovery=sack"),
    };
    let (queue_name, label, keys): (&str, &str, &[&str]) = match queue {
        "red" => ("RED/ECN", "flow.law=reno+red", &RED),
        "rem" => ("REM/ECN", "flow.law=reno+rem", &REM),
        _ => ("drop-tail", "flow.law=reno", &[]),
    };
    let mut case = dumbbell(&format!("{law_name}, {queue_name}"), law, queue, false);
    case.sets.extend([label, recovery]);
    case.sets.extend(keys);
    case
}

/// What ns-2's TCP/Linux takes of Linux; its Westwood is Westwood+.
fn of_linux(law: &'static str, is_lossy: bool) -> Case {
    let (name, label) = match law {
        "veno" => ("Veno", "flow.law=veno"),
        "westwood" => ("Westwood+", "flow.law=westwood_plus"),
        "bic" => ("BIC", "flow.law=bic"),
        _ => ("CUBIC", "flow.law=cubic"),
    };
    let mut case = dumbbell(&format!("TCP/Linux: {name}"), law, "droptail", is_lossy);
    // The clock of ns-2's RTT samples, 1 to 50 ms, does not move what Westwood+ does there.
    case.sets
        .extend([label, "transport.recovery=sack", "transport.rtt_samples=per ack"]);
    case.compared = Compared::Utilisation;
    if law == "cubic" {
        case.quirk = Some(GENTLE);
    }
    case
}

const GENTLE: Quirk = Quirk {
    sets: &["law.cubic.beta=0.8"],
    cause: "TCP/Linux has the CUBIC of Linux 2.6.22, in which a loss leaves 819/1024 of the window (`beta` in \
            tcp_cubic.c); RFC 9438 has seven tenths, as Linux has since.",
};

/// ns-2's XCP is built on its TCP/Reno, whose recovery ours is given too, and has timestamps, alone of its senders.
fn xcp(is_lossy: bool) -> Case {
    let mut case = dumbbell("XCP", "xcp", "xcp", is_lossy);
    case.sets.extend([
        "flow.law=xcp",
        "transport.recovery=reno",
        "transport.rtt_samples=per ack",
    ]);
    if is_lossy {
        case.quirk = Some(DUPLICATES);
    }
    case
}

const DUPLICATES: Quirk = Quirk {
    sets: &["law.xcp.feedback=new"],
    cause: "ns-2's XCP looks at the feedback of new ACKs only, and what duplicate ACKs carried is lost with them: the \
            receiver has cleared its sum. Losses leave many duplicates, most of them with positive feedback, so that \
            ns-2's windows grow less between losses. The draft lets every ACK count.",
};

/// The network of satellite-two-way.toml on a clean channel.
fn satellite() -> Case {
    Case {
        name: "XCP, satellite, both ways".to_owned(),
        script: "dumbbell",
        arguments: vec![
            ("law", "xcp"),
            ("rate_mbps", "2"),
            ("delay_ms", "500"),
            ("reverse", "10"),
            ("spread", "10"),
            ("duration", "1000"),
            ("warmup", "50"),
        ],
        scenario: "scenarios/satellite-two-way.toml",
        sets: vec![
            "run.warmup=50 s",
            "run.seeds=1..3",
            "run.record=false",
            "channel.model=none",
            "flow.law=xcp",
            "transport.recovery=reno",
            "transport.rtt_samples=per ack",
        ],
        is_lossy: false,
        compared: Compared::Bottleneck,
        quirk: Some(DUPLICATES),
    }
}

/// Half of a link of 8 Mbit/s and 72 ms taken by datagrams, which in ns-2 go through the queue of the XCP flows here.
fn beside_cbr(flows: &'static str, count: &'static str) -> Case {
    Case {
        name: format!("XCP, {flows} flows beside 4 Mbit/s of CBR"),
        script: "dumbbell",
        arguments: vec![
            ("law", "xcp"),
            ("rate_mbps", "8"),
            ("delay_ms", "20"),
            ("flows", flows),
            ("buffer_pkts", "69"),
            ("cbr_mbps", "4"),
            ("cbr_queue", "xcp"),
            ("duration", "120"),
            ("warmup", "20"),
        ],
        scenario: "crates/validate/scenarios/sender.toml",
        sets: vec![
            "run.seeds=1..3",
            "flow.law=xcp",
            "transport.recovery=reno",
            "transport.rtt_samples=per ack",
            count,
            "flow.cbr.app=cbr",
            // The payload: with 28 bytes of headers 4 Mbit/s.
            "flow.cbr.rate=3892308 bit/s",
        ],
        is_lossy: false,
        compared: Compared::Bottleneck,
        quirk: None,
    }
}

/// The network of parking-lot.toml on a clean channel, until the third hop's local flows come and after that.
fn parking_lot(has_third: bool) -> Case {
    let (name, duration, warmup) = if has_third {
        ("1100 to 1500 s", "1500", "1100")
    } else {
        ("300 to 1000 s", "1000", "300")
    };
    let mut classes = vec![("long", 2.0), ("local1", 4.0), ("local2", 4.0), ("local4", 4.0)];
    let mut sets = vec![
        "run.seeds=1..3",
        "run.record=false",
        "channel.model=none",
        "flow.law=xcp",
        "transport.recovery=reno",
        "transport.rtt_samples=per ack",
    ];
    if has_third {
        classes.insert(3, ("local3", 2.0));
        sets.extend(["run.duration=1500 s", "run.warmup=1100 s"]);
    } else {
        sets.extend(["run.duration=1000 s", "run.warmup=300 s"]);
    }
    Case {
        name: format!("XCP, parking lot, {name}"),
        script: "parking-lot",
        arguments: vec![("law", "xcp"), ("duration", duration), ("warmup", warmup)],
        scenario: "scenarios/parking-lot.toml",
        sets,
        is_lossy: false,
        compared: Compared::Hops(4, classes),
        quirk: None,
    }
}
