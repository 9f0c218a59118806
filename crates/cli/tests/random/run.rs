//! Runs scenarios of chance with the program and judges what comes out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use fadelab_scenario::Options;
use fadelab_scenario::plan::Plan;
use serde_json::Value;

use super::scenario::Scenario;
use super::table::Tables;
use super::{ranges, relations};

/// The name of a scenario's file in its folder.
const FILE: &str = "scenario.toml";

/// Most lines of findings that are told of a run.
const FINDINGS_SHOWN: usize = 8;

/// A run takes tens of milliseconds; what takes so long on any machine does not end.
const PATIENCE: Duration = Duration::from_secs(120);

/// What became of a scenario that is in order.
pub enum Outcome {
    /// It ran: how much payload was delivered, and what was used, by name.
    Ran { delivered_bytes: u64, used: Vec<String> },
    /// It was refused, as what cannot go together is.
    Refused(String),
}

/// What came out of a run, and what was simulated.
pub struct Judged {
    pub tables: Tables,
    pub summary: Value,
    pub plan: Plan,
}

impl Scenario {
    /// Runs it in `folder`, which is empty, and checks all that must hold.
    ///
    /// # Errors
    /// What does not hold.
    pub fn check(&self, folder: &Path, twice: bool) -> Result<Outcome, String> {
        self.write(folder);
        if let Some(refusal) = run(folder, "out")? {
            return Ok(Outcome::Refused(refusal));
        }
        let judged = judge(folder, "out")?;
        if twice {
            run(folder, "again")?;
            same_bytes(&folder.join("out"), &folder.join("again"))?;
        }
        let flows = judged.tables.get("flow_totals");
        Ok(Outcome::Ran {
            delivered_bytes: (0..flows.rows.len())
                .map(|row| flows.count(row, "delivered_bytes"))
                .sum(),
            used: used(&judged.plan),
        })
    }

    /// Writes it and its traces.
    pub fn write(&self, folder: &Path) {
        fs::write(folder.join(FILE), &self.text).unwrap();
        for (name, lines) in &self.traces {
            fs::write(folder.join(name), lines).unwrap();
        }
    }

    /// Writes it where it stays, and says how to run it again.
    pub fn keep(&self, folder: &Path) -> String {
        let folder = folder.join(self.seed.to_string());
        fs::create_dir_all(&folder).unwrap();
        self.write(&folder);
        format!("fadelab run {}", folder.join(FILE).display())
    }
}

/// Runs the scenario of a folder. Returns the refusal, if it is one as a user should see.
fn run(folder: &Path, out: &str) -> Result<Option<String>, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fadelab"));
    command.args(["run", FILE, "--quiet", "--csv", "--jobs", "1", "--out", out]);
    let errors = folder.join("stderr");
    let file = fs::File::create(&errors).unwrap();
    command
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(file);
    let child = command.spawn().unwrap();
    let status = wait(child)?;
    let said = String::from_utf8_lossy(&fs::read(&errors).unwrap()).into_owned();
    match status {
        Some(0) if said.is_empty() => Ok(None),
        Some(2) if is_readable(&said) => Ok(Some(said.trim_end().to_owned())),
        status => Err(format!("exit status {status:?}: {}", said.trim_end())),
    }
}

fn wait(mut child: Child) -> Result<Option<i32>, String> {
    let begin = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Ok(status.code());
        }
        if begin.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("it did not end within {} s", PATIENCE.as_secs()));
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// A refusal is one line that names a place.
fn is_readable(said: &str) -> bool {
    said.starts_with(&format!("error: {FILE}")) && said.trim_end().lines().count() == 1
}

/// Reads a result and checks every column and what columns say of each other.
pub fn judge(folder: &Path, out: &str) -> Result<Judged, String> {
    let plan = fadelab_scenario::load(&folder.join(FILE), &Options::default());
    let plan = plan.map_err(|refusal| refusal.to_string())?;
    let summary = fs::read(folder.join(out).join("summary.json")).map_err(|error| error.to_string())?;
    let judged = Judged {
        tables: Tables::read(&folder.join(out))?,
        summary: serde_json::from_slice(&summary).map_err(|error| format!("summary.json: {error}"))?,
        plan,
    };
    let findings = judged.findings_of(&judged.tables);
    if findings.is_empty() {
        return Ok(judged);
    }
    let shown = findings.len().min(FINDINGS_SHOWN);
    Err(format!(
        "{} findings:\n    {}",
        findings.len(),
        findings[..shown].join("\n    ")
    ))
}

impl Judged {
    /// What does not hold of these tables, were they those of the run.
    pub fn findings_of(&self, tables: &Tables) -> Vec<String> {
        let mut findings = Vec::new();
        ranges::check(tables, &mut findings);
        ranges::check_summary(&self.summary, tables, &mut findings);
        relations::check(tables, &self.plan.runs[0].spec, &mut findings);
        findings
    }
}

/// The same scenario and seed give the same bytes in every file but the manifest, which has the wall time.
fn same_bytes(one: &Path, other: &Path) -> Result<(), String> {
    let (first, second) = (files(one), files(other));
    let names = |files: &[(PathBuf, Vec<u8>)]| -> Vec<PathBuf> { files.iter().map(|file| file.0.clone()).collect() };
    if names(&first) != names(&second) {
        return Err("a second run wrote other files".to_owned());
    }
    let differing = first.iter().zip(&second).find(|(one, other)| one.1 != other.1);
    differing.map_or(Ok(()), |(file, _)| {
        Err(format!("a second run gave other bytes in {}", file.0.display()))
    })
}

fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for part in ["", "csv"] {
        for entry in fs::read_dir(folder.join(part)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() && !path.ends_with("manifest.json") {
                files.push((path.strip_prefix(folder).unwrap().to_owned(), fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// What a run used, by name.
fn used(plan: &Plan) -> Vec<String> {
    let spec = &plan.runs[0].spec;
    let mut used = Vec::new();
    for flow in &spec.flows {
        used.extend(flow.sender.map(|law| format!("sender {}", law.name())));
        used.push(kind("app", &flow.app));
        used.push(kind("recovery", &flow.transport.recovery));
    }
    for link in &spec.network.links {
        used.push(format!("router {}", link.router.law.name()));
        used.push(format!("capacity {}", link.router.capacity.name()));
        used.push(kind("rate", &link.capacity));
        used.push(kind("queues", &link.queues));
        used.extend(link.channel.as_ref().map(|channel| kind("channel", &channel.model)));
        used.extend(link.channel.as_ref().map(|channel| kind("code", &channel.code.mode)));
        used.extend(link.layer.arq.map(|_| "arq".to_owned()));
        used.extend(link.layer.jitter.map(|jitter| kind("jitter", &jitter.delay)));
        used.extend(link.layer.reorder.map(|_| "reorder".to_owned()));
    }
    for tunnel in &spec.network.tunnels {
        used.extend(tunnel.ecn.iter().map(|rule| kind("ecn rule", rule)));
        used.push(kind("cipher", &tunnel.cipher));
        used.push(kind("role", &tunnel.role));
        used.push(kind("mode", &tunnel.mode));
        let gateways = tunnel.gateways.iter().flatten();
        used.extend(gateways.map(|gateway| format!("gateway {}", gateway.law.name())));
        if tunnel.gateways[0].is_some() != tunnel.gateways[1].is_some() {
            used.push("a gateway at one end".to_owned());
        }
        used.extend(tunnel.told_wire.map(|_| "routers that are told".to_owned()));
    }
    used.sort();
    used.dedup();
    used
}

/// The variant of an enum by its name.
fn kind(of: &str, value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    let end = text
        .find(|letter: char| !letter.is_alphanumeric())
        .unwrap_or(text.len());
    format!("{of} {}", &text[..end])
}
