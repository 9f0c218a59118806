//! `fadelab kernel build`: a law with its programs, for machines without a compiler.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use fadelab_kernel::container::{self, EXTENSION};
use fadelab_lab::{Failure, own_law};

use crate::output;

/// Arguments of `fadelab kernel build`.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// A law by name (fadelab laws lists them), or a header of your own: ./mine.h
    law: String,
    /// The file to write [default: LAW.fade]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Compiles a law for each shape of a kernel, and writes all of it into one file.
///
/// # Errors
/// A law that is not there or does not compile, or a file that cannot be written.
pub fn build(args: &BuildArgs) -> Result<(), Failure> {
    let law = own_law::named(&args.law, &|remark| output::warn(&[remark]))?;
    let file = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(&law).with_extension(EXTENSION));
    let is_ours = file.extension().is_some_and(|extension| extension == EXTENSION);
    if !is_ours {
        return Err(Failure::Invalid(format!(
            "--out {}: the name of a container ends with .{EXTENSION}, by which `fadelab kernel load` knows it",
            file.display()
        )));
    }
    output::tell(format!("compiling {law} for each shape of a kernel ..."));
    let made = container::make(&law).map_err(Failure::invalid)?;
    let shown = file.display();
    fs::write(&file, &made.bytes).map_err(|error| Failure::Failed(format!("{shown}: {error}")))?;
    let mut loads = Vec::new();
    if made.ends {
        loads.push(format!("`fadelab kernel load {shown}`"));
    }
    if made.routers {
        loads.push(format!("`fadelab kernel router --law {shown}`"));
    }
    output::print(&format!(
        "{shown}: {law} for Linux 6.1 and later, {} programs, {} kB, parameters are set when it is loaded\n  {}\n\
         to load it where there is no compiler: {}\n",
        made.objects.len(),
        made.bytes.len().div_ceil(1000),
        made.objects.join("\n  "),
        loads.join(" and ")
    ))
}

/// The name of a law as it was given: a name, a header, which is compiled and registered first, or a container, whose
/// programs are taken.
///
/// # Errors
/// A header or container that cannot be used.
pub fn law_named(given: &str) -> Result<String, Failure> {
    if Path::new(given)
        .extension()
        .is_some_and(|extension| extension == EXTENSION)
    {
        return container::open(Path::new(given)).map_err(Failure::invalid);
    }
    own_law::named(given, &|remark| output::warn(&[remark]))
}
