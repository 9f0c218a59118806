//! What an emulator recorded of a link, made again: each arrival goes through the same link.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use fadelab_emu::LaneSpec;
use fadelab_emu::replay::{Again, Recording, is_recording};

use crate::Failure;

/// A recording of a link, made again.
#[derive(Debug)]
pub struct Made {
    /// In the order of the recording: of a command's link from it and to it.
    pub ways: Vec<LaneSpec>,
    pub again: Again,
}

/// Makes a recording of a link again; `None` where the file is something else.
///
/// # Errors
/// A recording that cannot be read, or whose laws are not known here.
pub fn again(path: &Path) -> Result<Option<Made>, Failure> {
    let Ok(file) = File::open(path) else { return Ok(None) };
    let mut source = BufReader::with_capacity(1 << 20, file);
    if !is_recording(&mut source).unwrap_or(false) {
        return Ok(None);
    }
    let shown = path.display();
    let recording = Recording::open(source).map_err(|error| Failure::Failed(format!("{shown}: {error}")))?;
    let ways = recording.head().ways.iter().cloned();
    let ways: Vec<LaneSpec> = ways
        .map(serde_json::from_value)
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::Failed(format!("{shown}: its ways are none of this fadelab: {error}")))?;
    let mut lanes: Vec<_> = ways.iter().map(LaneSpec::lane).collect();
    let again = recording.again(&mut lanes).map_err(Failure::failed)?;
    Ok(Some(Made { ways, again }))
}
