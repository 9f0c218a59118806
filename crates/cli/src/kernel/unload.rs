//! `fadelab kernel unload`.

use clap::Args;
use fadelab_kernel::store;
use fadelab_lab::Failure;

use crate::output;

/// Arguments of `fadelab kernel unload`.
#[derive(Debug, Args)]
pub struct UnloadArgs {
    /// Laws, by their own name or that of their congestion control
    #[arg(required_unless_present = "all", value_name = "LAW")]
    pub laws: Vec<String>,
    /// All of them
    #[arg(long, conflicts_with = "laws")]
    pub all: bool,
}

/// Takes laws away. Sockets that use one keep it until they close.
///
/// # Errors
/// A law that is not loaded, or that cannot be removed.
pub fn unload(args: &UnloadArgs) -> Result<(), Failure> {
    let entries = store::entries();
    let is_asked =
        |entry: &store::Entry| args.all || args.laws.iter().any(|law| *law == entry.law || *law == entry.name);
    let stranger = args
        .laws
        .iter()
        .find(|law| entries.iter().all(|entry| entry.law != **law && entry.name != **law));
    if let Some(law) = stranger {
        let known: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        let known = if known.is_empty() {
            "none is".to_owned()
        } else {
            known.join(", ")
        };
        return Err(Failure::Invalid(format!("{law} is not loaded; loaded: {known}")));
    }
    for entry in entries.iter().filter(|entry| is_asked(entry)) {
        store::remove(entry).map_err(Failure::failed)?;
        output::print(&format!("{} is unloaded\n", entry.name))?;
    }
    Ok(())
}
