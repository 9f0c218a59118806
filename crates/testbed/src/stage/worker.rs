//! A flow at work: its application, the sockets at either end, and its meter.

use std::os::fd::OwnedFd;

use fadelab_run::app::Application;
use fadelab_run::record::FlowCounters;

use super::http::Http;
use super::iperf3::Iperf3;
use super::measure::FlowMeter;
use super::memory::FlowMemory;
use super::tcp_info::TcpInfo;
use super::{Outcome, failed};
use crate::plan::Flow;

/// A flow at work.
pub struct Worker<'a> {
    pub flow: &'a Flow,
    pub app: Application,
    pub receiver: Receiver,
    pub sender: Option<Sending>,
    pub delivered_bytes: u64,
    pub meter: FlowMeter,
    pub memory: Option<FlowMemory<'a>>,
}

impl Worker<'_> {
    /// Reads the meter and, where the series has a sample, the memory of the law.
    pub fn look(&mut self, is_sampled: bool) -> Outcome<FlowCounters> {
        let memory = self.memory.as_mut().filter(|_| is_sampled);
        if let Receiver::Iperf3(iperf3) = &mut self.receiver {
            if let Some((socket, received_bytes)) = iperf3.look().map_err(failed(&self.flow.name))? {
                read(&TcpInfo::of(&socket), &socket, &mut self.meter, memory)?;
                self.delivered_bytes = received_bytes;
            }
        } else if let Receiver::Http(http) = &mut self.receiver {
            let (socket, received_bytes) = http.look().map_err(failed(&self.flow.name))?;
            self.delivered_bytes = received_bytes;
            if let Some(socket) = socket {
                read(&TcpInfo::of(socket), socket, &mut self.meter, memory)?;
            }
        } else if let (Some(sending), Some(_)) = (&self.sender, &self.flow.law) {
            let socket = &sending.socket;
            read(&TcpInfo::of(socket), socket, &mut self.meter, memory)?;
        }
        Ok(self.meter.counters(self.delivered_bytes))
    }
}

/// What the kernel tells of a connection goes to the meter of its flow, and what the law remembers of it to what is
/// recorded of that.
pub fn read(
    info: &TcpInfo,
    socket: &OwnedFd,
    meter: &mut FlowMeter,
    memory: Option<&mut FlowMemory<'_>>,
) -> Outcome<()> {
    meter.look(info);
    memory.map_or(Ok(()), |memory| memory.look(socket))
}

/// Who takes what a flow carries.
pub enum Receiver {
    /// This program, by a socket that listens or takes datagrams.
    Own(OwnedFd),
    /// iperf3, which also sends.
    Iperf3(Iperf3),
    /// curl, from nginx.
    Http(Http),
}

/// A connection that sends.
pub struct Sending {
    pub socket: OwnedFd,
    /// When its application began, by a handshake.
    pub start_ns: u64,
    /// Whether that is over, so that it may write.
    pub is_open: bool,
    /// Whether the application has said that it writes no more.
    pub is_closed: bool,
    pub written_bytes: u64,
    /// Payload still to write; `None`: without end.
    pub left_bytes: Option<u64>,
    /// Whether it waits for room, so that an event will come.
    pub waits: bool,
}

/// A connection that receives, and its flow.
pub struct Reading {
    pub flow: usize,
    pub socket: OwnedFd,
}
