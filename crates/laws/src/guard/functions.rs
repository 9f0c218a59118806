//! Which functions a law may have, and what each of them is given and gives back.
#![allow(unsafe_code)]

use std::any::Any;

use serde_json::{Map, Value};

use crate::abi::{self, Described};

/// Times at which the timers of a router are due, as `init` fills them.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Due(pub [u64; abi::TIMERS_MAX]);

impl Described for Due {
    fn visit(&mut self, visit: &mut dyn FnMut(&'static str, &mut dyn Any)) {
        for (name, due_us) in ["due_us_0", "due_us_1", "due_us_2", "due_us_3"]
            .into_iter()
            .zip(&mut self.0)
        {
            visit(name, due_us);
        }
    }
}

/// Which struct of `law.h` stands at a place of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    None,
    Start,
    Send,
    Ack,
    Lost,
    Data,
    Fill,
    Link,
    Packet,
    Queue,
    Interval,
    Tunnel,
    Control,
    Estimate,
    Due,
}

/// Applies a generic function to the type behind a kind.
macro_rules! with_type {
    ($kind:expr, $call:ident($($argument:expr),*), $none:expr) => {
        match $kind {
            Kind::None => $none,
            Kind::Start => $call::<abi::Start>($($argument),*),
            Kind::Send => $call::<abi::Send>($($argument),*),
            Kind::Ack => $call::<abi::Ack>($($argument),*),
            Kind::Lost => $call::<abi::Lost>($($argument),*),
            Kind::Data => $call::<abi::Data>($($argument),*),
            Kind::Fill => $call::<abi::Fill>($($argument),*),
            Kind::Link => $call::<abi::Link>($($argument),*),
            Kind::Packet => $call::<abi::Packet>($($argument),*),
            Kind::Queue => $call::<abi::Queue>($($argument),*),
            Kind::Interval => $call::<abi::Interval>($($argument),*),
            Kind::Tunnel => $call::<abi::Tunnel>($($argument),*),
            Kind::Control => $call::<abi::Control>($($argument),*),
            Kind::Estimate => $call::<abi::Estimate>($($argument),*),
            Kind::Due => $call::<Due>($($argument),*),
        }
    };
}

impl Kind {
    /// Size of the struct.
    pub fn bytes(self) -> usize {
        with_type!(self, size_of(), 0)
    }

    /// The fields by name; `size` and what is reserved tell nothing and are left out.
    pub fn fields(self, bytes: &[u8]) -> Map<String, Value> {
        let mut fields = Map::new();
        let mut bytes = bytes.to_vec();
        self.visit(&mut bytes, &mut |name, field| {
            if name != "size" && name != "reserved" {
                fields.insert(name.to_owned(), to_json(field));
            }
        });
        fields
    }

    /// The struct with these fields, all others zero.
    ///
    /// # Errors
    /// The name of a field that is unknown or has no value of its kind.
    pub fn with_fields(self, fields: &Map<String, Value>) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0; self.bytes()];
        let size = bytes.len() as u32;
        let (mut known, mut wrong) = (0, None);
        self.visit(&mut bytes, &mut |name, field| {
            if let Some(value) = fields.get(name) {
                known += 1;
                if !from_json(field, value) {
                    wrong = Some(name.to_owned());
                }
            } else if name == "size"
                && let Some(field) = field.downcast_mut::<u32>()
            {
                *field = size;
            }
        });
        if wrong.is_none() && known < fields.len() {
            let mut names = Vec::new();
            self.visit(&mut bytes, &mut |name, _| names.push(name));
            wrong = fields.keys().find(|name| !names.contains(&name.as_str())).cloned();
        }
        wrong.map_or(Ok(bytes), Err)
    }

    fn visit(self, bytes: &mut [u8], visit: &mut dyn FnMut(&'static str, &mut dyn Any)) {
        with_type!(self, walk(bytes, visit), ());
    }
}

/// Shows the fields of the `T` that lies in `bytes`.
fn walk<T: Described>(bytes: &mut [u8], visit: &mut dyn FnMut(&'static str, &mut dyn Any)) {
    assert_eq!(bytes.len(), size_of::<T>(), "the bytes are those of the struct");
    // SAFETY: the length is that of T (checked), and T consists of integers only: any bytes are a value.
    unsafe {
        let mut value: T = bytes.as_ptr().cast::<T>().read_unaligned();
        value.visit(visit);
        bytes.as_mut_ptr().cast::<T>().write_unaligned(value);
    }
}

fn to_json(field: &dyn Any) -> Value {
    if let Some(value) = field.downcast_ref::<u64>() {
        (*value).into()
    } else if let Some(value) = field.downcast_ref::<u32>() {
        (*value).into()
    } else if let Some(value) = field.downcast_ref::<u16>() {
        (*value).into()
    } else if let Some(value) = field.downcast_ref::<u8>() {
        (*value).into()
    } else if let Some(value) = field.downcast_ref::<i64>() {
        (*value).into()
    } else if let Some(bytes) = field.downcast_ref::<[u8; abi::FEEDBACK_BYTES_MAX]>() {
        to_hex(bytes).into()
    } else if let Some(numbers) = field.downcast_ref::<[u32; abi::QUEUES_MAX]>() {
        numbers.to_vec().into()
    } else if let Some(numbers) = field.downcast_ref::<[u64; abi::QUEUES_MAX]>() {
        numbers.to_vec().into()
    } else if let Some(feedback) = field.downcast_ref::<abi::Feedback>() {
        let mut feedback = *feedback;
        let mut fields = Map::new();
        feedback.visit(&mut |name, field| {
            if name != "reserved" {
                fields.insert(name.to_owned(), to_json(field));
            }
        });
        fields.into()
    } else {
        Value::Null
    }
}

fn set<T: TryFrom<u64>>(field: &mut T, value: &Value) -> bool {
    let number = value.as_u64().and_then(|number| T::try_from(number).ok());
    number.map(|number| *field = number).is_some()
}

/// Sets each number of a list that has as many.
fn set_each<T: TryFrom<u64>>(fields: &mut [T], value: &Value) -> bool {
    let numbers = value.as_array().filter(|numbers| numbers.len() == fields.len());
    numbers.is_some_and(|numbers| fields.iter_mut().zip(numbers).all(|(field, number)| set(field, number)))
}

/// Sets a field; says whether the value is one of its kind.
fn from_json(field: &mut dyn Any, value: &Value) -> bool {
    if let Some(field) = field.downcast_mut::<u64>() {
        set(field, value)
    } else if let Some(field) = field.downcast_mut::<u32>() {
        set(field, value)
    } else if let Some(field) = field.downcast_mut::<u16>() {
        set(field, value)
    } else if let Some(field) = field.downcast_mut::<u8>() {
        set(field, value)
    } else if let Some(field) = field.downcast_mut::<i64>() {
        value.as_i64().map(|number| *field = number).is_some()
    } else if let Some(field) = field.downcast_mut::<[u8; abi::FEEDBACK_BYTES_MAX]>() {
        let bytes = value.as_str().and_then(from_hex);
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.map(|bytes| *field = bytes).is_some()
    } else if let Some(field) = field.downcast_mut::<[u32; abi::QUEUES_MAX]>() {
        set_each(field, value)
    } else if let Some(field) = field.downcast_mut::<[u64; abi::QUEUES_MAX]>() {
        set_each(field, value)
    } else if let Some(feedback) = field.downcast_mut::<abi::Feedback>() {
        let Some(fields) = value.as_object() else { return false };
        let mut good = true;
        feedback.visit(&mut |name, field| good &= fields.get(name).is_none_or(|value| from_json(field, value)));
        good
    } else {
        false
    }
}

/// The struct that lies in `bytes`.
pub(crate) fn read<T: Described>(bytes: &[u8]) -> T {
    assert_eq!(bytes.len(), size_of::<T>(), "the bytes are those of the struct");
    // SAFETY: as in walk.
    unsafe { bytes.as_ptr().cast::<T>().read_unaligned() }
}

/// The fields of a struct by name, as [`Kind::fields`] has them.
pub(crate) fn fields_of<T: Described>(mut value: T) -> Map<String, Value> {
    let mut fields = Map::new();
    value.visit(&mut |name, field| {
        if name != "size" && name != "reserved" {
            fields.insert(name.to_owned(), to_json(field));
        }
    });
    fields
}

/// Two digits a byte.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// The reverse of [`to_hex`].
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?, 16).ok())
        .collect()
}

/// A function of a law's tables.
#[derive(Debug)]
pub(crate) struct Function {
    pub role: &'static str,
    pub name: &'static str,
    pub event: Kind,
    pub context: Kind,
    pub decision: Kind,
    /// Arguments that are plain numbers.
    pub words: &'static [&'static str],
    /// What the number that it returns is.
    pub result: Option<&'static str>,
}

impl Function {
    /// Whether the law may write into the event.
    pub fn writes_event(&self) -> bool {
        matches!(self.event, Kind::Send | Kind::Fill | Kind::Packet) && self.name != "classify"
    }

    /// The position of a function.
    pub fn find(role: &str, name: &str) -> Option<usize> {
        FUNCTIONS
            .iter()
            .position(|function| function.role == role && function.name == name)
    }
}

const fn function(role: &'static str, name: &'static str, event: Kind, decision: Kind) -> Function {
    Function {
        role,
        name,
        event,
        context: Kind::None,
        decision,
        words: &[],
        result: None,
    }
}

/// A gateway's function, which reads one packet and writes another.
const fn carries(name: &'static str) -> Function {
    Function {
        context: Kind::Packet,
        words: &["now_us"],
        ..function("gateway", name, Kind::Packet, Kind::None)
    }
}

/// In the order of `enum guard_function` of `guard.h`.
pub(crate) static FUNCTIONS: [Function; 23] = [
    function("sender", "init", Kind::Start, Kind::Control),
    function("sender", "on_send", Kind::Send, Kind::Control),
    function("sender", "on_ack", Kind::Ack, Kind::Control),
    Function {
        words: &["cause"],
        ..function("sender", "on_loss", Kind::Ack, Kind::Control)
    },
    function("sender", "on_rto", Kind::Ack, Kind::Control),
    Function {
        words: &["now_us", "idle_us"],
        ..function("sender", "on_restart", Kind::None, Kind::Control)
    },
    function("sender", "on_lost", Kind::Lost, Kind::Control),
    Function {
        words: &["cause"],
        ..function("sender", "on_undo", Kind::Ack, Kind::Control)
    },
    Function {
        words: &["now_us"],
        ..function("receiver", "init", Kind::None, Kind::None)
    },
    function("receiver", "on_data", Kind::Data, Kind::None),
    function("receiver", "fill_ack", Kind::Fill, Kind::None),
    Function {
        words: &["written"],
        ..function("receiver", "ack_written", Kind::None, Kind::None)
    },
    function("router", "init", Kind::Link, Kind::Due),
    Function {
        context: Kind::Queue,
        result: Some("verdict"),
        ..function("router", "on_enqueue", Kind::Packet, Kind::None)
    },
    Function {
        context: Kind::Queue,
        result: Some("verdict"),
        ..function("router", "on_dequeue", Kind::Packet, Kind::None)
    },
    Function {
        context: Kind::Queue,
        words: &["timer"],
        result: Some("due_us"),
        ..function("router", "on_timer", Kind::None, Kind::None)
    },
    Function {
        context: Kind::Queue,
        result: Some("queue"),
        ..function("router", "classify", Kind::Packet, Kind::None)
    },
    Function {
        context: Kind::Queue,
        result: Some("queue"),
        ..function("router", "pick", Kind::None, Kind::None)
    },
    function("capacity", "init", Kind::Link, Kind::None),
    function("capacity", "estimate", Kind::Interval, Kind::Estimate),
    function("gateway", "init", Kind::Tunnel, Kind::None),
    carries("encapsulate"),
    carries("decapsulate"),
];
