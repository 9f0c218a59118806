//! `fadelab kernel router`: a router's law at a device, in the foreground.

use std::collections::VecDeque;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use fadelab_kernel::Version;
use fadelab_kernel::check::stack_remarks;
use fadelab_kernel::device::Device;
use fadelab_kernel::router::object::{self, Recipe};
use fadelab_kernel::router::{self, Closed, Options, Router, RouterError};
use fadelab_kernel::store;
use fadelab_kernel::tunnel::Way;
use fadelab_lab::{Failure, parameters};
use fadelab_laws::abi;
use fadelab_laws::recorded::RecordedHead;
use fadelab_run::spec::RunSpec;
use fadelab_scenario::Changes;
use fadelab_scenario::unit::{Rate, Size, parse};

use super::build::law_named;
use super::gateway::Role;
use super::record::{self, Recording};
use super::view::{self, Seen};
use crate::{interrupt, output};

/// How often the loop looks whether it is to end.
const TURN: Duration = Duration::from_millis(100);

/// Arguments of `fadelab kernel router`.
#[derive(Debug, Args)]
pub struct RouterArgs {
    /// The device whose queue the law manages, NAME or NETNS:NAME
    #[arg(long, value_name = "DEV")]
    pub dev: String,
    /// The router's law by name (fadelab laws --role router), a header of your own, ./mine.h, or what `fadelab kernel
    /// build` made
    #[arg(long)]
    pub law: String,
    /// What the link carries: "10 Mbit/s", or as tc writes it, 10mbit
    #[arg(long)]
    pub rate: Option<String>,
    /// Change the rate at instants from the beginning on: "20 s: 5 Mbit/s, 40 s: 10 Mbit/s", as `rate_changes` of a
    /// scenario
    #[arg(long, value_name = "CHANGES", requires = "rate", conflicts_with = "record")]
    pub rate_changes: Option<String>,
    /// Most that waits in the queue [default: 200 ms of the rate, at least 20 full packets]
    #[arg(long, value_name = "SIZE")]
    pub limit: Option<String>,
    /// Devices of the same namespace through which marks may leave too: those to other hosts of the experiment
    #[arg(long, value_name = "DEV", value_delimiter = ',')]
    pub inside: Vec<String>,
    /// A tunnel of whose packets only the outer header is seen, FROM-TO with its outer addresses: all in it is taken
    /// for data of the law; repeatable
    #[arg(long = "tunnel", value_name = "FROM-TO")]
    pub tunnels: Vec<Way>,
    /// Where in outer headers the role of a packet stands
    #[arg(long, value_enum, default_value_t = Role::Sequence)]
    pub role: Role,
    /// Leave the device as fast as it is: something else makes the link as slow as --rate says
    #[arg(long)]
    pub no_shape: bool,
    /// Set a parameter, as scenarios do: --set router.vcp.gamma=0.95, --set router.capacity=measured; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Write what the law makes of each packet, and each run of its timers, into FILE, for fadelab replay
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

/// A device that cannot be had is invalid input, anything else a failure.
fn refused(error: RouterError) -> Failure {
    match error {
        RouterError::Device { .. }
        | RouterError::Inside { .. }
        | RouterError::Down { .. }
        | RouterError::Taken { .. } => Failure::invalid(error),
        _ => Failure::failed(error),
    }
}

/// Puts the law at the device and shows what it does until Ctrl-C; then all is undone.
///
/// # Errors
/// What the device, the law or the machine do not allow, and a device that goes meanwhile.
pub fn router(args: &RouterArgs) -> Result<(), Failure> {
    let changes = rate_changes(args)?;
    let stop = interrupt::flag();
    let begun = begin(args);
    if stop.load(Ordering::Relaxed) {
        // Ctrl-C also ends the compiler, which then looks as if it had refused the law.
        drop(begun);
        let message = "the router had not begun, and nothing is left of it";
        return Err(Failure::Interrupted(message.to_owned()));
    }
    let (mut router, head) = begun?;
    let record = |file| Recording::begin(file, |out| router.recorder(&head, out));
    let mut recording = args.record.as_deref().map(record).transpose()?;
    output::note(&remarks(args, &router));
    let ended = show(args, &head.law, &mut router, changes, recording.as_mut(), stop);
    // No packet is on its way through the law any more when the recording ends.
    drop(router);
    let recorded = recording.map_or(Ok(()), Recording::end);
    ended.and(recorded)
}

/// Shows what a router does, and records it where that was asked for, until Ctrl-C.
fn show(
    args: &RouterArgs,
    law: &str,
    router: &mut Router,
    changes: VecDeque<(Duration, u64)>,
    mut recording: Option<&mut Recording<'_>>,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let mut changes = changes;
    let mut view = view::View::new(&args.dev, law, router.edges().len());
    let started = Instant::now();
    let mut shown = 0;
    while !stop.load(Ordering::Relaxed) {
        if started.elapsed().as_secs() >= shown {
            view.show(started.elapsed(), &Seen::of(router)?)?;
            shown = started.elapsed().as_secs() + 1;
        }
        if let Some(recording) = &mut recording {
            recording.poll(Duration::ZERO)?;
        }
        let is_due = |(at, _): &(Duration, u64)| started.elapsed() >= *at;
        if changes.front().is_some_and(is_due)
            && let Some((_, bytes_per_s)) = changes.pop_front()
        {
            router.set_rate(bytes_per_s).map_err(Failure::failed)?;
        }
        let next = changes
            .front()
            .map_or(TURN, |(at, _)| at.saturating_sub(started.elapsed()));
        // A device or namespace that goes under way is no fault of what was asked for.
        router.tend(TURN.min(next)).map_err(Failure::failed)?;
    }
    view.end(started.elapsed(), &Seen::of(router)?)
}

/// The router at work, and the first line of a recording of it, which has the name of its law.
pub(super) fn begin(args: &RouterArgs) -> Result<(Router, RecordedHead), Failure> {
    for claim in router::remove_leftovers() {
        output::warn(&[format!(
            "removed what process {} had left at {} when it was killed",
            claim.owner.pid, claim.device
        )]);
    }
    let law = law_name(&args.law)?;
    let run = parameters::of_law(&format!("reno+{law}"), &args.sets)?;
    let Prepared { object, options, head } = prepared(args, &run.spec)?;
    Ok((Router::load(&object, options).map_err(refused)?, head))
}

/// What a router would be.
pub(super) struct Planned {
    pub what: String,
    /// Whether it would close its domain.
    pub closes: bool,
}

/// In words, without a change to the machine.
///
/// # Errors
/// What the law or its options do not allow.
pub(super) fn planned(args: &RouterArgs) -> Result<Planned, Failure> {
    let law = law_name(&args.law)?;
    let run = parameters::of_law(&format!("reno+{law}"), &args.sets)?;
    let Prepared { options, .. } = prepared(args, &run.spec)?;
    let mut what = format!("router law {law} at {}", args.dev);
    if options.shaped {
        let _ = write!(
            what,
            ", behind it, where no other queue was chosen, a token bucket filter of {} that holds {}",
            view::bits(options.capacity_bytes_per_s as f64 * 8.0),
            view::bytes(options.limit_bytes)
        );
    }
    Ok(Planned {
        what,
        closes: options.closed.is_some(),
    })
}

/// A compiled law and what goes with it.
struct Prepared {
    object: Vec<u8>,
    options: Options,
    /// The first line of a recording of it.
    head: RecordedHead,
}

fn prepared(args: &RouterArgs, spec: &RunSpec) -> Result<Prepared, Failure> {
    let link = &spec
        .network
        .links
        .first()
        .expect("the scenario has a bottleneck")
        .router;
    if let Some(reason) = object::obstacle(link.law, link.capacity) {
        return Err(Failure::Invalid(reason));
    }
    let rate_bytes_per_s = args.rate.as_deref().map(rate).transpose()?.map_or(0, |bits| bits / 8);
    let needs_rate = !args.no_shape || link.law.wire() != abi::WIRE_NONE;
    if rate_bytes_per_s == 0 && needs_rate {
        return Err(Failure::Invalid(format!(
            "law {} has to know what the link carries: give it, for example --rate 10mbit",
            link.law.name()
        )));
    }
    let kernel = Version::of_hooks();
    let kernel = kernel.ok_or_else(|| Failure::Failed("the kernel's version cannot be read".to_owned()))?;
    let recipe = Recipe {
        law: link.law,
        params: &link.params,
        part: link.capacity,
        part_params: &link.capacity_params,
        kernel,
        record: args.record.is_some(),
    };
    if link.law.wire() == abi::WIRE_NONE && !args.tunnels.is_empty() {
        return Err(Failure::Invalid(format!(
            "--tunnel: law {} takes packets of all formats, and need not be told; leave it out",
            link.law.name()
        )));
    }
    if link.law.wire() == abi::WIRE_DPCP {
        check_numbers(args, link.law.name())?;
    }
    let closed = (link.law.wire() != abi::WIRE_NONE).then(|| closed(args)).transpose()?;
    let options = Options {
        device: Device::named(&args.dev),
        law: link.law.name().to_owned(),
        capacity_bytes_per_s: rate_bytes_per_s,
        limit_bytes: limit(args, rate_bytes_per_s)?,
        shaped: !args.no_shape,
        air_header_bytes: None,
        packet_bytes: None,
        tunnels: args.tunnels.iter().map(|&way| (way, args.role.into())).collect(),
        closed,
    };
    Ok(Prepared {
        object: object::compile(&recipe).map_err(Failure::failed)?,
        options,
        head: RecordedHead::of_router(
            (link.law, &link.params),
            (link.capacity, &link.capacity_params),
            &args.dev,
            record::release(),
        ),
    })
}

/// Says where a law that reads the order of TCP's numbers cannot work.
fn check_numbers(args: &RouterArgs, law: &str) -> Result<(), Failure> {
    if !args.tunnels.is_empty() {
        return Err(Failure::Invalid(format!(
            "--tunnel: law {law} reads numbers of the TCP header, which is encrypted there; allowed are dcp_ew and vcp"
        )));
    }
    let device = Device::named(&args.dev);
    let tracked = router::tracked_connections(&device).map_err(Failure::failed)?;
    if tracked > 0 {
        return Err(Failure::Invalid(format!(
            "--dev {}: {tracked} connections are tracked there (conntrack), and what watches their numbers drops those \
             that hosts of {law} exchange; remove the rules with `ct` or NAT (`nft list ruleset`, `iptables-save`), or \
             take dcp_ew, whose hosts exchange none",
            args.dev
        )));
    }
    Ok(())
}

fn closed(args: &RouterArgs) -> Result<Closed, Failure> {
    Ok(Closed {
        object: router::edge().map_err(Failure::failed)?,
        inside: args.inside.clone(),
    })
}

/// The router's law of that name or header.
fn law_name(given: &str) -> Result<String, Failure> {
    let name = law_named(given)?;
    if fadelab_laws::router(&name).is_some() {
        return Ok(name);
    }
    let known: Vec<&str> = fadelab_laws::routers().iter().map(fadelab_laws::Router::name).collect();
    Err(Failure::Invalid(format!(
        "--law {given}: no router's law is called {name}; known are {}",
        known.join(", ")
    )))
}

/// Bits per second, in the words of scenarios or of tc.
fn rate(text: &str) -> Result<u64, Failure> {
    let lower = text.trim().to_lowercase();
    let number = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match lower[number.len()..].as_ref() {
        "bit" => Some("bit/s"),
        "kbit" => Some("kbit/s"),
        "mbit" => Some("Mbit/s"),
        "gbit" => Some("Gbit/s"),
        _ => None,
    };
    let text = unit.map_or_else(|| text.to_owned(), |unit| format!("{number} {unit}"));
    let refused = |why: String| Failure::Invalid(format!("--rate {text}: {why}"));
    match parse::<Rate>(&text).map_err(refused)? {
        Rate(bits) if bits < 8 => Err(refused("a rate is at least 8 bit/s".to_owned())),
        Rate(bits) => Ok(bits),
    }
}

/// When the rate changes, and the bytes per second from then on.
fn rate_changes(args: &RouterArgs) -> Result<VecDeque<(Duration, u64)>, Failure> {
    let Some(text) = &args.rate_changes else {
        return Ok(VecDeque::new());
    };
    let refused = |why: String| Failure::Invalid(format!("--rate-changes {text}: {why}"));
    let Changes(changes) = parse::<Changes>(text).map_err(refused)?;
    let change = |(at_ns, rate_bps): (u64, u64)| (Duration::from_nanos(at_ns), rate_bps / 8);
    Ok(changes.into_iter().map(change).collect())
}

/// Full packets that any queue has room for, and the bytes of one with its header.
const PACKETS_MIN: u64 = 20;
const FRAME_BYTES: u64 = 1514;

fn limit(args: &RouterArgs, rate_bytes_per_s: u64) -> Result<u64, Failure> {
    let Some(text) = &args.limit else {
        return Ok((rate_bytes_per_s / 5).max(PACKETS_MIN * FRAME_BYTES));
    };
    let refused = |why: String| Failure::Invalid(format!("--limit {text}: {why}"));
    match parse::<Size>(text).map_err(refused)? {
        Size(bytes) if (FRAME_BYTES..=u64::from(u32::MAX)).contains(&bytes) => Ok(bytes),
        _ => Err(refused(
            "allowed is 1514 B, one full packet, to 4294967295 B".to_owned(),
        )),
    }
}

/// What the operator should know of the place that the law has got.
pub(super) fn remarks(args: &RouterArgs, router: &Router) -> Vec<String> {
    let root = router.root();
    let mut remarks = Vec::new();
    if router.is_shaped() {
        remarks.push(format!(
            "{} is limited by a token bucket filter, {}",
            args.dev, root.handle
        ));
    } else if root.is_chosen() {
        let (kind, handle) = (&root.kind, &root.handle);
        remarks.push(format!(
            "{} keeps its own queueing discipline, {kind} {handle}",
            args.dev
        ));
    }
    remarks.extend(root.blind().filter(|_| !router.is_shaped()));
    for (kept, _) in router.taken_over() {
        remarks.push(format!(
            "the edges that process {} had left when it was killed are this router's now",
            kept.owner.pid
        ));
    }
    remarks.extend(stack_remarks(&[Device::named(&args.dev)]));
    let edges = router.edges().join(", ");
    if !edges.is_empty() {
        remarks.push(format!(
            "marks are cleared from packets that leave by {edges}; --inside names others"
        ));
        let below = router.below().join(", ");
        if !below.is_empty() {
            remarks.push(format!(
                "but not from those that left a named device above {below} before"
            ));
        }
        let are_links = Version::running().is_some_and(|version| version >= Version::LINKS);
        if are_links && !store::is_lasting() {
            remarks.push(
                "mounts made here go when the command around ends (`ip netns exec`, a private unit), so marks leave \
                 when this process is killed: run it outside and name the device with its namespace, for example \
                 --dev red:eth0"
                    .to_owned(),
            );
        }
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_in_both_notations() {
        // Goal: what tc takes and what scenarios take is the same rate; a rate of nothing is refused.
        let read = |text| rate(text).unwrap_or_else(|_| panic!("{text}"));
        assert_eq!(read("10mbit"), 10_000_000);
        assert_eq!(read("10 Mbit/s"), 10_000_000);
        assert_eq!(read("2.5Gbit"), 2_500_000_000);
        assert_eq!(read("800bit"), 800);
        for text in ["10", "mbit", "10 MB", "-1mbit", "0 kbit", "7bit"] {
            assert!(matches!(rate(text), Err(Failure::Invalid(_))), "{text}");
        }
    }
}
