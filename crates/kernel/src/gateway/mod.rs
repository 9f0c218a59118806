//! A gateway's law at the ends of IPsec tunnels that somebody else made, by traffic control (`bpf/gateway.bpf.c`).
//!
//! [`object::compile`] makes the programs of a law, [`Gateway::load`] puts them at the devices: one or more where
//! packets come and go in the clear, and one where they come and go as ESP. The law may write the ECN field of outer
//! headers, and of inner ones that leave; nothing else of a packet is touched but, where that is asked for, the ID of
//! outer headers, and the checksums. Packets carry what the one header said to where the other one is in the eight
//! highest bits of their mark.

mod counters;
mod decrypted;
pub mod guard;
pub mod ipsec;
pub mod object;
mod program;

use std::io::Write;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::Duration;

use fadelab_laws::recorded::RecordedHead;
use thiserror::Error;

use crate::attach::{Attached, Direction, to_device};
use crate::device::{Device, within};
use crate::kept::Keep;
use crate::object::LoadError;
use crate::recorder::Recorder;
use crate::tunnel::{RoleFrom, Way};

pub use counters::Counters;
pub use guard::StillGuarded;
pub use program::{Hook, Program};

/// Most tunnels of one gateway: `TUNNELS_MAX`.
pub const TUNNELS_MAX: usize = 15;

/// After which a flow inside is forgotten. It is longer than any law's memory of a half should last.
const IDLE: Duration = Duration::from_secs(60);

/// The bits of packets' marks that are a gateway's, `MARK_BITS` of `bpf/gateway.bpf.c`.
pub const MARK_MASK: u32 = 0xff00_0000;

/// Why there is no gateway.
#[derive(Debug, Error)]
pub enum GatewayError {
    /// A device is not there.
    #[error("device {device}: {why}; `ip link` lists those that are there")]
    Device {
        /// Its name.
        device: String,
        /// What the system said.
        why: String,
    },
    /// Another process has one there.
    #[error("device {device} has a gateway already; end that one first")]
    Taken { device: String },
    /// Nobody would see what stands inside.
    #[error("a gateway needs a plain device at least, from which packets go into the tunnel")]
    NoPlain,
    /// A device with two parts.
    #[error("device {device} is given twice; packets come there in the clear or as ESP")]
    Twice { device: String },
    #[error("{given} tunnels are given, allowed are 1 to {TUNNELS_MAX}; run another gateway at another device")]
    Tunnels { given: usize },
    /// It would see no outer header.
    #[error(
        "device {device} joins packets (GRO), and with {module} the kernel decrypts ESP while it does, before a \
         gateway sees the outer header: `ethtool -K {device} gro off`, or unload that module"
    )]
    DecryptedFirst {
        /// The cipher device.
        device: String,
        /// What is loaded.
        module: &'static str,
    },
    /// A role that no flow can have for itself.
    #[error(
        "the tunnel {tunnel} cannot have a memory for each flow: its packets' roles have to be written into outer IDs, \
         flow by flow, so give the role \"written\", over IPv4; without, one memory serves the tunnel"
    )]
    Flows {
        /// From here to there.
        tunnel: Way,
    },
    /// What IPsec there is, is not told.
    #[error("{what}: {why}")]
    Listing {
        /// The command.
        what: String,
        /// What the system said.
        why: String,
    },
    /// The programs.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// A tunnel that ends here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunnel {
    /// From here to the other end.
    pub out: Way,
    pub role: RoleFrom,
    /// Whether the rule of its SAs takes CE of the outer header for the inner one, as Linux does without the flag
    /// `noecn`.
    pub copies_ce: bool,
    /// Bytes in front of the inner packet.
    pub outer_bytes: u32,
}

/// What an operator says of a gateway.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where packets come and go in the clear.
    pub plain: Vec<Device>,
    /// Where they come and go as ESP.
    pub cipher: Device,
    pub tunnels: Vec<Tunnel>,
    /// The name of the law, for the note of a guard that stays when the process is killed; `None`: there is no guard.
    pub guard: Option<String>,
}

/// A gateway at work, until it is dropped.
#[derive(Debug)]
pub struct Gateway {
    // In the order in which they have to go.
    _attached: Vec<Attached>,
    guard: Option<Keep>,
    /// Its devices, by the numbers that they had.
    devices: Vec<(Device, i32)>,
    program: Program,
    /// A name that only one process of the namespace can have; it goes with the process.
    _claim: UnixListener,
    tunnels: usize,
}

impl Gateway {
    /// Puts the compiled law at its devices.
    ///
    /// # Errors
    /// When a device is not there or has a gateway, or the kernel refuses. Nothing is left then.
    pub fn load(object: &[u8], options: &Options) -> Result<Self, GatewayError> {
        let Options {
            plain,
            cipher,
            tunnels,
            guard,
        } = options;
        check(options)?;
        decrypted::check(options)?;
        let claim = claim(cipher)?;
        let mut program = Program::load(object, tunnels)?;
        let is_shared = |tunnel: &&Tunnel| tunnel.role != RoleFrom::Written || tunnel.out.from.is_ipv6();
        if let Some(tunnel) = tunnels.iter().find(is_shared).filter(|_| program.is_by_flow()) {
            return Err(GatewayError::Flows { tunnel: tunnel.out });
        }
        let hooks = plain
            .iter()
            .map(|device| (device, Hook::Plain))
            .chain([(cipher, Hook::Out), (cipher, Hook::In)]);
        let (mut attached, mut devices) = (Vec::new(), Vec::new());
        for (device, hook) in hooks {
            let (ifindex, framing) = device.look().map_err(|error| refused(device, &error))?;
            devices.push((device.clone(), ifindex));
            // What a router of this device sees left the gateway already.
            let direction = match hook {
                Hook::Plain | Hook::In | Hook::Guard => Direction::Ingress,
                Hook::Out => Direction::EgressFirst,
            };
            attached.push(to_device(&program.at(hook, framing), device, direction)?);
        }
        let guard = guard.as_ref().map(|law| guard::stand(&mut program, options, law));
        Ok(Self {
            _attached: attached,
            guard: guard.transpose()?,
            devices,
            program,
            _claim: claim,
            tunnels: tunnels.len(),
        })
    }

    /// A device of it that went, whatever has its name now.
    pub fn lost(&self) -> Option<&Device> {
        let is_there = |(device, ifindex): &(Device, i32)| device.look().is_ok_and(|(there, _)| there == *ifindex);
        let lost = self.devices.iter().find(|place| !is_there(place));
        lost.map(|(device, _)| device)
    }

    /// Takes the law away and leaves outer headers of its tunnels cleared.
    pub fn into_guarded(mut self) -> StillGuarded {
        StillGuarded(self.guard.take())
    }

    /// Begins to write what a law does that was compiled to be recorded into a file, from its start on.
    ///
    /// # Errors
    /// When the law was not compiled so, or the file cannot be written.
    pub fn recorder(&self, head: &RecordedHead, file: Box<dyn Write>) -> Result<Recorder, LoadError> {
        self.program.recorder(head, file)
    }

    /// Forgets flows inside that were not seen for a minute, so that there is room for others.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn forget_idle(&self) -> Result<(), LoadError> {
        self.program.forget_idle(IDLE)
    }

    /// What it counted of each tunnel, and of the same moment the law's state, of that many bytes.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn states(&self, state_bytes: usize) -> Result<Vec<(Counters, Vec<u8>)>, LoadError> {
        (0..self.tunnels)
            .map(|tunnel| self.program.state(tunnel, state_bytes))
            .collect()
    }
}

fn check(options: &Options) -> Result<(), GatewayError> {
    if options.plain.is_empty() {
        return Err(GatewayError::NoPlain);
    }
    let given = options.tunnels.len();
    if !(1..=TUNNELS_MAX).contains(&given) {
        return Err(GatewayError::Tunnels { given });
    }
    let mut known: Vec<&Device> = vec![&options.cipher];
    for device in &options.plain {
        if known.contains(&device) {
            return Err(GatewayError::Twice {
                device: device.name.clone(),
            });
        }
        known.push(device);
    }
    Ok(())
}

fn refused(device: &Device, error: &std::io::Error) -> GatewayError {
    GatewayError::Device {
        device: device.name.clone(),
        why: error.to_string(),
    }
}

/// Two gateways at one device would take each other's marks for their own.
fn claim(device: &Device) -> Result<UnixListener, GatewayError> {
    let (index, _) = device.look().map_err(|error| refused(device, &error))?;
    let bound = within(device.netns.as_deref(), || {
        // A name without a file belongs to the network namespace.
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(format!("fadelab-gateway-{index}"))?)
    });
    match bound.and_then(|bound| bound) {
        Ok(listener) => Ok(listener),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => Err(GatewayError::Taken {
            device: device.name.clone(),
        }),
        Err(error) => Err(refused(device, &error)),
    }
}
