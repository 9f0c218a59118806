//! `fadelab kernel unload`.

use clap::Args;
use fadelab_kernel::default::{Restored, SYSCTL};
use fadelab_kernel::left::{Users, left};
use fadelab_kernel::store::{self, Removed};
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

/// Takes laws away, and what they were the default of is what it was. Sockets that use one keep it until they close.
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
        let going = left().into_iter().find(|left| left.law == *law || left.name == *law);
        let going = going.map_or_else(String::new, |left| {
            format!(
                "; it was unloaded and goes when nobody uses it any more: {}",
                used(&left.users())
            )
        });
        return Err(Failure::Invalid(format!("{law} is not loaded; loaded: {known}{going}")));
    }
    // What one remembers of another is settled by the one that goes.
    for entry in entries.iter().filter(|entry| is_asked(entry)) {
        let entry = store::read(&entry.name).unwrap_or_else(|| entry.clone());
        let removed = store::remove(&entry).map_err(Failure::failed)?;
        output::print(&told(&entry.name, &removed))?;
    }
    Ok(())
}

fn told(name: &str, removed: &Removed) -> String {
    let mut lines = vec![format!("{name} is unloaded")];
    lines.extend(match &removed.default {
        Restored::Nothing => None,
        Restored::Back(before) => Some(format!("{SYSCTL} is {before} again")),
        Restored::Instead(other) => Some(format!("{SYSCTL} is {other} now: what it was before is gone")),
        Restored::Changed(now) => Some(format!("{SYSCTL} is {now}, which somebody set since, and stays so")),
    });
    if let Some(left) = &removed.left {
        let users = left.users();
        lines.push(format!(
            "it lives on, without feedback, for what uses it: {}",
            used(&users)
        ));
        if !users.defaults.is_empty() {
            lines.push(format!("`sysctl {SYSCTL}=cubic` there ends that for new sockets"));
        }
    }
    lines.join("\n") + "\n"
}

/// Who uses a law that was unloaded, in words.
pub fn used(users: &Users) -> String {
    let sockets = match users.sockets_n {
        0 => None,
        1 => Some("1 socket".to_owned()),
        n => Some(format!("{n} sockets")),
    };
    let defaults = users.defaults.iter().map(|place| format!("the default of {place}"));
    let all: Vec<String> = sockets.into_iter().chain(defaults).collect();
    if all.is_empty() {
        return "something in a namespace that no process is in".to_owned();
    }
    all.join(", ")
}
