//! The text of a law that a user brought: what is compiled, and what results and recorded calls keep of it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The text of a header and of what it includes beside itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Name of the law.
    pub name: String,
    /// SHA-256 over names and texts of the files, in hexadecimal digits.
    pub sha256: String,
    /// The header as the user named it.
    pub path: PathBuf,
    /// The header, then the files that it includes, by paths relative to its folder.
    pub files: Vec<SourceFile>,
}

/// A file of a law.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Relative to the folder of the law's header.
    pub name: String,
    /// Its content.
    pub text: String,
}
