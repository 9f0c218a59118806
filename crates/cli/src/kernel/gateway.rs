//! `fadelab kernel gateway`: a gateway's law at the ends of IPsec tunnels, in the foreground.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use fadelab_kernel::Version;
use fadelab_kernel::device::Device;
use fadelab_kernel::gateway::ipsec::{Behind, Outgoing, outgoing};
use fadelab_kernel::gateway::object::{Recipe, compile, wire_of};
use fadelab_kernel::gateway::{Counters, Gateway, GatewayError, MARK_MASK, Options, Tunnel};
use fadelab_kernel::tunnel::{RoleFrom, Way};
use fadelab_lab::{Failure, parameters};
use fadelab_laws::recorded::{GatewayHead, RecordedHead};
use fadelab_run::tunnel::{Cipher, Family, GatewaySpec, outer_bytes};
use serde::Deserialize;

use super::build::law_named;
use super::record::{self, Recording};
use crate::{interrupt, output};

/// How often the loop looks whether it is to end.
const TURN: Duration = Duration::from_millis(100);

/// Arguments of `fadelab kernel gateway`.
#[derive(Debug, Args)]
pub struct GatewayArgs {
    /// Devices where packets come and go in the clear, NAME or NETNS:NAME
    #[arg(long, value_name = "DEV", value_delimiter = ',', required = true)]
    pub plain: Vec<String>,
    /// The device where they come and go as ESP
    #[arg(long, value_name = "DEV")]
    pub cipher: String,
    /// The gateway's law by name (fadelab laws --role gateway), or a header of your own, ./mine.h
    #[arg(long)]
    pub law: String,
    /// A tunnel, HERE-THERE with its outer addresses; repeatable [default: all that policies send packets into]
    #[arg(long = "tunnel", value_name = "HERE-THERE")]
    pub tunnels: Vec<Way>,
    /// Where in outer headers the role of a packet stands, for routers as for the gateway at the other end
    #[arg(long, value_enum, default_value_t = Role::Sequence)]
    pub role: Role,
    /// What has a memory of its own: the tunnel, or each flow inside, which needs --role written
    #[arg(long, value_enum, default_value_t = Memory::Tunnel)]
    pub memory: Memory,
    /// Set a parameter of the law: --set code=nine; repeatable
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Write what the law makes of each packet into FILE, for fadelab replay
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

/// What has a memory of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Memory {
    /// The tunnel
    #[default]
    Tunnel,
    /// Each flow inside
    Flow,
}

/// Whose lowest bit says for which half of the load a packet is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// ESP's sequence number
    #[default]
    Sequence,
    /// The outer IP ID, which SAs with the flag nopmtudisc have
    Id,
    /// The outer IP ID, which the gateway writes
    Written,
}

impl From<Role> for RoleFrom {
    fn from(role: Role) -> Self {
        match role {
            Role::Sequence => Self::Sequence,
            Role::Id => Self::Id,
            Role::Written => Self::Written,
        }
    }
}

fn refused(error: GatewayError) -> Failure {
    match error {
        GatewayError::Load(_) | GatewayError::Listing { .. } => Failure::failed(error),
        _ => Failure::invalid(error),
    }
}

/// Puts the law at the devices and shows what it does until Ctrl-C; then all is undone.
///
/// # Errors
/// What the devices, the law, IPsec or the machine do not allow, and a device that goes meanwhile.
pub fn gateway(args: &GatewayArgs) -> Result<(), Failure> {
    interrupt::flag();
    let (gateway, head) = begin(args)?;
    let tunnels = head.gateway.as_ref().map_or(Vec::new(), |of| of.tunnels.clone());
    output::note(&remarks(&head.law, &tunnels));
    let record = |file| Recording::begin(file, |out| gateway.recorder(&head, out));
    let mut recording = args.record.as_deref().map(record).transpose()?;
    let ended = follow(&gateway, &tunnels, recording.as_mut());
    // No packet is on its way through the law any more when the recording ends.
    drop(gateway);
    let recorded = recording.map_or(Ok(()), Recording::end);
    ended.and(recorded)
}

/// What an operator is to know of one that has begun.
pub(super) fn remarks(law: &str, tunnels: &[String]) -> [String; 2] {
    [
        format!("{law} at the tunnels {}", tunnels.join(", ")),
        format!("the eight highest bits of packets' marks are the gateway's ({MARK_MASK:#x})"),
    ]
}

/// The law of one with its parameters, and the format of the packets inside that are its own.
///
/// # Errors
/// What the law or the machine do not allow, whatever devices and tunnels there are.
pub(super) fn planned(args: &GatewayArgs) -> Result<(GatewaySpec, u32), Failure> {
    if Version::running().is_none_or(|version| version < Version::LINKS) {
        return Err(Failure::Invalid(format!(
            "a gateway needs Linux {} or later, whose programs go with the process that attached them; in a guest of \
             any kernel `fadelab testbed run dcp-ew-ipsec` runs one",
            Version::LINKS
        )));
    }
    let spec = law(args)?;
    let wire = wire_of(spec.law).ok_or_else(|| {
        Failure::Invalid(format!(
            "--law {}: no sender's law is called {} too, and so nobody knows which packets are its own",
            args.law,
            spec.law.name()
        ))
    })?;
    Ok((spec, wire))
}

/// The gateway at work, and the first line of a recording of it, which has its law and its tunnels.
///
/// # Errors
/// As [`gateway`].
pub(super) fn begin(args: &GatewayArgs) -> Result<(Gateway, RecordedHead), Failure> {
    let (spec, wire) = planned(args)?;
    let options = Options {
        guard: Some(spec.law.name().to_owned()),
        ..options(args)?
    };
    let recipe = Recipe {
        law: spec.law,
        params: &spec.params,
        wire,
        record: args.record.is_some(),
        by_flow: args.memory == Memory::Flow,
    };
    let object = compile(&recipe).map_err(Failure::failed)?;
    let gateway = Gateway::load(&object, &options).map_err(refused)?;
    let of = GatewayHead {
        place: args.cipher.clone(),
        tunnels: options.tunnels.iter().map(|tunnel| tunnel.out.to_string()).collect(),
    };
    let head = RecordedHead::of_gateway(spec.law, &spec.params, of, record::release());
    Ok((gateway, head))
}

/// Shows what a gateway does, and records it where that was asked for, until Ctrl-C.
fn follow(gateway: &Gateway, tunnels: &[String], mut recording: Option<&mut Recording<'_>>) -> Result<(), Failure> {
    let stop = interrupt::flag();
    let started = Instant::now();
    let mut shown = 0;
    output::print(HEAD)?;
    while !stop.load(Ordering::Relaxed) {
        if started.elapsed().as_secs() >= shown {
            show(gateway, tunnels, started.elapsed())?;
            gateway.forget_idle().map_err(Failure::failed)?;
            shown = started.elapsed().as_secs() + 1;
        }
        if let Some(device) = gateway.lost() {
            return Err(Failure::Failed(format!(
                "device {} went, or is another one now: the gateway ends",
                device.name
            )));
        }
        match &mut recording {
            Some(recording) => recording.poll(TURN)?,
            None => thread::sleep(TURN),
        }
    }
    show(gateway, tunnels, started.elapsed())
}

/// The law with its parameters.
fn law(args: &GatewayArgs) -> Result<GatewaySpec, Failure> {
    let name = law_named(&args.law)?;
    if fadelab_laws::gateway(&name).is_some() {
        return parameters::of_gateway(&name, &args.sets);
    }
    let known: Vec<&str> = fadelab_laws::gateways()
        .iter()
        .map(fadelab_laws::Gateway::name)
        .collect();
    Err(Failure::Invalid(format!(
        "--law {}: no gateway's law is called {name}; known are {}",
        args.law,
        known.join(", ")
    )))
}

/// Whether the tunnels that a gateway is for are there, or any where it is for all: an IKE daemon may make them later.
pub(super) fn has_tunnels(args: &GatewayArgs) -> bool {
    let known = outgoing(Device::named(&args.cipher).netns.as_deref()).unwrap_or_default();
    let is_known = |way: &Way| known.iter().any(|tunnel| tunnel.way == *way);
    !known.is_empty() && args.tunnels.iter().all(is_known)
}

fn options(args: &GatewayArgs) -> Result<Options, Failure> {
    let cipher = Device::named(&args.cipher);
    let known = outgoing(cipher.netns.as_deref()).map_err(refused)?;
    let is_asked = |tunnel: &&Outgoing| args.tunnels.is_empty() || args.tunnels.contains(&tunnel.way);
    let tunnels: Vec<Outgoing> = known.iter().filter(is_asked).copied().collect();
    let missing = args
        .tunnels
        .iter()
        .find(|way| known.iter().all(|tunnel| tunnel.way != **way));
    if missing.is_some() || tunnels.is_empty() {
        let asked = missing.map_or("no tunnel".to_owned(), |way| format!("--tunnel {way}: none such"));
        let known: Vec<String> = known.iter().map(|tunnel| tunnel.way.to_string()).collect();
        return Err(Failure::Invalid(format!(
            "{asked} is among the policies of {}, which send packets into {}; `ip xfrm policy` lists them",
            args.cipher,
            if known.is_empty() {
                "no ESP tunnel".to_owned()
            } else {
                known.join(", ")
            }
        )));
    }
    let role = RoleFrom::from(args.role);
    if let Some(why) = tunnels.iter().find_map(|tunnel| tunnel.obstacle(role)) {
        return Err(Failure::Invalid(why));
    }
    Ok(Options {
        plain: args.plain.iter().map(|name| Device::named(name)).collect(),
        cipher,
        tunnels: tunnels.iter().map(|tunnel| ending_here(args, tunnel)).collect(),
        guard: None,
    })
}

fn ending_here(args: &GatewayArgs, tunnel: &Outgoing) -> Tunnel {
    let outer = if tunnel.way.from.is_ipv6() {
        Family::Ipv6
    } else {
        Family::Ipv4
    };
    Tunnel {
        out: tunnel.way,
        role: args.role.into(),
        copies_ce: !tunnel.noecn,
        outer_bytes: outer_bytes(outer, tunnel.behind == Behind::Udp, Cipher::AesGcm),
    }
}

const HEAD: &str = concat!(
    "      s  entered  of the law  as 00 01 10 11           left  of the law  changed  joined  fragments  shared",
    "  tunnel\n"
);

fn show(gateway: &Gateway, tunnels: &[String], at: Duration) -> Result<(), Failure> {
    let states = gateway.states(0).map_err(Failure::failed)?;
    for ((counters, _), tunnel) in states.iter().zip(tunnels) {
        output::print(&line(at, counters, tunnel))?;
    }
    Ok(())
}

fn line(at: Duration, now: &Counters, tunnel: &str) -> String {
    let outer = now.outer.map(|count| count.to_string()).join(" ");
    let changed: u64 = now.changed.iter().sum();
    format!(
        "{:7.1} {:8} {:11}  {outer:20} {:8} {:11} {changed:8} {:7} {:10} {:7}  {tunnel}\n",
        at.as_secs_f64(),
        now.entered,
        now.entered_own,
        now.left,
        now.left_own,
        now.joined,
        now.fragments,
        now.shared
    )
}
