//! What a transmission meets once it has begun: the channel, and the capacity that it may not exceed.

use fadelab_phy::channel::{Channel, ChannelSpec, PacketKind};

use crate::spec::LinkSpec;

/// The channel, and the on-air size of the last data packet and ACK: sizes rarely change.
#[derive(Debug)]
pub(crate) struct Air {
    channel: Option<(ChannelSpec, Channel)>,
    header_bytes: u32,
    sizes: [(u32, u32); 2],
}

impl Air {
    /// What a packet meets on a link, unless it is a wire on which packets have their own size.
    pub fn of(link: &LinkSpec, seed: u64) -> Option<Self> {
        let header_bytes = link.capacity.header_bytes();
        if link.channel.is_none() && header_bytes == 0 {
            return None;
        }
        let build = |spec: &ChannelSpec| Channel::new(spec, seed, &link.name, link.capacity.rate_bps_mean());
        Some(Self {
            channel: link.channel.as_ref().map(|spec| (spec.clone(), build(spec))),
            header_bytes,
            sizes: [(0, 0); 2],
        })
    }

    /// Whether there is a channel, so that what is sent and what is lost is counted.
    pub fn has_channel(&self) -> bool {
        self.channel.is_some()
    }

    /// Whether the channel loses a packet whose transmission begins at `start_ns`; `None`: there is no channel.
    #[inline]
    pub fn loses(&mut self, start_ns: u64, kind: PacketKind, ip_bytes: u32) -> Option<bool> {
        let (_, channel) = self.channel.as_mut()?;
        Some(channel.is_lost(start_ns, kind, ip_bytes))
    }

    /// Bytes on the air of a packet, parity and the link's own header included.
    #[inline]
    pub fn bytes(&mut self, kind: PacketKind, ip_bytes: u32) -> u32 {
        let known = &mut self.sizes[usize::from(kind == PacketKind::Ack)];
        if known.0 != ip_bytes {
            let coded = self.channel.as_ref();
            let coded_bytes = coded.map_or(ip_bytes, |(spec, _)| spec.air_bytes(kind, ip_bytes));
            *known = (ip_bytes, coded_bytes + self.header_bytes);
        }
        known.1
    }
}

/// What is counted of a packet when it is sent: by the channel, and whether the law marked it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(4))]
pub(crate) struct Fate {
    pub is_data: bool,
    pub is_lost: bool,
    pub is_marked: bool,
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
