//! `[flow]` and its groups: who sends, what, when and which way.

use fadelab_laws::{Sender, abi};
use fadelab_run::app::{App, Span};

use crate::document::Raw;
use crate::error::Refusal;
use crate::key::{
    Absent::{Is, Nothing, Words},
    Declared, Only, keys,
};
use crate::kind::Kind;
use crate::laws::{self, Law, UDP};
use crate::reader::Reader;
use crate::topology::Topology;
use crate::topology::graph::Route;
use crate::topology::hop::propagation;
use crate::unit::{Duration, Rate, Scalar, Size, Switch, positive};
use crate::value::{Whole, words};
pub use crate::way::Way;

/// Most flows of one run; a limit against a slip of the pen, well above what memory allows for.
pub const FLOWS_MAX: u32 = 1_000_000;

/// Flows of one kind.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its name; `flow` where the scenario has no groups.
    pub name: String,
    /// The sender's law; `None` is UDP.
    pub sender: Option<&'static Sender>,
    /// Laws that see what the sender's is shown.
    pub shadows: Vec<&'static Sender>,
    /// What each flow does.
    pub app: App,
    /// The key that would say when greedy flows start, where it is not written; [`crate::starts`] says it then.
    pub unwritten_start: Option<String>,
    /// How many flows, per direction and, for [`Way::Each`], per hop.
    pub count: u32,
    /// Which way the data goes.
    pub direction: Direction,
    /// Which links it crosses.
    pub course: Course,
    /// In a row of links: delay of each of its own access links; `None`: that of all.
    pub access_delay_ns: Option<u64>,
}

impl Group {
    /// How many flows the group comes to.
    pub fn flows(&self, topology: &Topology) -> u64 {
        let ways = if self.direction == Direction::Both { 2 } else { 1 };
        let places = match &self.course {
            Course::Row(Way::Each) => topology.hops.len() as u64,
            _ => 1,
        };
        u64::from(self.count) * ways * places
    }

    /// How many links the route of each of its flows has, there and back.
    pub fn route_links(&self, topology: &Topology) -> u64 {
        let hops = match &self.course {
            Course::Graph(route) => return (route.there.len() + route.back.len()) as u64,
            Course::Row(Way::All) => topology.hops.len() as u64,
            Course::Row(Way::Hops { first, last }) => u64::from(last - first) + 1,
            Course::Row(Way::Each) => 1,
        };
        // An access link at each end.
        2 * (hops + 2)
    }
}

/// Which way data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the left to the right.
    Forward,
    /// From the right to the left.
    Backward,
    /// As many flows each way.
    Both,
}

/// Which links a flow crosses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Course {
    /// Hops of a row, between access links.
    Row(Way),
    /// These links of a graph.
    Graph(Route),
}

/// When a constant bit rate stops: at a time, or with the run.
struct Stop(Option<Duration>);

impl Scalar for Stop {
    const KIND: Kind = Kind::Or(&Kind::Duration, "end");

    fn read(raw: &Raw) -> Result<Self, String> {
        match raw {
            Raw::Text(text) if text == "end" => Ok(Self(None)),
            _ => Duration::read(raw)
                .map(|time| Self(Some(time)))
                .map_err(|why| format!("{why}, or \"end\"")),
        }
    }

    fn shown(&self) -> String {
        self.0.map_or_else(|| "\"end\"".to_owned(), |time| time.shown())
    }
}

words!(Direction: "forward" => Self::Forward, "backward" => Self::Backward, "both" => Self::Both);

/// What each flow sends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sends {
    Greedy,
    Transfer,
    Cbr,
    Sessions,
    Http,
}

words!(Sends:
    "greedy" => Self::Greedy,
    "transfer" => Self::Transfer,
    "cbr" => Self::Cbr,
    "sessions" => Self::Sessions,
    "http" => Self::Http,
);

/// Of applications that [`Sends`] names.
const fn only_app(choice: &'static str) -> Only {
    Only {
        decided_by: "app",
        by_presence: false,
        choice,
        remedy: "leave it out, or choose that application",
    }
}

const SIZED: Only = only_app("app = \"transfer\" or \"http\"");
const CBR: Only = only_app("app = \"cbr\"");
const SESSIONS: Only = only_app("app = \"sessions\"");
const PAUSING: Only = only_app("app = \"sessions\" or \"http\"");
const ROW: Only = Only {
    decided_by: "preset",
    by_presence: false,
    choice: "a row of links",
    remedy: "in a graph give from, to and via",
};
const GRAPH: Only = Only {
    decided_by: "preset",
    by_presence: false,
    choice: "a graph",
    remedy: "in a row of links give path, or leave it out",
};

keys! {
    KEYS;
    LAW: String =
        Declared::needed("law", "", "`SENDER` or `SENDER+ROUTER`, see below; in a group: a `SENDER`, or `udp`")
        .of_kind(Kind::Law);
    SHADOW: String = Declared::new(
        "shadow",
        Nothing,
        "laws that see the flow's ACKs and losses and decide nothing, so that estimators are compared on one stream; \
         what they declare to be watched is recorded. The flow's own law among them is left out",
    )
    .of_kind(Kind::List(&Kind::Law));
    APP: Sends = Declared::new(
        "app",
        Is("\"greedy\""),
        "what each flow sends: always more, one transfer, a constant bit rate, sessions with pauses, or downloads for \
         which the receiver asks (on a kernel: curl from nginx)",
    );
    COUNT: Whole<1, FLOWS_MAX> = Declared::new("count", Is("1"), "flows of the group, per direction");
    DIRECTION: Direction = Declared::new(
        "direction",
        Is("\"forward\""),
        "from the left to the right (graph: from `from` to `to`), against it, or both: the second set is the group \
         `NAME.back`",
    );
    PATH: Way = Declared::new(
        "path",
        Is("\"all\""),
        "hops of a parking lot: `\"all\"`, `\"2\"`, `\"2..3\"`, or `\"each\"` for a set of flows on each hop (groups \
         `NAME.hop1`, ...)",
    )
    .only(&ROW);
    DELAY: Duration = Declared::new(
        "delay",
        Nothing,
        "row of links: propagation delay of each access link of its flows, in place of `topology.access.delay`",
    )
    .checked(propagation)
    .only(&ROW);
    FROM: String =
        Declared::needed("from", "name the node that sends", "graph: the node that sends")
        .of_kind(Kind::Name)
        .only(&GRAPH);
    TO: String =
        Declared::needed("to", "name the node that receives", "graph: the node that receives")
        .of_kind(Kind::Name)
        .only(&GRAPH);
    VIA: String =
        Declared::new("via", Nothing, "graph: nodes that the route visits in between, in order")
        .of_kind(Kind::List(&Kind::Name))
        .only(&GRAPH);
    START: Span = Declared::new(
        "start",
        Words("\"0 s\"; greedy flows that share a link: within their first round trip, at random"),
        "when the application starts; may be random",
    );
    SIZE: Size =
        Declared::needed(
            "size",
            "give the payload of the transfer, for example \"10 MB\"",
            "transfer, http: payload, of a download without the header of its answer",
        )
        .checked(|size: Size| positive(size.0, "a transfer").map(Size))
        .only(&SIZED);
    RATE: Rate =
        Declared::needed("rate", "give the payload's rate, for example \"1 Mbit/s\"", "cbr: payload rate")
        .checked(|rate: Rate| positive(rate.0, "a rate").map(Rate))
        .only(&CBR);
    STOP: Stop = Declared::new("stop", Is("\"end\""), "cbr: when it stops").only(&CBR);
    ON: Span = Declared::needed(
        "on",
        "give the length of a session, for example \"exponential 60 s\"",
        "sessions: how long each one writes; may be random",
    )
    .only(&SESSIONS);
    OFF: Switch<Span> = Declared::new(
        "off",
        Is("false"),
        "sessions, http: pause before the next one; may be random; `false`: one only",
    )
    .only(&PAUSING);
}

/// Names of the groups, in the order in which they were written; one empty name where there are none.
pub fn group_names(reader: &Reader<'_>) -> Vec<String> {
    let names: Vec<String> = reader.names_in("flow").into_iter().map(str::to_owned).collect();
    if names.is_empty() { vec![String::new()] } else { names }
}

/// The key that names the law of the run: `flow.law`, or that of the first group that has one.
pub fn law_path(reader: &Reader<'_>) -> String {
    if reader.node("flow.law").is_none() {
        for name in group_names(reader) {
            let path = format!("flow.{name}.law");
            if reader.node(&path).is_some() {
                return path;
            }
        }
    }
    "flow.law".to_owned()
}

/// Reads the law of the run.
pub fn run_law(reader: &mut Reader<'_>) -> Result<Law, Refusal> {
    let path = law_path(reader);
    let known: Vec<&str> = fadelab_laws::senders().iter().map(Sender::name).collect();
    let example = format!(
        "name a law, SENDER or SENDER+ROUTER, with a sender among {}",
        known.join(", ")
    );
    reader.map(&path, None, &example, |label: String| laws::law(&label))
}

/// What a run is called: by its law, and where groups of flows have others, by these too, in the order of the groups.
pub fn mixture<'a>(law: &Law, groups: impl Iterator<Item = &'a Group>) -> String {
    let mut names = vec![law.sender.map_or(UDP, Sender::name)];
    let mut label = law.label.clone();
    for sender in groups.filter_map(|group| group.sender) {
        if !names.contains(&sender.name()) {
            names.push(sender.name());
            label = format!("{label}/{}", sender.name());
        }
    }
    label
}

/// Reads one group.
pub fn group(
    reader: &mut Reader<'_>,
    name: &str,
    law: &Law,
    topology: &Topology,
    duration_ns: u64,
) -> Result<Group, Refusal> {
    let keys = Keys { group: name };
    let app = keys.app(reader, duration_ns)?;
    let sender = keys.sender(reader, law, matches!(app, App::Cbr { .. }))?;
    if sender.is_none() && !matches!(app, App::Cbr { .. }) {
        let path = keys.path(reader, "app");
        return Err(reader.refuse(&path, "a flow without congestion control (udp) needs app = \"cbr\""));
    }
    let greets = |law: &Sender| law.flags() & abi::SENDER_FEEDBACK_ON_SYN != 0;
    if matches!(app, App::Http { .. }) && sender.is_some_and(greets) {
        let why = "the law says something on the SYN of who sends data, and here the receiver asks for the connection; \
                   choose app = \"transfer\", or another law";
        return Err(reader.refuse(&keys.path(reader, "app"), why));
    }
    Ok(Group {
        name: if name.is_empty() {
            "flow".to_owned()
        } else {
            name.to_owned()
        },
        sender,
        shadows: keys.shadows(reader, sender)?,
        app,
        unwritten_start: keys.unwritten_start(reader),
        count: keys.take(reader, &COUNT)?.0,
        direction: keys.take(reader, &DIRECTION)?,
        access_delay_ns: keys.access_delay_ns(reader, topology)?,
        course: keys.course(reader, topology)?,
    })
}

/// Keys of one group, which falls back to `[flow]`.
struct Keys<'g> {
    group: &'g str,
}

impl Keys<'_> {
    /// The table that has the key.
    fn table(&self, reader: &Reader<'_>, key: &str) -> String {
        let own = format!("flow.{}", self.group);
        if !self.group.is_empty() && reader.node(&format!("{own}.{key}")).is_some() {
            own
        } else {
            "flow".to_owned()
        }
    }

    fn path(&self, reader: &Reader<'_>, key: &str) -> String {
        format!("{}.{key}", self.table(reader, key))
    }

    fn take<T: Scalar>(&self, reader: &mut Reader<'_>, row: &Declared<T>) -> Result<T, Refusal> {
        let table = self.table(reader, row.key.name);
        reader.take(&table, row)
    }

    fn node(&self, reader: &mut Reader<'_>, graph: &Topology, row: &Declared<String>) -> Result<usize, Refusal> {
        let name = self.take(reader, row)?;
        let path = self.path(reader, row.key.name);
        graph.node(&name).map_err(|why| reader.refuse(&path, &why))
    }

    fn course(&self, reader: &mut Reader<'_>, topology: &Topology) -> Result<Course, Refusal> {
        if topology.access.is_none() {
            return self.route(reader, topology).map(Course::Graph);
        }
        let (way, hops) = (self.take(reader, &PATH)?, topology.hops.len());
        match way {
            Way::Hops { last, .. } if last as usize > hops => {
                let path = self.path(reader, "path");
                Err(reader.refuse(&path, &format!("the topology has hops 1 to {hops}")))
            }
            way => Ok(Course::Row(way)),
        }
    }

    /// Its own delay of access links, which hosts that it shares with other flows cannot have.
    fn access_delay_ns(&self, reader: &mut Reader<'_>, topology: &Topology) -> Result<Option<u64>, Refusal> {
        let (table, path) = (self.table(reader, DELAY.key.name), self.path(reader, DELAY.key.name));
        let Some(access) = topology.access.as_ref().filter(|_| reader.node(&path).is_some()) else {
            return Ok(None);
        };
        let delay_ns = reader.take_from(&table, &DELAY, None)?.0;
        if access.pairs.is_some() {
            let why = "flows that share hosts share their access links: leave out topology.pairs, or this delay";
            return Err(reader.refuse(&path, why));
        }
        Ok(Some(delay_ns))
    }

    fn route(&self, reader: &mut Reader<'_>, graph: &Topology) -> Result<Route, Refusal> {
        let from = self.node(reader, graph, &FROM)?;
        let to = self.node(reader, graph, &TO)?;
        let to_path = self.path(reader, "to");
        if from == to {
            return Err(reader.refuse(&to_path, "a flow needs two nodes, this one ends where it begins"));
        }
        let via_path = self.path(reader, "via");
        let example = "name the nodes in between, for example via = [\"gateway\"]";
        let mut stops = vec![from];
        for name in reader.words(&via_path, example)?.unwrap_or_default() {
            let stop = graph.node(&name).map_err(|why| reader.refuse(&via_path, &why))?;
            stops.push(stop);
        }
        stops.push(to);
        graph.route(&stops).map_err(|why| reader.refuse(&to_path, &why))
    }

    /// A group's own law is a sender; constant bit rates of a group are UDP unless the group says otherwise.
    fn sender(&self, reader: &mut Reader<'_>, law: &Law, is_cbr: bool) -> Result<Option<&'static Sender>, Refusal> {
        let own = format!("flow.{}.law", self.group);
        if self.group.is_empty() || own == law_path(reader) {
            return Ok(law.sender);
        }
        if reader.node(&own).is_none() {
            if is_cbr {
                reader.note(&own, format!("\"{UDP}\""));
                return Ok(None);
            }
            return Ok(law.sender);
        }
        reader.map(&own, None, "", |label: String| {
            if label.contains('+') {
                return Err("the law of a group is a sender; routers follow the law of the run, flow.law".to_owned());
            }
            laws::sender(&label)
        })
    }

    /// Laws that look on, but for the one that decides.
    fn shadows(&self, reader: &mut Reader<'_>, law: Option<&'static Sender>) -> Result<Vec<&'static Sender>, Refusal> {
        let path = self.path(reader, SHADOW.key.name);
        let example = "name senders in a list, for example shadow = [\"westwood\", \"new_jersey\"]";
        let names = reader.words(&path, example)?.unwrap_or_default();
        laws::shadows(&names, law).map_err(|why| reader.refuse(&path, &why))
    }

    /// The key that would say when flows start, if it does not.
    fn unwritten_start(&self, reader: &Reader<'_>) -> Option<String> {
        let own = format!("flow.{}", self.group);
        let is_written = reader.node(&self.path(reader, START.key.name)).is_some();
        let table = if reader.node(&own).is_some() { &own } else { "flow" };
        (!is_written).then(|| START.key.path(table))
    }

    /// When the application starts. Of greedy flows without the key, [`crate::starts`] says it when all are known.
    fn start(&self, reader: &mut Reader<'_>, sends: Sends) -> Result<Span, Refusal> {
        let at_once = Span::Fixed { ns: 0 };
        if sends == Sends::Greedy && self.unwritten_start(reader).is_some() {
            return Ok(at_once);
        }
        let table = self.table(reader, START.key.name);
        reader.take_or(&table, &START, at_once)
    }

    fn app(&self, reader: &mut Reader<'_>, duration_ns: u64) -> Result<App, Refusal> {
        let sends = self.take(reader, &APP)?;
        let start = self.start(reader, sends)?;
        if matches!(start, Span::Fixed { ns } | Span::Uniform { min_ns: ns, .. } if ns >= duration_ns) {
            let (path, end) = (self.path(reader, "start"), Duration(duration_ns).shown());
            reader
                .warnings
                .push(format!("{path} = {}: the run ends at {end}", start.shown()));
        }
        Ok(match sends {
            Sends::Greedy => App::Greedy { start },
            Sends::Transfer => App::Transfer {
                start,
                bytes: self.take(reader, &SIZE)?.0,
            },
            Sends::Cbr => App::Cbr {
                start,
                rate_bps: self.take(reader, &RATE)?.0,
                stop_ns: self.take(reader, &STOP)?.0.map_or(duration_ns, |time| time.0),
            },
            Sends::Sessions => App::Sessions {
                start,
                on: self.take(reader, &ON)?,
                off: self.take(reader, &OFF)?.0,
            },
            Sends::Http => App::Http {
                start,
                bytes: self.take(reader, &SIZE)?.0,
                off: self.take(reader, &OFF)?.0,
            },
        })
    }
}
