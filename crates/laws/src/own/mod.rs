//! Laws that users bring: a header, compiled by the system's C compiler and registered beside the built-in laws.
//!
//! [`load`] does it; from then on [`sender`](crate::sender()), [`router`](crate::router()) and the rest know the law.
//! It is compiled with checks of undefined behaviour and stands behind [`guard`](crate::guard).

mod check;
mod compile;
mod load;
mod remarks;
mod skeleton;
mod symbols;

pub use crate::source::{Source, SourceFile};
pub use compile::{check_name, headers, read_again, temporary};
pub use load::{describe, load, load_text, loaded};
pub use skeleton::skeleton;

pub(crate) use load::explained;

/// A law that a user brought.
#[derive(Clone, Debug)]
pub struct OwnLaw {
    /// Where it came from.
    pub source: Source,
    /// The roles that it defines, of `sender`, `receiver`, `router`, `capacity` and `gateway`.
    pub roles: Vec<&'static str>,
    /// What the compiler warned of; empty where it did not.
    pub warnings: String,
}

/// Why a header was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OwnLawError {
    /// The file cannot be read.
    #[error("--law {path}: cannot be read: {why}")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's words.
        why: String,
    },
    /// The name of the file is not that of a law.
    #[error(
        "--law {path}: the file's name is the law's: lower case letters, digits and `_`, then `.h`, for example mine.h"
    )]
    BadName {
        /// The file.
        path: String,
    },
    /// No compiler, or one that cannot be run.
    #[error("--law {path}: needs a C compiler: {why}; install gcc or clang, or name one in CC")]
    NoCompiler {
        /// The file.
        path: String,
        /// What was tried.
        why: String,
    },
    /// The header does not compile.
    #[error("--law {path}: does not compile\n{message}")]
    DoesNotCompile {
        /// The file.
        path: String,
        /// The compiler's remarks on the author's files.
        message: String,
    },
    /// It compiles, and cannot be used.
    #[error("--law {path}: {why}")]
    Unusable {
        /// The file.
        path: String,
        /// What is wrong and what to do.
        why: String,
    },
}

impl OwnLawError {
    fn unusable(path: impl std::fmt::Display, why: impl Into<String>) -> Self {
        Self::Unusable {
            path: path.to_string(),
            why: why.into(),
        }
    }
}
