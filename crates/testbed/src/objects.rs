//! Laws for the guest: objects are compiled on the host, which has a compiler.

use fadelab_kernel::router::object::{Recipe, compile};
use fadelab_kernel::sender::Unit;
use fadelab_kernel::{Version, gateway};
use fadelab_run::tunnel::Memory;

use crate::Error;
use crate::translate::Draft;

/// Path of the router's law that is recorded, if one is.
pub const RECORDED_ROUTER: &str = "/objects/router_recorded.o";
/// The same of the gateway's law.
pub const RECORDED_GATEWAY: &str = "/objects/gateway_recorded.o";

/// Compiles all laws of a draft for a kernel; gives the paths of the objects in the guest and their bytes.
///
/// # Errors
/// There is no compiler, or a law does not compile.
pub fn compiled(draft: &Draft<'_>, version: Version) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let mut objects = Vec::new();
    for ((law, params), planned) in draft.senders.iter().zip(&draft.plan.senders) {
        let unit = Unit {
            params: (*params).clone(),
            name: planned.name.clone(),
            record: planned.calls.is_some(),
            ..Unit::new(law, version)
        };
        objects.push((planned.object.clone(), unit.compile()?));
    }
    for (path, router) in &draft.routers {
        let recipe = Recipe {
            law: router.law,
            params: &router.params,
            part: router.capacity,
            part_params: &router.capacity_params,
            kernel: version,
            record: path == RECORDED_ROUTER,
        };
        objects.push((path.clone(), compile(&recipe)?));
    }
    for (path, gateway) in &draft.gateways {
        let recipe = gateway::object::Recipe {
            law: gateway.spec.law,
            params: &gateway.spec.params,
            wire: gateway::object::wire_of(gateway.spec.law).expect("the draft has looked"),
            record: path == RECORDED_GATEWAY,
            by_flow: gateway.memory == Memory::Flow,
        };
        objects.push((path.clone(), gateway::object::compile(&recipe)?));
    }
    Ok(objects)
}
