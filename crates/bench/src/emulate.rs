//! The link in real time, judged by programs that are not ours: ping, iperf3, tcpdump, and the kernel's count of what
//! was dropped.

mod alone;
mod witness;

use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::measure::{self, median};
use crate::row::{Bound, Row, Section};
use crate::simulators::Bench;

/// IP and UDP headers of a datagram.
const UDP_HEADER_BYTES: f64 = 28.0;

/// A network namespace in which shells are made.
struct Outside(String);

impl Outside {
    fn new() -> Result<Self, String> {
        let outside = Self(format!("flbe{}", std::process::id()));
        measure::run(["ip", "netns", "add", &outside.0])?;
        measure::run(["ip", "-n", &outside.0, "link", "set", "lo", "up"])?;
        Ok(outside)
    }

    fn enter(&self) -> [String; 2] {
        ["nsenter".to_owned(), format!("--net=/run/netns/{}", self.0)]
    }

    /// A server, each time a new one: over a link that loses packets it may not hear that its client has gone.
    fn serve(&self) -> Result<Server, String> {
        let [enter, space] = self.enter();
        let server = Server(measure::start(&[&enter, &space, "iperf3", "-s"])?);
        sleep(Duration::from_millis(500));
        Ok(server)
    }

    /// What a command prints behind a link, and what the emulator says of it.
    fn emulate(&self, bench: &Bench, link: &[&str], command: &str) -> Result<(String, Value), String> {
        let _server = self.serve()?;
        let out = std::env::temp_dir().join(format!("{}.json", self.0));
        let fadelab = bench.fadelab.display().to_string();
        let file = out.display().to_string();
        let words = ["emulate", "--out", &file, "--quiet"];
        let command = ["--", "sh", "-c", command];
        let enter = self.enter();
        let words = enter.iter().map(String::as_str).chain([fadelab.as_str()]).chain(words);
        let output = measure::run(words.chain(link.iter().copied()).chain(command))?;
        let text = std::fs::read_to_string(&out).map_err(|error| format!("{file}: {error}"))?;
        let _ = std::fs::remove_file(&out);
        let outcome = serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))?;
        Ok((String::from_utf8_lossy(&output.stdout).into_owned(), outcome))
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        let _ = measure::run(["ip", "netns", "del", &self.0]);
    }
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn number(value: &Value, place: &str) -> Result<f64, String> {
    value
        .pointer(place)
        .and_then(Value::as_f64)
        .ok_or_else(|| format!("there is no {place}"))
}

/// The mean of what ping measured, in ms, which it prints with more digits than each time.
fn ping_ms(text: &str) -> Result<f64, String> {
    let told = text
        .lines()
        .find_map(|line| line.strip_prefix("rtt min/avg/max/mdev = "));
    let mean = told.and_then(|times| times.split('/').nth(1)?.parse().ok());
    mean.ok_or_else(|| format!("ping says no times: {text}"))
}

fn row(case: &str, quantity: &'static str, value: f64, bound: Bound, basis: String) -> Row {
    let digits = if value.abs() < 10.0 { 3 } else { 1 };
    Row {
        case: case.to_owned(),
        quantity,
        value,
        digits,
        bound,
        basis,
    }
}

/// Ping over one link, and over ten shells in each other.
fn delays(bench: &Bench, outside: &Outside) -> Result<Vec<Row>, String> {
    let link = ["--rate", "10 Mbit/s", "--delay", "200 ms"];
    let (text, _) = outside.emulate(bench, &link, "ping -q -c 50 -i 0.05 $FADELAB_OUTSIDE")?;
    // 84 bytes of IP each way.
    let least_ms = 400.0 + 2.0 * 84.0 * 8.0 / 10e3;
    let one_ms = ping_ms(&text)? - least_ms;
    let fadelab = bench.fadelab.display();
    let mut nested = "ping -q -c 20 -i 0.1 $OUTERMOST".to_owned();
    for _ in 1..10 {
        let inner = nested.replace('\'', "'\\''");
        nested = format!("{fadelab} emulate -q --rate '1 Gbit/s' --delay '10 ms' -- sh -c '{inner}'");
    }
    let nested = format!("export OUTERMOST=$FADELAB_OUTSIDE; {nested}");
    let (text, _) = outside.emulate(bench, &["--rate", "1 Gbit/s", "--delay", "10 ms"], &nested)?;
    let ten_ms = ping_ms(&text)? - 200.0;
    Ok(vec![
        row(
            "ping over 10 Mbit/s and 2 x 200 ms",
            "ms beyond the link's time",
            one_ms,
            Bound::AtMost(0.5),
            "mean of 50".to_owned(),
        ),
        row(
            "ping through ten shells of 10 ms",
            "ms beyond 200 ms",
            ten_ms,
            Bound::AtMost(5.0),
            "mean of 20".to_owned(),
        ),
    ])
}

/// TCP over a link: how late packets leave, and what that takes of a processor; beside it what a timer takes that rings
/// as often.
fn lateness(bench: &Bench, outside: &Outside, rate: &str, share_max: f64) -> Result<Vec<Row>, String> {
    let link = ["--rate", rate, "--delay", "20 ms"];
    let turn = |_| {
        let (_, outcome) = outside.emulate(bench, &link, "iperf3 -c $FADELAB_OUTSIDE -t 5")?;
        let at = |path: &str| number(&outcome, path);
        let delivered_pkts = at("/ways/0/tally/delivered_pkts")? + at("/ways/1/tally/delivered_pkts")?;
        let duration_ns = at("/duration_ns")?;
        let (timer_us, timer_share) = alone::timer(delivered_pkts / (duration_ns / 1e9))?;
        Ok([
            at("/punctuality/late_ns_p99")? / 1e3,
            at("/cpu_ns")? / duration_ns,
            timer_us,
            timer_share,
        ])
    };
    let turns = (0..bench.rounds).map(turn).collect::<Result<Vec<_>, String>>()?;
    let of = |place: usize| median(turns.iter().map(|turn| turn[place]).collect());
    let basis = |timer: String| {
        let rounds = bench.rounds;
        format!("median of {rounds} transfers of 5 s; a timer that does nothing, as often: {timer}")
    };
    Ok(vec![
        row(
            &format!("lateness at {rate}"),
            "us, 99 % of the packets",
            of(0),
            Bound::AtMost(100.0),
            basis(format!("{:.0} us", of(2))),
        ),
        row(
            &format!("processor at {rate}"),
            "of one",
            of(1),
            Bound::AtMost(share_max),
            basis(format!("{:.3}", of(3))),
        ),
    ])
}

/// UDP beyond the rate of a link: what arrives is the rate.
fn rate(bench: &Bench, outside: &Outside) -> Result<Row, String> {
    let link = ["--rate", "10 Mbit/s", "--delay", "20 ms"];
    let command = "iperf3 -c $FADELAB_OUTSIDE -u -b 12M -l 1400 -t 10 -J";
    let (text, _) = outside.emulate(bench, &link, command)?;
    let told: Value = serde_json::from_str(&text).map_err(|error| format!("iperf3: {error}"))?;
    let payload_bps = number(&told, "/server_output_json/sum/bits_per_second")
        .or_else(|_| number(&told, "/end/sum_received/bits_per_second"))?;
    let on_link = payload_bps * (1400.0 + UDP_HEADER_BYTES) / 1400.0;
    Ok(row(
        "iperf3 UDP over 10 Mbit/s",
        "% from the rate",
        (on_link / 10e6 - 1.0).abs() * 100.0,
        Bound::AtMost(0.5),
        format!("{:.3} Mbit/s", on_link / 1e6),
    ))
}

/// Points of a fading link at which between 1 and 50 % of the packets are lost: antennas, SNR, code rate.
const POINTS: [(&str, &str, &str); 6] = [
    ("1x1", "17", "0.9"),
    ("2x1", "25", "1"),
    ("2x1", "10", "0.9"),
    ("2x1", "5", "0.5"),
    ("2x2", "16", "1"),
    ("2x2", "5", "0.9"),
];

/// Ping over a fading link: what finds no answer is what the channel's formula says, of which it takes two losses.
fn losses(bench: &Bench, outside: &Outside, (antennas, snr, code): (&str, &str, &str)) -> Result<Row, String> {
    const IP_BYTES: u32 = 1000;
    const ICMP_HEADER_BYTES: u32 = 28;
    let fading = format!("{antennas},{snr}dB");
    let codes = format!("{code},{code}");
    let mut link = vec!["--rate", "20 Mbit/s", "--delay", "5 ms", "--fading", &fading];
    if code != "1" {
        link.extend(["--code", &codes]);
    }
    let payload_bytes = IP_BYTES - ICMP_HEADER_BYTES;
    // All answers may be missing.
    let command = format!("ping -q -c 5000 -i 0.002 -W 1 -s {payload_bytes} $FADELAB_OUTSIDE || true");
    let (text, _) = outside.emulate(bench, &link, &command)?;
    let counts: Vec<f64> = text
        .lines()
        .find(|line| line.contains(" packets transmitted, "))
        .map(|line| line.split(' ').filter_map(|word| word.parse().ok()).collect())
        .unwrap_or_default();
    let [sent, answered, ..] = counts[..] else {
        return Err(format!("ping counts nothing: {text}"));
    };
    let fadelab = bench.fadelab.display().to_string();
    let size = IP_BYTES.to_string();
    let options = [
        "--antennas",
        antennas,
        "--snr",
        snr,
        "--code-rate",
        code,
        "--size",
        &size,
    ];
    let formula = measure::run([fadelab.as_str(), "channel"].iter().chain(&options))?;
    let formula = String::from_utf8_lossy(&formula.stdout).into_owned();
    let one_way = packet_error(&formula).ok_or_else(|| format!("no packet error in: {formula}"))?;
    let received = (1.0 - one_way).powi(2);
    let sigma = (received * (1.0 - received) / sent).sqrt();
    Ok(row(
        &format!("losses at {antennas}, {snr} dB, code rate {code}"),
        "sigmas from the formula",
        ((answered / sent - received) / sigma).abs(),
        // 99.9 %.
        Bound::AtMost(3.29),
        format!(
            "{answered} answers of {sent}, formula {:.2} % lost each way",
            one_way * 100.0
        ),
    ))
}

/// The packet error of a table of one SNR: behind the SNR with its unit and two symbol errors.
fn packet_error(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.split_whitespace().nth(1) == Some("dB"))?;
    line.split_whitespace().nth(4)?.parse().ok()
}

/// As fast as it goes, and at a gigabit.
fn throughput(bench: &Bench, outside: &Outside) -> Result<Vec<Row>, String> {
    let most = ["--rate", "20 Gbit/s", "--buffer", "20000 pkt"];
    let gbit = ["--rate", "1 Gbit/s", "--buffer", "2000 pkt", "--delay", "1 ms"];
    let command = "iperf3 -c $FADELAB_OUTSIDE -t 5 -J";
    let mut reached = Vec::new();
    for _ in 0..bench.rounds {
        let (text, _) = outside.emulate(bench, &most, command)?;
        let told: Value = serde_json::from_str(&text).map_err(|error| format!("iperf3: {error}"))?;
        reached.push(number(&told, "/end/sum_received/bits_per_second")? / 1e9);
    }
    let (_, outcome) = outside.emulate(bench, &gbit, command)?;
    let undecided =
        number(&outcome, "/ways/0/undecided_drops_pkts")? + number(&outcome, "/ways/1/undecided_drops_pkts")?;
    let arrived = number(&outcome, "/ways/0/tally/delivered_bytes")? * 8.0 / number(&outcome, "/duration_ns")?;
    Ok(vec![
        row(
            "most that it carries",
            "Gbit/s",
            median(reached),
            Bound::AtLeast(1.5, 2.5),
            format!("median of {} transfers of 5 s", bench.rounds),
        ),
        row(
            "drops that no model decided at 1 Gbit/s",
            "packets",
            undecided,
            Bound::AtMost(0.0),
            format!("{arrived:.3} Gbit/s"),
        ),
    ])
}

/// # Errors
/// In words: no root, no TUN devices, or a command that fails.
pub fn measure(bench: &Bench) -> Result<Section, String> {
    eprintln!("bench: links in real time");
    let outside = Outside::new()?;
    let mut rows = delays(bench, &outside)?;
    rows.push(rate(bench, &outside)?);
    rows.push(witness::departures(bench, &outside)?);
    for point in POINTS {
        rows.push(losses(bench, &outside, point)?);
    }
    rows.extend(lateness(bench, &outside, "10 Mbit/s", 0.04)?);
    rows.extend(lateness(bench, &outside, "100 Mbit/s", 0.25)?);
    rows.extend(throughput(bench, &outside)?);
    Ok(Section {
        name: "emulate",
        about: "Links in real time, judged by ping, iperf3 and the kernel's counters".to_owned(),
        rows,
    })
}
