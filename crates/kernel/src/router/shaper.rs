//! The queueing discipline of a device: the operator's own, which stays, or a token bucket filter of ours.

use std::io;
use std::path::Path;
use std::process::{Command, Output};

use serde::Deserialize;

use super::RouterError;
use crate::device::{Device, within};

/// How our token bucket filter is known, so that it is never taken for an operator's.
pub(super) const HANDLE: &str = "fade:";

/// Its kind.
const KIND: &str = "tbf";

/// The discipline at the root of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Its kind, such as `pfifo_fast`.
    pub kind: String,
    /// Its handle; `0:` where the kernel chose it.
    pub handle: String,
}

impl Root {
    /// Whether an operator put it there.
    pub fn is_chosen(&self) -> bool {
        self.handle != "0:"
    }

    /// Why the law cannot see how much waits in it, where it cannot.
    pub fn blind(&self) -> Option<String> {
        let reason = match self.kind.as_str() {
            "noqueue" => "has no queue",
            "mq" | "mqprio" => "does not add up the queues below it",
            "pfifo_fast" => "counts for each processor by itself",
            _ => return None,
        };
        Some(format!("{} {reason}: the law takes the queue for empty", self.kind))
    }
}

/// What `tc -json` says of a discipline.
#[derive(Deserialize)]
struct Listed {
    kind: String,
    #[serde(default)]
    dev: String,
    handle: String,
    #[serde(default)]
    root: bool,
    #[serde(default)]
    drops: u64,
}

/// The discipline at the root of a device.
pub(super) fn root(device: &Device) -> Result<Root, RouterError> {
    let root = list(device)?.into_iter().find(|listed| listed.root);
    let root = root.ok_or_else(|| failed(device, "no discipline at its root"))?;
    Ok(Root {
        kind: root.kind,
        handle: root.handle,
    })
}

/// How many packets the discipline at the root of a device has dropped.
pub(super) fn dropped(device: &Device) -> Result<u64, RouterError> {
    Ok(list(device)?
        .iter()
        .find(|listed| listed.root)
        .map_or(0, |root| root.drops))
}

fn list(device: &Device) -> Result<Vec<Listed>, RouterError> {
    let text = tc(device, &["-json", "-statistics", "qdisc", "show", "dev", &device.name])?;
    serde_json::from_str(&text).map_err(|error| failed(device, error.to_string()))
}

/// Devices of a namespace at whose root there is one of ours; none where the namespace has gone meanwhile.
pub(super) fn ours(netns: &Path) -> Vec<String> {
    let everywhere = Device {
        name: "all devices".to_owned(),
        netns: Some(netns.to_owned()),
    };
    let text = tc(&everywhere, &["-json", "qdisc", "show"]).unwrap_or_default();
    let listed: Vec<Listed> = serde_json::from_str(&text).unwrap_or_default();
    let is_ours = |listed: &Listed| listed.root && listed.handle == HANDLE && listed.kind == KIND;
    listed.into_iter().filter(is_ours).map(|listed| listed.dev).collect()
}

/// What a token bucket filter is told.
pub(super) struct Bucket {
    rate: String,
    burst: String,
    limit: String,
}

impl Bucket {
    /// One that lets so much through.
    pub fn of(rate_bytes_per_s: u64, frame_bytes: u32, limit_bytes: u64) -> Self {
        // A millisecond's worth where that is more than two packets: on fast links the timer cannot wake for each.
        let burst_bytes = (rate_bytes_per_s / 1000).max(2 * u64::from(frame_bytes));
        Self {
            rate: format!("{}bit", rate_bytes_per_s * 8),
            burst: burst_bytes.to_string(),
            limit: limit_bytes.to_string(),
        }
    }
}

/// Puts the token bucket filter there.
pub(super) fn install(device: &Device, bucket: &Bucket) -> Result<(), RouterError> {
    put(device, "add", bucket)
}

/// Makes the one that is there another one, which keeps what waits in it.
pub(super) fn change(device: &Device, bucket: &Bucket) -> Result<(), RouterError> {
    put(device, "change", bucket)
}

fn put(device: &Device, verb: &str, bucket: &Bucket) -> Result<(), RouterError> {
    let words = ["qdisc", verb, "dev", &device.name, "root", "handle", HANDLE, KIND];
    let Bucket { rate, burst, limit } = bucket;
    let numbers = ["rate", rate, "burst", burst, "limit", limit];
    tc(device, &[&words[..], &numbers].concat()).map(drop)
}

/// Takes it away. What is gone already, or another's, is left alone.
pub(super) fn remove(device: &Device) -> Result<(), RouterError> {
    if root(device).is_ok_and(|root| root.handle == HANDLE) {
        tc(device, &["qdisc", "del", "dev", &device.name, "root", "handle", HANDLE])?;
    }
    Ok(())
}

/// Whether the device has a place for filters, the discipline clsact.
pub(super) fn has_place(device: &Device) -> Result<bool, RouterError> {
    Ok(list(device)?.iter().any(|listed| listed.kind == "clsact"))
}

/// Removes our filter at the egress of a device, and the place for filters where we made it.
pub(super) fn remove_filter(device: &Device, preference: u32, made_place: bool) {
    let preference = preference.to_string();
    let name = device.name.as_str();
    // What is gone already needs no removing.
    let _ = tc(device, &["filter", "del", "dev", name, "egress", "pref", &preference]);
    if made_place {
        let _ = tc(device, &["qdisc", "del", "dev", name, "clsact"]);
    }
}

/// Runs `tc` in the namespace of a device.
fn tc(device: &Device, words: &[&str]) -> Result<String, RouterError> {
    let run = || {
        let output = Command::new("tc").env("LC_ALL", "C").args(words).output();
        // Where the search path of a service lacks it.
        match output {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Command::new("/sbin/tc").args(words).output(),
            output => output,
        }
    };
    let output = within(device.netns.as_deref(), run).and_then(|output| output);
    let Output { status, stdout, stderr } = output.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => failed(
            device,
            "`tc` cannot be run; install it (Debian: apt-get install iproute2)",
        ),
        _ => failed(device, error.to_string()),
    })?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned());
    }
    Err(failed(device, String::from_utf8_lossy(&stderr).trim().to_owned()))
}

fn failed(device: &Device, why: impl Into<String>) -> RouterError {
    RouterError::Queue {
        device: device.name.clone(),
        why: why.into(),
    }
}
