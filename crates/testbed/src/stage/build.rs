//! Builds the network of a plan with `ip` and `tc`.
//!
//! Each cable is two pairs of devices: from the node at either end into a namespace of wires, where what comes in on
//! one side is led to the device of the other side. A packet thus meets, in this order,
//!
//! 1. at the node's device the queue and its law, below a class of HTB that lets packets out at the link's rate;
//! 2. among the wires the time that its bits take, the propagation delay and the losses (`netem`).
//!
//! So nothing waits behind the delay, the queue that a law sees is the queue, and no limit of `netem` can drop: it is
//! larger than what the class lets through in the delay.
//!
//! Where the kernel cannot do what lies behind the queue, the emulator does: a cable is then two TUN devices. Where it
//! does all of a link, nothing stands at the device.
//!
//! Where nobody looks at a queue and no law stands there, as on access links, one `netem` is queue, rate and delay
//! together, and a cable of which that is true both ways is one pair of devices: less than half the work for a packet.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use fadelab_run::network::NodeKind;

use super::spaces::Spaces;
use super::tunnels;
use super::{Outcome, failed};
use crate::plan::{Cable, Discipline, Flow, Limit, Plan, Way, address};

/// Ethernet's header, which devices here have and links of scenarios have not.
const HEADER_BYTES: u32 = 14;

/// How late a timer of the guest may be so that a link loses no rate: that much may be sent at once more. Behind
/// buckets without it emulated links carried 99.87 % of 10 Mbit/s and 99.45 % of 40.
const LATE_NS: u64 = 20_000;

/// Every device has it, so that nobody need ask whose address it is.
const MAC: &str = "02:00:00:00:00:01";

/// Packets that may wait for the emulator at a device: those of 100 ms at 1 Gbit/s.
const TUN_PKTS_MAX: u64 = 10_000;

/// Packets that `netem` may hold: more than any delay can.
const WIRE_PKTS_MAX: u64 = 10_000_000;

/// Receive buffer of a socket, of which the window is half: Linux's largest by default (`tcp_rmem`), unless a window
/// needs more. A receiver has it from the beginning, and its autotuning is off: the window never limits the sender, and
/// grows as far, and so hurries with as many ACKs, on each path (`tcp_grow_window` of `net/ipv4/tcp_input.c`).
const RECEIVE_BYTES: u64 = 6 << 20;
const RECEIVE_BYTES_MAX: u64 = 256 << 20;
const SEND_BUFFER: &str = "4096 262144 268435456";

/// Bytes that a sender keeps unsent at most: more would only lie in memory.
const UNSENT_BYTES_MAX: &str = "131072";

/// Builds everything.
pub fn build(plan: &Plan, spaces: &Spaces) -> Outcome<()> {
    switches(plan, spaces)?;
    let mut devices = String::new();
    let in_kernel = plan.cables.iter().enumerate().filter(|(_, cable)| !cable.is_emulated());
    let wires_path = spaces.path_of_wires();
    let wires_path = wires_path.display();
    for (number, cable) in in_kernel {
        let [one, other] = cable.ends.map(|node| spaces.path(node).display().to_string());
        if cable.is_plain() {
            let [a, b] = SIDES;
            let _ = writeln!(
                devices,
                "link add {a}{number} netns {one} type veth peer name {b}{number} netns {other}"
            );
            continue;
        }
        for (space, side) in [one, other].into_iter().zip(SIDES) {
            let _ = writeln!(
                devices,
                "link add {side}{number} netns {space} type veth peer name {side}{number} netns {wires_path}"
            );
        }
    }
    spaces.at_wires(|| {
        batch("ip", &devices)?;
        wires(plan)
    })?;
    for node in 0..plan.nodes.len() {
        spaces.at(node, || {
            batch("ip", &addresses(plan, node))?;
            batch("ip", &tunnels::commands(plan, node))?;
            batch("tc", &queues(plan, node))
        })?;
    }
    Ok(())
}

/// Devices at the first and at the second end of a cable begin so, followed by the cable's number.
pub const SIDES: [char; 2] = ['a', 'b'];

/// What the namespaces set before there is anything in them.
fn switches(plan: &Plan, spaces: &Spaces) -> Outcome<()> {
    spaces.at_wires(quiet)?;
    for (node, spec) in plan.nodes.iter().enumerate() {
        let flow = plan
            .flows
            .iter()
            .find(|flow| flow.law.is_some() && [flow.from, flow.to].contains(&node));
        let has_ipv6 = plan.tunnels.iter().any(|tunnel| tunnel.has_ipv6_at(node));
        spaces.at(node, || {
            if has_ipv6 {
                quiet_ipv6()?;
            } else {
                quiet()?;
            }
            set("net/ipv4/ip_forward", "1")?;
            if spec.kind == NodeKind::Host {
                of_host(flow, receive_bytes(plan, node))?;
            }
            // What a user asks for comes last.
            let mut own = plan.sysctls.iter();
            own.try_for_each(|sysctl| set(&sysctl.file(), sysctl.value()))
        })?;
    }
    Ok(())
}

/// The receive buffer of a host: twice what the largest window of its flows needs.
fn receive_bytes(plan: &Plan, host: usize) -> u64 {
    let flows = plan.flows.iter().filter(|flow| flow.to == host);
    let windows_bytes = flows.map(|flow| flow.window_bytes_max(&plan.cables));
    let window_bytes = windows_bytes.max().unwrap_or(0);
    window_bytes.saturating_mul(4).clamp(RECEIVE_BYTES, RECEIVE_BYTES_MAX)
}

/// Settings of a host, and what its flows have TCP do.
fn of_host(flow: Option<&Flow>, receive_bytes: u64) -> Outcome<()> {
    set("net/ipv4/tcp_no_metrics_save", "1")?;
    set(
        "net/ipv4/tcp_rmem",
        &format!("4096 {receive_bytes} {RECEIVE_BYTES_MAX}"),
    )?;
    set("net/ipv4/tcp_moderate_rcvbuf", "0")?;
    set("net/ipv4/tcp_wmem", SEND_BUFFER)?;
    set("net/ipv4/tcp_notsent_lowat", UNSENT_BYTES_MAX)?;
    let Some(flow) = flow else { return Ok(()) };
    set("net/ipv4/tcp_timestamps", if flow.timestamps() { "1" } else { "0" })?;
    set("net/ipv4/tcp_sack", if flow.sack { "1" } else { "0" })?;
    set("net/ipv4/tcp_ecn", if flow.ecn { "1" } else { "0" })
}

/// No packets of the kernel's own: without IPv6 it neither looks for neighbours nor for routers.
fn quiet() -> Outcome<()> {
    set("net/ipv6/conf/all/disable_ipv6", "1")?;
    set("net/ipv6/conf/default/disable_ipv6", "1")
}

/// With IPv6, for headers of tunnels: devices have no addresses of their own that they would tell others of. Of the
/// groups that they join they tell once, before the run, and again long after it.
fn quiet_ipv6() -> Outcome<()> {
    const A_DAY_MS: &str = "86400000";
    for (name, value) in [
        ("conf/default/mldv2_unsolicited_report_interval", A_DAY_MS),
        ("conf/default/addr_gen_mode", "1"),
        ("conf/default/accept_dad", "0"),
        ("conf/default/accept_ra", "0"),
        ("conf/default/router_solicitations", "0"),
        ("conf/all/forwarding", "1"),
    ] {
        set(&format!("net/ipv6/{name}"), value)?;
    }
    Ok(())
}

fn set(name: &str, value: &str) -> Outcome<()> {
    let path = format!("/proc/sys/{name}");
    fs::write(&path, value).map_err(failed(format!("{name} = {value}")))
}

/// The middle of each cable: what comes in at one side goes out at the other, late.
fn wires(plan: &Plan) -> Outcome<()> {
    let mut links = String::new();
    let mut queues = String::new();
    let cables = plan.cables.iter().enumerate();
    for (number, cable) in cables.filter(|(_, cable)| !cable.is_plain() && !cable.is_emulated()) {
        for side in SIDES {
            let _ = writeln!(links, "{}", device(plan, cable, side, number));
        }
        for (way, (from, to)) in cable.ways.iter().zip([(SIDES[0], SIDES[1]), (SIDES[1], SIDES[0])]) {
            let _ = writeln!(queues, "qdisc add dev {from}{number} clsact");
            let _ = writeln!(
                queues,
                "filter add dev {from}{number} ingress matchall action mirred egress redirect dev {to}{number}"
            );
            if let Some(way) = way {
                let limit_pkts = if way.is_plain() { way.pkts_max() } else { WIRE_PKTS_MAX };
                let _ = writeln!(queues, "{}", delay(way, to, number, limit_pkts));
            }
        }
    }
    batch("ip", &links)?;
    batch("tc", &queues)
}

/// What happens on the air: the bits of a packet take their time, then it propagates, or is lost.
fn delay(way: &Way, to: char, number: usize, limit_pkts: u64) -> String {
    let mut text = format!(
        "qdisc add dev {to}{number} root handle 1: stab overhead -{HEADER_BYTES} \
         netem limit {limit_pkts} delay {}us rate {}bit",
        way.delay_ns as f64 / 1_000.0,
        way.rate_bps
    );
    if way.loss > 0.0 {
        let _ = write!(text, " loss random {}%", way.loss * 100.0);
    }
    text
}

/// One packet a buffer: what TCP hands over for several packets would pass queues as one.
fn device(plan: &Plan, cable: &Cable, side: char, number: usize) -> String {
    let more = if cable.is_emulated() {
        format!("txqueuelen {TUN_PKTS_MAX}")
    } else {
        format!("address {MAC} arp off")
    };
    format!(
        "link set {side}{number} {more} mtu {} gso_max_segs 1 up",
        plan.mtu_bytes
    )
}

/// What passes a node again takes another way than before, by a table of its own: tables are numbered from here on, by
/// how many links the packet has crossed.
const TABLES: usize = 1000;

/// Devices, addresses and routes of a node.
fn addresses(plan: &Plan, node: usize) -> String {
    let mut text = "link set lo up\n".to_owned();
    for (number, cable) in plan.cables.iter().enumerate() {
        for (_, side) in cable.ends.iter().zip(SIDES).filter(|(end, _)| **end == node) {
            let _ = writeln!(text, "{}", device(plan, cable, side, number));
        }
    }
    for (number, flow) in plan.flows.iter().enumerate() {
        let (sender, receiver) = (address(number, false), address(number, true));
        for (end, own) in [(flow.from, sender), (flow.to, receiver)] {
            if end == node {
                let _ = writeln!(text, "addr add {own}/32 dev lo");
            }
        }
        let ways = [(&flow.route, sender, receiver), (&flow.route_back, receiver, sender)];
        for (is_back, (route, from, to)) in ways.into_iter().enumerate() {
            let is_back = is_back == 1;
            let is_known = |hop: usize| !plan.tunnels.iter().any(|tunnel| tunnel.hides(number, is_back, hop));
            let hops = route
                .iter()
                .enumerate()
                .filter(|(hop, (at, _))| *at == node && is_known(*hop));
            for (hop, &(at, cable)) in hops {
                let device = |cable: usize| format!("{}{cable}", side_of(&plan.cables[cable], at));
                let _ = write!(text, "route add {to}/32 dev {}", device(cable));
                if hop == 0 {
                    let _ = write!(text, " src {from}{}", transport(flow, is_back));
                } else if route[..hop].iter().any(|&(before, _)| before == at) {
                    let (table, came_by) = (TABLES + hop, device(route[hop - 1].1));
                    let _ = write!(text, " table {table}\nrule add iif {came_by} to {to}/32 table {table}");
                }
                text.push('\n');
            }
        }
    }
    text
}

/// What a route can say of the transport at its beginning.
fn transport(flow: &Flow, is_back: bool) -> String {
    if flow.law.is_none() {
        return String::new();
    }
    let mut text = format!(
        " initcwnd {} rto_min {}ms",
        flow.cwnd_pkts_initial,
        flow.rto_ns_min.div_ceil(1_000_000)
    );
    if is_back && flow.acks_at_once {
        text.push_str(" quickack 1");
    }
    if flow.is_download() {
        // TCP's options count as payload.
        let _ = write!(text, " advmss {}", flow.packet_bytes - 40);
    }
    text
}

/// Names the laws of downloads at the beginning of their routes, both ways: the programs that carry them choose none.
/// The kernel has to have the laws before.
pub fn laws_of_routes(plan: &Plan, spaces: &Spaces) -> Outcome<()> {
    let downloads = plan.flows.iter().enumerate().filter(|(_, flow)| flow.is_download());
    for (number, flow) in downloads {
        let Some(law) = &flow.law else { continue };
        let ends = [(&flow.route, flow.from), (&flow.route_back, flow.to)];
        for (is_back, (route, node)) in ends.into_iter().enumerate() {
            let Some(&(_, cable)) = route.first() else { continue };
            let (from, to) = (address(number, is_back == 1), address(number, is_back == 0));
            let device = format!("{}{cable}", side_of(&plan.cables[cable], node));
            let transport = transport(flow, is_back == 1);
            let command = format!("route replace {to}/32 dev {device} src {from}{transport} congctl {law}\n");
            spaces.at(node, || batch("ip", &command))?;
        }
    }
    Ok(())
}

pub fn side_of(cable: &Cable, node: usize) -> char {
    SIDES[usize::from(cable.ends[0] != node)]
}

/// Queues of a node: a class of HTB at the link's rate, and below it the queue. A packet leaves when the time of the
/// one before it is over, whatever either one's size: a bucket of TBF has to hold the largest packet, and would let as
/// many bytes of smaller ones pass at once, such as twenty ACKs, for which the queue then had room too soon.
fn queues(plan: &Plan, node: usize) -> String {
    let mut text = String::new();
    for (number, cable) in plan.cables.iter().enumerate() {
        let ends = cable.ends.iter().zip(SIDES).zip(&cable.ways);
        for ((_, side), way) in ends.filter(|((end, _), _)| **end == node) {
            let Some(way) = way else { continue };
            if cable.is_plain() {
                let _ = writeln!(text, "{}", delay(way, side, number, way.pkts_max()));
                continue;
            }
            if way.is_plain() || way.emulated.as_ref().is_some_and(|emulated| emulated.whole) {
                continue;
            }
            let header_bytes = header_bytes(cable);
            let stab = match header_bytes {
                0 => String::new(),
                bytes => format!("stab overhead -{bytes} "),
            };
            let _ = writeln!(text, "qdisc add dev {side}{number} root handle 1: {stab}htb default 1");
            let (rate_bps, late_bytes) = (way.rate_bps, late_bytes(plan, way));
            let _ = writeln!(
                text,
                "class add dev {side}{number} parent 1: classid 1:1 htb rate {rate_bps}bit burst {late_bytes}b \
                 cburst {late_bytes}b quantum {}",
                plan.mtu_bytes
            );
            let _ = writeln!(
                text,
                "qdisc add dev {side}{number} parent 1:1 handle 10: {}",
                discipline(way)
            );
        }
    }
    text
}

/// What may be sent before it is due, so that timers that are late cost no rate. They are by a packet's encryption
/// where there are tunnels: without a packet more CUBIC got 95.7 % of 10 Mbit/s, on a processor half as fast.
fn late_bytes(plan: &Plan, way: &Way) -> u64 {
    if plan.tunnels.is_empty() {
        (way.rate_bps * LATE_NS / 8_000_000_000).max(1)
    } else {
        u64::from(way.packet_bytes.max(plan.mtu_bytes) + HEADER_BYTES)
    }
}

/// What the devices of a cable put before IP's header.
fn header_bytes(cable: &Cable) -> u32 {
    if cable.is_emulated() { 0 } else { HEADER_BYTES }
}

/// The queue itself. Disciplines of the kernel take a limit in their own unit.
fn discipline(way: &Way) -> String {
    let (packets, bytes) = match way.queue.limit {
        Limit::Packets(packets) => (packets, u64::from(packets) * u64::from(way.packet_bytes)),
        Limit::Bytes(bytes) => ((bytes / u64::from(way.packet_bytes)).max(1) as u32, bytes),
    };
    match (&way.queue.discipline, way.queue.limit) {
        (Discipline::Fifo | Discipline::Law { .. }, Limit::Packets(packets)) => format!("pfifo limit {packets}"),
        (Discipline::Fifo | Discipline::Law { .. }, Limit::Bytes(bytes)) => format!("bfifo limit {bytes}"),
        (Discipline::Kernel { name, marks }, _) if name == "red" => red(way, bytes, *marks),
        (Discipline::Kernel { name, marks }, _) => {
            let can_mark = ["codel", "fq_codel", "pie"].contains(&name.as_str());
            format!("{name} limit {packets}{}", if can_mark && *marks { " ecn" } else { "" })
        }
    }
}

/// Linux's RED as its manual advises: the average may be at most a quarter of the limit, and bursts of
/// (2 min + max) / (3 avpkt) packets pass (tc-red(8)).
fn red(way: &Way, limit_bytes: u64, marks: bool) -> String {
    let (min, max) = ((limit_bytes / 12).max(1), (limit_bytes / 4).max(2));
    let packet = u64::from(way.packet_bytes);
    format!(
        "red limit {limit_bytes} min {min} max {max} avpkt {packet} burst {} bandwidth {}bit adaptive{}",
        (2 * min + max) / (3 * packet) + 1,
        way.rate_bps,
        if marks { " ecn" } else { "" }
    )
}

/// Gives a program a batch of commands, in the namespace of this thread.
pub fn batch(program: &str, commands: &str) -> Outcome<()> {
    if commands.is_empty() {
        return Ok(());
    }
    let mut command = Command::new(program);
    command.args(["-batch", "-"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed(program))?;
    let mut input = child.stdin.take().expect("it is piped");
    // A program that stops reading has said why.
    let _ = input.write_all(commands.as_bytes());
    drop(input);
    let output = child.wait_with_output().map_err(failed(program))?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let line = errors
        .lines()
        .find_map(|line| line.strip_prefix("Command failed -:")?.parse().ok());
    let command = line
        .and_then(|line: usize| commands.lines().nth(line.saturating_sub(1)))
        .unwrap_or("");
    let words: BTreeSet<&str> = errors
        .lines()
        .filter(|line| !line.starts_with("Command failed"))
        .collect();
    let words: Vec<&str> = words.into_iter().collect();
    Err(format!("{program} {command}: {}", words.join("; ")))
}
