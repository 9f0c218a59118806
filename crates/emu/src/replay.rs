//! Recordings, read, and their arrivals put through the same lanes again.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io::{self, BufRead};

use twox_hash::XxHash3_128;

use crate::emulator::Error;
use crate::lane::{Fate, Lane};
use crate::record::{self, ARRIVED, Departed, ENDED, Head, LEFT, MAGIC};

/// What is wrong with a recording as a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// It ends before its end.
    #[error("it is cut off after {events_n} events")]
    Cut { events_n: u64 },
    /// It says what no recording says.
    #[error("event {event} is none of a recording")]
    Unknown { event: u64 },
    /// Its checksum, or the number of its events, is another one.
    #[error("its checksum does not fit: something in it was changed")]
    Changed,
}

/// A departure that did not come out as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// `None`: nothing more was recorded.
    pub recorded: Option<Departed>,
    /// `None`: nothing more comes out.
    pub again: Option<Departed>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |f: &mut fmt::Formatter<'_>, departed: &Option<Departed>| match departed {
            None => f.write_str("nothing"),
            Some(departed) => write!(
                f,
                "packet {} {} at {:.6} ms, ECN {}",
                departed.number,
                match departed.fate {
                    Fate::Delivered => "arrived",
                    Fate::Lost => "was lost",
                    Fate::Dropped => "was dropped",
                },
                departed.due_ns as f64 / 1e6,
                departed.ecn
            ),
        };
        let way = self.recorded.or(self.again).map_or(0, |departed| departed.way);
        write!(f, "way {way}: recorded: ")?;
        one(f, &self.recorded)?;
        f.write_str("; again: ")?;
        one(f, &self.again)?;
        let is_in_text = self.recorded.zip(self.again).is_some_and(|(recorded, again)| {
            Departed {
                hash: again.hash,
                ..recorded
            } == again
        });
        f.write_str(if is_in_text { " (other headers)" } else { "" })
    }
}

/// A packet and what became of it, as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    pub way: usize,
    /// Packets that came to the way before it.
    pub number: u64,
    pub arrived_ns: u64,
    pub ip_bytes: u16,
    pub fate: Fate,
    /// When it was due to leave; of one that was dropped, when it came.
    pub due_ns: u64,
    /// How much later it left.
    pub late_ns: u64,
    /// ECN field as it came, and as it left.
    pub ecn: [u8; 2],
}

/// What came of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Again {
    pub arrived_pkts: u64,
    /// Departures that came out as they were recorded, by fate: delivered, lost, dropped.
    pub same_pkts: [u64; 3],
    pub different_pkts: u64,
    /// The first of them.
    pub shown: Vec<Difference>,
    pub damage: Option<Damage>,
}

/// Nobody emulates a link on which nothing happens for longer; a time that was changed must not make us wait for it.
const IDLE_NS_MAX: u64 = 3600 * 1_000_000_000;

/// Differences that are kept.
const SHOWN_MAX: usize = 10;

/// A recording that was opened.
pub struct Recording<R> {
    source: R,
    sum: XxHash3_128,
    head: Head,
    events_n: u64,
    /// Time of the last event, and of the last arrival in each way.
    last_ns: u64,
    arrived_ns: Vec<u64>,
}

/// The first line tells a recording from other files: whether this is one.
///
/// # Errors
/// The source cannot be read.
pub fn is_recording(source: &mut impl BufRead) -> io::Result<bool> {
    Ok(source.fill_buf()?.starts_with(MAGIC.as_bytes()))
}

impl<R: BufRead> Recording<R> {
    /// Reads what stands in front.
    ///
    /// # Errors
    /// A source that cannot be read, or is no recording.
    pub fn open(mut source: R) -> io::Result<Self> {
        let mut lines = Vec::new();
        for _ in 0..2 {
            source.read_until(b'\n', &mut lines)?;
        }
        let head = lines.strip_prefix(MAGIC.as_bytes());
        let head = head.and_then(|head| serde_json::from_slice(head).ok());
        let head =
            head.ok_or_else(|| io::Error::other("it is no recording of a link, or its first lines are damaged"))?;
        let mut sum = XxHash3_128::new();
        sum.write(&lines);
        Ok(Self {
            source,
            sum,
            head,
            events_n: 0,
            last_ns: 0,
            arrived_ns: Vec::new(),
        })
    }

    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Puts the arrivals through lanes, in which nothing has arrived yet.
    ///
    /// # Errors
    /// A defect of ours. Damage is no error: what is before it is compared.
    ///
    /// # Panics
    /// When there are fewer lanes than ways.
    pub fn again(mut self, lanes: &mut [Lane]) -> Result<Again, Error> {
        let mut again = Again::default();
        let mut out: Vec<VecDeque<Departed>> = lanes.iter().map(|_| VecDeque::new()).collect();
        let served_ns = loop {
            match self.event(lanes.len()) {
                Err(damage) => {
                    again.damage = Some(damage);
                    return Ok(again);
                }
                Ok(Event::Ended { served_ns }) => break served_ns,
                Ok(Event::Arrived { way, now_ns, bytes }) => {
                    again.arrived_pkts += 1;
                    let out = &mut out[way];
                    lanes[way].arrive(now_ns, &bytes, &mut |left| out.push_back(Departed::of(way, left)))?;
                }
                Ok(Event::Left { departed: recorded, .. }) => {
                    let way = usize::from(recorded.way);
                    if out[way].is_empty() {
                        let out = &mut out[way];
                        let mut sink = |left: &crate::Left<'_>| out.push_back(Departed::of(way, left));
                        lanes[way].serve(recorded.due_ns, &mut sink)?;
                    }
                    again.compare(Some(recorded), out[way].pop_front());
                }
            }
        };
        for (way, lane) in lanes.iter_mut().enumerate() {
            let out = &mut out[way];
            lane.serve(served_ns, &mut |left| out.push_back(Departed::of(way, left)))?;
            out.drain(..).for_each(|left| again.compare(None, Some(left)));
        }
        Ok(again)
    }

    /// Shows each packet that left, was lost or was dropped, in the order in which that happened.
    ///
    /// # Errors
    /// Damage, behind what was shown.
    pub fn packets(mut self, ways: usize, mut show: impl FnMut(&Passed)) -> Result<(), Damage> {
        let mut came: Vec<(u64, BTreeMap<u64, Passed>)> = (0..ways).map(|_| Default::default()).collect();
        loop {
            match self.event(ways)? {
                Event::Ended { .. } => return Ok(()),
                Event::Arrived { way, now_ns, bytes } => {
                    let (count, waiting) = &mut came[way];
                    let passed = Passed {
                        way,
                        number: *count,
                        arrived_ns: now_ns,
                        ip_bytes: bytes.len() as u16,
                        fate: Fate::Dropped,
                        due_ns: now_ns,
                        late_ns: 0,
                        ecn: [record::ecn(&bytes); 2],
                    };
                    waiting.insert(*count, passed);
                    *count += 1;
                }
                Event::Left { departed, late_ns } => {
                    let way = usize::from(departed.way);
                    let unknown = Damage::Unknown { event: self.events_n };
                    let passed = came[way].1.remove(&departed.number).ok_or(unknown)?;
                    show(&Passed {
                        fate: departed.fate,
                        due_ns: departed.due_ns,
                        late_ns: late_ns.into(),
                        ecn: [passed.ecn[0], departed.ecn],
                        ..passed
                    });
                }
            }
        }
    }

    fn event(&mut self, ways: usize) -> Result<Event, Damage> {
        let [kind, way] = self.take()?;
        self.events_n += 1;
        let way = usize::from(way);
        let unknown = Damage::Unknown { event: self.events_n };
        if way >= ways {
            return Err(unknown);
        }
        match kind {
            ARRIVED => self.arrived(way),
            LEFT => self.left(way, unknown),
            ENDED => self.ended(),
            _ => Err(unknown),
        }
    }

    fn arrived(&mut self, way: usize) -> Result<Event, Damage> {
        let now_ns = u64::from_le_bytes(self.take()?);
        self.arrived_ns.resize(self.arrived_ns.len().max(way + 1), 0);
        let before_ns = std::mem::replace(&mut self.arrived_ns[way], now_ns);
        if now_ns < before_ns {
            return Err(Damage::Unknown { event: self.events_n });
        }
        self.passes_to(now_ns)?;
        let ip_bytes = usize::from(u16::from_le_bytes(self.take()?));
        let [kept] = self.take()?;
        let mut bytes = vec![0; ip_bytes.max(kept.into())];
        self.fill(usize::from(kept), &mut bytes)?;
        Ok(Event::Arrived { way, now_ns, bytes })
    }

    fn left(&mut self, way: usize, unknown: Damage) -> Result<Event, Damage> {
        let [fate, ecn] = self.take()?;
        let fates = [Fate::Delivered, Fate::Lost, Fate::Dropped];
        let fate = *fates.get(usize::from(fate)).ok_or(unknown)?;
        let [number, due_ns, hash] = [self.take()?, self.take()?, self.take()?].map(u64::from_le_bytes);
        let late_ns = u32::from_le_bytes(self.take()?);
        self.passes_to(due_ns)?;
        let departed = Departed {
            way: way as u8,
            fate,
            number,
            due_ns,
            ecn,
            hash,
        };
        Ok(Event::Left { departed, late_ns })
    }

    fn ended(&mut self) -> Result<Event, Damage> {
        let [events_n, served_ns] = [self.take()?, self.take()?].map(u64::from_le_bytes);
        let computed = self.sum.finish_128();
        let noted = u128::from_le_bytes(self.take()?);
        let is_last = self.source.fill_buf().is_ok_and(<[u8]>::is_empty);
        if events_n + 1 != self.events_n || noted != computed || !is_last {
            return Err(Damage::Changed);
        }
        self.passes_to(served_ns)?;
        Ok(Event::Ended { served_ns })
    }

    fn passes_to(&mut self, now_ns: u64) -> Result<(), Damage> {
        if now_ns > self.last_ns.saturating_add(IDLE_NS_MAX) {
            return Err(Damage::Unknown { event: self.events_n });
        }
        self.last_ns = self.last_ns.max(now_ns);
        Ok(())
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        let mut bytes = [0; N];
        self.fill(N, &mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, count: usize, bytes: &mut [u8]) -> Result<(), Damage> {
        let bytes = &mut bytes[..count];
        self.source.read_exact(bytes).map_err(|_| Damage::Cut {
            events_n: self.events_n,
        })?;
        self.sum.write(bytes);
        Ok(())
    }
}

enum Event {
    Arrived { way: usize, now_ns: u64, bytes: Vec<u8> },
    Left { departed: Departed, late_ns: u32 },
    Ended { served_ns: u64 },
}

impl Again {
    fn compare(&mut self, recorded: Option<Departed>, again: Option<Departed>) {
        match recorded {
            Some(departed) if recorded == again => self.same_pkts[departed.fate as usize] += 1,
            _ => {
                self.different_pkts += 1;
                if self.shown.len() < SHOWN_MAX {
                    self.shown.push(Difference { recorded, again });
                }
            }
        }
    }

    /// Whether the recording is whole and all came out as recorded.
    pub fn agrees(&self) -> bool {
        self.different_pkts == 0 && self.damage.is_none()
    }
}
