//! Somebody between two hosts who passes packets on, and changes some of them.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use fadelab_kernel::device::Device;

use super::tap::{only_arriving, open, read, tcp};

/// What is done to a packet.
pub trait Change: FnMut(&mut [u8], usize, &mut Random) -> bool + Clone + Send + 'static {}

impl<F: FnMut(&mut [u8], usize, &mut Random) -> bool + Clone + Send + 'static> Change for F {}

/// Passes packets between two devices until it is dropped.
pub struct Meddler {
    stop: Arc<AtomicBool>,
    changed_n: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Meddler {
    /// `change` gets each packet of TCP, with where its header begins, and says whether it changed anything; the
    /// checksums are made right again.
    /// Each way has a `change` of its own.
    pub fn new(left: &Device, right: &Device, change: impl Change) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let changed_n = Arc::new(AtomicU64::new(0));
        let ways = [(left, right, 1), (right, left, 2)].map(|(from, to, seed)| {
            let (from, to) = (open(from), open(to));
            only_arriving(&from);
            let (stop, changed_n) = (Arc::clone(&stop), Arc::clone(&changed_n));
            let change = change.clone();
            std::thread::spawn(move || pass(&from, &to, &stop, &changed_n, change, Random(seed)))
        });
        Self {
            stop,
            changed_n,
            threads: ways.into(),
        }
    }

    /// Packets that were changed.
    pub fn changed_n(&self) -> u64 {
        self.changed_n.load(Ordering::Relaxed)
    }
}

impl Drop for Meddler {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Numbers of chance from a seed (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn pass(
    from: &OwnedFd,
    to: &OwnedFd,
    stop: &AtomicBool,
    changed_n: &AtomicU64,
    mut change: impl Change,
    mut random: Random,
) {
    let mut buffer = vec![0; 1 << 16];
    while !stop.load(Ordering::Relaxed) {
        let Some(bytes) = read(from, &mut buffer) else { continue };
        let mut packet = buffer[..bytes].to_vec();
        if let Some((at, _)) = tcp(&packet) {
            changed_n.fetch_add(u64::from(change(&mut packet, at, &mut random)), Ordering::Relaxed);
            sum_again(&mut packet, at);
        }
        // SAFETY: the buffer is as long as said. What finds no room is lost, as on any path.
        unsafe { libc::send(to.as_raw_fd(), packet.as_ptr().cast(), packet.len(), libc::MSG_DONTWAIT) };
    }
}

/// Hosts on a cable leave the sums to whoever puts packets on it, so they are always made anew.
fn sum_again(packet: &mut [u8], at: usize) {
    packet[24..26].fill(0);
    let ip_sum = folded(0, &packet[14..at]);
    packet[24..26].copy_from_slice(&ip_sum.to_be_bytes());
    let end = 14 + usize::from(u16::from_be_bytes([packet[16], packet[17]]));
    packet[at + 16..at + 18].fill(0);
    let pseudo = u32::from(packet[23]) + (end - at) as u32;
    let addresses = packet[26..34].to_vec();
    let sum = folded(pseudo + words(&addresses), &packet[at..end]);
    packet[at + 16..at + 18].copy_from_slice(&sum.to_be_bytes());
}

fn words(bytes: &[u8]) -> u32 {
    bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)))
        .sum()
}

fn folded(start: u32, bytes: &[u8]) -> u16 {
    let mut sum = start + words(bytes);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
