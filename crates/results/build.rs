//! Takes the chart library of the page from where npm put it, and has npm fetch it where it is missing.

use std::path::Path;
use std::{env, fs, process};

const FILES: [&str; 3] = ["dist/uPlot.iife.min.js", "dist/uPlot.min.css", "LICENSE"];

fn main() {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let out = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let library = Path::new(&manifest).join("../../web/node_modules/uplot");
    if !library.is_dir() {
        fetch(&Path::new(&manifest).join("../../web"));
    }
    for file in FILES {
        let from = library.join(file);
        println!("cargo::rerun-if-changed={}", from.display());
        let to = Path::new(&out).join(from.file_name().expect("each file has a name"));
        if let Err(error) = fs::copy(&from, to) {
            println!(
                "cargo::error=the chart library of report.html is missing ({}: {error}); \
                 run `npm ci --prefix web` at the top of the tree, or `make`",
                from.display()
            );
            process::exit(1);
        }
    }
}

/// Does what the Makefile does, for those who build with cargo alone. What fails is told when the files are missed.
fn fetch(web: &Path) {
    let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    let done = process::Command::new("npm").args(arguments).current_dir(web).status();
    match done {
        Ok(status) if status.success() => {}
        Ok(status) => println!("cargo::warning=`npm ci` in {} ended with {status}", web.display()),
        Err(error) => println!("cargo::warning=npm cannot be started ({error}); Debian has it in the package npm"),
    }
}
