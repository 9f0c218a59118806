//! What a service would do, in words.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use fadelab_kernel::device::Device;
use fadelab_kernel::router::planned_edges;
use fadelab_kernel::spaces::described;
use fadelab_lab::Failure;

use super::config::Config;
use super::is_missing;
use crate::kernel::{gateway, load, router};

/// A line for each law, router and gateway, and one for the edges of each namespace.
///
/// # Errors
/// What could not be done, but for devices that are not there: these are waited for.
pub fn told(config: &Config) -> Result<String, Failure> {
    let mut text = String::new();
    for law in &config.laws {
        let names = law.devices.iter().map(String::as_str);
        let missing: Vec<&str> = names.filter(|name| is_missing(&Device::named(name))).collect();
        let by = if law.devices.is_empty() {
            String::new()
        } else {
            format!("; marks leave by {}", law.devices.join(", "))
        };
        if missing.is_empty() {
            let name = load::loading(&law.args())?.name().to_owned();
            let _ = writeln!(text, "would load law {} as {name}{by}", law.law);
        } else {
            let missing = missing.join(", ");
            let _ = writeln!(text, "would wait for {missing}, then load law {}{by}", law.law);
        }
    }
    let mut closing = BTreeSet::new();
    for routed in &config.routers {
        let prepared = router::planned(&routed.args())?;
        let missing = routed.named().into_iter().filter(is_missing);
        let missing: Vec<String> = missing.map(|device| device.name).collect();
        let first = match missing.join(", ") {
            missing if missing.is_empty() => "would ".to_owned(),
            missing => format!("would wait for {missing}, then "),
        };
        let _ = writeln!(text, "{first}put {}", prepared.what);
        if prepared.closes {
            closing.insert(Device::named(&routed.device).netns);
        }
    }
    for gated in &config.gateways {
        let missing = gated.named().into_iter().filter(is_missing);
        let mut missing: Vec<String> = missing.map(|device| device.name).collect();
        if missing.is_empty() && !gateway::has_tunnels(&gated.args()) {
            missing.push("its tunnels".to_owned());
        }
        let first = match missing.join(", ") {
            missing if missing.is_empty() => "would ".to_owned(),
            missing => format!("would wait for {missing}, then "),
        };
        let (law, cipher, plain) = (&gated.law, &gated.cipher, gated.plain.join(", "));
        let _ = writeln!(text, "{first}put gateway's law {law} between {plain} and {cipher}");
    }
    for netns in closing {
        text += &edges(config, netns.as_deref())?;
    }
    Ok(text)
}

/// Where the domain of a namespace would be closed.
fn edges(config: &Config, netns: Option<&Path>) -> Result<String, Failure> {
    let here = config
        .devices()
        .into_iter()
        .filter(|device| device.netns.as_deref() == netns);
    let named: BTreeSet<String> = here.map(|device| device.name).collect();
    let named = Vec::from_iter(named);
    let edges = planned_edges(netns, &named).map_err(Failure::failed)?;
    let place = netns.map_or("this namespace".to_owned(), described);
    let edges = if edges.is_empty() {
        "no device".to_owned()
    } else {
        edges.join(", ")
    };
    Ok(format!(
        "would clear marks from what leaves {place} by {edges}; they may leave by {}\n",
        named.join(", ")
    ))
}
