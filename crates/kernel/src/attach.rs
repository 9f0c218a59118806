//! Programs at a network device: links of their own where the kernel has them, filters of the qdisc clsact before.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use libbpf_rs::query::{LinkTypeInfo, TcxLinkInfo};
use libbpf_rs::{Link, Program, TC_EGRESS, TC_INGRESS, TcAttachPoint, TcHookBuilder};
use serde::{Deserialize, Serialize};

use crate::Version;
use crate::device::{Device, within};
use crate::object::LoadError;

/// Preference of our filters, so that those which a killed process left behind are known again.
pub(crate) const FILTER_PREFERENCE: u32 = 0xfade;

/// Which way packets go that a program sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Into the device from the network.
    Ingress,
    /// Out of it, before its queue and behind all programs that are there.
    Egress,
    /// Out of it, before all programs that are there: a packet of this host is marked before a router of this host.
    EgressFirst,
}

impl Direction {
    /// Where filters of that direction are, before Linux 6.6, and their preference: the smaller one comes first.
    fn filter(self) -> (TcAttachPoint, u32) {
        match self {
            Self::Ingress => (TC_INGRESS, FILTER_PREFERENCE),
            Self::Egress => (TC_EGRESS, FILTER_PREFERENCE),
            Self::EgressFirst => (TC_EGRESS, FILTER_PREFERENCE - 1),
        }
    }
}

/// A program at a device. It is taken away when this is dropped, and a link also when the process ends.
#[derive(Debug)]
pub enum Attached {
    /// From Linux 6.6 on.
    Link(OwnedFd),
    /// Before: a filter, which outlives the process.
    Filter(FilterRecord),
}

/// A filter that stays: what removes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilterRecord {
    device: Device,
    index: i32,
    is_egress: bool,
    handle: u32,
    priority: u32,
    made_clsact: bool,
}

impl FilterRecord {
    /// Whether the device is the one that it was put at: one that was made anew has another number.
    pub fn is_there(&self) -> bool {
        self.device.look().is_ok_and(|(index, _)| index == self.index)
    }

    /// Removes it, if it is still there.
    pub fn remove(&self) {
        // A device or namespace that is gone has taken the filter with it.
        let _ = within(self.device.netns.as_deref(), || take_away(self));
    }
}

fn take_away(filter: &FilterRecord) {
    let mut hook = libbpf_sys::bpf_tc_hook {
        sz: size_of::<libbpf_sys::bpf_tc_hook>() as u64,
        ifindex: filter.index,
        attach_point: if filter.is_egress { TC_EGRESS } else { TC_INGRESS },
        ..Default::default()
    };
    let options = libbpf_sys::bpf_tc_opts {
        sz: size_of::<libbpf_sys::bpf_tc_opts>() as u64,
        handle: filter.handle,
        priority: filter.priority,
        ..Default::default()
    };
    // SAFETY: both structs say their sizes and live through the calls.
    unsafe {
        libbpf_sys::bpf_tc_detach(&raw const hook, &raw const options);
        if filter.made_clsact {
            hook.attach_point = TC_INGRESS | TC_EGRESS;
            libbpf_sys::bpf_tc_hook_destroy(&raw mut hook);
        }
    }
}

impl Attached {
    /// Has a link stay at its device when the process ends, held by the file `pin` of a BPF file system; a filter does
    /// so by itself.
    ///
    /// # Errors
    /// When the link cannot be kept there.
    pub(crate) fn pin(&self, pin: &Path) -> Result<(), LoadError> {
        let Self::Link(link) = self else { return Ok(()) };
        let path = CString::new(pin.as_os_str().as_bytes()).expect("a path of ours has no zero byte");
        // SAFETY: the descriptor is open and the path ends in a zero byte.
        let status = unsafe { libbpf_sys::bpf_obj_pin(link.as_raw_fd(), path.as_ptr()) };
        if status < 0 {
            let error = std::io::Error::from_raw_os_error(-status);
            return Err(LoadError::system(pin.display().to_string(), &error));
        }
        Ok(())
    }

    /// Takes a link from its device at once, whatever else holds it.
    pub(crate) fn detach(&self) {
        if let Self::Link(link) = self {
            // SAFETY: the descriptor is open. One whose device is gone is detached already.
            unsafe { libbpf_sys::bpf_link_detach(link.as_raw_fd()) };
        }
    }

    /// Leaves the program where it is: a link in the file `pin` of a BPF file system, a filter as it is.
    ///
    /// # Errors
    /// When the link cannot be kept there.
    pub fn keep(self, pin: &Path) -> Result<Option<FilterRecord>, LoadError> {
        self.pin(pin)?;
        match &self {
            Self::Link(_) => Ok(None),
            Self::Filter(record) => {
                let record = record.clone();
                std::mem::forget(self);
                Ok(Some(record))
            }
        }
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        if let Self::Filter(record) = self {
            record.remove();
        }
    }
}

/// Attaches a program of the section `tc` to a device.
///
/// # Errors
/// When the device is not there or the kernel refuses.
pub fn to_device(program: &Program<'_>, device: &Device, direction: Direction) -> Result<Attached, LoadError> {
    let what = format!("device {}", device.name);
    let (index, _) = device.look().map_err(|error| LoadError::system(&what, &error))?;
    let attached = within(device.netns.as_deref(), || {
        if Version::running().is_some_and(|version| version >= Version::LINKS) {
            link(program, index, direction).map(Attached::Link)
        } else {
            filter(program, device, index, direction)
        }
    });
    let attached = attached.map_err(|error| LoadError::system(&what, &error))?;
    attached.map_err(|error| LoadError::of(what, &error))
}

/// Name of the file for the program at the device of this number.
pub(crate) fn pin(number: usize) -> String {
    format!("device-{number}")
}

/// Whether a link in a file of a BPF file system is still at its device; `None` without such a file.
pub(crate) fn is_linked(pin: &Path) -> Option<bool> {
    Some(device_of(&opened(pin)?.info().ok()?.info).is_some())
}

/// The number of the device at which such a link is, where it is at any.
pub(crate) fn linked_at(pin: &Path) -> Option<u32> {
    device_of(&opened(pin)?.info().ok()?.info)
}

/// The link that is kept at a place. Of one that is not there libbpf would write to everybody's terminal.
fn opened(pin: &Path) -> Option<Link> {
    if pin.exists() { Link::open(pin).ok() } else { None }
}

/// A device that goes leaves its links behind, at no device.
fn device_of(info: &LinkTypeInfo) -> Option<u32> {
    match info {
        LinkTypeInfo::Tcx(TcxLinkInfo {
            ifindex: ifindex @ 1.., ..
        }) => Some(*ifindex),
        _ => None,
    }
}

fn link(program: &Program<'_>, index: i32, direction: Direction) -> Result<OwnedFd, libbpf_rs::Error> {
    let kind = match direction {
        Direction::Ingress => libbpf_sys::BPF_TCX_INGRESS,
        Direction::Egress | Direction::EgressFirst => libbpf_sys::BPF_TCX_EGRESS,
    };
    let options = libbpf_sys::bpf_link_create_opts {
        sz: size_of::<libbpf_sys::bpf_link_create_opts>() as u64,
        // Before nothing in particular is before all.
        flags: if direction == Direction::EgressFirst {
            libbpf_sys::BPF_F_BEFORE
        } else {
            0
        },
        ..Default::default()
    };
    // SAFETY: the program is loaded and outlives the call; the options say their size and live through it.
    let link = unsafe { libbpf_sys::bpf_link_create(program.as_fd().as_raw_fd(), index, kind, &raw const options) };
    if link < 0 {
        return Err(std::io::Error::from_raw_os_error(-link).into());
    }
    // SAFETY: the descriptor was just opened and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(link) })
}

/// Whether clsact was made. Where it was there for others, it stays when we go.
fn make_clsact(index: i32) -> Result<bool, libbpf_rs::Error> {
    let mut hook = libbpf_sys::bpf_tc_hook {
        sz: size_of::<libbpf_sys::bpf_tc_hook>() as u64,
        ifindex: index,
        attach_point: TC_INGRESS | TC_EGRESS,
        ..Default::default()
    };
    // SAFETY: the struct says its size and lives through the call.
    match -unsafe { libbpf_sys::bpf_tc_hook_create(&raw mut hook) } {
        0 => Ok(true),
        libc::EEXIST => Ok(false),
        error => Err(std::io::Error::from_raw_os_error(error).into()),
    }
}

fn filter(
    program: &Program<'_>,
    device: &Device,
    index: i32,
    direction: Direction,
) -> Result<Attached, libbpf_rs::Error> {
    let (point, preference) = direction.filter();
    let made_clsact = make_clsact(index)?;
    let filter = TcHookBuilder::new(program.as_fd())
        .ifindex(index)
        .priority(preference)
        .hook(point)
        .attach()?;
    Ok(Attached::Filter(FilterRecord {
        device: device.clone(),
        index,
        is_egress: direction != Direction::Ingress,
        handle: filter.get_handle(),
        priority: filter.get_priority(),
        made_clsact,
    }))
}
