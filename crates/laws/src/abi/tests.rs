//! The mirror against the C compiler.

use std::ffi::CStr;

use super::*;

#[repr(C)]
struct Row {
    name: *const c_char,
    place: u64,
    size: u64,
}

unsafe extern "C" {
    static fadelab_law_layout: Row;
}

/// What the C compiler says, row by row.
fn from_c() -> Vec<(String, u64, u64)> {
    let first = &raw const fadelab_law_layout;
    let mut rows = Vec::new();
    for index in 0.. {
        // SAFETY: the array is static and ends with a NULL name, at which this loop stops.
        let row = unsafe { &*first.add(index) };
        if row.name.is_null() {
            break;
        }
        // SAFETY: every other name is a string literal.
        let name = unsafe { CStr::from_ptr(row.name) };
        rows.push((name.to_str().expect("ASCII").to_owned(), row.place, row.size));
    }
    rows
}

fn sorted(mut rows: Vec<(String, u64, u64)>) -> Vec<(String, u64, u64)> {
    rows.sort();
    rows
}

#[test]
fn layout_is_that_of_the_c_compiler() {
    // Goal: no struct, field or enumerator of law.h is missing here, moved, resized or renumbered.
    let here = [layout(), enumerators()].concat();
    assert!(here.len() > 200, "the list covers the whole header");
    let (c, rust) = (sorted(from_c()), sorted(here));
    for (c, rust) in c.iter().zip(&rust) {
        assert_eq!(c, rust, "left: C, right: Rust");
    }
    assert_eq!(c.len(), rust.len());
}
