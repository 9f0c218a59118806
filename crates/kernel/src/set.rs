//! What is set in an object file after it was compiled (`bpf/set.h`).

use object::{Object, ObjectSection, ObjectSymbol};

/// The structure that the kernel is given of a congestion control, and what stands in it for its name.
const CONTROL: &str = "control";
const NO_NAME: &[u8] = b"fade_has_no_name";

/// Most users, and most groups, of `struct allowed` (`bpf/choose.h`).
pub const ALLOWED_MAX: usize = 64;

/// Writes `bytes` to the beginning of a constant.
///
/// # Panics
/// If the object has no such constant, or it is smaller: objects and this are of one build.
pub fn set(object: &mut [u8], name: &str, bytes: &[u8]) {
    let place = place(object, name).unwrap_or_else(|| panic!("the object has a constant {name}"));
    assert!(bytes.len() <= place.len(), "{name} has {} bytes", place.len());
    object[place.start..place.start + bytes.len()].copy_from_slice(bytes);
}

/// The integers of an array.
pub fn set_words(object: &mut [u8], name: &str, words: &[u64]) {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    set(object, name, &bytes);
}

/// The name of a congestion control, where the programs and where the kernel read it.
///
/// # Panics
/// As [`set`]; a name has at most 15 bytes.
pub fn set_name(object: &mut [u8], name: &str) {
    let mut bytes = [0; NO_NAME.len()];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    set(object, "law_name", &bytes);
    let control = place(object, CONTROL).expect("a congestion control has one");
    let at = object[control.clone()]
        .windows(NO_NAME.len())
        .position(|window| window == NO_NAME);
    let start = control.start + at.expect("it has no name yet");
    object[start..start + NO_NAME.len()].copy_from_slice(&bytes);
}

/// Who may choose a law: users and groups by their numbers.
///
/// # Panics
/// As [`set`]; there are at most [`ALLOWED_MAX`] of each.
pub fn set_allowed(object: &mut [u8], users: &[u32], groups: &[u64]) {
    assert!(
        users.len() <= ALLOWED_MAX && groups.len() <= ALLOWED_MAX,
        "room for {ALLOWED_MAX}"
    );
    let mut bytes = Vec::new();
    for word in [0, users.len() as u32] {
        bytes.extend(word.to_ne_bytes());
    }
    let padded = users.iter().copied().chain(std::iter::repeat(0));
    bytes.extend(padded.take(ALLOWED_MAX).flat_map(u32::to_ne_bytes));
    bytes.extend((groups.len() as u64).to_ne_bytes());
    bytes.extend(groups.iter().flat_map(|group| group.to_ne_bytes()));
    set(object, "allowed", &bytes);
}

/// Whether everybody may choose the law of an object.
pub fn is_for_everybody(object: &[u8]) -> bool {
    place(object, "allowed").is_none_or(|place| object[place.start] != 0)
}

/// Where the constant is in the file.
fn place(object: &[u8], name: &str) -> Option<std::ops::Range<usize>> {
    let file = object::File::parse(object).ok()?;
    let symbol = file
        .symbols()
        .find(|symbol| symbol.name() == Ok(name) && symbol.size() > 0)?;
    let section = file.section_by_index(symbol.section_index()?).ok()?;
    let start = (section.file_range()?.0 + symbol.address()) as usize;
    Some(start..start + symbol.size() as usize)
}
