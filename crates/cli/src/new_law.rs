//! `fadelab new-law`: a header to begin with, which compiles and runs as it is.

use std::path::Path;

use clap::{Args, ValueEnum};
use fadelab_lab::{Failure, own_law};
use fadelab_laws::catalogue;

use crate::{output, shell};

/// Arguments of `fadelab new-law`.
#[derive(Debug, Args)]
pub struct NewLawArgs {
    /// Name of the law and of its file, NAME.h: lower case letters, digits and `_`
    #[arg(value_name = "NAME")]
    name: String,
    /// What the law is for
    #[arg(long, value_enum, default_value_t = Role::Sender)]
    role: Role,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Role {
    /// What a sender does with its window
    Sender,
    /// What a router does with packets and its queue
    Router,
    /// How a router learns what its link can carry
    Capacity,
}

impl Role {
    fn of_catalogue(self) -> catalogue::Role {
        match self {
            Self::Sender => catalogue::Role::Sender,
            Self::Router => catalogue::Role::Router,
            Self::Capacity => catalogue::Role::Capacity,
        }
    }

    /// Arguments of `fadelab run` with which the new law runs.
    fn run(self, name: &str, file: &str) -> String {
        match self {
            Self::Sender => format!("--law {file}"),
            Self::Router => format!("--law {file} --set flow.law=reno+{name}"),
            Self::Capacity => format!("--law {file} --set flow.law=vcp --set router.capacity={name}"),
        }
    }
}

/// Writes the header into the working directory and says what to do with it.
///
/// # Errors
/// A name that no law can have, or a file that exists already.
pub fn new_law(args: &NewLawArgs) -> Result<(), Failure> {
    // People who type the name of the file mean the law in it.
    let name = args.name.strip_suffix(".h").unwrap_or(&args.name);
    let file = own_law::create(Path::new(""), args.role.of_catalogue(), name)?;
    let shown = shell::quoted(&format!("./{}", file.display()));
    output::print(&format!(
        "{}: it runs as it is\n  fadelab run dumbbell54 {}\ndocs/own-law.md in fadelab's sources goes on from here\n",
        file.display(),
        args.role.run(name, &shown)
    ))
}
