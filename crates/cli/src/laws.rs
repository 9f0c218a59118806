//! `fadelab laws`: what is registered, one line each.

use std::fmt::Write;

use clap::{Args, ValueEnum};
use fadelab_lab::Failure;
use fadelab_laws::catalogue::{self, Entry, Role};

use crate::output;

/// Arguments of `fadelab laws`.
#[derive(Debug, Args)]
pub struct LawsArgs {
    /// Only those of one role
    #[arg(long, value_enum)]
    role: Option<RoleArg>,
}

/// A role, as the command line spells it.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum RoleArg {
    /// Senders
    Sender,
    /// The receivers' halves of senders' laws
    Receiver,
    /// Routers
    Router,
    /// How a router learns what its link can carry
    Capacity,
    /// What gateways carry between the headers of a tunnel
    Gateway,
    /// How packets carry feedback
    Wire,
    /// What laws share
    Part,
}

impl From<RoleArg> for Role {
    fn from(role: RoleArg) -> Self {
        match role {
            RoleArg::Sender => Self::Sender,
            RoleArg::Receiver => Self::Receiver,
            RoleArg::Router => Self::Router,
            RoleArg::Capacity => Self::Capacity,
            RoleArg::Gateway => Self::Gateway,
            RoleArg::Wire => Self::Wire,
            RoleArg::Part => Self::Part,
        }
    }
}

/// Prints the registered laws: name, summary, needs and source. Shared parts are shown where they are asked for.
///
/// # Errors
/// When the output cannot be written.
pub fn laws(args: &LawsArgs) -> Result<(), Failure> {
    let entries = catalogue::entries();
    let asked = args.role.map(Role::from);
    let mut text = String::new();
    for role in Role::ALL {
        let is_asked = asked.map_or(role != Role::Part, |asked| asked == role);
        let of_role: Vec<&Entry> = entries.iter().filter(|entry| entry.role == role && is_asked).collect();
        if !of_role.is_empty() {
            let _ = writeln!(text, "{}\n", table(role, &of_role));
        }
    }
    text.push_str("fadelab explain NAME tells the equations, parameters and divergences of one.\n");
    output::print_told(&text)
}

fn table(role: Role, entries: &[&Entry]) -> String {
    let mut table = output::table();
    let has = |text: fn(&Entry) -> String| entries.iter().any(|entry| !text(entry).is_empty());
    let (has_needs, has_source) = (has(|entry| entry.needs.clone()), has(Entry::source));
    let row = |name: &str, summary: &str, needs: &str, source: &str| {
        let mut cells = vec![name.to_owned(), summary.to_owned()];
        cells.extend(has_needs.then(|| needs.to_owned()));
        cells.extend(has_source.then(|| source.to_owned()));
        cells
    };
    let needs = if role == Role::Capacity { "gives" } else { "needs" };
    table.set_header(row(role.heading(), "what it does", needs, "source"));
    for entry in entries {
        table.add_row(row(entry.name, &entry.summary, &entry.needs, &entry.source()));
    }
    output::with_bold_header(&mut table)
}
