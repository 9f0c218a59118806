//! A header to begin with, which compiles and runs as it is.

use crate::catalogue::Role;

/// The header of a new law of that name; `None` of a role that no user's law has.
pub fn skeleton(role: Role, name: &str) -> Option<String> {
    let template = match role {
        Role::Sender => include_str!("../../templates/sender.h"),
        Role::Router => include_str!("../../templates/router.h"),
        Role::Capacity => include_str!("../../templates/capacity.h"),
        Role::Receiver | Role::Gateway | Role::Wire | Role::Part => return None,
    };
    Some(template.replace("newlaw", name).replace("NEWLAW", &name.to_uppercase()))
}
