//! Flows: who sends what to whom, by which law, over which links.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use fadelab_laws::shadow::Onlooker;
use fadelab_laws::{Params, Receiver, Sender};

use crate::app::App;
use crate::network::{LinkId, NodeId};
use crate::transport::Transport;

/// One flow: an application at one end, a transport, a law, and its routes. What flows of a group have in common is
/// kept once for all of them, as with links ([`fadelab_path::spec::LinkSpec`]): its fields are read and written as if
/// they were the flow's own.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Unique name, e.g. `down.3`.
    pub name: Arc<str>,
    /// The host that sends data.
    pub from: NodeId,
    /// The host that receives them.
    pub to: NodeId,
    /// Links of the data packets, in order.
    pub route: Vec<LinkId>,
    /// Links of the ACKs, in order.
    pub route_back: Vec<LinkId>,
    /// The rest.
    pub kind: Arc<FlowKind>,
}

impl Deref for FlowSpec {
    type Target = FlowKind;

    fn deref(&self) -> &FlowKind {
        &self.kind
    }
}

impl DerefMut for FlowSpec {
    fn deref_mut(&mut self) -> &mut FlowKind {
        Arc::make_mut(&mut self.kind)
    }
}

/// What flows of a kind have in common.
#[derive(Clone, Debug)]
pub struct FlowKind {
    /// Flows of a group are summed in tables, e.g. `down`. What follows a dot tells parts of one group apart.
    pub group: String,
    /// The window law; `None` sends without congestion control (UDP).
    pub sender: Option<&'static Sender>,
    /// Parameters of the sender's law.
    pub params: Params,
    /// Laws that see what the sender's is shown, and decide nothing.
    pub onlookers: Vec<Onlooker>,
    /// The receiver's half of the law; `None`: a plain TCP receiver.
    pub receiver: Option<&'static Receiver>,
    /// What the application does.
    pub app: App,
    /// Transport of both ends.
    pub transport: Transport,
}

/// The turn of each flow, from 0, where something has to go by the order of flows: by the names of their groups and not
/// by that in which somebody wrote them. Flows of a group, and its parts, stay as they stand.
pub fn in_order_of_names<'k>(kinds: impl Iterator<Item = &'k FlowKind>) -> Vec<u32> {
    let name = |kind: &'k FlowKind| kind.group.split('.').next();
    let mut flows: Vec<_> = kinds.map(name).enumerate().collect();
    flows.sort_by_key(|&(_, name)| name);
    let mut turns = vec![0; flows.len()];
    for (turn, (flow, _)) in (0..).zip(flows) {
        turns[flow] = turn;
    }
    turns
}
