//! The router's program in the kernel, at a device or not.

use std::io::Write;

use fadelab_laws::recorded::RecordedHead;
use libbpf_rs::{Link, MapCore, MapFlags, Object, ProgramInput, ProgramMut};

use super::Counters;
use super::counters::STATE_PLACE;
use crate::object::{LoadError, load, run_once};
use crate::recorder::Recorder;
use crate::tunnel::{self, RoleFrom, Way};

/// Where a law is put, as the program's struct `router_config`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// What the link can carry, in bytes on the air; 0: not known.
    pub capacity_bytes_per_s: u64,
    /// Most bytes in the queue; 0: not known.
    pub limit_bytes: u64,
    /// Packets that the device's transmit queue is to hold: what the law takes for the limit where none is known.
    pub queue_pkts: u32,
    /// Bytes on the air of a full packet.
    pub packet_bytes: u32,
    /// Of the link's header, in front of IP's.
    pub link_bytes: u32,
    /// What a packet costs on the air beside its IP bytes.
    pub air_bytes: u32,
    /// Index of the device.
    pub ifindex: u32,
    /// Inode of its network namespace.
    pub netns_inode: u64,
}

impl Place {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(self.capacity_bytes_per_s.to_ne_bytes());
        bytes.extend(self.limit_bytes.to_ne_bytes());
        for word in [self.packet_bytes, self.link_bytes, self.air_bytes, self.ifindex] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(self.netns_inode.to_ne_bytes());
        bytes.extend(u64::from(self.queue_pkts).to_ne_bytes());
        bytes
    }
}

/// A law that has begun: its timer runs.
#[derive(Debug)]
pub struct Program {
    object: Object,
    _tracepoints: Vec<Link>,
}

/// What became of a packet that was handed to a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on, as it stands now.
    Passed(Vec<u8>),
    Dropped,
}

/// What programs of traffic control give back, `linux/pkt_cls.h`.
const TC_ACT_UNSPEC: u32 = u32::MAX;
const TC_ACT_SHOT: u32 = 2;

impl Program {
    /// Loads a compiled law and lets it begin.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn load(object: &[u8], place: &Place) -> Result<Self, LoadError> {
        let object = load(object, |_| Ok(()))?;
        let tracepoints = watch_queue(&object)?;
        let program = Self {
            object,
            _tracepoints: tracepoints,
        };
        program.configure(place)?;
        program.start()?;
        Ok(program)
    }

    /// Begins to write what a law does that was compiled to be recorded into a file, from its start on.
    ///
    /// # Errors
    /// When the law was not compiled so, or the file cannot be written.
    pub fn recorder(&self, head: &RecordedHead, file: Box<dyn Write>) -> Result<Recorder, LoadError> {
        Recorder::new(&self.object, head, file)
    }

    /// The same of a law that sees outer headers of tunnels.
    pub(super) fn at(object: &[u8], place: &Place, tunnels: &[(Way, RoleFrom)]) -> Result<Self, LoadError> {
        let program = Self::load(object, place)?;
        for &(way, role) in tunnels {
            program.look_outside(way, role)?;
        }
        Ok(program)
    }

    /// Has it take packets of a tunnel, of one direction, for data of its law.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn look_outside(&self, way: Way, role: RoleFrom) -> Result<(), LoadError> {
        tunnel::tell(&self.object, way, 1, role)
    }

    /// The program that sees the packets.
    pub(super) fn egress(&self) -> ProgramMut<'_> {
        self.find("router_egress")
    }

    fn find(&self, name: &str) -> ProgramMut<'_> {
        self.object
            .progs_mut()
            .find(|program| program.name() == name)
            .expect("the unit has it")
    }

    /// What it counted.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn counters(&self) -> Result<Counters, LoadError> {
        Counters::of(&self.value()?)
    }

    /// What it counted and, of the same moment, the law's state, of that many bytes.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn state(&self, bytes: usize) -> Result<(Counters, Vec<u8>), LoadError> {
        let value = self.value()?;
        let state = value.get(STATE_PLACE..STATE_PLACE + bytes).unwrap_or_default().to_vec();
        Ok((Counters::of(&value)?, state))
    }

    /// The memories of the law and, of the same moment, of the capacity part, of that many bytes.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub(super) fn memories(&self, bytes: [usize; 2]) -> Result<[Vec<u8>; 2], LoadError> {
        let value = self.value()?;
        let [law, part] = bytes;
        // The law's is in whole words, at least one: WORDS_OF in the program.
        let part_place = STATE_PLACE + law.div_ceil(8).max(1) * 8;
        let memory = |place: usize, bytes: usize| value.get(place..place + bytes).unwrap_or_default().to_vec();
        Ok([memory(STATE_PLACE, law), memory(part_place, part)])
    }

    fn value(&self) -> Result<Vec<u8>, LoadError> {
        let map = self.object.maps().find(|map| map.name() == "router_map");
        let value = map
            .expect("the unit has it")
            .lookup(&0u32.to_ne_bytes(), MapFlags::LOCK);
        let value = value.map_err(|error| LoadError::of("the router's counters", &error))?;
        Ok(value.unwrap_or_default())
    }

    /// Hands it one packet, link header and all, which goes nowhere. With more than one segment it is a super-packet,
    /// which the device would cut into so many.
    ///
    /// # Errors
    /// When the kernel does not take the packet: it has fewer bytes than its headers, or more than a page.
    pub fn pass(&self, packet: &[u8], segments: u32) -> Result<Outcome, LoadError> {
        let mut out = vec![0u8; packet.len()];
        let mut context = context(segments);
        let input = ProgramInput {
            context_in: Some(&mut context),
            data_in: Some(packet),
            data_out: Some(&mut out),
            ..ProgramInput::default()
        };
        let output = self.egress().test_run(input);
        match output.map_err(|error| LoadError::of("a packet", &error))?.return_value {
            TC_ACT_UNSPEC => Ok(Outcome::Passed(out)),
            TC_ACT_SHOT => Ok(Outcome::Dropped),
            other => Err(LoadError::Failed {
                what: "a packet".to_owned(),
                why: format!("the program gave back {other}"),
            }),
        }
    }

    /// Lets the law begin and its timer run.
    fn start(&self) -> Result<(), LoadError> {
        run_once("the law's start", &self.find("router_start"), None)
    }

    /// The link carries what `place` says from now on.
    ///
    /// # Errors
    /// What the kernel says, and programs of a fadelab that could not do that yet.
    pub fn set_capacity(&self, place: &Place) -> Result<(), LoadError> {
        const WHAT: &str = "another rate";
        self.configure(place)?;
        let mut programs = self.object.progs_mut();
        let program = programs.find(|program| program.name() == "router_rate");
        let program = program.ok_or_else(|| LoadError::Failed {
            what: WHAT.to_owned(),
            why: "its programs are of an earlier fadelab; build the law again".to_owned(),
        })?;
        run_once(WHAT, &program, None)
    }

    fn configure(&self, place: &Place) -> Result<(), LoadError> {
        let map = self.object.maps().find(|map| map.name() == "config_map");
        map.expect("the unit has it")
            .update(&0u32.to_ne_bytes(), &place.bytes(), MapFlags::ANY)
            .map_err(|error| LoadError::of("the router's configuration", &error))
    }
}

/// The kernel's `struct __sk_buff`, of which only the segments are said; it takes no more than 1 as none at all.
fn context(segments: u32) -> Vec<u8> {
    const BYTES: usize = 192;
    const SEGMENTS: usize = 164;
    const SEGMENT_BYTES: usize = 176;
    let mut context = vec![0u8; BYTES];
    if segments > 1 {
        context[SEGMENTS..SEGMENTS + 4].copy_from_slice(&segments.to_ne_bytes());
        context[SEGMENT_BYTES..SEGMENT_BYTES + 4].copy_from_slice(&1000u32.to_ne_bytes());
    }
    context
}

/// Before Linux 6.2 the queue is seen through tracepoints.
fn watch_queue(object: &Object) -> Result<Vec<Link>, LoadError> {
    let is_tracepoint = |program: &ProgramMut<'_>| program.name().to_string_lossy().starts_with("queue_");
    let programs = object.progs_mut().filter(is_tracepoint);
    let links: Result<Vec<Link>, _> = programs.map(|program| program.attach()).collect();
    links.map_err(|error| LoadError::of("the queue's tracepoints", &error))
}
