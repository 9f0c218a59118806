//! A packet log in the format pcapng, with times in nanoseconds.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fadelab_sim::tap::Sighting;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::{DataLink, PcapError};

use crate::packets::headers::Host;

/// Bytes of a packet that are recorded at most: the longest headers of IPv4 and TCP.
const SNAP_BYTES: u32 = 120;

/// Times are multiples of 10^-9 s.
const NANOSECONDS: u8 = 9;

/// A log under way. It is written under another name until it is complete.
pub struct LogFile {
    path: PathBuf,
    host: Host,
    writer: PcapNgWriter<BufWriter<File>>,
    /// What went wrong first; nothing is written after it.
    error: Option<PcapError>,
}

impl LogFile {
    /// Begins a log for a host; `about` is the comment of its only interface.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn create(path: &Path, about: &str, host: Host) -> Result<Self, PcapError> {
        let file = File::create_new(partial(path)).map_err(PcapError::IoError)?;
        let mut writer = PcapNgWriter::new(BufWriter::new(file))?;
        writer.write_pcapng_block(InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: SNAP_BYTES,
            options: vec![
                InterfaceDescriptionOption::Comment(Cow::Borrowed(about)),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        })?;
        Ok(Self {
            path: path.to_owned(),
            host,
            writer,
            error: None,
        })
    }

    /// Adds a packet. The first failure is kept for [`Self::finish`].
    pub fn add(&mut self, seen: &Sighting) {
        if self.error.is_none() {
            self.error = self.try_add(seen).err();
        }
    }

    fn try_add(&mut self, seen: &Sighting) -> Result<(), PcapError> {
        let recorded = self.host.record(seen);
        let comment = Some(recorded.comment).filter(|comment| !comment.is_empty());
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(seen.time_ns),
            original_len: recorded.ip_bytes,
            data: Cow::Owned(recorded.headers),
            options: comment
                .map(|text| EnhancedPacketOption::Comment(Cow::Owned(text)))
                .into_iter()
                .collect(),
        };
        self.writer.write_pcapng_block(block).map(|_| ())
    }

    /// Gives the log its name.
    ///
    /// # Errors
    /// The first thing that went wrong.
    pub fn finish(&mut self) -> Result<(), PcapError> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        self.writer.get_mut().flush().map_err(PcapError::IoError)?;
        std::fs::rename(partial(&self.path), &self.path).map_err(PcapError::IoError)
    }
}

/// A log that did not get its name leaves nothing behind.
impl Drop for LogFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(partial(&self.path));
    }
}

fn partial(path: &Path) -> PathBuf {
    path.with_extension("partial")
}
