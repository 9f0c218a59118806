//! What goes on in flows under a law, as the kernel last wrote it down.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use libbpf_rs::{MapCore, MapFlags};
use serde::{Deserialize, Serialize};

/// State of the kernel's recovery, as Linux names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CaState {
    /// Nothing unusual.
    Open,
    /// Duplicate ACKs, not yet a loss.
    Disorder,
    /// Reduced for congestion without a loss.
    Cwr,
    /// Fast retransmit.
    Recovery,
    /// After a timeout.
    Loss,
}

/// A flow under a law.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveFlow {
    /// Counts from 1 per law.
    pub id: u64,
    /// The sender's end.
    pub local: SocketAddr,
    /// The receiver's.
    pub remote: SocketAddr,
    /// When this was written, in microseconds since the machine started.
    pub time_us: u64,
    /// Congestion window.
    pub cwnd_pkts: u32,
    /// Slow start threshold.
    pub ssthresh_pkts: u32,
    /// Smoothed round trip; 0: none yet.
    pub srtt_us: u32,
    /// State of recovery.
    pub ca_state: CaState,
    /// The newest feedback, as the law sees it; empty: none came.
    pub feedback: Vec<u8>,
    /// When it came.
    pub feedback_us: u64,
    /// Whether a router of the law saw the data that it answers.
    pub is_confirmed: bool,
}

/// Of how many flows the kernel notes what goes on in them; of more, those that were heard last.
pub const FLOWS_NOTED_MAX: u32 = 16_384;

/// `AF_INET6`.
const INET6: u32 = 10;
const ENTRY_BYTES: usize = 112;

/// The flows in a map `live`, in the order in which they began. They are read in one call: key by key one would begin
/// anew whenever the flow that was read last has ended.
///
/// # Errors
/// When the map cannot be read.
pub fn flows(map: &impl MapCore) -> Result<Vec<LiveFlow>, libbpf_rs::Error> {
    // libbpf-rs takes a batch that is not full for the last one, and the kernel gives whole buckets only.
    let entries = map.lookup_batch(FLOWS_NOTED_MAX, MapFlags::ANY, MapFlags::ANY)?;
    let mut flows: Vec<LiveFlow> = entries.filter_map(|(_, entry)| read(&entry)).collect();
    flows.sort_by_key(|flow: &LiveFlow| flow.id);
    Ok(flows)
}

/// How many flows a law has now, by its map `flow_counts`: of many the map `live` does not hold all.
///
/// # Errors
/// When the map cannot be read.
pub fn flows_n(map: &impl MapCore) -> Result<u64, libbpf_rs::Error> {
    let counts = map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY)?.unwrap_or_default();
    let word = |at: usize| {
        let bytes = counts.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u64::from_ne_bytes)
    };
    Ok(word(0).saturating_sub(word(8)))
}

/// `struct live_flow` of `bpf/flow.h`.
fn read(entry: &[u8]) -> Option<LiveFlow> {
    let entry: &[u8; ENTRY_BYTES] = entry.try_into().ok()?;
    let word = |at: usize| u32::from_ne_bytes(entry[at..at + 4].try_into().expect("four bytes"));
    let long = |at: usize| u64::from_ne_bytes(entry[at..at + 8].try_into().expect("eight bytes"));
    let address = |at: usize, port: usize| {
        let bytes: [u8; 16] = entry[at..at + 16].try_into().expect("sixteen bytes");
        let ip = if word(16) == INET6 {
            IpAddr::from(Ipv6Addr::from(bytes))
        } else {
            IpAddr::from(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]))
        };
        SocketAddr::new(ip, word(port) as u16)
    };
    let ca_state = match word(40) {
        0 => CaState::Open,
        1 => CaState::Disorder,
        2 => CaState::Cwr,
        3 => CaState::Recovery,
        _ => CaState::Loss,
    };
    let feedback_bytes = (word(44) as usize).min(20);
    Some(LiveFlow {
        id: long(0),
        time_us: long(8),
        local: address(56, 20),
        remote: address(72, 24),
        cwnd_pkts: word(28),
        ssthresh_pkts: word(32),
        srtt_us: word(36),
        ca_state,
        feedback: entry[88..88 + feedback_bytes].to_vec(),
        feedback_us: long(48),
        is_confirmed: word(108) != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_field_by_field() {
        // Goal: each field is where bpf/flow.h has it.
        let mut entry = [0; ENTRY_BYTES];
        let mut put = |at: usize, bytes: &[u8]| entry[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &7u64.to_ne_bytes());
        put(8, &1_000_000u64.to_ne_bytes());
        put(16, &2u32.to_ne_bytes());
        put(20, &4000u32.to_ne_bytes());
        put(24, &5201u32.to_ne_bytes());
        put(28, &31u32.to_ne_bytes());
        put(36, &50_000u32.to_ne_bytes());
        put(40, &3u32.to_ne_bytes());
        put(44, &1u32.to_ne_bytes());
        put(48, &999_000u64.to_ne_bytes());
        put(56, &[10, 0, 0, 1]);
        put(72, &[10, 0, 0, 2]);
        put(88, &[2]);
        put(108, &[1]);
        let flow = read(&entry).expect("an entry of the right size");
        assert_eq!((flow.id, flow.cwnd_pkts, flow.srtt_us), (7, 31, 50_000));
        assert_eq!(flow.local.to_string(), "10.0.0.1:4000");
        assert_eq!(flow.remote.to_string(), "10.0.0.2:5201");
        assert_eq!((flow.ca_state, flow.feedback.as_slice()), (CaState::Recovery, &[2][..]));
        assert!(flow.is_confirmed);
        assert_eq!(read(&entry[1..]), None);
    }
}
