//! What is behind the transmitter of a link with a channel.

use fadelab_phy::channel::{Channel, PacketKind};

use crate::counters::LinkCounters;
use crate::spec::LinkSpec;

/// A channel, and what became of the packets that it was asked about.
#[derive(Debug)]
pub(crate) struct Air {
    channel: Channel,
    /// The last packet that did not have to wait.
    pub passed: Counted,
    /// Data packets that were taken, whether they have been sent or not.
    taken_data_pkts: u64,
    /// Packets that were lost, by [`PacketKind`].
    lost_pkts: [u64; 2],
    /// Their bytes, where a law may ask: sent or not. Whoever asks for a decision counts.
    pub lost_bytes: u64,
}

const DATA: usize = PacketKind::Data as usize;

impl Air {
    /// What a spec has behind the transmitter, if there is anything.
    pub fn of(spec: &LinkSpec, seed: u64) -> Option<Self> {
        let rate_bps = spec.capacity.rate_bps_mean();
        let channel = spec.channel.as_ref();
        channel.map(|channel| Self {
            channel: Channel::new(channel, seed, &spec.name, rate_bps),
            passed: Counted::default(),
            taken_data_pkts: 0,
            lost_pkts: [0; 2],
            lost_bytes: 0,
        })
    }

    /// Bytes on the air, parity included, of the packet that is decided next of its kind.
    #[inline(always)]
    pub fn make_ready(&mut self, kind: PacketKind, ip_bytes: u16) -> u32 {
        self.channel.make_ready(kind, u32::from(ip_bytes))
    }

    /// The same without making it ready: `None`, where the last one of its kind had another size.
    #[inline(always)]
    pub fn ready_bytes(&self, kind: PacketKind, ip_bytes: u16) -> Option<u32> {
        self.channel.ready_bytes(kind, u32::from(ip_bytes))
    }

    /// Computes what the channel has to know of packets of a kind and a size.
    pub fn prepare(&mut self, kind: PacketKind, ip_bytes: u16) {
        self.channel.prepare(kind, ip_bytes.into());
    }

    /// Computes what the channel has to know of packets of up to this size, which takes seconds at most.
    pub fn prepare_all(&mut self, ip_bytes_max: u16) {
        self.channel.prepare_all(ip_bytes_max.into());
    }

    /// Decides the fate of a packet whose transmission begins at `start_ns`; its size was made ready.
    #[inline(always)]
    pub fn decide(&mut self, start_ns: u64, kind: PacketKind) -> Counted {
        self.taken_data_pkts += u64::from(kind == PacketKind::Data);
        let is_lost = self.channel.is_ready_lost(start_ns, kind);
        if is_lost {
            self.lost_pkts[kind as usize] += 1;
        }
        Counted {
            is_data: kind == PacketKind::Data,
            is_lost,
            ..Counted::default()
        }
    }

    /// Whether a transmission that begins at `start_ns` is lost. Whoever asks counts.
    pub fn loses(&mut self, start_ns: u64, kind: PacketKind, ip_bytes: u16) -> bool {
        self.channel.is_lost(start_ns, kind, u32::from(ip_bytes))
    }

    /// Tells what has been sent: all that was decided but those whose fates are `unsent`.
    pub fn tell(&self, counters: &mut LinkCounters, unsent: impl Iterator<Item = Counted>) {
        counters.sent_data_pkts = self.taken_data_pkts;
        counters.lost_air_pkts = self.lost_pkts.iter().sum();
        counters.lost_air_data_pkts = self.lost_pkts[DATA];
        for fate in unsent {
            let (is_data, is_lost) = (u64::from(fate.is_data), u64::from(fate.is_lost));
            counters.sent_data_pkts -= is_data;
            counters.lost_air_pkts -= is_lost;
            counters.lost_air_data_pkts -= is_data & is_lost;
        }
    }
}

/// What is counted of a packet when it is sent: by the channel, and whether the law marked it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(4))]
pub(crate) struct Counted {
    pub is_data: bool,
    pub is_lost: bool,
    pub is_marked: bool,
    /// Class of the packet where delays are told apart by classes, see [`crate::delays`].
    pub class: u8,
}
