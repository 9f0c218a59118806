//! Memory of one instance of a law.

/// Zeroed memory of at least `state_bytes`, aligned to 8 bytes, that the host keeps and only the law understands.
#[derive(Clone, Debug)]
pub struct State {
    words: Box<[u64]>,
}

impl State {
    /// Zeroed memory of `bytes`, rounded up to whole words.
    pub fn new(bytes: u32) -> Self {
        Self {
            words: vec![0; bytes.div_ceil(8) as usize].into_boxed_slice(),
        }
    }

    /// Size, a multiple of 8.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.words.len() * 8
    }

    /// The content, for tests and diagnosis.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Where the law finds it.
    #[inline]
    pub(crate) fn as_mut_ptr(&mut self) -> *mut std::ffi::c_void {
        self.words.as_mut_ptr().cast()
    }
}
