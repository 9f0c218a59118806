//! Laws that see what the law of a flow is shown, and decide nothing.
//!
//! So several estimators are compared on one and the same stream of ACKs: with a law at work each would see another
//! one, since what it sends decides what comes back.

use std::ptr;

use crate::abi;
use crate::params::Params;
use crate::sender::Sender;
use crate::state::State;

/// A law that is to be one, with its parameters.
#[derive(Clone, Debug)]
pub struct Onlooker {
    pub law: &'static Sender,
    pub params: Params,
}

impl PartialEq for Onlooker {
    fn eq(&self, other: &Self) -> bool {
        ptr::eq(self.law, other.law) && self.params == other.params
    }
}

/// Why `shadow` cannot look on where `law` decides; `None`: it can.
pub fn objection(shadow: &Sender, law: &Sender) -> Option<String> {
    let name = shadow.name();
    if shadow.watch().is_empty() {
        return Some(format!(
            "`{name}` declares no values to watch, so nothing would be seen of it; rows of LAW_WATCH_LIST in its \
             header do"
        ));
    }
    if shadow.wire() != abi::WIRE_NONE || shadow.feedback_bytes() > 0 {
        return Some(format!(
            "`{name}` lives by feedback on packets of its own, which these are not: name a law without"
        ));
    }
    if shadow.ecn_mode() == abi::ECN_MODE_EXACT && law.ecn_mode() != abi::ECN_MODE_EXACT {
        return Some(format!(
            "`{name}` wants each mark echoed once, and under {} none is or all are until a reduction: let it decide in \
             a flow of its own",
            law.name()
        ));
    }
    None
}

/// The onlookers of one flow, with what they remember.
#[derive(Debug)]
pub struct Shadows {
    all: Vec<(Onlooker, State)>,
}

impl Shadows {
    /// Before their connection begins.
    pub fn new(onlookers: &[Onlooker]) -> Self {
        let begun = onlookers.iter().map(|one| (one.clone(), one.law.new_state()));
        Self { all: begun.collect() }
    }

    /// Each with its memory.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Sender, &State)> {
        self.all.iter().map(|(one, state)| (one.law, state))
    }

    /// The call that the law of the flow gets next: `control` is what stands before it. What they answer is dropped.
    fn each(&mut self, control: &abi::Control, mut call: impl FnMut(&Sender, &mut State, &Params, &mut abi::Control)) {
        for (one, state) in &mut self.all {
            let mut control = *control;
            call(one.law, state, &one.params, &mut control);
        }
    }

    /// A new connection, with a memory that is new.
    pub fn init(&mut self, start: &abi::Start, control: &abi::Control) {
        for (one, state) in &mut self.all {
            *state = one.law.new_state();
        }
        self.each(control, |law, state, params, control| {
            law.init(state, params, start, control);
        });
    }

    #[cold]
    pub fn on_send(&mut self, send: &abi::Send, control: &abi::Control) {
        self.each(control, |law, state, params, control| {
            let mut send = *send;
            law.on_send(state, params, &mut send, control);
        });
    }

    #[cold]
    pub fn on_ack(&mut self, ack: &abi::Ack, control: &abi::Control) {
        self.each(control, |law, state, params, control| {
            law.on_ack(state, params, ack, control);
        });
    }

    #[cold]
    pub fn on_loss(&mut self, ack: &abi::Ack, cause: u32, control: &abi::Control) {
        self.each(control, |law, state, params, control| {
            law.on_loss(state, params, ack, cause, control);
        });
    }

    #[cold]
    pub fn on_rto(&mut self, ack: &abi::Ack, control: &abi::Control) {
        self.each(control, |law, state, params, control| {
            law.on_rto(state, params, ack, control);
        });
    }

    #[cold]
    pub fn on_restart(&mut self, now_us: u64, idle_us: u64, control: &abi::Control) {
        self.each(control, |law, state, params, control| {
            law.on_restart(state, params, now_us, idle_us, control);
        });
    }

    #[cold]
    pub fn on_lost(&mut self, lost: &abi::Lost, control: &abi::Control) {
        self.each(control, |law, state, params, control| {
            law.on_lost(state, params, lost, control);
        });
    }

    #[cold]
    pub fn on_undo(&mut self, ack: &abi::Ack, cause: u32, control: &abi::Control) {
        self.each(control, |law, state, params, control| {
            law.on_undo(state, params, ack, cause, control);
        });
    }
}
