//! What packets pass: links of every shape, behind one small interface.
//!
//! A node is polled. [`Node::arrive`] takes a packet and, where the node plans ahead, says at once when it will be at
//! the far end; [`Node::next_due`] says when the node itself wants attention, and [`Node::service`] gives it. Whoever
//! drives a node owns time and the packets; the node holds only their numbers, and looks at what a router may see
//! through [`Store`]. So a node runs under any clock, and a test can drive one by hand.
//!
//! A new kind of node is a file with a [`Transit`], a shape below, and a crossing that a spec takes
//! ([`LinkKind`](crate::spec::LinkKind)). What changes the size of its packets says [`Arrival::Taken`] and hands them
//! over in a service, with the new size in the [`Parcel`] and in its header: a packet that is planned is the one that
//! came.

use fadelab_phy::channel::PacketKind;

use crate::counters::LinkCounters;
use crate::evented::Evented;
use crate::histogram::Histogram;
use crate::packet::{Parcel, Store};
use crate::planned::Planned;
use crate::spec::{CapacitySpec, Crossing, LinkSpec};
#[cfg(feature = "fault-injection")]
pub use crate::transit::NodeFault;
use crate::transit::Transit;
pub use crate::transit::{Arrival, Departure};
use crate::transmitter::{ChangingRate, ConstantRate, TraceRate};
use crate::violation::Checked;

/// The shape that most nodes of a network under study have stands in its place, so that a hop reads no pointer.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "the large one is the one that packets hurry through"
)]
enum Shape {
    Planned(Planned<ConstantRate>),
    PlannedChanging(Box<Planned<ChangingRate>>),
    PlannedTrace(Box<Planned<TraceRate>>),
    Evented(Box<Evented<ConstantRate>>),
    EventedChanging(Box<Evented<ChangingRate>>),
    EventedTrace(Box<Evented<TraceRate>>),
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Node(Shape);

/// Lets the node of whichever shape answer.
macro_rules! of {
    ($node:expr, $transit:ident => $answer:expr) => {
        match $node {
            Shape::Planned($transit) => $answer,
            Shape::PlannedChanging($transit) => $answer,
            Shape::PlannedTrace($transit) => $answer,
            Shape::Evented($transit) => $answer,
            Shape::EventedChanging($transit) => $answer,
            Shape::EventedTrace($transit) => $answer,
        }
    };
}

impl Node {
    /// Builds the node of a link. `packet_bytes` is the IP size of a full data packet, for laws that scale with it.
    pub fn new(spec: &LinkSpec, seed: u64, packet_bytes: u32) -> Self {
        Self(match (spec.crossing(), &spec.capacity) {
            (Crossing::Planned, &CapacitySpec::Constant { rate_bps }) => {
                Shape::Planned(Planned::new(spec, ConstantRate::new(rate_bps), seed, packet_bytes))
            }
            (Crossing::Planned, CapacitySpec::Changing(rates)) => Shape::PlannedChanging(Box::new(Planned::new(
                spec,
                ChangingRate::new(rates),
                seed,
                packet_bytes,
            ))),
            (Crossing::Planned, CapacitySpec::Trace(trace)) => {
                Shape::PlannedTrace(Box::new(Planned::new(spec, TraceRate::new(trace), seed, packet_bytes)))
            }
            (Crossing::Evented, &CapacitySpec::Constant { rate_bps }) => Shape::Evented(Box::new(Evented::new(
                spec,
                ConstantRate::new(rate_bps),
                seed,
                packet_bytes,
            ))),
            (Crossing::Evented, CapacitySpec::Changing(rates)) => Shape::EventedChanging(Box::new(Evented::new(
                spec,
                ChangingRate::new(rates),
                seed,
                packet_bytes,
            ))),
            (Crossing::Evented, CapacitySpec::Trace(trace)) => {
                Shape::EventedTrace(Box::new(Evented::new(spec, TraceRate::new(trace), seed, packet_bytes)))
            }
        })
    }

    /// Whether a link of this spec hands its packets over when they arrive.
    pub fn plans_ahead(spec: &LinkSpec) -> bool {
        spec.crossing() == Crossing::Planned
    }

    pub fn name(&self) -> &str {
        of!(&self.0, transit => transit.name())
    }

    /// Takes a packet of a `kind` at `now_ns`, after all that was due before has been served: it joins the queue, if
    /// law and limit let it.
    ///
    /// # Errors
    /// An invariant of the node is broken.
    #[inline(always)]
    pub fn arrive(
        &mut self,
        now_ns: u64,
        parcel: Parcel,
        kind: PacketKind,
        store: &mut impl Store,
    ) -> Checked<Arrival> {
        match &mut self.0 {
            Shape::Planned(planned) => planned.arrive(now_ns, parcel, kind, store),
            other => other.arrive(now_ns, parcel, kind, store),
        }
    }

    /// When it wants to be serviced next; `u64::MAX`: not before something arrives.
    #[inline]
    pub fn next_due(&self) -> u64 {
        of!(&self.0, transit => transit.next_due())
    }

    /// Gives the node the attention it asked for at `due_ns`. Call again while [`Self::next_due`] is still `due_ns`.
    ///
    /// # Errors
    /// An invariant of the node is broken.
    pub fn service(&mut self, due_ns: u64, store: &mut impl Store) -> Checked<Departure> {
        of!(&mut self.0, transit => transit.service(due_ns, store))
    }

    /// Lets every packet whose transmission began by `now_ns` leave the queue, and shows it to the law. To be called
    /// before a packet that the node handed over is looked at.
    ///
    /// # Errors
    /// An invariant of the node is broken.
    #[inline(always)]
    pub fn settle(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<()> {
        match &mut self.0 {
            Shape::Planned(planned) => planned.settle(now_ns, store),
            other => other.settle(now_ns, store),
        }
    }

    /// Counters as they stand at `now_ns`.
    ///
    /// # Errors
    /// An invariant of the node is broken.
    pub fn snapshot(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<LinkCounters> {
        of!(&mut self.0, transit => transit.snapshot(now_ns, store))
    }

    /// Counts from now on how long packets wait, apart for so many classes.
    pub fn count_delays(&mut self, classes: usize) {
        of!(&mut self.0, transit => transit.count_delays(classes));
    }

    /// As [`Self::arrive`], of a packet whose delay is counted in `class`; else that is 0.
    ///
    /// # Errors
    /// An invariant of the node is broken.
    pub fn arrive_of_class(
        &mut self,
        now_ns: u64,
        parcel: Parcel,
        class: u8,
        kind: PacketKind,
        store: &mut impl Store,
    ) -> Checked<Arrival> {
        of!(&mut self.0, transit => transit.arrive_of_class(now_ns, parcel, class, kind, store))
    }

    /// Forgets how long packets waited that had left the queue at the last snapshot.
    pub fn forget_delays(&mut self) {
        of!(&mut self.0, transit => transit.forget_delays());
    }

    /// How long packets waited that had left the queue at the last snapshot, by class, in ns. Where there is one class
    /// those may be missing that did not wait.
    pub fn delays(&mut self) -> Vec<Histogram> {
        of!(&mut self.0, transit => transit.delays())
    }

    /// Packets that will come out of a service. What was handed over is not among them.
    pub fn held_pkts(&self) -> u64 {
        of!(&self.0, transit => transit.held_pkts())
    }

    /// Computes ahead what a channel has to know of packets of a kind and a size, see [`Self::prepare_all`].
    pub fn prepare(&mut self, kind: PacketKind, ip_bytes: u16) {
        of!(&mut self.0, transit => transit.prepare(kind, ip_bytes));
    }

    /// Computes ahead what a channel has to know of packets of up to this size: for one size that takes up to a tenth
    /// of a second, which otherwise the first such packet takes, for all some seconds at most. A driver in real time
    /// calls it before packets come; where the sizes are too many for these seconds, it makes them coarser
    /// ([`fadelab_phy::channel::Channel::prepare_all`]).
    pub fn prepare_all(&mut self, ip_bytes_max: u16) {
        of!(&mut self.0, transit => transit.prepare_all(ip_bytes_max));
    }

    /// When all that it took will have been sent, as far as it knows: 0 where each packet takes an event of its own.
    pub fn free_ns(&self) -> u64 {
        of!(&self.0, transit => transit.free_ns())
    }

    /// Whether a law looks at departures that were planned, so that packets have to be settled before they are looked
    /// at.
    pub fn sees_departures(&self) -> bool {
        of!(&self.0, transit => transit.sees_departures())
    }

    /// Whether the state at `address` belongs to a law of this node or to its capacity part.
    pub fn holds_state(&self, address: usize) -> bool {
        of!(&self.0, transit => transit.holds_state(address))
    }

    /// Adds the values to watch of its law, and those of its capacity part, to `values`. A queue that is divided has a
    /// law for each of its parts and no values.
    pub fn watch(&self, values: &mut Vec<u64>) {
        of!(&self.0, transit => transit.watch(values));
    }

    /// Breaks an invariant. Returns whether there was something to break: packets that wait. What was handed over is
    /// not the node's to hasten.
    #[cfg(feature = "fault-injection")]
    pub fn break_invariant(&mut self, fault: NodeFault) -> bool {
        of!(&mut self.0, transit => transit.break_invariant(fault))
    }
}

/// Apart from what the first shape does at once, so that its way stays short.
impl Shape {
    #[inline(never)]
    fn arrive(&mut self, now_ns: u64, parcel: Parcel, kind: PacketKind, store: &mut impl Store) -> Checked<Arrival> {
        of!(self, transit => transit.arrive(now_ns, parcel, kind, store))
    }

    #[inline(never)]
    fn settle(&mut self, now_ns: u64, store: &mut impl Store) -> Checked<()> {
        of!(self, transit => transit.settle(now_ns, store))
    }
}
