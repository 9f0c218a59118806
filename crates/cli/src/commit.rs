//! The commit that the program was built from, for `--version` and for the manifests of results.

use std::hint::black_box;
use std::sync::LazyLock;

/// As long whatever it says: the program that runs in a guest has blanks there instead.
const STAMP_BYTES: usize = 64;

/// Hash and date.
static STAMP: [u8; STAMP_BYTES] = padded(concat!(env!("FADELAB_COMMIT"), " ", env!("FADELAB_COMMIT_DATE")));

const fn padded(text: &str) -> [u8; STAMP_BYTES] {
    let mut stamp = [b' '; STAMP_BYTES];
    let mut place = 0;
    while place < text.len() {
        stamp[place] = text.as_bytes()[place];
        place += 1;
    }
    stamp
}

/// The bytes that name the commit in the program: nothing else in it does.
pub fn stamp() -> &'static [u8] {
    // Read where it lies, and not taken apart by the optimiser.
    black_box(&STAMP)
}

/// Hash, with a `+` where the sources had been changed since, and date; `unknown` where git did not know.
pub fn named() -> (&'static str, &'static str) {
    let text = std::str::from_utf8(stamp()).unwrap_or_default().trim_end();
    text.split_once(' ').unwrap_or((text, ""))
}

/// What `--version` says behind the name.
pub fn version() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let (hash, date) = named();
        format!("{} (commit {hash} of {date})", env!("CARGO_PKG_VERSION"))
    });
    &TEXT
}
