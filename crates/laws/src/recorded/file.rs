//! A file of calls: how it is written, and how damage to it is found when it is read.
//!
//! Each call carries the checksum of the file up to there, its number among the calls of its instance, and how many of
//! those before it found no room: so what was lost when it was recorded is told apart from what was changed since. This
//! finds damage, not forgery: whoever writes the checksums anew is not found out by them.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead, Read, Write};

use super::{
    CallHead, END, GATEWAY, HEAD_BYTES, Passage, RECEIVER, RECORDED_VERSION, ROUTER, Receipt, Recorded, RecordedHead,
    SENDER, Transit,
};

/// What a first line begins with.
const MARK: &[u8] = b"{\"fadelab_kernel_calls\":";
/// What it has besides: a first line that is damaged is known by the one or the other.
const OTHER_MARK: &[u8] = b"\"state_bytes\":";
/// What version 1, whose calls have no checksums, did not have.
const NEW_FIELD: &str = "receiver_state_bytes";
/// Most bytes of a first line, in which laws' texts are.
const LINE_BYTES_MAX: u64 = 1 << 22;
const SUM_BYTES: usize = 8;
/// Where a call counts those that were lost before it.
const LOST_AT: usize = 16;

/// The checksum of all that was written so far. Of one changed word it is never the same: each step can be undone.
#[derive(Clone, Copy, Debug)]
struct Sum(u64);

impl Sum {
    fn of(line: &[u8]) -> Self {
        // The prime and the first value of FNV-1a, by words.
        let mut sum = Self(0xcbf2_9ce4_8422_2325);
        sum.add(line);
        sum
    }

    fn add(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(SUM_BYTES) {
            let mut word = [0; SUM_BYTES];
            word[..chunk.len()].copy_from_slice(chunk);
            let mixed = (self.0 ^ u64::from_ne_bytes(word)).wrapping_mul(0x0100_0000_01b3);
            self.0 = mixed.rotate_left(29);
        }
    }

    fn bytes(self) -> [u8; SUM_BYTES] {
        self.0.to_ne_bytes()
    }
}

/// Writes a file.
pub struct Writer {
    to: Box<dyn Write>,
    head: RecordedHead,
    sum: Sum,
    calls_n: u64,
}

impl Writer {
    /// Begins with the head, which is written through at once: where that has no room, whoever waits for calls is to
    /// know now.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(head: &RecordedHead, mut to: Box<dyn Write>) -> io::Result<Self> {
        let line = serde_json::to_string(head)? + "\n";
        let sum = Sum::of(line.as_bytes());
        to.write_all(line.as_bytes())?;
        to.write_all(&sum.bytes())?;
        to.flush()?;
        Ok(Self {
            to,
            head: head.clone(),
            sum,
            calls_n: 0,
        })
    }

    /// Writes a call as the kernel gave it.
    ///
    /// # Errors
    /// When it cannot be written, or is no call of this law.
    pub fn call(&mut self, bytes: &[u8]) -> io::Result<()> {
        let role = bytes.get(..HEAD_BYTES).map(|head| CallHead::parse(head).role);
        if role.and_then(|role| self.head.call_bytes(role)) != Some(bytes.len()) {
            let what = format!("the kernel gave a call of {} bytes, which the law has not", bytes.len());
            return Err(io::Error::other(what));
        }
        self.calls_n += 1;
        self.write(bytes)
    }

    /// The number of a call's instance, and its own among the calls of that; `None` where calls come in their order.
    /// Those of routers and gateways may come behind later ones.
    pub fn place_in_order(bytes: &[u8]) -> Option<(u64, u64)> {
        let head = CallHead::parse(bytes.get(..HEAD_BYTES)?);
        matches!(head.role, ROUTER | GATEWAY).then_some((head.id, head.sequence))
    }

    /// Says in a call how many of those before it found no room.
    pub fn tell_lost(bytes: &mut [u8], lost_n: u64) {
        bytes[LOST_AT..LOST_AT + 8].copy_from_slice(&lost_n.to_ne_bytes());
    }

    /// Calls that were written.
    pub fn calls_n(&self) -> u64 {
        self.calls_n
    }

    /// Ends the file; `lost_n` calls found no room.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn end(&mut self, lost_n: u64) -> io::Result<()> {
        self.write(&CallHead::end(self.calls_n, lost_n))?;
        self.to.flush()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.add(bytes);
        self.to.write_all(bytes)?;
        self.to.write_all(&self.sum.bytes())
    }
}

/// Why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is something else.
    NotOne,
    /// Another version of the format.
    Version(u32),
    /// Its first line was changed or cut.
    Damaged(Damage),
}

/// Where a file is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The call, counted from 1 in the file; 0: the first line.
    pub call: u64,
    /// The byte of the file at which that begins, from 0.
    pub byte: u64,
    /// What is wrong.
    pub why: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.call {
            0 => write!(f, "the first line, at byte {}: {}", self.byte, self.why),
            call => write!(f, "call {call}, at byte {}: {}", self.byte, self.why),
        }
    }
}

/// What comes next in a file.
#[derive(Clone, Debug)]
pub enum Step {
    /// A call of the sender.
    Call(Recorded),
    /// A call of the receiver.
    Receipt(Receipt),
    /// What a router's law did.
    Passage(Passage),
    /// A call of a gateway's law.
    Transit(Transit),
    /// The end: so many calls found no room.
    End {
        /// How many.
        lost_n: u64,
    },
}

/// Whose calls are counted together.
fn counted(role: u32) -> &'static str {
    match role {
        RECEIVER => "its receiving end",
        ROUTER => "its router",
        GATEWAY => "its tunnel",
        _ => "its flow",
    }
}

fn removed(role: u32, calls_n: u64) -> String {
    let counted = counted(role);
    match calls_n {
        1 => format!("a call of {counted} was removed before it"),
        calls_n => format!("{calls_n} calls of {counted} were removed before it"),
    }
}

/// The last call of an instance.
struct Link {
    sequence: u64,
    lost_n: u64,
    state_after: Vec<u8>,
}

/// Reads a file.
pub struct Reader<R> {
    from: R,
    head: RecordedHead,
    sum: Sum,
    byte: u64,
    calls_n: u64,
    chains: BTreeMap<(u32, u64), Link>,
}

impl<R: BufRead> Reader<R> {
    /// Reads the head.
    ///
    /// # Errors
    /// See [`Refusal`].
    pub fn new(mut from: R) -> Result<Self, Refusal> {
        let mut line = Vec::new();
        let read = from.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        let has = |mark: &[u8]| line.windows(mark.len()).any(|window| window == mark);
        let begins = !line.is_empty() && MARK.starts_with(&line);
        if read.is_err() || !(has(MARK) || has(OTHER_MARK) || begins) {
            return Err(Refusal::NotOne);
        }
        let known: Option<serde_json::Value> = serde_json::from_slice(&line).ok();
        let field = |name: &str| known.as_ref().and_then(|head| head.get(name));
        let version = field("fadelab_kernel_calls").and_then(serde_json::Value::as_u64);
        if version == Some(1) && field(NEW_FIELD).is_none() {
            return Err(Refusal::Version(1));
        }
        let (sum, mut written) = (Sum::of(&line), [0; SUM_BYTES]);
        let is_whole = from.read_exact(&mut written).is_ok();
        let damaged = |why: &str| {
            Err(Refusal::Damaged(Damage {
                call: 0,
                byte: 0,
                why: why.to_owned(),
            }))
        };
        if !is_whole {
            return damaged("the file is cut there");
        }
        if written != sum.bytes() {
            return damaged("it was changed");
        }
        match version.map(u32::try_from) {
            Some(Ok(RECORDED_VERSION)) => {}
            Some(Ok(version)) => return Err(Refusal::Version(version)),
            _ => return damaged("it names no version"),
        }
        let Some(head) = known.and_then(|head| serde_json::from_value(head).ok()) else {
            return damaged("it is no head of a recording");
        };
        Ok(Self {
            from,
            head,
            sum,
            byte: (line.len() + SUM_BYTES) as u64,
            calls_n: 0,
            chains: BTreeMap::new(),
        })
    }

    pub fn head(&self) -> &RecordedHead {
        &self.head
    }

    /// What comes next; after an end or damage there is nothing more to ask for.
    ///
    /// # Errors
    /// Where the file is not as it was written.
    pub fn step(&mut self) -> Result<Step, Damage> {
        let mut bytes = vec![0; HEAD_BYTES];
        self.fill(&mut bytes, 0)?;
        let head = CallHead::parse(&bytes);
        if head.function == END {
            return self.end(&bytes, head);
        }
        let Some(call_bytes) = self.head.call_bytes(head.role) else {
            return Err(self.damage("it is no call: its beginning was changed, or something before it removed"));
        };
        bytes.resize(call_bytes, 0);
        self.fill(&mut bytes, HEAD_BYTES)?;
        self.check(&bytes, head)?;
        let step = match head.role {
            SENDER => Recorded::parse(&bytes).map(Step::Call),
            RECEIVER => Receipt::parse(&bytes).map(Step::Receipt),
            GATEWAY => Transit::parse(&bytes).map(Step::Transit),
            _ => Passage::parse(&bytes, self.head.state_bytes).map(Step::Passage),
        };
        let memory_bytes = self.head.memory_bytes(head.role).unwrap_or(0);
        let states = (call_bytes - 2 * memory_bytes)..;
        let step = step.ok_or_else(|| self.damage("it is no call of this law"))?;
        self.join(head, &bytes[states])?;
        self.calls_n += 1;
        self.byte += (call_bytes + SUM_BYTES) as u64;
        Ok(step)
    }

    fn end(&mut self, bytes: &[u8], head: CallHead) -> Result<Step, Damage> {
        self.check(bytes, head)?;
        if head.sequence != self.calls_n {
            let why = format!(
                "the file ends with {} calls, and was written with {}",
                self.calls_n, head.sequence
            );
            return Err(self.damage(&why));
        }
        self.byte += (HEAD_BYTES + SUM_BYTES) as u64;
        if self.from.read(&mut [0]).is_ok_and(|bytes| bytes > 0) {
            return Err(self.damage("something was added behind the end"));
        }
        Ok(Step::End { lost_n: head.lost_n })
    }

    /// Reads on into `bytes` from `at`.
    fn fill(&mut self, bytes: &mut [u8], at: usize) -> Result<(), Damage> {
        let read = self.from.read_exact(&mut bytes[at..]);
        read.map_err(|_| self.damage("the file is cut there"))
    }

    /// Whether the file is as it was written up to and with this call.
    fn check(&mut self, bytes: &[u8], head: CallHead) -> Result<(), Damage> {
        let mut written = [0; SUM_BYTES];
        self.fill(&mut written, 0)?;
        self.sum.add(bytes);
        if written == self.sum.bytes() {
            return Ok(());
        }
        let last = self.chains.get(&(head.role, head.id)).map_or(0, |link| link.sequence);
        let counted = counted(head.role);
        let why = match head.sequence {
            _ if head.function == END => "calls before it were removed, or it was changed".to_owned(),
            sequence if sequence != 0 && sequence <= last => {
                format!("it is there twice or out of its place: number {sequence} of {counted}, behind {last}")
            }
            sequence if sequence > last + 1 && sequence - last < 1 << 40 => {
                format!(
                    "calls before it were removed, or it was changed: number {sequence} of {counted}, behind {last}"
                )
            }
            _ => "it was changed, or calls of other flows before it were removed, doubled or swapped".to_owned(),
        };
        Err(self.damage(&why))
    }

    /// Whether a call goes on where the last one of its instance ended.
    fn join(&mut self, head: CallHead, states: &[u8]) -> Result<(), Damage> {
        let (before, after) = states.split_at(states.len() / 2);
        let last = self.chains.get(&(head.role, head.id));
        let (sequence, lost_n) = last.map_or((0, 0), |link| (link.sequence, link.lost_n));
        let missing_n = head.sequence.checked_sub(sequence + 1);
        let why = match (missing_n, head.lost_n.checked_sub(lost_n)) {
            (Some(missing_n), Some(lost_n)) if missing_n == lost_n => {
                let is_next = missing_n == 0;
                let differs = last.is_some_and(|link| is_next && link.state_after != before);
                differs.then(|| "its state is not the one after the call before it".to_owned())
            }
            (Some(missing_n), Some(lost_n)) if missing_n > lost_n => Some(removed(head.role, missing_n - lost_n)),
            (None, _) => Some(format!(
                "it is there twice or out of its place: number {} of {}, behind {sequence}",
                head.sequence,
                counted(head.role)
            )),
            _ => Some("it counts lost calls that are there".to_owned()),
        };
        if let Some(why) = why {
            return Err(self.damage(&why));
        }
        let link = Link {
            sequence: head.sequence,
            lost_n: head.lost_n,
            state_after: after.to_vec(),
        };
        self.chains.insert((head.role, head.id), link);
        Ok(())
    }

    fn damage(&self, why: &str) -> Damage {
        Damage {
            call: self.calls_n + 1,
            byte: self.byte,
            why: why.to_owned(),
        }
    }
}
