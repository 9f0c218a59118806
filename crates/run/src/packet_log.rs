//! Logs of packets as Wireshark opens them, of any ground: pcapng, IP, with times in nanoseconds of the run.

use std::borrow::Cow;
use std::fmt;
use std::io::Write;
use std::time::Duration;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::{DataLink, PcapError};
use serde::{Deserialize, Serialize};

/// Times are multiples of 10^-9 s.
const NANOSECONDS: u8 = 9;

/// Where packets of a run are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Place {
    /// At the host of the sender of this flow: its data as they leave, its ACKs as they arrive.
    Flow(u32),
    /// Where packets arrive over this link.
    Link(u32),
}

/// An interface of a log: what is seen at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    pub place: Place,
    /// The flow's or the link's.
    pub name: String,
}

/// A packet that was seen.
#[derive(Clone, Debug)]
pub struct Logged<'a> {
    /// Place of the interface among those of the log.
    pub interface: usize,
    pub time_ns: u64,
    /// All of its bytes or the first of them, from IP's header on.
    pub bytes: Cow<'a, [u8]>,
    /// All of its bytes are so many.
    pub ip_bytes: u32,
    /// Empty where there is none.
    pub comment: String,
}

/// A log under way.
pub struct PacketLog<W: Write> {
    writer: PcapNgWriter<W>,
}

impl<W: Write> fmt::Debug for PacketLog<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PacketLog").finish_non_exhaustive()
    }
}

impl<W: Write> PacketLog<W> {
    /// Begins a log; `about` is the comment of each interface.
    ///
    /// # Errors
    /// What cannot be written.
    pub fn begin(out: W, about: &str, interfaces: &[Interface], has_ipv6: bool) -> Result<Self, PcapError> {
        // libpcap reads no file with several interfaces of the type RAW, which alone takes both.
        let linktype = if has_ipv6 { DataLink::RAW } else { DataLink::IPV4 };
        let mut writer = PcapNgWriter::new(out)?;
        for interface in interfaces {
            writer.write_pcapng_block(InterfaceDescriptionBlock {
                linktype,
                // No limit.
                snaplen: 0,
                options: vec![
                    InterfaceDescriptionOption::Comment(Cow::Borrowed(about)),
                    InterfaceDescriptionOption::IfName(Cow::Borrowed(&interface.name)),
                    InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
                ],
            })?;
        }
        Ok(Self { writer })
    }

    /// Adds a packet.
    ///
    /// # Errors
    /// What cannot be written.
    pub fn add(&mut self, packet: Logged<'_>) -> Result<(), PcapError> {
        let comment = Some(packet.comment).filter(|comment| !comment.is_empty());
        let options = comment.map(|text| EnhancedPacketOption::Comment(Cow::Owned(text)));
        let block = EnhancedPacketBlock {
            interface_id: packet.interface as u32,
            timestamp: Duration::from_nanos(packet.time_ns),
            original_len: packet.ip_bytes,
            data: packet.bytes,
            options: options.into_iter().collect(),
        };
        self.writer.write_pcapng_block(block).map(drop)
    }

    /// Writes what was held back.
    ///
    /// # Errors
    /// What cannot be written.
    pub fn finish(mut self) -> Result<(), PcapError> {
        self.writer.get_mut().flush().map_err(PcapError::IoError)
    }
}
