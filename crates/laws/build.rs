//! Compiles each registered law and generates the registry, so that a new law is one header and one line.

#[path = "build/catalogue.rs"]
mod catalogue;
#[path = "build/header.rs"]
mod header;
#[path = "build/headers.rs"]
mod headers;
#[path = "build/layout.rs"]
mod layout;
#[path = "build/mirror.rs"]
mod mirror;
#[path = "build/registry.rs"]
mod registry;

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Flags for C: warnings are errors, and outside release builds undefined behaviour traps.
fn compiler(laws: &Path) -> cc::Build {
    let mut build = cc::Build::new();
    build
        .include(laws)
        .include("guard")
        .define("_POSIX_C_SOURCE", "200809L")
        .std("c11")
        .opt_level(2)
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true);
    if env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        build
            .flag("-fsanitize=undefined")
            .flag("-fsanitize-undefined-trap-on-error");
    }
    build
}

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("../..");
    let root = fs::canonicalize(root).expect("the workspace exists");
    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    let laws = root.join("laws");
    let mut folders = vec![laws.clone()];
    println!("cargo:rerun-if-changed={}", laws.display());
    if env::var("CARGO_FEATURE_TEST_LAWS").is_ok() {
        folders.push(root.join("tests/laws"));
        println!("cargo:rerun-if-changed={}", root.join("tests/laws").display());
    }
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build");
    println!("cargo:rerun-if-changed=guard");
    let guard = root.join("crates/laws/guard");

    let entries: Vec<_> = folders.iter().flat_map(|folder| registry::read(folder)).collect();
    let mut build = compiler(&laws);
    for entry in &entries {
        let file = out.join(format!("law_{}_{}.c", entry.role, entry.name));
        fs::write(&file, entry.c_source()).expect("OUT_DIR is writable");
        build.file(file);
        if !entry.is_law() {
            continue;
        }
        let file = out.join(format!("explained_{}_{}.c", entry.role, entry.name));
        fs::write(&file, entry.c_source_explained()).expect("OUT_DIR is writable");
        build.file(file);
    }
    let layout_c = out.join("law_layout.c");
    let interface = [
        "base.h",
        "declare.h",
        "law.h",
        "law_path.h",
        "codec.h",
        "host/router.h",
        "host/instance.h",
    ]
    .map(|name| fs::read_to_string(laws.join(name)));
    let header = interface
        .map(|text| text.expect("the interface of laws exists"))
        .concat();
    fs::write(&layout_c, layout::c_source(&header)).expect("OUT_DIR is writable");
    build.file(layout_c);
    fs::write(out.join("mirror.rs"), mirror::rust_source(&header)).expect("OUT_DIR is writable");
    build.file("build/fixed_export.c");
    build.compile("fadelab_laws_c");
    fs::write(out.join("registry.rs"), registry::rust_source(&entries)).expect("OUT_DIR is writable");
    let headers = catalogue::rust_source(&root, &registry::read(&laws));
    fs::write(out.join("catalogue.rs"), headers).expect("OUT_DIR is writable");
    fs::write(out.join("headers.rs"), headers::rust_source(&laws, &guard)).expect("OUT_DIR is writable");
}
