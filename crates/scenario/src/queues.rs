//! `router.queues` and `router.quantum`: one queue a link, one in which ACKs go first, or fair queues, each with the
//! router's law to itself.

use fadelab_laws::{Router, abi};
use fadelab_path::spec::Queues;

use crate::document::{Raw, quoted};
use crate::error::Refusal;
use crate::key::{Absent::Is, Declared};
use crate::kind::Kind;
use crate::reader::Reader;
use crate::unit::{Scalar, Size};

/// What a router's name begins with where its law stands in fair queues, as in `fq_codel`.
pub const FAIR_PREFIX: &str = "fq_";

/// Number of queues of FQ-CoDel (RFC 8290, section 5.2).
const HASHED: u32 = 1024;

pub(crate) const QUEUES: Declared<Division> = Declared::new(
    "queues",
    Is("\"auto\""),
    "one queue, one in which ACKs go before data, or queues that take turns, each with the law to itself: one for \
     each flow, or a number of them among which a hash divides the flows; `\"auto\"`: 1024 where the router is \
     `fq_NAME`, ACKs first where it is `vcp` and the transport `vcp-release`, else one",
);

/// By default the quantum of FQ-CoDel (RFC 8290, section 5.2).
pub(crate) const QUANTUM: Declared<Size> = Declared::new(
    "quantum",
    Is("\"1514 B\""),
    "on-air bytes that each of several queues may send in its turn, 64 B to 1 MB",
)
.checked(|size| match size.0 {
    64..=1_000_000 => Ok(size),
    _ => Err("allowed is \"64 B\" to \"1 MB\"".to_owned()),
});

/// A router's name without the prefix, and whether it had it. A law may have a name of its own that begins so.
pub fn split(name: &str) -> (&str, bool) {
    match name.strip_prefix(FAIR_PREFIX) {
        Some(law) if fadelab_laws::router(name).is_none() => (law, true),
        _ => (name, false),
    }
}

/// `router.queues`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Division {
    Auto,
    One,
    AcksFirst,
    PerFlow,
    Hashed(u32),
}

impl Scalar for Division {
    const KIND: Kind = Kind::Or(
        &Kind::Or(
            &Kind::Or(&Kind::Or(&Kind::Whole(1, 65_536), "per flow"), "acks first"),
            "one",
        ),
        "auto",
    );

    fn read(raw: &Raw) -> Result<Self, String> {
        let allowed = "allowed is \"auto\", \"one\", \"acks first\", \"per flow\", or a number of hashed queues from 1 \
                       to 65536";
        match raw {
            Raw::Text(text) if text == "auto" => Ok(Self::Auto),
            Raw::Text(text) if text == "one" => Ok(Self::One),
            Raw::Text(text) if text == "acks first" => Ok(Self::AcksFirst),
            Raw::Text(text) if text == "per flow" => Ok(Self::PerFlow),
            Raw::Number(text) => match text.parse() {
                Ok(queues @ 1..=65_536) => Ok(Self::Hashed(queues)),
                _ => Err(allowed.to_owned()),
            },
            _ => Err(allowed.to_owned()),
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Auto => quoted("auto"),
            Self::One => quoted("one"),
            Self::AcksFirst => quoted("acks first"),
            Self::PerFlow => quoted("per flow"),
            Self::Hashed(queues) => queues.to_string(),
        }
    }
}

/// How the queues of a scenario's links are divided.
#[derive(Clone, Copy, Debug)]
pub struct Queueing {
    division: Division,
    quantum_bytes: u32,
    /// Whether the router of the run stands in fair queues by its name.
    run_is_fair: bool,
    /// Whether the transport's preset has ACKs go first at VCP's routers.
    vcp_acks_first: bool,
}

impl Queueing {
    /// Queues of a link with a law, whose router's name says whether they are fair; `None`: it is that of the run.
    pub fn of(&self, is_fair: Option<bool>, law: &Router) -> Queues {
        let fair = |hashed| Queues::Fair {
            hashed,
            quantum_bytes: self.quantum_bytes,
        };
        match self.division {
            Division::Auto if is_fair.unwrap_or(self.run_is_fair) => fair(Some(HASHED)),
            Division::Auto if self.vcp_acks_first && is_of_vcp(law) => Queues::AcksFirst,
            Division::Auto | Division::One => Queues::One,
            Division::AcksFirst => Queues::AcksFirst,
            Division::PerFlow => fair(None),
            Division::Hashed(queues) => fair(Some(queues)),
        }
    }
}

/// Whether it is VCP's router, or one of the two with a finer load that stand where VCP's would.
fn is_of_vcp(law: &Router) -> bool {
    [abi::WIRE_VCP, abi::WIRE_PAIR, abi::WIRE_DPCP].contains(&law.wire()) && law.queues() == 0
}

/// Reads the keys. `routers` are the laws in use, each with whether its name asks for fair queues.
pub(crate) fn read(
    reader: &mut Reader<'_>,
    run_is_fair: bool,
    vcp_acks_first: bool,
    routers: &[(&'static Router, bool)],
) -> Result<Queueing, Refusal> {
    let path = "router.queues";
    let division = reader.take("router", &QUEUES)?;
    for &(law, by_name) in routers {
        if by_name && matches!(division, Division::One | Division::AcksFirst) {
            let why = format!(
                "`fq_{}` stands for fair queues: take \"auto\" or the router `{0}`",
                law.name()
            );
            return Err(reader.refuse(path, &why));
        }
        if law.queues() > 0 && (by_name || !matches!(division, Division::Auto | Division::One)) {
            let why = format!(
                "router {} has {} queues of its own, which cannot stand in others: take \"auto\"",
                law.name(),
                law.queues()
            );
            return Err(reader.refuse(path, &why));
        }
        let is_fair = by_name || matches!(division, Division::PerFlow | Division::Hashed(_));
        if is_fair && !suits_fair_queues(law) {
            return Err(reader.refuse(path, &why_not_fair(law)));
        }
    }
    let is_used = match division {
        Division::Auto => routers.iter().any(|router| router.1),
        Division::One | Division::AcksFirst => false,
        Division::PerFlow | Division::Hashed(_) => true,
    };
    // Where nothing takes turns the key is not read, and the quantum not asked.
    let quantum_bytes = if is_used {
        reader.take("router", &QUANTUM)?.0 as u32
    } else {
        0
    };
    Ok(Queueing {
        division,
        quantum_bytes,
        run_is_fair,
        vcp_acks_first,
    })
}

/// Whether a law can stand in each of several queues: one that shares out the rate of the link, or hears a clock that
/// belongs to the link, cannot.
fn suits_fair_queues(law: &Router) -> bool {
    let shares = abi::ROUTER_NEEDS_CAPACITY | abi::ROUTER_FEEDBACK;
    law.timers() == 0 && law.flags() & shares == 0 && law.wire() == abi::WIRE_NONE && law.queues() == 0
}

fn why_not_fair(law: &Router) -> String {
    let known = fadelab_laws::routers().iter().filter(|law| suits_fair_queues(law));
    let known: Vec<&str> = known.map(Router::name).collect();
    format!(
        "router {} measures and divides the rate of the whole link and means nothing in one of several queues: fair \
         queues take {}",
        law.name(),
        crate::error::one_of(&known)
    )
}
