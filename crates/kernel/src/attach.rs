//! Programs at a network device: links of their own where the kernel has them, filters of the qdisc clsact before.
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr;

use libbpf_rs::{Program, TC_EGRESS, TC_INGRESS, TcHook, TcHookBuilder};

use crate::Version;
use crate::device::{Device, within};
use crate::object::LoadError;

/// Which way packets go that a program sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Into the device from the network.
    Ingress,
    /// Out of it, before its queue.
    Egress,
}

/// A program at a device. It is taken away when this is dropped, and a link also when the process ends.
#[derive(Debug)]
pub enum Attached {
    /// From Linux 6.6 on.
    Link(OwnedFd),
    /// Before: a filter, which outlives the process.
    Filter {
        /// The filter.
        filter: TcHook,
        /// The qdisc clsact, where it was made for the filter.
        qdisc: Option<TcHook>,
        /// Where it is.
        device: Device,
    },
}

impl Drop for Attached {
    fn drop(&mut self) {
        let Self::Filter { filter, qdisc, device } = self else {
            return;
        };
        // A device or namespace that is gone has taken the filter with it.
        let _ = within(device.netns.as_deref(), || {
            let _ = filter.detach();
            if let Some(qdisc) = qdisc {
                let _ = qdisc.destroy();
            }
        });
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

fn link(program: &Program<'_>, index: i32, direction: Direction) -> Result<OwnedFd, libbpf_rs::Error> {
    let kind = match direction {
        Direction::Ingress => libbpf_sys::BPF_TCX_INGRESS,
        Direction::Egress => libbpf_sys::BPF_TCX_EGRESS,
    };
    // SAFETY: the program is loaded and outlives the call, which takes no options.
    let link = unsafe { libbpf_sys::bpf_link_create(program.as_fd().as_raw_fd(), index, kind, ptr::null()) };
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
    let hook = |point| {
        let mut builder = TcHookBuilder::new(program.as_fd());
        builder.ifindex(index).replace(false).hook(point)
    };
    let made = make_clsact(index)?;
    let filter = hook(match direction {
        Direction::Ingress => TC_INGRESS,
        Direction::Egress => TC_EGRESS,
    })
    .attach()?;
    Ok(Attached::Filter {
        filter,
        qdisc: made.then(|| hook(TC_INGRESS | TC_EGRESS)),
        device: device.clone(),
    })
}
