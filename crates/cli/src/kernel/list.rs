//! `fadelab kernel list`.

use std::fmt::Write;

use clap::Args;
use fadelab_kernel::default::namespaces_of;
use fadelab_kernel::gateway::guard;
use fadelab_kernel::kept::{self, Kept, Purpose};
use fadelab_kernel::left::{Left, Users, left};
use fadelab_kernel::router::{Claim, EdgeCounters, claims};
use fadelab_kernel::sender::{FLOWS_NOTED_MAX, LiveFlow};
use fadelab_kernel::spaces::described as described_space;
use fadelab_kernel::store::{self, Entry, Live};
use fadelab_lab::Failure;
use fadelab_laws::{Sender, abi};
use nix::unistd::{Uid, User};

use super::clean::of_closed;
use super::unload::used;
use crate::output;

/// Arguments of `fadelab kernel list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// As JSON, for programs
    #[arg(long)]
    pub json: bool,
}

/// Prints the loaded laws with their flows, those that live on after they were unloaded, the routers and the gateways.
///
/// # Errors
/// When the kernel does not tell.
pub fn list(args: &ListArgs) -> Result<(), Failure> {
    let mut laws = Vec::new();
    for entry in store::entries() {
        let flows = if entry.is_complete {
            store::live(&entry)
        } else {
            Ok(None)
        };
        let flows = match flows {
            // Unloaded by another command since it was found.
            Ok(None) | Err(_) if store::read(&entry.name).is_none() => continue,
            flows => flows.map_err(|error| Failure::Failed(format!("{}: {error}; are you root?", entry.name)))?,
        };
        laws.push((entry, flows));
    }
    let (routers, gateways) = (claims(), guard::guards());
    let edges: Vec<Kept> = kept::left()
        .into_iter()
        .filter(|kept| kept.purpose == Purpose::Edges)
        .collect();
    let left: Vec<(Left, Users)> = left()
        .into_iter()
        .map(|left| {
            let users = left.users();
            (left, users)
        })
        .collect();
    if args.json {
        let left: Vec<_> = left
            .iter()
            .map(|(left, users)| serde_json::json!({"unloaded": left, "users": users}))
            .collect();
        let laws: Vec<_> = laws
            .iter()
            .map(|(entry, flows)| {
                let lost = store::lost_devices(entry);
                let (noted, flows_n) = (
                    flows.as_ref().map(|live| &live.flows),
                    flows.as_ref().map(|live| live.flows_n),
                );
                serde_json::json!({"loaded": entry, "lost_devices": lost, "flows": noted, "flows_n": flows_n})
            })
            .collect();
        let edges: Vec<_> = edges
            .iter()
            .map(|kept| serde_json::json!({"left_by": kept, "devices": kept.devices()}))
            .collect();
        let gateways: Vec<_> = gateways.iter().map(gateway_json).collect();
        let all = serde_json::json!({
            "laws": laws, "left": left, "routers": routers, "left_edges": edges, "gateways": gateways
        });
        return output::print(&format!("{}\n", serde_json::to_string_pretty(&all).unwrap_or_default()));
    }
    let mut text: Vec<String> = laws
        .iter()
        .map(|(entry, flows)| described(entry, flows.as_ref()))
        .collect();
    if text.is_empty() {
        text.push("no law is loaded; `fadelab kernel load vcp --dev DEV` loads one\n".to_owned());
    }
    text.extend(left.iter().map(|(left, users)| living_on(left, users)));
    text.extend(routers.iter().map(router));
    text.extend(edges.iter().map(closed));
    text.extend(gateways.iter().map(gateway));
    output::print(&text.join("\n"))
}

/// A law that was unloaded and is used still.
fn living_on(left: &Left, users: &Users) -> String {
    format!(
        "{}  law {}, unloaded; lives on, without feedback, for {}, and goes with them\n",
        console::style(&left.name).bold(),
        left.law,
        used(users)
    )
}

/// A router in one line, the devices through which its marks may leave in another.
fn router(claim: &Claim) -> String {
    let process = if claim.owner.is_alive() {
        format!("process {}", claim.owner.pid)
    } else {
        format!(
            "left by the killed process {}, the next router removes it",
            claim.owner.pid
        )
    };
    let space = claim
        .netns
        .as_ref()
        .map_or_else(String::new, |netns| format!(" in {}", netns.display()));
    let mut text = format!(
        "{}  router law {} at {}{space}\n",
        console::style("router").bold(),
        claim.law,
        claim.device
    );
    let _ = writeln!(text, "  {process}; marks may leave by {}", claim.inside.join(", "));
    text
}

fn gateway_json(kept: &Kept) -> serde_json::Value {
    let (is_at_work, cleared) = (kept.is_alive(), guard::cleared(kept));
    serde_json::json!({"gateway": kept, "is_at_work": is_at_work, "guard_cleared_pkts": cleared})
}

/// A gateway at work with its tunnels, or the guard of one that was killed.
fn gateway(kept: &Kept) -> String {
    let title = console::style("gateway").bold();
    let Purpose::Guard { tunnels } = &kept.purpose else {
        return String::new();
    };
    if !kept.is_alive() {
        let cleared = guard::cleared(kept).unwrap_or_default();
        return format!(
            "{title}  {}\n  {cleared} outer headers cleared so far; the next gateway there takes its place, `fadelab \
             kernel clean` removes it\n",
            of_closed(kept, &[])
        );
    }
    let space = kept
        .netns
        .as_ref()
        .map_or_else(String::new, |netns| format!(" in {}", netns.display()));
    format!(
        "{title}  law {} at {}{space}\n  process {}; tunnels {}\n",
        kept.law,
        kept.device,
        kept.owner.pid,
        tunnels.join(", ")
    )
}

/// Edges of a router that was killed.
fn closed(kept: &Kept) -> String {
    let cleared = EdgeCounters::kept(kept).unwrap_or_default().cleared;
    format!(
        "{}  {}\n  {cleared} marks cleared so far; the next router there that closes its domain takes them over, \
         `fadelab kernel clean` removes them\n",
        console::style("edges").bold(),
        of_closed(kept, &kept.devices())
    )
}

/// Who may choose it for a socket, where that is limited.
fn choosers(entry: &Entry) -> String {
    let Some(users) = &entry.allowed_users else {
        return String::new();
    };
    let users = users.iter().map(|user| user_name(*user));
    let groups = entry.allowed_groups.iter();
    let groups = groups.map(|group| format!("processes of {}", group.display()));
    let who: Vec<String> = users.chain(groups).collect();
    format!("  may be chosen by {}\n", who.join(", "))
}

fn described(entry: &Entry, live: Option<&Live>) -> String {
    let mut text = format!("{}  law {}", console::style(&entry.name).bold(), entry.law);
    if !entry.is_complete {
        let state = if entry.owner.is_alive() {
            "is being loaded or unloaded"
        } else {
            "was left by a killed process"
        };
        let _ = writeln!(text, ", {state} ({})", entry.owner.pid);
        return text;
    }
    let Some(Live { flows, flows_n }) = live else {
        let _ = writeln!(
            text,
            ", loaded no more: what held it in /run/fadelab was unmounted; `fadelab kernel unload {}` removes the rest",
            entry.name
        );
        return text;
    };
    let _ = writeln!(text, ", sockets of {}", entry.cgroup.display());
    text += &keeper(entry);
    text += &devices(entry);
    let defaults: Vec<String> = namespaces_of(&entry.name)
        .iter()
        .map(|place| described_space(place))
        .collect();
    if !defaults.is_empty() {
        let _ = writeln!(text, "  the default of {}", defaults.join(", "));
    }
    text += &choosers(entry);
    if *flows_n > flows.len() as u64 {
        let _ = writeln!(
            text,
            "  {} of {flows_n} flows: those heard last that had an ACK, at most {FLOWS_NOTED_MAX}",
            flows.len()
        );
    } else if flows.is_empty() {
        text += "  no flow\n";
    }
    if flows.is_empty() {
        return text;
    }
    let _ = writeln!(
        text,
        "  {:>5}  {:44} {:>9} {:>9} {:>10}  {:9} feedback",
        "flow", "from -> to", "cwnd", "ssthresh", "srtt", "state"
    );
    for flow in flows {
        text += &flow_line(&entry.law, flow);
    }
    text += &lost_marks(&entry.law, flows);
    text
}

/// A flow under a law.
pub fn flow_line(law: &str, flow: &LiveFlow) -> String {
    let ends = format!("{} -> {}", flow.local, flow.remote);
    let ssthresh = if flow.ssthresh_pkts >= 0x7fff_ffff {
        "-".to_owned()
    } else {
        flow.ssthresh_pkts.to_string()
    };
    format!(
        "  {:>5}  {ends:44} {:>5} pkt {ssthresh:>9} {:>7.2} ms  {:9} {}\n",
        flow.id,
        flow.cwnd_pkts,
        f64::from(flow.srtt_us) / 1000.0,
        format!("{:?}", flow.ca_state),
        feedback(law, flow)
    )
}

/// A warning of flows whose marks do not arrive; empty without any.
fn lost_marks(law: &str, flows: &[LiveFlow]) -> String {
    let lost = flows.iter().filter(|flow| has_lost_its_marks(law, flow));
    let lost: Vec<String> = lost.map(|flow| flow.id.to_string()).collect();
    if lost.is_empty() {
        return String::new();
    }
    format!(
        "  marks of {} never reach the peer: the ECN field is cleared on the way, or packets may be cut (no DF);\n  \
         `fadelab kernel check --dev DEV` shows on which devices DEV lies\n",
        lost.join(", ")
    )
}

/// Which service keeps a law, where one does.
fn keeper(entry: &Entry) -> String {
    match () {
        () if !entry.is_kept => String::new(),
        () if entry.owner.is_alive() => format!("  kept by the service, process {}\n", entry.owner.pid),
        () => "  kept by a service that was killed; the next one removes it, and so does `fadelab kernel unload`\n"
            .to_owned(),
    }
}

/// Where packets of a law are marked, and where no more.
fn devices(entry: &Entry) -> String {
    let mut text = String::new();
    if entry.devices.is_empty() {
        return text;
    }
    let what = if entry.segments.is_empty() {
        "marks what leaves"
    } else {
        "packets leave one by one"
    };
    let lost = store::lost_devices(entry);
    let here = entry.devices.iter().map(String::as_str);
    let here: Vec<&str> = here.filter(|device| !lost.contains(device)).collect();
    let by = if here.is_empty() { "no device" } else { &here.join(", ") };
    let _ = writeln!(text, "  {what} by {by}");
    if !entry.sealed.is_empty() {
        let ways: Vec<String> = entry.sealed.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, "  also in ESP in transport mode, {}", ways.join(", "));
    }
    if !lost.is_empty() {
        let lost = lost.join(", ");
        let _ = writeln!(
            text,
            "  gone, and not taken up again if they came back: {lost}; unload it and load it again"
        );
    }
    text
}

/// A user's name, or the number where that has none.
fn user_name(number: u32) -> String {
    let known = User::from_uid(Uid::from_raw(number)).ok().flatten();
    known.map_or_else(|| format!("user {number}"), |user| user.name)
}

/// Whether the peer finds the option and no code in the ECN field. Data leave with one: VCP's low load, which routers
/// only raise.
fn has_lost_its_marks(law: &str, flow: &LiveFlow) -> bool {
    let wire = fadelab_laws::sender(law).map(Sender::wire);
    wire == Some(abi::WIRE_VCP) && flow.feedback.first() == Some(&0)
}

/// The newest feedback in the words of its law.
fn feedback(law: &str, flow: &LiveFlow) -> String {
    if flow.feedback.is_empty() {
        return "none yet".to_owned();
    }
    if has_lost_its_marks(law, flow) {
        return "no mark arrives, as Reno".to_owned();
    }
    let age_ms = flow.time_us.saturating_sub(flow.feedback_us) / 1000;
    if let Some(router) = fadelab_laws::sender(law).and_then(Sender::router)
        && !flow.is_confirmed
    {
        return format!("no router `{router}` on the path, as Reno");
    }
    let said = match (law, flow.feedback.as_slice()) {
        ("vcp", [code, ..]) => ["none", "low load", "high load", "overload"][usize::from(code & 3)].to_owned(),
        ("dcp_ew", [echo, ..]) if echo & 32 != 0 => format!("halves {} and {}", echo & 3, echo >> 2 & 3),
        ("dcp_ew", [echo, ..]) => format!("half {}", echo & 3),
        ("xcp", &[a, b, c, d, ..]) => format!("{:+} B/s", i32::from_be_bytes([a, b, c, d])),
        (_, bytes) => format!("{bytes:02x?}"),
    };
    if age_ms > 1000 {
        format!("{said}, {age_ms} ms ago")
    } else {
        said
    }
}
