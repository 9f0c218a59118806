//! Makes a recorded call again, by itself, in the build of its law that tells its steps.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::guard::{self, CallRecord, Due, Function, Kind, Outcome, from_hex, read};
use crate::own::{self, OwnLawError, Source};
use crate::{Capacity, Gateway, ParamInfo, Params, Receiver, Router, RouterInstance, Sender, State, abi, registry};

/// Why a call could not be made again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// Its law could not be compiled.
    #[error(transparent)]
    Law(#[from] OwnLawError),
    /// The record does not fit its law.
    #[error("the call cannot be made: {0}")]
    Record(String),
}

/// The roles of one law, in the build that tells its steps.
#[derive(Clone, Debug, Default)]
pub struct Explained {
    pub sender: Option<Sender>,
    /// The receiver's half.
    pub receiver: Option<Receiver>,
    pub router: Option<Router>,
    /// The capacity part.
    pub capacity: Option<Capacity>,
    pub gateway: Option<Gateway>,
}

impl Explained {
    /// Of a law that a user brought.
    ///
    /// # Errors
    /// When its text does not compile any more.
    pub fn own(source: &Source) -> Result<Self, OwnLawError> {
        let tables = own::explained(source)?;
        let text = source.files.first().map_or("", |file| file.text.as_str());
        // SAFETY: own::explained() gives checked tables that live as long as the program.
        let law = unsafe { Self::of(&tables, String::from(text).leak()) };
        Ok(Self {
            sender: law.sender.map(Sender::with_zone),
            receiver: law.receiver.map(Receiver::with_zone),
            router: law.router.map(Router::with_zone),
            capacity: law.capacity.map(Capacity::with_zone),
            gateway: law.gateway.map(Gateway::with_zone),
        })
    }

    /// Of a built-in law; `None` where there is none of that role and name.
    pub fn builtin(role: &str, name: &str) -> Option<Self> {
        let (tables, header) = registry::explained(role, name)?;
        // SAFETY: a law compiled against this law.h, linked into the program.
        Some(unsafe { Self::of(&tables, header) })
    }

    unsafe fn of(tables: &guard::Tables, header: &'static str) -> Self {
        // SAFETY: the caller vouches for the tables.
        unsafe {
            Self {
                sender: tables.sender.as_ref().map(|table| Sender::new(table, header)),
                receiver: tables.receiver.as_ref().map(|table| Receiver::new(table, header)),
                router: tables
                    .router
                    .as_ref()
                    .map(|table| Router::new(table, &*tables.host, header)),
                capacity: tables.capacity.as_ref().map(|table| Capacity::new(table, header)),
                gateway: tables.gateway.as_ref().map(|table| Gateway::new(table, header)),
            }
        }
    }
}

/// Makes calls again. Each law is compiled once.
#[derive(Debug, Default)]
pub struct Replayer {
    sources: Vec<Source>,
    laws: BTreeMap<(String, String), Explained>,
}

impl Replayer {
    /// With the texts of the laws that users brought; others are taken from the built-in ones.
    pub fn new(sources: Vec<Source>) -> Self {
        Self {
            sources,
            laws: BTreeMap::new(),
        }
    }

    /// Makes the call again and says what came of it.
    ///
    /// # Errors
    /// When the law does not compile, or the record names what it does not have.
    pub fn replay(&mut self, record: &CallRecord) -> Result<Outcome, ReplayError> {
        let function = record.check().map_err(ReplayError::Record)?;
        let key = (record.role.clone(), record.law.clone());
        if !self.laws.contains_key(&key) {
            let source = self.sources.iter().find(|source| source.name == record.law);
            let law = match source {
                Some(source) => Explained::own(source)?,
                None => Explained::builtin(&record.role, &record.law).ok_or_else(|| {
                    let message = format!("no {} is named {}, and the file keeps no text of it", key.0, key.1);
                    ReplayError::Record(message)
                })?,
            };
            self.laws.insert(key.clone(), law);
        }
        let seen = Rc::new(RefCell::new(None));
        let keep = Rc::clone(&seen);
        let call = || guard::catch(|| make(&self.laws[&key], function, record));
        let made = guard::observe(move |call| *keep.borrow_mut() = call.record().outcome, call);
        match made {
            Ok(Ok(())) => {}
            Ok(Err(why)) => return Err(ReplayError::Record(why)),
            Err(fault) => *seen.borrow_mut() = fault.record.outcome,
        }
        let outcome = seen.borrow_mut().take();
        outcome.ok_or_else(|| ReplayError::Record(format!("{} has no {}", record.law, record.function)))
    }
}

/// What a call is made with.
struct Input {
    state: State,
    params: Params,
    event: Vec<u8>,
    queue: Vec<u8>,
    decision: Vec<u8>,
}

fn input(record: &CallRecord, function: &Function, state: State, infos: &[ParamInfo]) -> Result<Input, String> {
    let mut state = state;
    let bytes = from_hex(&record.state).ok_or("its state is not in hexadecimal digits")?;
    if bytes.len() > state.bytes() {
        return Err(format!(
            "its state has {} bytes, the law's has {}",
            bytes.len(),
            state.bytes()
        ));
    }
    state.fill(&bytes);
    if let Some(name) = record
        .params
        .keys()
        .find(|name| infos.iter().all(|info| info.name != name.as_str()))
    {
        return Err(format!("law {} has no parameter {name} any more", record.law));
    }
    let value = |info: &ParamInfo| record.params.get(info.name).copied().unwrap_or(info.value);
    let params = Params::from_values(&infos.iter().map(value).collect::<Vec<u64>>());
    let fields = |kind: Kind, fields, name| {
        let bytes: Result<Vec<u8>, String> = kind.with_fields(fields);
        bytes.map_err(|field| format!("its {name} has no field `{field}` with such a value"))
    };
    Ok(Input {
        state,
        params,
        event: fields(function.event, &record.event, "event")?,
        queue: fields(function.context, &record.queue, "queue")?,
        decision: fields(function.decision, &record.decision, "decision")?,
    })
}

/// Makes the call; what comes of it is seen by the guard.
fn make(law: &Explained, function: &'static Function, record: &CallRecord) -> Result<(), String> {
    match function.role {
        "sender" => {
            let law = law.sender.as_ref().ok_or("the law has no sender any more")?;
            call_sender(
                law,
                function,
                record,
                input(record, function, law.new_state(), law.params())?,
            );
        }
        "receiver" => {
            let law = law.receiver.as_ref().ok_or("the law has no receiver any more")?;
            call_receiver(law, function, record, input(record, function, law.new_state(), &[])?);
        }
        "router" => {
            let law = law.router.as_ref().ok_or("the law has no router any more")?;
            call_router(
                law,
                function,
                record,
                input(record, function, law.new_state(), law.params())?,
            );
        }
        "gateway" => {
            let law = law.gateway.as_ref().ok_or("the law has no gateway any more")?;
            let given = input(record, function, law.new_state(), law.params())?;
            call_gateway(law, function, record, given);
        }
        _ => {
            let law = law.capacity.as_ref().ok_or("the law has no capacity part any more")?;
            let mut given = input(record, function, law.new_state(), law.params())?;
            if function.name == "init" {
                law.init(&mut given.state, &given.params, &read(&given.event));
            } else {
                let mut estimate: abi::Estimate = read(&given.decision);
                law.estimate(&mut given.state, &given.params, &read(&given.event), &mut estimate);
            }
        }
    }
    Ok(())
}

fn call_sender(law: &Sender, function: &Function, record: &CallRecord, mut given: Input) {
    let mut control: abi::Control = read(&given.decision);
    let word = |name: &str| record.arguments.get(name).copied().unwrap_or(0);
    let (state, params) = (&mut given.state, &given.params);
    match function.name {
        "init" => law.init(state, params, &read(&given.event), &mut control),
        "on_send" => law.on_send(state, params, &mut read(&given.event), &mut control),
        "on_ack" => law.on_ack(state, params, &read(&given.event), &mut control),
        "on_loss" => law.on_loss(state, params, &read(&given.event), word("cause") as u32, &mut control),
        "on_rto" => law.on_rto(state, params, &read(&given.event), &mut control),
        "on_restart" => law.on_restart(state, params, word("now_us"), word("idle_us"), &mut control),
        "on_lost" => law.on_lost(state, params, &read(&given.event), &mut control),
        _ => law.on_undo(state, params, &read(&given.event), word("cause") as u32, &mut control),
    }
}

fn call_gateway(law: &Gateway, function: &Function, record: &CallRecord, mut given: Input) {
    let now_us = record.arguments.get("now_us").copied().unwrap_or(0);
    let (state, params) = (&mut given.state, &given.params);
    match function.name {
        "init" => law.init(state, params, &read(&given.event)),
        "encapsulate" => law.encapsulate(state, params, now_us, &read(&given.queue), &mut read(&given.event)),
        _ => law.decapsulate(state, params, now_us, &read(&given.queue), &mut read(&given.event)),
    }
}

fn call_receiver(law: &Receiver, function: &Function, record: &CallRecord, mut given: Input) {
    let word = |name: &str| record.arguments.get(name).copied().unwrap_or(0);
    match function.name {
        "init" => law.init(&mut given.state, word("now_us")),
        "on_data" => law.on_data(&mut given.state, &read(&given.event)),
        "fill_ack" => law.fill_ack(&mut given.state, &mut read(&given.event)),
        _ => law.ack_written(&mut given.state, word("written") != 0),
    }
}

fn call_router(law: &Router, function: &Function, record: &CallRecord, given: Input) {
    let mut law = RouterInstance::with_state(law, given.params, given.state);
    match function.name {
        "init" => law.init(&read(&given.event), &mut read::<Due>(&given.decision).0),
        "on_enqueue" => {
            law.on_enqueue(&mut read(&given.event), &read(&given.queue));
        }
        "on_dequeue" => {
            law.on_dequeue(&mut read(&given.event), &read(&given.queue));
        }
        "classify" => {
            law.classify(&read(&given.event), &read(&given.queue));
        }
        "pick" => {
            law.pick(&read(&given.queue));
        }
        _ => {
            let timer = record.arguments.get("timer").copied().unwrap_or(0);
            law.on_timer(timer as u32, &read(&given.queue));
        }
    }
}
