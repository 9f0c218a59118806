//! Memory of one instance of a law.

/// Zeroed memory of at least `state_bytes`, aligned to 8 bytes, that the host keeps and only the law understands.
#[derive(Clone, Debug)]
pub struct State {
    words: Box<[u64]>,
    /// Bytes before and behind the law's own.
    zone_bytes: u32,
    /// Bytes of the law's own words: compared on each call, so kept and not computed.
    bytes: u32,
}

impl State {
    /// Zeroed memory of `bytes`, rounded up to whole words.
    pub fn new(bytes: u32) -> Self {
        Self::with_zones(bytes, 0)
    }

    /// As [`State::new`], between two zones of `zone_bytes` that the law must not touch.
    pub(crate) fn with_zones(bytes: u32, zone_bytes: u32) -> Self {
        let (own_words, zone_words) = (bytes.div_ceil(8), zone_bytes / 8);
        Self {
            words: vec![0; (own_words + 2 * zone_words) as usize].into_boxed_slice(),
            zone_bytes: zone_words * 8,
            bytes: own_words * 8,
        }
    }

    /// Size, a multiple of 8.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes as usize
    }

    /// The content, for tests and diagnosis.
    pub fn words(&self) -> &[u64] {
        let start = self.zone_bytes as usize / 8;
        &self.words[start..self.words.len() - start]
    }

    /// Overwrites the beginning.
    pub(crate) fn fill(&mut self, bytes: &[u8]) {
        for (word, bytes) in self.words[self.zone_bytes as usize / 8..]
            .iter_mut()
            .zip(bytes.chunks(8))
        {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_ne_bytes(padded);
        }
    }

    /// Where the law finds it, and the memory: a vector stays in its place wherever its owner goes.
    pub(crate) fn into_parts(self) -> (*mut std::ffi::c_void, Vec<u64>) {
        let mut words = self.words.into_vec();
        (
            words.as_mut_ptr().wrapping_byte_add(self.zone_bytes as usize).cast(),
            words,
        )
    }

    /// Where it lies, which tells instances apart as long as they live.
    pub fn address(&self) -> usize {
        self.words().as_ptr() as usize
    }

    /// Where the law finds it.
    #[inline]
    pub(crate) fn as_mut_ptr(&mut self) -> *mut std::ffi::c_void {
        // Without a check of bounds: this is on the way of every call of a law.
        self.words
            .as_mut_ptr()
            .wrapping_byte_add(self.zone_bytes as usize)
            .cast()
    }
}
