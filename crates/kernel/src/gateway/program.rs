//! A gateway's programs in the kernel, at devices or not.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use fadelab_laws::recorded::RecordedHead;
use libbpf_rs::{MapCore, MapFlags, MapImpl, Object, ProgramInput, ProgramMut};
use nix::time::{ClockId, clock_gettime};

use super::{Counters, Tunnel};
use crate::device::Framing;
use crate::object::{LoadError, load, run_once};
use crate::recorder::Recorder;
use crate::tunnel;

/// Programs of a law that has begun in each of its tunnels.
#[derive(Debug)]
pub struct Program {
    object: Object,
}

/// Where on a gateway a packet is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// At the ingress of a plain device.
    Plain,
    /// At the egress of the cipher device.
    Out,
    /// At its ingress.
    In,
    /// There, behind it, and there still when the process is killed.
    Guard,
}

/// Offset of the mark in `struct __sk_buff`, and the bytes of that.
const MARK_PLACE: usize = 8;
const CONTEXT_BYTES: usize = 192;
/// Where in what is kept of a flow (`bpf/inside.h`) stands when it was last seen.
const FLOW_SEEN: usize = 8;

impl Program {
    /// Loads a compiled law and lets it begin.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn load(object: &[u8], tunnels: &[Tunnel]) -> Result<Self, LoadError> {
        let program = Self {
            object: load(object, |_| Ok(()))?,
        };
        for (number, tunnel) in (1u32..).zip(tunnels) {
            program.configure(number, tunnel)?;
            tunnel::tell(&program.object, tunnel.out, number, tunnel.role)?;
            tunnel::tell(&program.object, tunnel.out.back(), number, tunnel.role)?;
            program.start(number)?;
        }
        Ok(program)
    }

    /// Begins to write what a law does that was compiled to be recorded into a file, from its start on.
    ///
    /// # Errors
    /// When the law was not compiled so, or the file cannot be written.
    pub fn recorder(&self, head: &RecordedHead, file: Box<dyn Write>) -> Result<Recorder, LoadError> {
        Recorder::new(&self.object, head, file)
    }

    fn configure(&self, number: u32, tunnel: &Tunnel) -> Result<(), LoadError> {
        let map = self.object.maps().find(|map| map.name() == "config_map");
        let words = [u32::from(tunnel.copies_ce), number - 1, tunnel.outer_bytes, 0];
        let value: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        map.expect("the unit has it")
            .update(&number.to_ne_bytes(), &value, MapFlags::ANY)
            .map_err(|error| LoadError::of("the gateway's configuration", &error))
    }

    /// Lets the law begin in a tunnel.
    fn start(&self, number: u32) -> Result<(), LoadError> {
        let program = self.find("gateway_start");
        run_once("the law's start", &program, Some(&mut context(number)))
    }

    fn find(&self, name: &str) -> ProgramMut<'_> {
        self.object
            .progs_mut()
            .find(|program| program.name() == name)
            .expect("the unit has it")
    }

    pub(super) fn at(&self, hook: Hook, framing: Framing) -> ProgramMut<'_> {
        self.find(match (hook, framing) {
            (Hook::Plain, Framing::Ethernet) => "gateway_plain_ether",
            (Hook::Plain, Framing::Ip) => "gateway_plain_ip",
            (Hook::Out, Framing::Ethernet) => "gateway_out_ether",
            (Hook::Out, Framing::Ip) => "gateway_out_ip",
            (Hook::In, Framing::Ethernet) => "gateway_in_ether",
            (Hook::In, Framing::Ip) => "gateway_in_ip",
            (Hook::Guard, Framing::Ethernet) => "gateway_guard_ether",
            (Hook::Guard, Framing::Ip) => "gateway_guard_ip",
        })
    }

    /// Has what the guard counts outlive the process, in a file of a BPF file system.
    pub(super) fn keep_count(&mut self, pin: &Path) -> Result<(), LoadError> {
        let mut maps = self.object.maps_mut();
        let mut map = maps.find(|map| map.name() == "guard_map").expect("the unit has it");
        map.pin(pin)
            .map_err(|error| LoadError::of("what the guard counts", &error))
    }

    /// What was counted of the tunnel of this number, from 0 on, and of the same moment the law's state, of that many
    /// bytes.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn state(&self, tunnel: usize, state_bytes: usize) -> Result<(Counters, Vec<u8>), LoadError> {
        let map = self.object.maps().find(|map| map.name() == "gateway_map");
        let number = tunnel as u32 + 1;
        let value = map
            .expect("the unit has it")
            .lookup(&number.to_ne_bytes(), MapFlags::LOCK)
            .map_err(|error| LoadError::of("the gateway's counters", &error))?;
        Counters::of(&value.unwrap_or_default(), state_bytes)
    }

    /// Whether each flow inside has a memory of its own.
    pub(super) fn is_by_flow(&self) -> bool {
        self.flows().is_some()
    }

    fn flows(&self) -> Option<MapImpl<'_>> {
        self.object.maps().find(|map| map.name() == "inside_map")
    }

    /// Forgets flows that were not seen for that long.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn forget_idle(&self, idle: Duration) -> Result<(), LoadError> {
        let Some(map) = self.flows() else {
            return Ok(());
        };
        let told = |error: &libbpf_rs::Error| LoadError::of("what is remembered of flows", error);
        let now = Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).expect("each kernel has it"));
        let is_idle = |flow: Vec<u8>| {
            let seen_us = flow[FLOW_SEEN..FLOW_SEEN + 8].try_into().expect("eight bytes");
            now.saturating_sub(Duration::from_micros(u64::from_ne_bytes(seen_us))) > idle
        };
        // Each key is read behind the one before: none of those that are still to come is removed meanwhile.
        let keys: Vec<Vec<u8>> = map.keys().collect();
        for key in keys {
            let flow = map.lookup(&key, MapFlags::ANY).map_err(|error| told(&error))?;
            if flow.is_some_and(is_idle) {
                // Its packets may have come back: then it begins anew.
                map.delete(&key).map_err(|error| told(&error))?;
            }
        }
        Ok(())
    }

    /// Hands one packet with its mark to a hook, Ethernet header and all; gives both as they stand then.
    ///
    /// # Errors
    /// When the kernel does not take the packet.
    pub fn pass(&self, hook: Hook, packet: &[u8], mark: u32) -> Result<(Vec<u8>, u32), LoadError> {
        let mut data = vec![0u8; packet.len()];
        let mut context = context(mark);
        let mut context_out = context.clone();
        let input = ProgramInput {
            context_in: Some(&mut context),
            context_out: Some(&mut context_out),
            data_in: Some(packet),
            data_out: Some(&mut data),
            ..ProgramInput::default()
        };
        let output = self.at(hook, Framing::Ethernet).test_run(input);
        output.map_err(|error| LoadError::of("a packet", &error))?;
        let mark = context_out[MARK_PLACE..MARK_PLACE + 4].try_into().expect("four bytes");
        Ok((data, u32::from_ne_bytes(mark)))
    }
}

/// The kernel's `struct __sk_buff`, of which only the mark is said.
fn context(mark: u32) -> Vec<u8> {
    let mut context = vec![0u8; CONTEXT_BYTES];
    context[MARK_PLACE..MARK_PLACE + 4].copy_from_slice(&mark.to_ne_bytes());
    context
}
