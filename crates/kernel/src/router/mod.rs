//! A router's law at a network device, by traffic control.
//!
//! [`object::compile`] makes the program of a law, [`Router::load`] puts it at the egress of a device, before the
//! queue: tc marks before the queue. With it go, where they are wanted, a token bucket filter that makes the device as
//! slow as the link is to be, and the edges of the closed domain. All of it is undone when the [`Router`] is dropped;
//! what a killed process left behind is found by [`leftovers`] and removed by [`remove_leftovers`], as each start does,
//! but for the edges, which stay closed ([`crate::kept`]) until a router in the namespace has closed its own.
//!
//! A router only marks packets that carry the option of its law's wire (`laws/wire`), and writes to nothing but
//! their ECN field and their option. Laws without a wire (RED, REM) mark what is ECN-capable, as RFC 3168 wants it.

mod claim;
mod counters;
mod domain;
mod link;
pub mod object;
mod program;
mod shaper;

use std::io::Write;
use std::time::{Duration, Instant};

use fadelab_laws::recorded::RecordedHead;
use thiserror::Error;

use crate::Version;
use crate::attach::{Attached, Direction, to_device};
use crate::device::{Device, Framing, names, within};
use crate::kept::{self, Kept, Purpose};
use crate::object::LoadError;
use crate::recorder::Recorder;
use crate::spaces;
use crate::tunnel::{RoleFrom, Way};

pub use claim::{Claim, claims, leftovers, remove_leftovers};
pub(crate) use claim::{clear_leftovers, remove_stray_shapers};
pub use counters::Counters;
pub(crate) use domain::edge_text;
pub use domain::{Closed, EdgeCounters, edge, planned_edges};
pub use program::{Outcome, Place, Program};
use shaper::Bucket;
pub use shaper::Root;

/// Connections that the kernel tracks in the namespace of a device, whatever wants it there: firewalls, NAT. 0 where it
/// knows no tracking.
///
/// # Errors
/// When the namespace is not there.
pub fn tracked_connections(device: &Device) -> std::io::Result<u64> {
    const COUNT: &str = "/proc/sys/net/netfilter/nf_conntrack_count";
    let text = within(device.netns.as_deref(), || std::fs::read_to_string(COUNT))?;
    Ok(text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0))
}

const ETHERNET_BYTES: u32 = 14;

/// How long the kernel's notices may lack: after it, a look at what they do not tell, such as a namespace that went or
/// devices that others named. More often takes processor time from what the router is there for.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Why there is no router.
#[derive(Debug, Error)]
pub enum RouterError {
    /// The device is not there, or no more.
    #[error("device {device}: {why}; `ip link` lists those that are there")]
    Device {
        /// Its name.
        device: String,
        /// What the system said.
        why: String,
    },
    /// One to leave marks through is not there.
    #[error("--inside {given}: {netns} has no such device; it has {known}")]
    Inside {
        /// What was given.
        given: String,
        /// The namespace of the router.
        netns: String,
        /// Names of its devices.
        known: String,
    },
    /// The device is there and down.
    #[error("device {device} is not up; `ip link set {device} up` does that")]
    Down {
        /// Its name.
        device: String,
    },
    /// Another process has a router there.
    #[error("device {device} has a router already: law {law}, process {pid}; end that one first")]
    Taken {
        device: String,
        /// The law at work there.
        law: String,
        /// The process.
        pid: u32,
    },
    /// The queueing discipline of the device.
    #[error("the queue of device {device}: {why}")]
    Queue {
        device: String,
        /// What `tc` said.
        why: String,
    },
    /// The note of what is changed cannot be written.
    #[error("cannot note in {folder} what is changed: {why}")]
    Claim {
        folder: String,
        /// What the system said.
        why: String,
    },
    /// The programs.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl RouterError {
    fn device(name: &str, error: &std::io::Error) -> Self {
        Self::Device {
            device: name.to_owned(),
            why: error.to_string(),
        }
    }
}

/// A name that is none of a device would leave an edge closed that was meant to be open.
fn check_inside(device: &Device, inside: &[String]) -> Result<(), RouterError> {
    let known = within(device.netns.as_deref(), names).and_then(|names| names);
    let known = known.map_err(|error| RouterError::device(&device.name, &error))?;
    let Some(given) = inside.iter().find(|name| !known.contains(name)) else {
        return Ok(());
    };
    let netns = device
        .netns
        .as_deref()
        .map_or("this namespace".to_owned(), spaces::described);
    Err(RouterError::Inside {
        given: given.clone(),
        netns,
        known: known.join(", "),
    })
}

/// What an operator says of a router.
#[derive(Clone, Debug)]
pub struct Options {
    pub device: Device,
    /// Name of the law, to tell it to others.
    pub law: String,
    /// What the link can carry, in bytes on the air; 0: not known.
    pub capacity_bytes_per_s: u64,
    /// Most bytes in the queue, as the queueing discipline counts them; 0: not known.
    pub limit_bytes: u64,
    /// Whether to make the device that slow, where it has no discipline of the operator's.
    pub shaped: bool,
    /// What a packet costs on the air beside its IP bytes; `None`: the header of the device, as the disciplines count.
    pub air_header_bytes: Option<u32>,
    /// IP bytes of a full data packet, by which laws count a limit in packets; `None`: as many as the device lets pass.
    pub packet_bytes: Option<u32>,
    /// Tunnels of whose packets it sees outer headers, and where the role of those stands: all in them is taken for
    /// data of the law.
    pub tunnels: Vec<(Way, RoleFrom)>,
    /// The domain to close; `None`: marks may leave through all devices of the namespace.
    pub closed: Option<Closed>,
}

/// A router at work, until it is dropped.
#[derive(Debug)]
pub struct Router {
    // In the order in which they have to go.
    domain: Option<domain::Domain>,
    taken_over: Vec<(Kept, Vec<String>)>,
    /// The largest frame that the device sends.
    frame_bytes: u32,
    _attached: Attached,
    program: Program,
    shaped: Option<Shaped>,
    news: link::News,
    looked: Instant,
    held: claim::Held,
    root: Root,
    /// By its discipline, when it began and when that was asked for last.
    dropped_before: u64,
    dropped: u64,
    options: Options,
    place: Place,
    ifindex: i32,
}

/// Our token bucket filter at a device.
#[derive(Debug)]
struct Shaped(Device);

impl Drop for Shaped {
    fn drop(&mut self) {
        // A device that is gone has taken it along.
        let _ = shaper::remove(&self.0);
    }
}

/// The domain of a router that has gone: its edges are closed for as long as this is there.
#[derive(Debug)]
pub struct StillClosed(Option<domain::Domain>);

impl StillClosed {
    /// Leaves the edges as they are when the process ends, as if it had been killed: the next router of the namespace
    /// takes them over. Before Linux 6.6 they go now.
    pub fn leave(self) {
        if let Some(domain) = self.0.filter(domain::Domain::may_stay) {
            std::mem::forget(domain);
        }
    }
}

impl Router {
    /// Takes the law away from the device and leaves the domain closed.
    pub fn into_closed(mut self) -> StillClosed {
        StillClosed(self.domain.take())
    }

    /// Puts the compiled law at its device, when what killed ones left is gone.
    ///
    /// # Errors
    /// When the device is not there, is down or has a router, when `tc` or the kernel refuse. Nothing is left then.
    pub fn load(object: &[u8], options: Options) -> Result<Self, RouterError> {
        let Options {
            device, law, closed, ..
        } = &options;
        let refused = |error: std::io::Error| RouterError::device(&device.name, &error);
        remove_leftovers();
        let (ifindex, framing) = device.look().map_err(refused)?;
        let link::State { is_up, mtu, queue_pkts } = link::state(device).map_err(refused)?;
        if !is_up {
            return Err(RouterError::Down {
                device: device.name.clone(),
            });
        }
        let inside = closed.as_ref().map_or(&[][..], |closed| &closed.inside);
        check_inside(device, inside)?;
        let mut held = claim::Held::take(device, ifindex, law, inside)?;
        let news = link::News::of(device).map_err(|error| RouterError::device(&device.name, &error))?;
        let root = shaper::root(device)?;
        let link_bytes = link_bytes(framing);
        let frame_bytes = mtu + link_bytes;
        let mut shaped = None;
        if options.shaped && !root.is_chosen() {
            held.note(|claim| claim.shaped = true)?;
            let bucket = Bucket::of(options.capacity_bytes_per_s, frame_bytes, options.limit_bytes);
            shaper::install(device, &bucket)?;
            shaped = Some(Shaped(device.clone()));
        }
        let air_bytes = options.air_header_bytes.unwrap_or(link_bytes);
        let place = Place {
            capacity_bytes_per_s: options.capacity_bytes_per_s,
            limit_bytes: options.limit_bytes,
            queue_pkts,
            packet_bytes: options.packet_bytes.unwrap_or(mtu) + air_bytes,
            link_bytes,
            air_bytes,
            ifindex: ifindex as u32,
            netns_inode: held.claim.netns_inode(),
        };
        let program = Program::at(object, &place, &options.tunnels)?;
        tell_filter(device, &mut held)?;
        let attached = to_device(&program.egress(), device, Direction::Egress)?;
        let (mut domain, mut taken_over) = (None, Vec::new());
        if let Some(closed) = closed {
            let closing = domain.insert(domain::Domain::load(closed, &held, ifindex, &options.tunnels)?);
            closing.refresh(&mut held, true)?;
            // Closed anew by now: what killed ones left may go.
            let inode = held.claim.netns_inode();
            taken_over = kept::remove_left(|kept| kept.netns_inode == inode && kept.purpose == Purpose::Edges);
        }
        let root = if shaped.is_some() { shaper::root(device)? } else { root };
        let dropped_before = shaper::dropped(device)?;
        Ok(Self {
            domain,
            taken_over,
            frame_bytes,
            _attached: attached,
            program,
            shaped,
            news,
            looked: Instant::now(),
            held,
            root,
            dropped_before,
            dropped: dropped_before,
            options,
            place,
            ifindex,
        })
    }

    /// What it counted.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn counters(&self) -> Result<Counters, LoadError> {
        self.program.counters()
    }

    /// Begins to write what a law does that was compiled to be recorded into a file, from its start on.
    ///
    /// # Errors
    /// When the law was not compiled so, or the file cannot be written.
    pub fn recorder(&self, head: &RecordedHead, file: Box<dyn Write>) -> Result<Recorder, LoadError> {
        self.program.recorder(head, file)
    }

    /// The memories of the law and of its capacity part now, of that many bytes.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn memories(&self, bytes: [usize; 2]) -> Result<[Vec<u8>; 2], LoadError> {
        self.program.memories(bytes)
    }

    /// What the edges of the domain counted; zeros where none is closed.
    pub fn edge_counters(&self) -> EdgeCounters {
        self.domain.as_ref().map(domain::Domain::counters).unwrap_or_default()
    }

    /// Devices at the edge of the domain.
    pub fn edges(&self) -> Vec<&str> {
        self.domain.iter().flat_map(domain::Domain::edges).collect()
    }

    /// Those of them on which named devices lie: what left these before keeps its marks.
    pub fn below(&self) -> Vec<&str> {
        self.domain.iter().flat_map(domain::Domain::below).collect()
    }

    /// Routers that had been killed and whose edges in this namespace were closed still, with the devices.
    pub fn taken_over(&self) -> &[(Kept, Vec<String>)] {
        &self.taken_over
    }

    /// Packets that the queueing discipline behind the law has dropped since the router began: it was full, mostly. Of
    /// a device that has gone, as many as `tc` told last.
    pub fn queue_dropped(&mut self) -> u64 {
        if let Ok(dropped) = shaper::dropped(&self.options.device) {
            self.dropped = dropped;
        }
        self.dropped.saturating_sub(self.dropped_before)
    }

    /// The queueing discipline behind the law.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Whether that is a token bucket filter of ours.
    pub fn is_shaped(&self) -> bool {
        self.shaped.is_some()
    }

    /// The link carries something else from now on, in bytes on the air per second: the law hears of it, and our token
    /// bucket filter, where there is one, is that fast.
    ///
    /// # Errors
    /// What `tc` or the kernel refuse.
    pub fn set_rate(&mut self, bytes_per_s: u64) -> Result<(), RouterError> {
        self.place.capacity_bytes_per_s = bytes_per_s;
        if let Some(Shaped(device)) = &self.shaped {
            shaper::change(
                device,
                &Bucket::of(bytes_per_s, self.frame_bytes, self.options.limit_bytes),
            )?;
        }
        Ok(self.program.set_capacity(&self.place)?)
    }

    /// Waits at most that long for devices to come or go, then sees to it that the domain is closed. To be called again
    /// and again: a device that appears is open until the next call sees the kernel's notice of it.
    ///
    /// # Errors
    /// When the device or its namespace is gone.
    pub fn tend(&mut self, timeout: Duration) -> Result<(), RouterError> {
        // Where the device goes meanwhile that is told, and not that its queue cannot be asked for.
        let has_news = self.news.wait(timeout);
        if !has_news && self.looked.elapsed() < LOOK_EVERY {
            return Ok(());
        }
        self.looked = Instant::now();
        let queue = if has_news { self.check_queue() } else { Ok(()) };
        self.check_place()?;
        let tended = queue.and_then(|()| match &mut self.domain {
            Some(domain) => domain.refresh(&mut self.held, has_news),
            None => Ok(()),
        });
        // What goes while it is looked at is told as gone, too.
        if tended.is_err() {
            self.check_place()?;
        }
        tended
    }

    /// The device and its namespace have to be there.
    fn check_place(&self) -> Result<(), RouterError> {
        let device = &self.options.device;
        let gone = |why: &str| RouterError::Device {
            device: device.name.clone(),
            why: why.to_owned(),
        };
        let inode = spaces::inode(device.netns.as_deref());
        if inode.ok() != Some(self.held.claim.netns_inode()) {
            return Err(gone("its namespace is gone, and with it all that was changed there"));
        }
        if device.look().ok().map(|(ifindex, _)| ifindex) != Some(self.ifindex) {
            return Err(gone("it is gone, and with it all that was changed there"));
        }
        Ok(())
    }

    /// The law computes with the queue and the rate of the discipline that was there when it began.
    fn check_queue(&self) -> Result<(), RouterError> {
        let root = shaper::root(&self.options.device)?;
        if root == self.root {
            return Ok(());
        }
        let Root { kind, handle } = &self.root;
        Err(RouterError::Queue {
            device: self.options.device.name.clone(),
            why: format!(
                "{kind} {handle} was taken away or replaced, it is {} now; start the router again",
                root.kind
            ),
        })
    }
}

fn link_bytes(framing: Framing) -> u32 {
    match framing {
        Framing::Ethernet => ETHERNET_BYTES,
        Framing::Ip => 0,
    }
}

/// Before Linux 6.6 a program is a filter that outlives the process: writes down that there will be one.
fn tell_filter(device: &Device, held: &mut claim::Held) -> Result<(), RouterError> {
    if Version::running().is_some_and(|version| version >= Version::LINKS) {
        return Ok(());
    }
    let filter = claim::Filter {
        device: device.name.clone(),
        made_place: !shaper::has_place(device)?,
    };
    held.note(|claim| claim.filters.push(filter))
}
