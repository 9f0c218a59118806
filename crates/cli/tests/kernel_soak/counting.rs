//! An independent count of what arrives at a host, by a raw socket: what laws and routers say is compared with it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use fadelab_kernel::device::Device;

use super::site::{VCP_OPTION, our_option};
use super::tap;

/// Packets with data that came to a port.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrived {
    pub packets: u64,
    /// With bits in the ECN field.
    pub marked: u64,
    /// With VCP's option.
    pub own: u64,
    pub bytes: u64,
}

/// Counts until it is dropped.
pub struct Counting {
    counts: Arc<Mutex<BTreeMap<u16, Arrived>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Counting {
    /// At all devices of a namespace, those that come later too.
    pub fn new(space: &str) -> Self {
        let socket = tap::open(&Device {
            name: "(any)".to_owned(),
            netns: Some(format!("/run/netns/{space}").into()),
        });
        tap::only_arriving(&socket);
        let (counts, stop) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let (its, stopped) = (Arc::clone(&counts), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let mut packet = vec![0; 1 << 17];
            while !stopped.load(Ordering::Relaxed) {
                if let Some(bytes) = tap::read(&socket, &mut packet) {
                    count(&packet[..bytes], &its);
                }
            }
        });
        Self {
            counts,
            stop,
            thread: Some(thread),
        }
    }

    /// What came to a port so far.
    pub fn of(&self, port: u16) -> Arrived {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(&port).copied().unwrap_or_default()
    }

    /// Packets with VCP's option, with data or without, to any port.
    pub fn own(&self) -> u64 {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.values().map(|arrived| arrived.own).sum()
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn count(packet: &[u8], counts: &Mutex<BTreeMap<u16, Arrived>>) {
    let Some((at, ecn)) = tap::tcp(packet) else { return };
    let Some(header) = packet.get(at..).filter(|header| header.len() >= 20) else {
        return;
    };
    let data_bytes = header.len().saturating_sub(usize::from(header[12] >> 4) * 4);
    let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
    let arrived = counts.entry(u16::from_be_bytes([header[2], header[3]])).or_default();
    arrived.own += u64::from(our_option(packet, at).is_some_and(|option| option.len() == VCP_OPTION));
    if data_bytes > 0 {
        arrived.packets += 1;
        arrived.marked += u64::from(ecn != 0);
        arrived.bytes += data_bytes as u64;
    }
}
