//! The law of a sending end with its memory, and the laws that look on.

use std::ops::Deref;

use fadelab_laws::shadow::Shadows;
use fadelab_laws::{Sender as Law, State, abi};

use crate::tcp::plan::Plan;

/// Who is asked. Onlookers see each call before the law that decides does, with what stands in the window by then.
#[derive(Debug)]
pub(super) struct Asked {
    law: &'static Law,
    state: State,
    /// `None`: nobody looks on.
    shadows: Option<Box<Shadows>>,
}

impl Deref for Asked {
    type Target = Law;

    fn deref(&self) -> &Law {
        self.law
    }
}

impl Asked {
    pub fn new(plan: &Plan, law: &'static Law) -> Self {
        let looked_at = !plan.onlookers.is_empty();
        Self {
            law,
            state: law.new_state(),
            shadows: looked_at.then(|| Box::new(Shadows::new(&plan.onlookers))),
        }
    }

    /// The law itself, for a call that nobody else is to see.
    pub fn decides(&self) -> &'static Law {
        self.law
    }

    /// The law's memory.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Those that look on.
    pub fn shadows(&self) -> Option<&Shadows> {
        self.shadows.as_deref()
    }

    /// A new connection, with a memory that is new.
    pub fn init(&mut self, plan: &Plan, start: &abi::Start, control: &mut abi::Control) {
        self.state = self.law.new_state();
        if let Some(shadows) = &mut self.shadows {
            shadows.init(start, control);
        }
        self.law.init(&mut self.state, &plan.params, start, control);
    }

    #[inline]
    pub fn on_send(&mut self, plan: &Plan, send: &mut abi::Send, control: &mut abi::Control) {
        if let Some(shadows) = &mut self.shadows {
            shadows.on_send(send, control);
        }
        self.law.on_send(&mut self.state, &plan.params, send, control);
    }

    #[inline]
    pub fn on_ack(&mut self, plan: &Plan, ack: &abi::Ack, control: &mut abi::Control) {
        if let Some(shadows) = &mut self.shadows {
            shadows.on_ack(ack, control);
        }
        self.law.on_ack(&mut self.state, &plan.params, ack, control);
    }

    pub fn on_loss(&mut self, plan: &Plan, ack: &abi::Ack, cause: u32, control: &mut abi::Control) {
        if let Some(shadows) = &mut self.shadows {
            shadows.on_loss(ack, cause, control);
        }
        self.law.on_loss(&mut self.state, &plan.params, ack, cause, control);
    }

    pub fn on_rto(&mut self, plan: &Plan, ack: &abi::Ack, control: &mut abi::Control) {
        if let Some(shadows) = &mut self.shadows {
            shadows.on_rto(ack, control);
        }
        self.law.on_rto(&mut self.state, &plan.params, ack, control);
    }

    pub fn on_restart(&mut self, plan: &Plan, now_us: u64, idle_us: u64, control: &mut abi::Control) {
        if let Some(shadows) = &mut self.shadows {
            shadows.on_restart(now_us, idle_us, control);
        }
        self.law
            .on_restart(&mut self.state, &plan.params, now_us, idle_us, control);
    }

    pub fn on_lost(&mut self, plan: &Plan, lost: &abi::Lost, control: &mut abi::Control) {
        if let Some(shadows) = &mut self.shadows {
            shadows.on_lost(lost, control);
        }
        self.law.on_lost(&mut self.state, &plan.params, lost, control);
    }

    pub fn on_undo(&mut self, plan: &Plan, ack: &abi::Ack, cause: u32, control: &mut abi::Control) {
        if let Some(shadows) = &mut self.shadows {
            shadows.on_undo(ack, cause, control);
        }
        self.law.on_undo(&mut self.state, &plan.params, ack, cause, control);
    }
}
