//! Takes the chart library of the page from where npm put it.

use std::path::Path;
use std::{env, fs, process};

const FILES: [&str; 3] = ["dist/uPlot.iife.min.js", "dist/uPlot.min.css", "LICENSE"];

fn main() {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let out = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let library = Path::new(&manifest).join("../../web/node_modules/uplot");
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
