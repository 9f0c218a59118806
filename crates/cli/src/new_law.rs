//! `fadelab new-law`: a header to begin with, which compiles and runs as it is.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use fadelab_lab::Failure;

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
    fn template(self) -> &'static str {
        match self {
            Self::Sender => include_str!("../templates/sender.h"),
            Self::Router => include_str!("../templates/router.h"),
            Self::Capacity => include_str!("../templates/capacity.h"),
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
    let file = PathBuf::from(format!("{name}.h"));
    fadelab_laws::own::check_name(&file).map_err(|error| Failure::Invalid(error.to_string()))?;
    let text = args
        .role
        .template()
        .replace("newlaw", name)
        .replace("NEWLAW", &name.to_uppercase());
    let created = OpenOptions::new().write(true).create_new(true).open(&file);
    let mut created = created.map_err(|error| {
        let why = if error.kind() == ErrorKind::AlreadyExists {
            "exists already; take another name or remove it".to_owned()
        } else {
            format!("cannot be created: {error}")
        };
        Failure::Invalid(format!("{}: {why}", file.display()))
    })?;
    created.write_all(text.as_bytes()).map_err(|error| {
        // What is there of it would be in the way of the next attempt.
        let _ = fs::remove_file(&file);
        Failure::Failed(format!("{}: cannot be written: {error}", file.display()))
    })?;
    let shown = shell::quoted(&format!("./{}", file.display()));
    output::print(&format!(
        "{}: it runs as it is\n  fadelab run scenarios/dumbbell54.toml {}\ndocs/own-law.md goes on from here\n",
        file.display(),
        args.role.run(name, &shown)
    ))
}
