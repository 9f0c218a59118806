//! `fadelab kernel clean`.

use std::path::Path;

use fadelab_kernel::clean::{Removed, clean as clean_all};
use fadelab_kernel::kept::{Kept, Purpose};
use fadelab_kernel::router::Claim;
use fadelab_kernel::spaces::described;
use fadelab_lab::Failure;

use crate::output;

/// Removes what no living process and no loaded law stands behind, and says what it was.
///
/// # Errors
/// When something cannot be removed.
pub fn clean() -> Result<(), Failure> {
    let removed = clean_all().map_err(Failure::failed)?;
    if removed.is_empty() {
        return output::print("nothing is left that no process or loaded law stands behind\n");
    }
    let lines: Vec<String> = removed
        .iter()
        .map(|removed| format!("removed {}\n", told(removed)))
        .collect();
    output::print(&lines.concat())
}

fn told(removed: &Removed) -> String {
    match removed {
        Removed::Router(claim) => of_router(claim),
        Removed::Closed(kept, devices) => of_closed(kept, devices),
        Removed::Shaper(device) => {
            let place = device.netns.as_deref().map_or(String::new(), in_space);
            format!(
                "a token bucket filter at {}{place} of which nothing was noted",
                device.name
            )
        }
        Removed::Sender(name) => format!("{name}, which a process was killed while loading"),
        Removed::File(path) => format!("{}, which was of nothing any more", path.display()),
    }
}

fn in_space(netns: &Path) -> String {
    format!(" in {}", described(netns))
}

fn of_router(claim: &Claim) -> String {
    let mut parts = vec!["its note".to_owned()];
    if claim.is_shaped() {
        parts.push("a token bucket filter".to_owned());
    }
    let filters: Vec<&str> = claim.filters().collect();
    if !filters.is_empty() {
        parts.push(format!("filters at {}", filters.join(", ")));
    }
    let place = claim.netns.as_deref().map_or(String::new(), in_space);
    format!(
        "what router law {} at {}{place} left when process {} was killed: {}",
        claim.law,
        claim.device,
        claim.owner.pid,
        parts.join(", ")
    )
}

/// What closes devices for a killed router or gateway, in words that `list` uses too.
pub fn of_closed(kept: &Kept, devices: &[String]) -> String {
    let place = kept.netns.as_deref().map_or(String::new(), in_space);
    let Kept { law, device, owner, .. } = kept;
    match &kept.purpose {
        Purpose::Edges => format!(
            "the edges of router law {law} at {device}{place}, left closed by the killed process {}: {}",
            owner.pid,
            devices.join(", ")
        ),
        Purpose::Guard { tunnels } => format!(
            "the guard of gateway's law {law} at {device}{place}, left by the killed process {}: tunnels {}",
            owner.pid,
            tunnels.join(", ")
        ),
    }
}
