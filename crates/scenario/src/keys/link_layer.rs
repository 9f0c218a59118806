//! Keys of the tables below a channel's: what a link does behind its transmitter.

use super::Absent::{Is, Words};
use super::{Key, key};
use crate::kind::Kind::{Choice, Delay, Duration, Number, Or, OrFalse, Packets, Switch, Whole};
use crate::layer;

pub(super) const ARQ: &[Key] = &[
    key(
        "preset",
        Choice(layer::ARQ_PRESETS),
        Is("\"none\""),
        "HARQ of LTE (up to 5 tries, 7 ms apart), its RLC in acknowledged mode (5 tries, 45 ms), or Wi-Fi (7 tries, at \
         once); each value may be overridden",
    ),
    key(
        "tries",
        Or(&Whole(1, 1_000), "unlimited"),
        Words("of the preset, else needed"),
        "how often a packet is sent before the link gives it up, the first time included; 1 repeats nothing",
    ),
    key(
        "retry",
        Duration,
        Words("of the preset, else needed"),
        "from the end of a lost try until the packet may be sent again, before new packets",
    ),
    key(
        "in_order",
        Switch,
        Is("true"),
        "whether the far end holds packets back until those before them have come or are given up",
    ),
];

pub(super) const JITTER: &[Key] = &[
    key(
        "preset",
        Choice(layer::JITTER_PRESETS),
        Is("\"none\""),
        "waiting for a chance to ask for the uplink of LTE (uniform, 10 ms), or for the uplink phase of a TDD pattern \
         in 5G (uniform, 5 ms)",
    ),
    key(
        "delay",
        Delay,
        Words("of the preset, else needed"),
        "on top of the propagation delay, drawn for each packet",
    ),
    key(
        "in_order",
        Switch,
        Is("true"),
        "whether a packet waits for those before it; otherwise it may overtake them",
    ),
];

pub(super) const REORDER: &[Key] = &[
    key(
        "preset",
        Choice(layer::REORDER_PRESETS),
        Is("\"none\""),
        "the Internet as Paxson measured it in 1995: 0.3 % of the packets are overtaken by one, within 20 ms",
    ),
    key(
        "probability",
        Number(0.0, 1.0),
        Words("of the preset, else needed"),
        "that a packet is held back",
    ),
    key(
        "delay",
        Duration,
        Words("of the preset, else needed"),
        "how long it is held back",
    ),
    key(
        "gap",
        OrFalse(&Packets),
        Is("false"),
        "it goes on earlier once so many packets have overtaken it",
    ),
];
