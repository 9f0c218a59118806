//! What a key is: its name, its type, what holds where it is not given, and what it is for.

use crate::kind::Kind;
use crate::unit::Scalar;

#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name in its table.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What holds where it is not given.
    pub default: Absent,
    /// One line.
    pub meaning: &'static str,
    /// Beside which choice it means something; `None`: whatever is chosen.
    pub only: Option<&'static Only>,
}

/// A choice beside which alone a key means something. Given beside another one, the key is a misunderstanding.
#[derive(Debug)]
pub struct Only {
    /// The key that makes the choice: of the same table, of the one above it, or of `[topology]`.
    pub decided_by: &'static str,
    /// Whether it does so by being given, whatever it says; else its default is a choice, too.
    pub by_presence: bool,
    pub choice: &'static str,
    /// What to do otherwise.
    pub remedy: &'static str,
}

/// What holds where a key is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// This value, as TOML.
    Is(&'static str),
    /// It has to be given where it applies.
    Needed,
    Nothing,
    /// What these words say.
    Words(&'static str),
    /// What the preset of the transport says.
    Preset,
}

pub(crate) const fn key(name: &'static str, kind: Kind, default: Absent, meaning: &'static str) -> Key {
    Key {
        name,
        kind,
        default,
        meaning,
        only: None,
    }
}

impl Key {
    pub(crate) const fn only(mut self, only: &'static Only) -> Self {
        self.only = Some(only);
        self
    }

    /// Its dotted path in a table, which is empty for the top.
    pub fn path(&self, table: &str) -> String {
        match table {
            "" => self.name.to_owned(),
            table => format!("{table}.{}", self.name),
        }
    }

    /// What it is for, with the range of its sizes.
    pub fn meaning(&self) -> String {
        match self.kind {
            Kind::Sizes(min, max) => format!("{}, {min} B to {max} B", self.meaning),
            _ => self.meaning.to_owned(),
        }
    }
}

/// A key with the type of its values: from that follow its kind, how it is read and how it is written back.
pub(crate) struct Declared<T> {
    /// What all may know of it.
    pub key: Key,
    /// Refuses values that the type has and the key has not.
    pub check: fn(T) -> Result<T, String>,
    /// What to give where it is needed and missing.
    pub example: &'static str,
}

impl<T: Scalar> Declared<T> {
    pub const fn new(name: &'static str, default: Absent, meaning: &'static str) -> Self {
        Self {
            key: key(name, T::KIND, default, meaning),
            check: Ok,
            example: "",
        }
    }

    pub const fn needed(name: &'static str, example: &'static str, meaning: &'static str) -> Self {
        Self::new(name, Absent::Needed, meaning).example(example)
    }

    pub const fn example(mut self, example: &'static str) -> Self {
        self.example = example;
        self
    }

    pub const fn only(mut self, only: &'static Only) -> Self {
        self.key.only = Some(only);
        self
    }

    /// With a kind that says more than its type; who takes the value asks for it.
    pub const fn of_kind(mut self, kind: Kind) -> Self {
        self.key.kind = kind;
        self
    }

    pub const fn checked(self, check: fn(T) -> Result<T, String>) -> Self {
        Self { check, ..self }
    }
}

/// Declares the keys of a table, each a row that its reader takes by the name of the constant.
macro_rules! keys {
    ($keys:ident; $($name:ident: $type:ty = $row:expr;)+) => {
        $(const $name: $crate::key::Declared<$type> = $row;)+

        /// The keys of the table.
        pub(crate) const $keys: &[$crate::key::Key] = &[$($name.key),+];
    };
}
pub(crate) use keys;
