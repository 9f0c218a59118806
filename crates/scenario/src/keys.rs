//! Every key of a scenario, declared once: its type, default and meaning.
//!
//! Unknown keys are refused by this list, the order of resolved scenarios and of sweeps follows it, and the tables of
//! `docs/scenario.md` and the JSON Schema for editors are made from it. Rows that are `Declared` stand where their
//! section is read: the reader takes them, and the default with them. Tests hold other readers to the defaults here.

use crate::key::Absent::{Is, Needed, Nothing, Words};
use crate::key::{Key, Only, key};
use crate::kind::Kind::{
    Buffer, Capacity, Channel, Choice, Duration, List, Name, Or, Path, Rate, Router, Switch, Text, Whole,
};
use crate::topology::row;
use crate::{channel, flows, layer, queues, run, transport};

/// A table of a scenario, or several with the same keys.
#[derive(Debug)]
pub struct Table {
    /// Its dotted paths, empty for the top; `*` stands for a name that the scenario chooses.
    pub paths: &'static [&'static str],
    /// In the order of resolved scenarios.
    pub keys: &'static [Key],
}

const TOP: &[Key] = &[
    key("title", Text, Words("name of the file"), "names the scenario"),
    key("about", Text, Is("\"\""), "what the scenario shows"),
];

const TOPOLOGY: &[Key] = &[
    key(
        "preset",
        Choice(&["dumbbell", "parking-lot", "graph"]),
        Is("\"dumbbell\""),
        "one hop, several in a row, or `graph`: nodes and links as `[link.NAME]` says, the default where there are any",
    ),
    key(
        "pairs",
        Or(&Whole(1, u32::MAX), "per flow"),
        Is("\"per flow\""),
        "dumbbell: number of host pairs that the flows share in turn",
    ),
    key(
        "hops",
        List(&Rate),
        Needed,
        "parking lot: the rate of each hop, `[\"4 Mbit/s\", \"2 Mbit/s\"]`; a list of lists sweeps it",
    )
    .only(&Only {
        decided_by: "preset",
        by_presence: false,
        choice: "preset = \"parking-lot\"",
        remedy: "leave it out, or choose that preset",
    }),
    key(
        "nodes",
        List(&Name),
        Needed,
        "graph: names of the nodes, `[\"server\", \"router\", \"phone\"]`; a list of lists sweeps it",
    )
    .only(&Only {
        decided_by: "preset",
        by_presence: false,
        choice: "a graph",
        remedy: "leave out topology.preset, or the nodes",
    }),
];

const BOTTLENECK: &[Key] = &[
    RATE,
    RATE_BACK,
    TRACE,
    TRACE_BACK,
    TRACE_RULES,
    DELAY,
    BUFFER,
    BUFFER_BACK,
];

const RATE: Key = key("rate", Rate, Needed, "capacity of the link").only(&Only {
    decided_by: "trace",
    by_presence: true,
    choice: "a link without a trace",
    remedy: "give one of the two, since a trace says what the link carries",
});
const RATE_BACK: Key = key(
    "rate_back",
    Or(&Rate, "same"),
    Is("\"same\""),
    "capacity of the link back; `\"same\"` is that of `rate`, or the mean of `trace`",
);
const TRACE: Key = key(
    "trace",
    Path,
    Nothing,
    "instead of `rate`: path of a recorded capacity in the format of mahimahi, relative to the scenario file; with \
     `--set` relative to the working directory",
);
const TRACE_BACK: Key = key(
    "trace_back",
    Path,
    Nothing,
    "instead of `rate_back`: path of a recorded capacity",
);
const TRACE_RULES: Key = key(
    "trace_rules",
    Choice(&["plain", "exact-mahimahi"]),
    Nothing,
    "with a trace: `\"plain\"` where not given, or to the byte as mahimahi's `mm-link` uses it, see below",
);
const DELAY: Key = key("delay", Duration, Needed, "propagation delay, one way, at most 1000 s");
const BUFFER: Key = key(
    "buffer",
    Buffer,
    Is("\"1 BDP\""),
    "limit of the queue, the packet in transmission excluded",
);
const BUFFER_BACK: Key = key(
    "buffer_back",
    Or(&Buffer, "same"),
    Is("\"same\""),
    "the same for the link back",
);

const HOP: &[Key] = &[DELAY, BUFFER];

const LINK: &[Key] = &[
    key("from", Name, Needed, "the node at which the link begins"),
    key("to", Name, Needed, "the node at which it ends"),
    key(
        "duplex",
        Switch,
        Is("true"),
        "whether there is a link back too, `NAME.back`",
    ),
    RATE,
    RATE_BACK,
    TRACE,
    TRACE_BACK,
    TRACE_RULES,
    DELAY,
    BUFFER,
    BUFFER_BACK,
    key(
        "channel",
        Channel,
        Is("true"),
        "`true`: what `[channel]` says, if the scenario has it; a name: `[channel.NAME]`; `false`: a wire",
    ),
    key(
        "router",
        Router,
        Is("\"auto\""),
        "law of its queues; `\"auto\"` is that of the run, see `[flow]`",
    ),
    key(
        "show",
        Switch,
        Is("true"),
        "whether results show it where it carries data",
    ),
];

const ROUTER: &[Key] = &[
    key(
        "capacity",
        Capacity,
        Is("\"auto\""),
        "how routers learn what their link can carry; `\"auto\"` is `\"configured\"` for constant links and \
         `\"measured\"` for traces",
    ),
    queues::QUEUES.key,
    queues::QUANTUM.key,
];

/// Every table but `[law.NAME]`, `[router.NAME]` and `[capacity.NAME]`, whose keys the laws' headers declare.
pub const TABLES: &[Table] = &[
    table(&[""], TOP),
    table(&["run"], run::KEYS),
    table(&["topology"], TOPOLOGY),
    table(&["topology.hop"], HOP),
    table(&["topology.bottleneck"], BOTTLENECK),
    table(&["topology.access"], row::ACCESS),
    table(&["link.*"], LINK),
    table(&["channel", "channel.*"], channel::KEYS),
    table(&["channel.code", "channel.*.code"], channel::CODE_KEYS),
    table(&["channel.arq", "channel.*.arq"], layer::ARQ),
    table(&["channel.jitter", "channel.*.jitter"], layer::JITTER),
    table(&["channel.reorder", "channel.*.reorder"], layer::REORDER),
    table(&["transport"], transport::KEYS),
    table(&["flow", "flow.*"], flows::KEYS),
    table(&["router"], ROUTER),
];

const fn table(paths: &'static [&'static str], keys: &'static [Key]) -> Table {
    Table { paths, keys }
}
