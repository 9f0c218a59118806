//! Data and ACKs on links without a channel, which do not look at packets: how results know of the data among them.
//!
//! On most links there is nothing to tell apart, since routes bring data alone or ACKs alone. Where both come over a
//! link that results show, it gets a channel that loses nothing, for channels count kinds.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use fadelab_phy::channel::{ChannelSpec, CodeSpec, Model};

use fadelab_run::network::LinkId;
use fadelab_run::spec::RunSpec;

/// What routes bring over a link.
#[derive(Clone, Copy, Default)]
struct Brought {
    data: bool,
    acks: bool,
}

fn brought(spec: &RunSpec) -> Vec<Brought> {
    let mut links = vec![Brought::default(); spec.network.links.len()];
    for flow in &spec.flows {
        flow.route.iter().for_each(|&link| links[link as usize].data = true);
        let crossings = spec.network.crossings(&flow.route_back).unwrap_or_default();
        for (place, &link) in flow.route_back.iter().enumerate() {
            // In a tunnel nobody can tell that they are ACKs.
            let is_tunnelled = crossings.iter().any(|crossing| crossing.has(place));
            let brought = &mut links[link as usize];
            *(if is_tunnelled {
                &mut brought.data
            } else {
                &mut brought.acks
            }) = true;
        }
    }
    links
}

/// Shown links without a channel over which data alone come: what they send is data.
pub(crate) fn of_data_alone(spec: &RunSpec) -> BTreeSet<LinkId> {
    let links = (0..).zip(spec.network.links.iter().zip(brought(spec)));
    let alone =
        links.filter(|(_, (link, brought))| link.shown && link.channel.is_none() && brought.data && !brought.acks);
    alone.map(|(id, _)| id).collect()
}

/// The spec in which every shown link that has to tell data from ACKs has a channel.
pub(super) fn told_apart(spec: &RunSpec) -> Cow<'_, RunSpec> {
    let brought = brought(spec);
    let mixes = |id: usize| {
        let link = &spec.network.links[id];
        link.shown && link.channel.is_none() && brought[id].data && brought[id].acks
    };
    let mixed: Vec<usize> = (0..spec.network.links.len()).filter(|&id| mixes(id)).collect();
    if mixed.is_empty() {
        return Cow::Borrowed(spec);
    }
    let mut told = spec.clone();
    for id in mixed {
        Arc::make_mut(&mut told.network.links[id].kind).channel = Some(ChannelSpec {
            model: Model::Random { data: 0.0, ack: 0.0 },
            code: CodeSpec::NONE,
        });
    }
    Cow::Owned(told)
}
