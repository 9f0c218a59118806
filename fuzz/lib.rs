//! What the fuzzers share with the tests of `crates/scenario`.

pub mod mutate;
pub mod properties;

/// For libFuzzer: half of the time its own change of bytes, else one of the text. Returns the new size.
pub fn in_place(
    data: &mut [u8],
    size: usize,
    size_max: usize,
    seed: u32,
    bytewise: impl Fn(&mut [u8], usize, usize) -> usize,
) -> usize {
    let mut draw = mutate::drawn_from(u64::from(seed));
    if draw(2) == 0 {
        return bytewise(data, size, size_max);
    }
    let text = mutate::changed(&String::from_utf8_lossy(&data[..size]), &mut draw);
    let length = text.len().min(size_max);
    data[..length].copy_from_slice(&text.as_bytes()[..length]);
    length
}
