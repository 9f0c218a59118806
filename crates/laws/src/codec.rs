//! How feedback stands in packets: a law's format at work, by which packet logs write what the kernel's programs write,
//! and by which both are read.
#![allow(unsafe_code)]

use crate::abi::{self, FEEDBACK_BYTES_MAX};
use crate::receiver::Receiver;
use crate::registry;
use crate::sender::Sender;
use crate::wire::{Get, Wire};

/// Most bytes that an option of a TCP header can have (RFC 9293, section 3.1).
pub const OPTION_BYTES_MAX: usize = 40;

/// Kind, length and identifier of an option.
const HEAD_BYTES: usize = 4;

type Feedback = [u8; FEEDBACK_BYTES_MAX];

/// The format of one law's packets, with as much room as its feedback takes.
#[derive(Clone, Copy, Debug)]
pub struct Codec {
    wire: &'static Wire,
    format: abi::Format,
    option_bytes: usize,
}

/// What an option says of one direction.
struct Found {
    feedback: Option<Feedback>,
    confirmed: bool,
}

impl Codec {
    /// Of a law and its receiver's half; `None` where its packets carry nothing beyond TCP.
    pub fn of(sender: &Sender, receiver: Option<&Receiver>) -> Option<Self> {
        let carries = sender.wire() != abi::WIRE_NONE || sender.feedback_bytes() > 0 || receiver.is_some();
        carries.then(|| {
            Self::new(abi::Format {
                wire: sender.wire(),
                data_bytes: sender.feedback_bytes(),
                echo_bytes: receiver.map_or(0, Receiver::feedback_bytes),
                ..abi::Format::default()
            })
        })
    }

    /// Of the packets that a router's law acts on: those of the sender's law on the same wire.
    pub fn on_wire(wire: u32) -> Self {
        let is_on_wire = |law: &&Sender| wire != abi::WIRE_NONE && law.wire() == wire;
        let sender = registry::senders().iter().find(is_on_wire);
        sender
            .and_then(|law| Self::of(law, registry::receiver(law.name())))
            .unwrap_or_else(|| {
                Self::new(abi::Format {
                    wire,
                    ..abi::Format::default()
                })
            })
    }

    /// Of what packets have to carry.
    pub fn new(format: abi::Format) -> Self {
        let wire = registry::wire_of(format.wire);
        Self {
            wire,
            format,
            // SAFETY: the function reads the struct of law.h and nothing else.
            option_bytes: unsafe { (wire.option_bytes)(&raw const format) } as usize,
        }
    }

    /// The format.
    pub fn wire(&self) -> &'static Wire {
        self.wire
    }

    /// What packets carry.
    pub fn format(&self) -> &abi::Format {
        &self.format
    }

    /// Bytes of the option, a multiple of 4. A format may ask for more than [`OPTION_BYTES_MAX`], which no header has.
    pub fn option_bytes(&self) -> usize {
        self.option_bytes
    }

    /// An option without any feedback.
    ///
    /// # Panics
    /// Where the option has more than [`OPTION_BYTES_MAX`] bytes.
    pub fn option(&self) -> Vec<u8> {
        assert!(self.option_bytes <= OPTION_BYTES_MAX, "no TCP header has room for it");
        let mut option = vec![0; self.option_bytes];
        // SAFETY: the option has as many bytes as the format asked for.
        unsafe { (self.wire.begin)(option.as_mut_ptr(), &raw const self.format) };
        option
    }

    /// Whether a TCP header with these options ends with one of this format; then that option.
    pub fn find<'o>(&self, options: &'o [u8]) -> Option<&'o [u8]> {
        let at = options.len().checked_sub(self.option_bytes)?;
        let found = &options[at..];
        let mine = self.option();
        (found[..HEAD_BYTES] == mine[..HEAD_BYTES]).then_some(found)
    }

    /// Writes the feedback that a data packet carries; nothing where data carry none.
    pub fn put_data(&self, option: &mut [u8], feedback: &Feedback) {
        self.fits(option);
        if let Some(put) = self.wire.put_data {
            // SAFETY: the option has the length of the format (checked), feedback that of law.h.
            unsafe { put(option.as_mut_ptr(), &raw const self.format, feedback.as_ptr()) }
        }
    }

    /// Reads it.
    pub fn data(&self, option: &[u8]) -> Option<Feedback> {
        self.found(self.wire.get_data?, option).feedback
    }

    /// Says that a router of this format saw the data.
    pub fn confirm(&self, option: &mut [u8]) {
        self.fits(option);
        // SAFETY: as in put_data.
        unsafe { (self.wire.confirm)(option.as_mut_ptr(), &raw const self.format) }
    }

    /// Whether a router said so.
    pub fn is_confirmed(&self, option: &[u8]) -> bool {
        let get = self.wire.get_data;
        get.is_some_and(|get| self.found(get, option).confirmed)
    }

    /// What a receiver reads of the feedback that a data packet carries: as it is, or as nearly as the option can say.
    pub fn rounded_data(&self, feedback: &Feedback) -> Feedback {
        let Some((put, get)) = self.wire.put_data.zip(self.wire.get_data) else {
            return *feedback;
        };
        // SAFETY: the option has at least the length of the format (rounded checks it), feedback that of law.h.
        self.rounded(get, |option| unsafe {
            put(option.as_mut_ptr(), &raw const self.format, feedback.as_ptr());
        })
    }

    /// What a sender reads of the feedback that an ACK carries; `confirmed` as in [`Self::put_echo`].
    pub fn rounded_echo(&self, feedback: &Feedback, confirmed: bool) -> Feedback {
        // SAFETY: as in rounded_data.
        self.rounded(self.wire.get_echo, |option| unsafe {
            let format = &raw const self.format;
            (self.wire.put_echo)(option.as_mut_ptr(), format, feedback.as_ptr(), confirmed.into());
        })
    }

    #[inline(always)]
    fn rounded(&self, get: Get, put: impl FnOnce(&mut [u8; OPTION_BYTES_MAX])) -> Feedback {
        let (mut option, mut read) = ([0; OPTION_BYTES_MAX], [0; FEEDBACK_BYTES_MAX]);
        assert!(self.option_bytes <= OPTION_BYTES_MAX, "no TCP header has room for it");
        put(&mut option);
        // SAFETY: as for the caller's `put`.
        unsafe { get(option.as_ptr(), &raw const self.format, read.as_mut_ptr()) };
        read
    }

    /// Writes the feedback that an ACK carries; `confirmed`: a router of this format saw the data that it answers.
    pub fn put_echo(&self, option: &mut [u8], feedback: &Feedback, confirmed: bool) {
        self.fits(option);
        let format = &raw const self.format;
        // SAFETY: as in put_data.
        unsafe { (self.wire.put_echo)(option.as_mut_ptr(), format, feedback.as_ptr(), confirmed.into()) }
    }

    /// Reads it.
    pub fn echo(&self, option: &[u8]) -> Option<Feedback> {
        self.found(self.wire.get_echo, option).feedback
    }

    /// Whether a router of this format saw the data that an ACK answers.
    pub fn is_echo_confirmed(&self, option: &[u8]) -> bool {
        self.found(self.wire.get_echo, option).confirmed
    }

    /// The feedback of so many equal segments that offload joined, as a router is shown it.
    pub fn joined(&self, feedback: &Feedback, segments: u32) -> Feedback {
        let mut joined = *feedback;
        if let Some(join) = self.wire.join {
            // SAFETY: feedback has the length of law.h.
            unsafe { join(joined.as_mut_ptr(), segments) }
        }
        joined
    }

    /// Writes what a router made of the feedback of so many segments.
    pub fn put_share(&self, option: &mut [u8], feedback: &Feedback, segments: u32) {
        self.fits(option);
        if let Some(put) = self.wire.put_share {
            // SAFETY: as in put_data.
            unsafe {
                put(option.as_mut_ptr(), &raw const self.format, feedback.as_ptr(), segments);
            }
        }
    }

    fn found(&self, get: Get, option: &[u8]) -> Found {
        self.fits(option);
        let mut feedback = [0; FEEDBACK_BYTES_MAX];
        // SAFETY: as in put_data.
        let found = unsafe { get(option.as_ptr(), &raw const self.format, feedback.as_mut_ptr()) };
        Found {
            feedback: (found & abi::CODEC_PRESENT != 0).then_some(feedback),
            confirmed: found & abi::CODEC_CONFIRMED != 0,
        }
    }

    fn fits(&self, option: &[u8]) {
        assert_eq!(option.len(), self.option_bytes, "the option is another format's");
    }
}
