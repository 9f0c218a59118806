//! Values that laws declare as worth watching, read from their memories in the kernel. It copies a memory while the law
//! may be at work on another packet: a value is never torn, but two may be of neighbouring calls.

use std::os::fd::AsFd;

use fadelab_kernel::sender::Sender;
use fadelab_laws::Field;
use fadelab_run::record::Watched;

use super::laws::AtLink;
use super::{Outcome, failed};
use crate::plan::{Flow, Plan};

/// What a flow's law has to show, where it has anything.
pub struct FlowMemory<'a> {
    sender: &'a Sender,
    watch: &'a [Field],
    /// As it was last read: that of the present connection or, between two, of the last one.
    values: Watched,
}

impl<'a> FlowMemory<'a> {
    /// Of a flow, before its first connection.
    pub fn of(plan: &'a Plan, senders: &'a [Sender], flow: &Flow) -> Option<Self> {
        let mut laws = plan.senders.iter().zip(senders);
        let (law, sender) = laws.find(|(law, _)| Some(&law.name) == flow.law.as_ref())?;
        (!law.watch.is_empty()).then(|| Self {
            sender,
            watch: &law.watch,
            values: vec![0; law.watch.len()],
        })
    }

    /// Looks at a connection.
    pub fn look(&mut self, socket: impl AsFd) -> Outcome<()> {
        // None is there before the handshake is over, nor where the socket turned to another law.
        if let Some(state) = self.sender.memory(socket).map_err(failed("a law's memory"))? {
            self.values = read(self.watch, &state);
        }
        Ok(())
    }

    /// What it showed last.
    pub fn values(&self) -> &Watched {
        &self.values
    }
}

/// What the laws at a link have to show now: the router's, then its capacity part.
pub fn of_link(at: &AtLink) -> Outcome<Watched> {
    let [law, part] = &at.memories;
    if law.watch.is_empty() && part.watch.is_empty() {
        return Ok(Watched::new());
    }
    let states = at.router.memories([law.bytes, part.bytes]);
    let [of_law, of_part] = states.map_err(failed("a router's memory"))?;
    Ok([read(&law.watch, &of_law), read(&part.watch, &of_part)].concat())
}

fn read(watch: &[Field], state: &[u8]) -> Watched {
    watch.iter().filter_map(|field| field.raw_of(state)).collect()
}
