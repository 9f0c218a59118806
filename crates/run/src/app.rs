//! What writes into a sender, and when. All grounds ask the same applications, so that a flow starts at the same
//! instant on each.

use fadelab_phy::random::Stream;
use serde::{Deserialize, Serialize};

/// What an application does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum App {
    /// Always has data, from `start` on.
    Greedy {
        /// When it starts.
        start: Span,
    },
    /// One transfer of `bytes` of payload.
    Transfer {
        /// When it starts.
        start: Span,
        /// Payload.
        bytes: u64,
    },
    /// Constant bit rate of payload, from `start` until `stop`.
    Cbr {
        /// When it starts.
        start: Span,
        /// When it stops.
        stop_ns: u64,
        /// Payload bits per second.
        rate_bps: u64,
    },
    /// Greedy sessions: begin after a random time, last a random time, pause a random time; each is a new connection.
    Sessions {
        /// Before the first session.
        start: Span,
        /// How long the application writes; what is under way is then finished.
        on: Span,
        /// Between the end of one session and the next; `None`: one session only.
        off: Option<Span>,
    },
    /// Downloads: the receiver's host asks for each on a connection of its own, and has it with its last byte.
    Http {
        /// Before the first one.
        start: Span,
        /// Payload, without the header of the answer.
        bytes: u64,
        /// Between the end of one download and the next; `None`: one only.
        off: Option<Span>,
    },
}

/// Bytes of the request that curl 7.88 makes of nginx, and of the header of nginx 1.22's answer, as the stage of the
/// testbed sets it up: both vary by a few bytes with addresses and sizes.
pub const REQUEST_BYTES: u32 = 82;
pub const RESPONSE_HEADER_BYTES: u64 = 237;

impl App {
    /// When it starts, before its first session too.
    pub fn start(&self) -> Span {
        match *self {
            Self::Greedy { start }
            | Self::Transfer { start, .. }
            | Self::Cbr { start, .. }
            | Self::Sessions { start, .. }
            | Self::Http { start, .. } => start,
        }
    }
}

/// A time, fixed or drawn once per use from the flow's own random stream.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Span {
    /// Always the same.
    Fixed {
        /// The time.
        ns: u64,
    },
    /// Uniform in `[min_ns, max_ns)`.
    Uniform {
        /// Lower end.
        min_ns: u64,
        /// Upper end.
        max_ns: u64,
    },
    Exponential {
        mean_ns: u64,
    },
}

/// What an application wants at its due time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// A new connection with so many bytes of payload to come; `None`: without end.
    Open(Option<u64>),
    /// One more segment.
    Segment,
    /// Write no more.
    Close,
}

/// State of an application. What it does is said by an [`App`], which flows of a kind share.
#[derive(Debug)]
pub struct Application {
    random: Stream,
    /// When it wants something; `u64::MAX`: never again by itself.
    due_ns: u64,
    open: bool,
    start_ns: u64,
    segments: u64,
}

impl Application {
    /// An application with a random stream of its own, see [`Application::of_flow`].
    pub fn new(app: &App, mut random: Stream) -> Self {
        let due_ns = draw(app.start(), &mut random);
        Self {
            random,
            due_ns,
            open: false,
            start_ns: 0,
            segments: 0,
        }
    }

    /// The application of the flow `name` in a run of seed `seed`.
    pub fn of_flow(app: &App, seed: u64, name: &str) -> Self {
        Self::new(app, stream(seed, name).1)
    }

    /// When [`Self::wish`] is to be called next; `u64::MAX`: never by itself.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// When the present connection was opened.
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// What it wants now, at its due time. `mss_bytes` is the payload of a full segment.
    pub fn wish(&mut self, app: &App, now_ns: u64, mss_bytes: u32) -> Wish {
        if !self.open {
            self.open = true;
            self.start_ns = now_ns;
            let bytes = match *app {
                App::Transfer { bytes, .. } => Some(bytes),
                App::Http { bytes, .. } => Some(bytes + RESPONSE_HEADER_BYTES),
                _ => None,
            };
            self.due_ns = match *app {
                App::Greedy { .. } | App::Transfer { .. } | App::Http { .. } => u64::MAX,
                App::Cbr { .. } => now_ns,
                App::Sessions { on, .. } => now_ns + draw(on, &mut self.random),
            };
            return Wish::Open(if let App::Cbr { .. } = app { Some(0) } else { bytes });
        }
        match *app {
            App::Cbr { rate_bps, stop_ns, .. } if now_ns < stop_ns => {
                self.segments += 1;
                // From the start, so that rounding never adds up.
                let bits = u128::from(self.segments) * u128::from(mss_bytes) * 8;
                self.due_ns = self.start_ns + (bits * 1_000_000_000 / u128::from(rate_bps)) as u64;
                Wish::Segment
            }
            _ => {
                self.due_ns = u64::MAX;
                Wish::Close
            }
        }
    }

    /// All that was written is acknowledged, or a download is there. The next one begins after its pause.
    pub fn finished(&mut self, app: &App, now_ns: u64) {
        if let App::Sessions { off: Some(off), .. } | App::Http { off: Some(off), .. } = *app {
            self.open = false;
            self.due_ns = now_ns + draw(off, &mut self.random);
        }
    }
}

/// The random numbers of a flow: a word for its sender, and the stream of its application.
pub fn stream(seed: u64, name: &str) -> (u64, Stream) {
    let mut random = Stream::new(seed, &format!("flow {name}"));
    (random.next_u64(), random)
}

/// Draws a time.
fn draw(span: Span, random: &mut Stream) -> u64 {
    match span {
        Span::Fixed { ns } => ns,
        Span::Uniform { min_ns, max_ns } => random.between(min_ns, max_ns),
        Span::Exponential { mean_ns } => random.exponential(mean_ns as f64) as u64,
    }
}
