//! What only flows of a kind have, so that others have no room for it.

use crate::tcp::client::Client;
use crate::tcp::plan::{Arrivals, Plan};

/// What only flows of a kind have.
#[derive(Debug)]
pub(super) enum Beside {
    Nothing,
    /// How many were sent and came.
    Datagrams(Box<Datagrams>),
    /// Who asks for downloads at the receiving end.
    Client(Box<Client>),
}

#[derive(Debug, Default)]
pub(super) struct Datagrams {
    pub sent: u64,
    pub received: u64,
}

impl Beside {
    pub fn of(plan: &Plan) -> Self {
        match plan.arrivals {
            Arrivals::Datagrams => Self::Datagrams(Box::default()),
            Arrivals::Download => Self::Client(Box::new(Client::new(plan))),
            Arrivals::Plain | Arrivals::ForLaw => Self::Nothing,
        }
    }

    pub fn client(&self) -> Option<&Client> {
        match self {
            Self::Client(client) => Some(client),
            _ => None,
        }
    }

    pub fn client_mut(&mut self) -> Option<&mut Client> {
        match self {
            Self::Client(client) => Some(client),
            _ => None,
        }
    }

    pub fn datagrams_mut(&mut self) -> Option<&mut Datagrams> {
        match self {
            Self::Datagrams(datagrams) => Some(datagrams),
            _ => None,
        }
    }
}
