//! A packet log as a file: it has its name when it is complete.

use std::borrow::Cow;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use fadelab_run::packet_log::{Interface, Logged, PacketLog, Place};
use fadelab_run::tunnel::{Family, TunnelSpec};
use fadelab_sim::tap::{self, Sighting};
use pcap_file::PcapError;

use crate::packets::esp::Esp;
use crate::packets::headers::Host;

/// A log under way. It is written under another name until it is complete.
pub struct LogFile {
    path: PathBuf,
    tunnels: Vec<TunnelSpec>,
    esp: Esp,
    interfaces: Vec<Interface>,
    /// By flow; those that have packets in the log.
    hosts: Vec<Option<Host>>,
    log: Option<PacketLog<BufWriter<File>>>,
    /// What went wrong first; nothing is written after it.
    error: Option<PcapError>,
}

impl LogFile {
    /// Begins a log; `about` is the comment of its interfaces.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn create(
        path: &Path,
        about: &str,
        tunnels: &[TunnelSpec],
        interfaces: &[Interface],
        hosts: Vec<Option<Host>>,
    ) -> Result<Self, PcapError> {
        let file = File::create_new(partial(path)).map_err(PcapError::IoError)?;
        let out = BufWriter::new(file);
        let has_ipv6 = tunnels.iter().any(|tunnel| tunnel.outer == Family::Ipv6);
        Ok(Self {
            path: path.to_owned(),
            tunnels: tunnels.to_vec(),
            esp: Esp::new(),
            interfaces: interfaces.to_vec(),
            hosts,
            log: Some(PacketLog::begin(out, about, interfaces, has_ipv6)?),
            error: None,
        })
    }

    /// Adds a packet, where it was seen at one of the interfaces. The first failure is kept for [`Self::finish`].
    pub fn add(&mut self, seen: &Sighting) {
        let place = match seen.place {
            tap::Place::Host => Place::Flow(seen.flow),
            tap::Place::Link(link) => Place::Link(link),
        };
        let Some(host) = &mut self.hosts[seen.flow as usize] else {
            return;
        };
        if seen.place == tap::Place::Host {
            host.note(seen);
        }
        let interface = self.interfaces.iter().position(|interface| interface.place == place);
        let (Some(interface), None, Some(log)) = (interface, &self.error, &mut self.log) else {
            return;
        };
        let recorded = host.record(seen);
        let mut bytes = recorded.headers;
        let mut ip_bytes = recorded.ip_bytes;
        // A part of what is encrypted is of no use, and what enters tunnels can be followed into them.
        if seen.place != tap::Place::Host && !self.tunnels.is_empty() {
            bytes.resize(ip_bytes as usize, 0);
        }
        if let Some(outer) = &seen.outer {
            let tunnel = &self.tunnels[outer.tunnel as usize];
            bytes = self.esp.encapsulated(&bytes, outer, tunnel);
            ip_bytes = u32::from(outer.ip_bytes);
        }
        let packet = Logged {
            interface,
            time_ns: seen.time_ns,
            bytes: Cow::Owned(bytes),
            ip_bytes,
            comment: recorded.comment,
        };
        self.error = log.add(packet).err();
    }

    /// Gives the log its name.
    ///
    /// # Errors
    /// The first thing that went wrong.
    pub fn finish(&mut self) -> Result<(), PcapError> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if let Some(log) = self.log.take() {
            log.finish()?;
        }
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
