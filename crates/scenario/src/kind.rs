//! Kinds of values and their names in `docs/scenario.md`.

/// What a key takes.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A string.
    Text,
    /// Path of a file.
    Path,
    /// Name of a node.
    Name,
    /// `"80 ms"`.
    Duration,
    /// `"54 Mbit/s"`.
    Rate,
    /// `"1040 B"`.
    Size,
    /// A size, from the first to the second, in bytes.
    Sizes(u32, u32),
    /// `"100 pkt"`.
    Packets,
    /// `"800 bit"`.
    Bits,
    /// `"30 dB"`.
    Snr,
    /// An SNR, or so much below that of the good state: `"snr - 10 dB"`.
    SnrBad,
    /// `"100 pkt"`, `"64 kB"` or `"1 BDP"`.
    Buffer,
    /// `"20 s: 5 Mbit/s, 40 s: 10 Mbit/s"` or `"none"`.
    Changes,
    /// A rate, or a multiple of the bottleneck's: `"2 x bottleneck"`.
    AccessRate,
    /// `"3 s"`, `"uniform 0 s..10 s"` or `"exponential 5 s"`.
    Span,
    /// `"uniform 0 ms..8 ms"`, `"normal 5 ms +- 2 ms"` or `"exponential 3 ms"`.
    Delay,
    /// A number without a unit, from the first to the second.
    Number(f64, f64),
    /// A whole number without a unit, from the first to the second.
    Whole(u32, u32),
    /// `true` or `false`.
    Switch,
    /// `7`, `"1..10"` or `[1, 2, 3]`.
    Seeds,
    /// `SENDER` or `SENDER+ROUTER`.
    Law,
    /// A router's law or `"auto"`.
    Router,
    /// A capacity part or `"auto"`.
    Capacity,
    /// `true`, `false` or the name of a channel.
    Channel,
    /// Hops of a parking lot.
    Way,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A kind, or this word.
    Or(&'static Kind, &'static str),
    OrFalse(&'static Kind),
    /// A kind, or `true` or `false`.
    OrBool(&'static Kind),
    /// A list of a kind, which is one value.
    List(&'static Kind),
}

impl Kind {
    /// What the documentation calls it, as Markdown.
    pub fn name(&self) -> String {
        match self {
            Self::Text => "string".to_owned(),
            Self::Path => "path".to_owned(),
            Self::Name => "name".to_owned(),
            Self::Duration => "duration".to_owned(),
            Self::Rate => "rate".to_owned(),
            Self::Size | Self::Sizes(..) => "size".to_owned(),
            Self::Packets => "packets".to_owned(),
            Self::Bits => "bits".to_owned(),
            Self::Snr => "SNR".to_owned(),
            Self::SnrBad => "SNR, or `\"snr - 10 dB\"`".to_owned(),
            Self::Buffer => "buffer".to_owned(),
            Self::Changes => "changes of a rate, or `\"none\"`".to_owned(),
            Self::AccessRate => "rate, or `\"2 x bottleneck\"`".to_owned(),
            Self::Span => "time".to_owned(),
            Self::Delay => "random delay".to_owned(),
            Self::Number(min, max) => format!("number, {min} to {max}"),
            Self::Whole(min, u32::MAX) => format!("number from {min}"),
            Self::Whole(min, max) => format!("number, {min} to {max}"),
            Self::Switch => "switch".to_owned(),
            Self::Seeds => "seeds".to_owned(),
            Self::Law => "law".to_owned(),
            Self::Router => "router, or `\"auto\"`".to_owned(),
            Self::Capacity => "capacity part, or `\"auto\"`".to_owned(),
            Self::Channel => "switch, or name".to_owned(),
            Self::Way => "hops".to_owned(),
            Self::Choice(words) => words
                .iter()
                .map(|word| format!("`\"{word}\"`"))
                .collect::<Vec<_>>()
                .join(", "),
            Self::Or(kind, word) => format!("{}, or `\"{word}\"`", kind.name()),
            Self::OrFalse(kind) => format!("{}, or `false`", kind.name()),
            Self::OrBool(kind) => format!("{}, or switch", kind.name()),
            Self::List(kind) => format!("list: {}", kind.name()),
        }
    }
}
