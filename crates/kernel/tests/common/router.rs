//! Router laws, compiled.

use fadelab_kernel::Version;
use fadelab_kernel::router::object::{Recipe, compile};
use fadelab_laws::{capacity, router};

/// A law with a capacity part and their default parameters, for a kernel.
pub fn compiled(law: &str, part: &str, kernel: Version) -> Vec<u8> {
    of(law, part, kernel, false)
}

/// The same, to be recorded.
pub fn compiled_to_record(law: &str, part: &str, kernel: Version) -> Vec<u8> {
    of(law, part, kernel, true)
}

fn of(law: &str, part: &str, kernel: Version, record: bool) -> Vec<u8> {
    let law = router(law).expect("registered");
    let part = capacity(part).expect("registered");
    let recipe = Recipe {
        law,
        params: &law.default_params(),
        part,
        part_params: &part.default_params(),
        kernel,
        record,
    };
    compile(&recipe).expect("it compiles")
}

/// A law at a link whose capacity is configured, for the running kernel.
pub fn compiled_here(law: &str) -> Vec<u8> {
    compiled(law, "configured", Version::running().expect("a version"))
}
