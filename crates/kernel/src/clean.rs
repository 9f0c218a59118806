//! What is left of fadelab in this machine that no living process and no loaded law stands behind, and its removal.

use std::path::PathBuf;

use crate::compiled;
use crate::device::Device;
use crate::kept::{self, Kept};
use crate::object::LoadError;
use crate::router::{self, Claim};
use crate::store;

/// Something that was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removed {
    /// What a killed router had changed, but for its edges.
    Router(Claim),
    /// What closed devices for a killed router or gateway, with these.
    Closed(Kept, Vec<String>),
    /// A token bucket filter of ours of which nothing is noted.
    Shaper(Device),
    /// A law that a process was killed while loading, by the name of its congestion control.
    Sender(String),
    /// Notes and mounts in `/run/fadelab` that are of nothing any more.
    File(PathBuf),
}

/// Removes all of it; gives what there was.
///
/// # Errors
/// When something cannot be removed; what was removed before is not told then.
pub fn clean() -> Result<Vec<Removed>, LoadError> {
    let (claims, files) = router::clear_leftovers();
    let mut removed: Vec<Removed> = claims.into_iter().map(Removed::Router).collect();
    removed.extend(
        kept::remove_left(|_| true)
            .into_iter()
            .map(|(kept, devices)| Removed::Closed(kept, devices)),
    );
    removed.extend(router::remove_stray_shapers().into_iter().map(Removed::Shaper));
    removed.extend(store::remove_leftovers()?.into_iter().map(Removed::Sender));
    // Nothing that anybody would miss, and so nothing to tell.
    compiled::forget();
    removed.extend(files.into_iter().chain(store::remove_strays()).map(Removed::File));
    Ok(removed)
}
