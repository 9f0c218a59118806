//! Values that laws declare as worth watching, as results keep them: what they are in `setup.json`, what they were in
//! `watch.parquet`.

use fadelab_laws::WatchInfo;
use fadelab_path::spec::{LinkSpec, Queues};
use fadelab_run::record::Watched;
use fadelab_run::spec::RunSpec;
use serde::{Deserialize, Serialize};

use crate::Run;

/// What a law, or a capacity part, declares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declared {
    /// `sender`, `shadow`, `router` or `capacity`.
    pub role: String,
    /// Its name.
    pub law: String,
    /// Its values, in the order of the header.
    pub values: Vec<Value>,
}

/// A value to watch; a result is read where the law may be gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    pub name: String,
    /// Its unit: `us`, `B`, `B/s`, `pkt`, `1`, `bool`, or choices joined by `|`, counted from 0.
    pub unit: String,
    /// The law's integers per unit.
    pub scale: u64,
    /// Whether these have a sign.
    pub is_signed: bool,
    /// What it is.
    pub meaning: String,
}

impl Value {
    fn of(info: &WatchInfo) -> Self {
        Self {
            name: info.name.to_owned(),
            unit: info.unit.to_owned(),
            scale: info.scale,
            is_signed: info.field.is_signed,
            meaning: info.meaning.to_owned(),
        }
    }

    /// Whether it is one of several choices, which have no mean.
    pub fn is_choice(&self) -> bool {
        self.unit == "bool" || self.unit.contains('|')
    }

    /// A law's integer in the unit.
    pub fn shown(&self, raw: u64) -> f64 {
        let integer = if self.is_signed { raw as i64 as f64 } else { raw as f64 };
        integer / self.scale as f64
    }
}

/// What the laws of a run declare: each law once, none that declares nothing; nothing of a run that records no series.
pub(crate) fn declared(spec: &RunSpec) -> Vec<Declared> {
    let mut all: Vec<Declared> = Vec::new();
    let mut add = |role: &str, law: &str, watch: &[WatchInfo]| {
        let is_new = !all
            .iter()
            .any(|known| (known.role.as_str(), known.law.as_str()) == (role, law));
        if is_new && !watch.is_empty() {
            all.push(Declared {
                role: role.to_owned(),
                law: law.to_owned(),
                values: watch.iter().map(Value::of).collect(),
            });
        }
    };
    if spec.record_interval_ns.is_none() {
        return all;
    }
    for flow in &spec.flows {
        if let Some(law) = flow.sender {
            add("sender", law.name(), law.watch());
        }
        for shadow in &flow.onlookers {
            add("shadow", shadow.law.name(), shadow.law.watch());
        }
    }
    for link in spec.network.links.iter().filter(|link| has_watched(link)) {
        add("router", link.router.law.name(), link.router.law.watch());
        add("capacity", link.router.capacity.name(), link.router.capacity.watch());
    }
    all
}

/// Whether one law is at work at the link: fair queues have one each, and drop-tail is asked nothing.
fn has_watched(link: &LinkSpec) -> bool {
    !matches!(link.queues, Queues::Fair { .. }) && !link.router.law.is_passive()
}

/// The places in `all` of what is declared by the laws at a link, in the order of their values.
pub(crate) fn at_link(all: &[Declared], link: &LinkSpec) -> Vec<u32> {
    if !has_watched(link) {
        return Vec::new();
    }
    let router = &link.router;
    let laws = [("router", router.law.name()), ("capacity", router.capacity.name())];
    let place = |(role, law)| {
        all.iter()
            .position(|known| (known.role.as_str(), known.law.as_str()) == (role, law))
    };
    laws.into_iter().filter_map(place).map(|place| place as u32).collect()
}

/// A flow or a link, and what was recorded of it.
#[derive(Clone, Debug)]
pub struct Series<'a> {
    /// `flow` or `link`.
    pub kind: &'static str,
    /// Its name.
    pub who: &'a str,
    /// The values, with who declares each.
    pub values: Vec<(&'a Declared, &'a Value)>,
    samples: &'a [u64],
}

impl<'a> Series<'a> {
    /// The law's integers of the value at `place` in [`Self::values`], sample by sample.
    pub fn raw(&self, place: usize) -> impl Iterator<Item = u64> + use<'a> {
        self.samples
            .iter()
            .skip(place)
            .step_by(self.values.len().max(1))
            .copied()
    }
}

/// All that was recorded of a run, flows first.
pub fn series(run: &Run) -> impl Iterator<Item = Series<'_>> {
    let flows = (0..run.spec.flows.len()).filter_map(|flow| of_flow(run, flow));
    let links = run.record.series.link_ids.iter();
    flows.chain(links.filter_map(|&link| of_link(run, link as usize)))
}

/// What was recorded of a flow.
pub fn of_flow(run: &Run, flow: usize) -> Option<Series<'_>> {
    let (spec, record) = (&*run.spec, &run.record.series);
    let samples = record.flows_watched.get(flow)?;
    let flow = &spec.flows[flow];
    let declared = declared_by(&spec.watched, flow.law.as_deref(), &flow.shadows);
    new("flow", &flow.name, declared, samples)
}

/// What was recorded of a link.
pub(crate) fn of_link(run: &Run, link: usize) -> Option<Series<'_>> {
    let (spec, record) = (&*run.spec, &run.record.series);
    let place = record.link_ids.iter().position(|&id| id as usize == link)?;
    let samples = record.links_watched.get(place)?;
    let link = &spec.links[link];
    new("link", &link.name, declared_at(&spec.watched, &link.watched), samples)
}

/// What is declared by the law of a flow, then by those that look on.
fn declared_by<'a>(
    all: &'a [Declared],
    law: Option<&'a str>,
    shadows: &'a [String],
) -> impl Iterator<Item = &'a Declared> {
    let decides = law.map(|law| ("sender", law));
    let look_on = shadows.iter().map(|law| ("shadow", law.as_str()));
    let named = decides.into_iter().chain(look_on);
    named.filter_map(|named| {
        all.iter()
            .find(|known| (known.role.as_str(), known.law.as_str()) == named)
    })
}

fn declared_at<'a>(all: &'a [Declared], places: &'a [u32]) -> impl Iterator<Item = &'a Declared> {
    places.iter().filter_map(|&place| all.get(place as usize))
}

fn new<'a>(
    kind: &'static str,
    who: &'a str,
    declared: impl Iterator<Item = &'a Declared>,
    samples: &'a [u64],
) -> Option<Series<'a>> {
    let values = declared.flat_map(|declared| declared.values.iter().map(move |value| (declared, value)));
    let series = Series {
        kind,
        who,
        values: values.collect(),
        samples,
    };
    (!series.samples.is_empty() && !series.values.is_empty()).then_some(series)
}

/// A value as a row of the table names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Named<'a> {
    pub kind: &'a str,
    pub who: &'a str,
    pub role: &'a str,
    pub law: &'a str,
    pub name: &'a str,
}

/// Where the samples of a value go: its place among those of the flow or link, and how many these are.
pub(crate) fn place_of(run: &Run, named: Named<'_>) -> Option<(Place, usize, usize)> {
    let spec = &*run.spec;
    let (place, declared): (Place, Vec<&Declared>) = if named.kind == "flow" {
        let flow = spec.flows.iter().position(|flow| &*flow.name == named.who)?;
        let of = &spec.flows[flow];
        (
            Place::Flow(flow),
            declared_by(&spec.watched, of.law.as_deref(), &of.shadows).collect(),
        )
    } else {
        let link = spec.links.iter().position(|link| &*link.name == named.who)?;
        let ids = &run.record.series.link_ids;
        let place = ids.iter().position(|&id| id as usize == link)?;
        (
            Place::Link(place),
            declared_at(&spec.watched, &spec.links[link].watched).collect(),
        )
    };
    let mut values = declared.iter().flat_map(|known| {
        known
            .values
            .iter()
            .map(move |value| (&known.role, &known.law, &value.name))
    });
    let count = values.clone().count();
    let at = values.position(|(role, law, name)| role == named.role && law == named.law && name == named.name)?;
    Some((place, at, count))
}

/// Whose values are meant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Flow(usize),
    /// Among the shown links.
    Link(usize),
}

/// Puts one sample in its place.
pub(crate) fn put(run: &mut Run, place: Place, at: usize, count: usize, sample: usize, raw: u64) -> Option<()> {
    let series = &mut run.record.series;
    let values: &mut Watched = match place {
        Place::Flow(flow) => series.flows_watched.get_mut(flow)?,
        Place::Link(link) => series.links_watched.get_mut(link)?,
    };
    if values.is_empty() {
        values.resize(series.time_ns.len() * count, 0);
    }
    *values.get_mut(sample * count + at)? = raw;
    Some(())
}
