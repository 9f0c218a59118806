//! What the simulator computes beside what is known about it.
//!
//! A section is a function from a [`lab::Lab`], in which scenarios run, to a [`section::Section`]: rows with a
//! reference, our value, a tolerance and a verdict, and pictures. [`table`] shows it in the terminal, [`page`] writes
//! `docs/validation.md`.

pub mod chart;
pub mod forms;
pub mod lab;
pub mod modules;
pub mod ns2;
pub mod outcome;
pub mod page;
pub mod release;
pub mod section;
pub mod table;
