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
}

/// The calls of a law, each with what it is given. Where somebody looks on they are calls of their own, so that the
/// others' take one look more and no register.
macro_rules! calls {
    ($($call:ident($($given:ident: $kind:ty),+);)+) => {
        impl Asked {
            $(
                #[inline]
                pub fn $call(&mut self, plan: &Plan, $($given: $kind,)+ control: &mut abi::Control) {
                    #[cold]
                    #[inline(never)]
                    fn shown(asked: &mut Asked, plan: &Plan, $($given: $kind,)+ control: &mut abi::Control) {
                        if let Some(shadows) = &mut asked.shadows {
                            shadows.$call($($given,)+ control);
                        }
                        asked.law.$call(&mut asked.state, &plan.params, $($given,)+ control);
                    }
                    if self.shadows.is_some() {
                        return shown(self, plan, $($given,)+ control);
                    }
                    self.law.$call(&mut self.state, &plan.params, $($given,)+ control);
                }
            )+
        }
    };
}

calls! {
    on_send(send: &mut abi::Send);
    on_ack(ack: &abi::Ack);
    on_loss(ack: &abi::Ack, cause: u32);
    on_rto(ack: &abi::Ack);
    on_restart(now_us: u64, idle_us: u64);
    on_lost(lost: &abi::Lost);
    on_undo(ack: &abi::Ack, cause: u32);
}
