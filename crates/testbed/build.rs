//! Compiles what is loaded into QEMU.

use std::env;
use std::path::Path;

fn main() {
    let source = "qemu/turns.c";
    println!("cargo::rerun-if-changed={source}");
    let out = env::var("OUT_DIR").expect("cargo sets it");
    let mut compiler = cc::Build::new()
        .std("gnu11")
        .opt_level(2)
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .get_compiler()
        .to_command();
    let done = compiler
        .args(["-shared", "-fPIC", "-o"])
        .arg(Path::new(&out).join("turns.so"))
        .args([source, "-ldl"])
        .status();
    assert!(done.is_ok_and(|status| status.success()), "{compiler:?} fails");
}
