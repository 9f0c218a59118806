//! Counters in Prometheus' text format (version 0.0.4), by HTTP on a unix socket.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fadelab_kernel::gateway;
use fadelab_kernel::router::{Counters, EdgeCounters, Router};
use fadelab_kernel::store::{self, Entry};
use fadelab_lab::Failure;

use super::config::{self, Routed};
use super::gates::Counted;

/// How long one who asks may take: whoever asks waits for the routers, and these for nobody.
const PATIENCE: Duration = Duration::from_millis(100);

/// The socket, where the file names one.
#[derive(Default)]
pub struct Metrics {
    open: Option<(UnixListener, PathBuf)>,
}

impl Metrics {
    /// Opens it, for root alone.
    ///
    /// # Errors
    /// When it cannot be made, or something else is there.
    pub fn open(wanted: Option<&config::Metrics>) -> Result<Self, Failure> {
        let mut metrics = Self::default();
        metrics.reopen(wanted)?;
        Ok(metrics)
    }

    /// Opens what is wanted now, and closes what is not.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn reopen(&mut self, wanted: Option<&config::Metrics>) -> Result<(), Failure> {
        let path = wanted.map(|wanted| &wanted.socket);
        if path == self.open.as_ref().map(|(_, path)| path) {
            return Ok(());
        }
        let opened = path.map(|path| listener(path).map(|listener| (listener, path.clone())));
        let opened = opened.transpose()?;
        self.close();
        self.open = opened;
        Ok(())
    }

    /// Answers all who ask now.
    pub fn serve(&self, mut text: impl FnMut() -> String) {
        let Some((listener, _)) = &self.open else { return };
        while let Ok((stream, _)) = listener.accept() {
            // One who does not listen harms nobody.
            let _ = answer(stream, &mut text);
        }
    }

    fn close(&mut self) {
        if let Some((_, path)) = self.open.take() {
            let _ = fs::remove_file(path);
        }
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.close();
    }
}

fn listener(path: &PathBuf) -> Result<UnixListener, Failure> {
    let refused = |why: String| Failure::Invalid(format!("metrics.socket = {}: {why}", path.display()));
    // What a killed service left answers nobody; a socket that somebody serves, or a file, is not ours to remove.
    if fs::symlink_metadata(path).is_ok_and(|there| there.file_type().is_socket()) {
        match UnixStream::connect(path) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                fs::remove_file(path).map_err(|error| refused(error.to_string()))?;
            }
            _ => return Err(refused("somebody else answers there; name another".to_owned())),
        }
    }
    let listener = UnixListener::bind(path).map_err(|error| refused(error.to_string()))?;
    let prepared =
        fs::set_permissions(path, Permissions::from_mode(0o600)).and_then(|()| listener.set_nonblocking(true));
    prepared.map_err(|error| refused(error.to_string()))?;
    Ok(listener)
}

/// To any request, which is read to its end first: one that is closed before would take the answer along.
fn answer(mut stream: UnixStream, text: &mut impl FnMut() -> String) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (mut request, since) = (Vec::new(), Instant::now());
    let mut part = [0; 1024];
    while !request.ends_with(b"\r\n\r\n") && since.elapsed() < PATIENCE {
        match stream.read(&mut part)? {
            0 => break,
            bytes => request.extend(&part[..bytes]),
        }
    }
    let body = text();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// A metric with its samples: its name, type and meaning stand once before them.
struct Metric {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    samples: Vec<(String, f64)>,
}

/// All metrics, in the order in which they were first given a sample.
#[derive(Default)]
struct All(Vec<Metric>);

impl All {
    fn add(&mut self, name: &'static str, kind: &'static str, help: &'static str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(key, value)| format!("{key}=\"{}\"", escaped(value)))
            .collect();
        let sample = (format!("{{{}}}", labels.join(",")), value);
        match self.0.iter_mut().find(|metric| metric.name == name) {
            Some(metric) => metric.samples.push(sample),
            None => self.0.push(Metric {
                name,
                kind,
                help,
                samples: vec![sample],
            }),
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for Metric {
            name,
            kind,
            help,
            samples,
        } in &self.0
        {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in samples {
                let _ = writeln!(text, "{name}{labels} {value}");
            }
        }
        text
    }
}

/// A label's value: the format takes a backslash, a quote and a line's end for its own.
fn escaped(value: &str) -> String {
    value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n")
}

/// What laws, routers and gateways have counted.
pub fn text<'a>(
    laws: &[&Entry],
    routers: impl Iterator<Item = (&'a Routed, Option<&'a mut Router>)>,
    gateways: impl Iterator<Item = Counted<'a>>,
) -> String {
    let mut all = All::default();
    for entry in laws {
        of_law(&mut all, entry);
    }
    for (routed, router) in routers {
        let labels = [("device", routed.device.as_str()), ("law", routed.law.as_str())];
        let is_up = f64::from(u8::from(router.is_some()));
        all.add(
            "fadelab_router_up",
            "gauge",
            "Whether the router is at work",
            &labels,
            is_up,
        );
        if let Some(router) = router {
            let queue_dropped = router.queue_dropped();
            if let Ok(counters) = router.counters() {
                of_router(&mut all, &labels, &counters, queue_dropped);
            }
            of_edges(&mut all, &labels, router.edge_counters());
        }
    }
    for (gated, tunnels) in gateways {
        let labels = [("device", gated.cipher.as_str()), ("law", gated.law.as_str())];
        let (help, is_up) = ("Whether the gateway is at work", f64::from(u8::from(tunnels.is_some())));
        all.add("fadelab_gateway_up", "gauge", help, &labels, is_up);
        for (tunnel, counters) in tunnels.into_iter().flatten() {
            let [device, law] = labels;
            of_tunnel(&mut all, &[device, law, ("tunnel", tunnel)], &counters);
        }
    }
    all.text()
}

fn of_tunnel(all: &mut All, labels: &[(&str, &str)], now: &gateway::Counters) {
    let mut counter = |name, help, value: u64| all.add(name, "counter", help, labels, value as f64);
    let help = "Packets that entered the tunnel";
    counter("fadelab_gateway_entered_total", help, now.entered);
    let help = "Of them, data of the law";
    counter("fadelab_gateway_entered_own_total", help, now.entered_own);
    let help = "Packets that left the tunnel";
    counter("fadelab_gateway_left_total", help, now.left);
    let help = "Of them, data of the law";
    counter("fadelab_gateway_left_own_total", help, now.left_own);
    let help = "Of them, those whose inner ECN field the law changed";
    counter("fadelab_gateway_changed_total", help, now.changed.iter().sum());
    let help = "Packets that offload had joined, which are for no half";
    counter("fadelab_gateway_joined_total", help, now.joined);
    let help = "Fragments of ESP that came, which are for no half";
    counter("fadelab_gateway_fragments_total", help, now.fragments);
    let help = "Data of the law that went by the tunnel's memory, where each flow has one of its own";
    counter("fadelab_gateway_shared_total", help, now.shared);
}

fn of_law(all: &mut All, entry: &Entry) {
    let labels = [("name", entry.name.as_str()), ("law", entry.law.as_str())];
    if let Ok(Some(flows_n)) = store::live_n(entry) {
        all.add(
            "fadelab_law_flows",
            "gauge",
            "Flows under the law",
            &labels,
            flows_n as f64,
        );
    }
    let lost = store::lost_devices(entry).len();
    let help = "Devices that went, and through which nothing is marked any more";
    all.add("fadelab_law_lost_devices", "gauge", help, &labels, lost as f64);
}

fn of_router(all: &mut All, labels: &[(&str, &str)], now: &Counters, queue_dropped: u64) {
    let mut counter = |name, help, value: u64| all.add(name, "counter", help, labels, value as f64);
    counter(
        "fadelab_router_packets_total",
        "Packets that came to the device",
        now.packets,
    );
    counter(
        "fadelab_router_air_bytes_total",
        "Their bytes on the air",
        now.air_bytes,
    );
    let help = "Of them, those with the option of the law's wire";
    counter("fadelab_router_own_packets_total", help, now.own_packets);
    let help = "Packets whose feedback the law changed: grants";
    counter("fadelab_router_rewritten_total", help, now.rewritten);
    let with =
        |more: (&'static str, &'static str)| -> Vec<(&str, &str)> { labels.iter().copied().chain([more]).collect() };
    for (code, marked) in ["00", "01", "10", "11"].into_iter().zip(now.marked) {
        let help = "Packets whose ECN field the law changed, by what it became";
        let labels = with(("code", code));
        all.add("fadelab_router_marked_total", "counter", help, &labels, marked as f64);
    }
    for (by, dropped) in [("law", now.dropped), ("queue", queue_dropped)] {
        let labels = with(("by", by));
        all.add(
            "fadelab_router_dropped_total",
            "counter",
            "Packets dropped",
            &labels,
            dropped as f64,
        );
    }
    let mut gauge = |name, help, value: f64| all.add(name, "gauge", help, labels, value);
    gauge("fadelab_router_queue_bytes", "Bytes that wait", now.queue_bytes as f64);
    gauge(
        "fadelab_router_queue_packets",
        "Packets that wait",
        now.queue_pkts as f64,
    );
    let help = "The capacity that the law computes with";
    gauge(
        "fadelab_router_capacity_bytes_per_second",
        help,
        now.capacity_bytes_per_s as f64,
    );
    if let Some(load) = now.load() {
        gauge("fadelab_router_load_ratio", "The law's load factor", load);
    }
}

fn of_edges(all: &mut All, labels: &[(&str, &str)], edges: EdgeCounters) {
    let mut counter = |name, help, value: u64| all.add(name, "counter", help, labels, value as f64);
    let help = "Packets of ours that left the router's domain";
    counter("fadelab_edge_own_packets_total", help, edges.own_packets);
    counter(
        "fadelab_edge_cleared_total",
        "Of them, those whose marks were cleared",
        edges.cleared,
    );
    let help = "Marked packets of which nobody can tell whose they are";
    counter("fadelab_edge_unknown_total", help, edges.unknown);
}
