//! Names that a scenario chooses, of nodes, links, channels and groups of flows.

/// Most names that a scenario may choose in one section: each key is looked up among them.
pub const NAMES_MAX: usize = 1_000;

/// Whether a scenario may choose this name.
pub fn is_allowed(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}
