//! `router.capacity`: how the routers learn what their link can carry.

use fadelab_laws::{Capacity, Params, Router};
use fadelab_path::spec::CapacitySpec;

use crate::error::{Refusal, one_of};
use crate::key::{Absent::Is, Declared};
use crate::kind::Kind;
use crate::laws;
use crate::reader::{Reader, chosen};
use crate::topology::Topology;
use crate::topology::changes::{self, Told};

/// A capacity part with its parameters.
pub type Part = (&'static Capacity, Params);

/// Which capacity part each kind of link gets.
#[derive(Clone)]
pub struct CapacityParts {
    /// For hops of constant rate.
    pub constant: Part,
    /// For hops that replay a trace.
    pub trace: Part,
    /// For access links.
    pub access: Part,
    /// What is configured.
    pub told: Told,
}

/// Reads the key. By default what is constant is configured, and what is recorded is measured.
pub fn read(
    reader: &mut Reader<'_>,
    routers: &[&'static Router],
    topology: &Topology,
) -> Result<CapacityParts, Refusal> {
    let parts = fadelab_laws::capacities();
    let mut choices = vec![("auto", None)];
    choices.extend(parts.iter().map(|part| (part.name(), Some(part))));
    let word = reader.take(TABLE, &CAPACITY)?;
    let chosen = chosen(&word, &choices).map_err(|why| reader.refuse(PATH, &why))?;
    let told = changes::read_told(reader)?;
    let has_trace = topology
        .hops
        .iter()
        .any(|hop| is_trace(&hop.capacity) || is_trace(&hop.capacity_back));
    let configured = fadelab_laws::capacity("configured").expect("it is registered");
    let constant = chosen.unwrap_or(configured);
    let trace = match chosen {
        _ if !has_trace => constant,
        Some(part) if part.name() == configured.name() && !matches!(told, Told::Own(_)) => {
            let why = "nothing is configured for a link that replays a trace: take \"measured\" or \"auto\", or give \
                       a rate in router.told";
            return Err(reader.refuse(PATH, why));
        }
        Some(part) => part,
        None => fadelab_laws::capacity("measured").expect("it is registered"),
    };
    for router in routers {
        for part in [constant, trace] {
            let needs_capacity = router.flags() & fadelab_laws::abi::ROUTER_NEEDS_CAPACITY != 0;
            check(router.name(), needs_capacity, part.name(), part.knows_capacity())
                .map_err(|why| reader.refuse(PATH, &why))?;
        }
    }
    Ok(CapacityParts {
        constant: with_params(reader, constant)?,
        trace: with_params(reader, trace)?,
        access: (configured, configured.default_params()),
        told,
    })
}

const TABLE: &str = "router";
const PATH: &str = "router.capacity";

pub(crate) const CAPACITY: Declared<String> = Declared::new(
    "capacity",
    Is("\"auto\""),
    "how routers learn what their link can carry; `\"auto\"` is `\"configured\"` for constant links and \
     `\"measured\"` for traces",
)
.of_kind(Kind::Capacity);

fn is_trace(capacity: &CapacitySpec) -> bool {
    matches!(capacity, CapacitySpec::Trace(_))
}

/// Refuses a router that must know a capacity beside a part that only knows what is spare.
fn check(router: &str, needs_capacity: bool, part: &str, knows_capacity: bool) -> Result<(), String> {
    if !needs_capacity || knows_capacity {
        return Ok(());
    }
    let parts = fadelab_laws::capacities().iter();
    let mut knowing: Vec<&str> = parts.filter(|part| part.knows_capacity()).map(Capacity::name).collect();
    knowing.push("auto");
    Err(format!(
        "router {router} must know the capacity of its link and `{part}` does not: allowed is {}",
        one_of(&knowing)
    ))
}

fn with_params(reader: &mut Reader<'_>, part: &'static Capacity) -> Result<Part, Refusal> {
    let table = format!("capacity.{}", part.name());
    laws::params(reader, &table, part.params(), &[], |pairs| part.params_from(pairs)).map(|params| (part, params))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_that_divides_a_capacity_needs_one() {
        // Goal: only the pair of a router that needs a capacity and a part that knows none is refused.
        for (needs, knows) in [(false, false), (false, true), (true, true)] {
            assert_eq!(check("vcp", needs, "blind", knows), Ok(()));
        }
        let refused = check("vcp", true, "blind", false).unwrap_err();
        assert!(
            refused.contains("router vcp") && refused.contains("`blind`"),
            "{refused}"
        );
        assert!(refused.contains("configured"), "{refused}");
    }
}
