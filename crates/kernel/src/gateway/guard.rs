//! What is behind a gateway and outlives it: outer headers of its tunnels are cleared though nobody reads them now.

use std::io;
use std::path::PathBuf;

use libbpf_rs::{MapCore, MapFlags};

use super::program::{Hook, Program};
use super::{GatewayError, Options, refused};
use crate::attach::{Direction, to_device};
use crate::kept::{self, Keep, Kept, Purpose};
use crate::object::LoadError;
use crate::process::Owner;
use crate::spaces;

/// The guard of a gateway that has gone: outer headers are cleared for as long as this is there.
#[derive(Debug)]
pub struct StillGuarded(pub(super) Option<Keep>);

impl StillGuarded {
    /// Leaves the guard when the process ends, as if it had been killed: the next gateway there takes its place.
    pub fn leave(self) {
        std::mem::forget(self.0);
    }
}

/// Puts the guard at the cipher device, behind the gateway; it goes when this is dropped, but not when the process is
/// killed. One that a killed gateway left there goes first.
pub(super) fn stand(program: &mut Program, options: &Options, law: &str) -> Result<Keep, GatewayError> {
    let cipher = &options.cipher;
    let failed = |error: io::Error| refused(cipher, &error);
    let (ifindex, framing) = cipher.look().map_err(failed)?;
    let tunnels = options.tunnels.iter().map(|tunnel| tunnel.out.to_string());
    let kept = Kept {
        owner: Owner::this(),
        netns_inode: spaces::inode(cipher.netns.as_deref()).map_err(failed)?,
        netns: cipher.netns.clone(),
        device: cipher.name.clone(),
        law: law.to_owned(),
        purpose: Purpose::Guard {
            tunnels: tunnels.collect(),
        },
        folder: PathBuf::new(),
    };
    let inode = kept.netns_inode;
    let keep = Keep::of(kept, ifindex).map_err(|error| LoadError::system("/run/fadelab", &error))?;
    let attached = to_device(&program.at(Hook::Guard, framing), cipher, Direction::Ingress)?;
    attached.pin(&keep.closing(ifindex, ""))?;
    program.keep_count(&keep.counters())?;
    kept::remove_left(|left| is_guard(left) && left.netns_inode == inode && left.device == cipher.name);
    Ok(keep)
}

fn is_guard(kept: &Kept) -> bool {
    matches!(kept.purpose, Purpose::Guard { .. })
}

/// Guards of gateways at work, and those that killed gateways left.
pub fn guards() -> Vec<Kept> {
    kept::all().into_iter().filter(is_guard).collect()
}

/// Outer headers that a guard cleared; `None` where the kernel does not tell.
pub fn cleared(guard: &Kept) -> Option<u64> {
    let value = guard.counters()?.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok()??;
    Some(u64::from_ne_bytes(value.try_into().ok()?))
}
