//! Closed forms: what the literature computes with a pencil.

pub mod path;
