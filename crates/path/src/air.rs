//! What a transmission meets once it has begun: the channel, and the capacity that it may not exceed.

use fadelab_phy::channel::{Channel, ChannelSpec, PacketKind};

use crate::spec::LinkSpec;

/// The channel, and the on-air size of the last data packet and ACK: sizes rarely change.
#[derive(Debug)]
pub(crate) struct Air {
    spec: ChannelSpec,
    pub channel: Channel,
    sizes: [(u32, u32); 2],
}

impl Air {
    /// The channel of a link, if it is not a wire.
    pub fn of(link: &LinkSpec, seed: u64) -> Option<Self> {
        let spec = link.channel.as_ref()?;
        let channel = Channel::new(spec, seed, &link.name, link.capacity.rate_bps_mean());
        Some(Self {
            spec: spec.clone(),
            channel,
            sizes: [(0, 0); 2],
        })
    }

    /// Bytes on the air of a packet, parity included.
    #[inline]
    pub fn bytes(&mut self, kind: PacketKind, ip_bytes: u32) -> u32 {
        let known = &mut self.sizes[usize::from(kind == PacketKind::Ack)];
        if known.0 != ip_bytes {
            *known = (ip_bytes, self.spec.air_bytes(kind, ip_bytes));
        }
        known.1
    }
}

/// The time since the transmitter last had nothing to do: over it, no more may be sent than its capacity.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BusyPeriod {
    pub start_ns: u64,
    pub end_ns: u64,
    pub bytes: u64,
}

impl BusyPeriod {
    /// Adds a transmission.
    #[inline(always)]
    pub fn add(&mut self, start_ns: u64, end_ns: u64, bytes: u32) {
        if start_ns > self.end_ns {
            *self = Self {
                start_ns,
                end_ns: start_ns,
                bytes: 0,
            };
        }
        self.end_ns = end_ns;
        self.bytes += u64::from(bytes);
    }
}
