//! Compiles the parser of packets that the kernel's programs have too.

use std::env;
use std::path::PathBuf;

fn main() {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let laws = root.join("../../laws");
    println!("cargo:rerun-if-changed={}", laws.join("host/packet.h").display());
    println!("cargo:rerun-if-changed={}", laws.join("part/option.h").display());
    println!("cargo:rerun-if-changed=native");
    let mut build = cc::Build::new();
    build
        .include(root.join("native"))
        .include(laws)
        .std("c11")
        .opt_level(2)
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .file("native/packet.c");
    if env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        build
            .flag("-fsanitize=undefined")
            .flag("-fsanitize-undefined-trap-on-error");
    }
    build.compile("fadelab_emu_c");
}
