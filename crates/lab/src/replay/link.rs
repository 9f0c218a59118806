//! What an emulator recorded of a link, made again: each arrival goes through the same link.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
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

/// Writes each packet of a recording of a link and what became of it, as CSV; `false` where the file is something else.
///
/// # Errors
/// A recording that cannot be read or is damaged, and a table that cannot be written.
pub fn packets(path: &Path, table: &Path) -> Result<bool, Failure> {
    let (shown, table_shown) = (path.display(), table.display());
    let Some(recording) = open(path)? else { return Ok(false) };
    let names: Vec<String> = recording.head().ways.iter().map(name_of).collect();
    let unwritable = |error: io::Error| Failure::Failed(format!("cannot write {table_shown}: {error}"));
    let mut out = BufWriter::new(File::create(table).map_err(unwritable)?);
    let mut written = writeln!(
        out,
        "way,number,arrived_ns,ip_bytes,fate,due_ns,late_ns,ecn_arrived,ecn_left"
    );
    let read = recording.packets(names.len(), |packet| {
        if written.is_ok() {
            let [arrived, left] = packet.ecn;
            written = writeln!(
                out,
                "{},{},{},{},{},{},{},{arrived},{left}",
                names[packet.way],
                packet.number,
                packet.arrived_ns,
                packet.ip_bytes,
                packet.fate.name(),
                packet.due_ns,
                packet.late_ns,
            );
        }
    });
    written.and_then(|()| out.flush()).map_err(unwritable)?;
    read.map_err(|damage| Failure::Failed(format!("{shown}: the recording is damaged: {damage}")))?;
    Ok(true)
}

/// What a way is called.
fn name_of(way: &serde_json::Value) -> String {
    let name = way.pointer("/link/name").and_then(serde_json::Value::as_str);
    name.unwrap_or_default().to_owned()
}

/// A recording of a link; `None` where the file is something else.
fn open(path: &Path) -> Result<Option<Recording<BufReader<File>>>, Failure> {
    let Ok(file) = File::open(path) else { return Ok(None) };
    let mut source = BufReader::with_capacity(1 << 20, file);
    if !is_recording(&mut source).unwrap_or(false) {
        return Ok(None);
    }
    let recording = Recording::open(source);
    let unreadable = |error| Failure::Failed(format!("{}: {error}", path.display()));
    recording.map(Some).map_err(unreadable)
}

/// Makes a recording of a link again; `None` where the file is something else.
///
/// # Errors
/// A recording that cannot be read, or whose laws are not known here.
pub fn again(path: &Path) -> Result<Option<Made>, Failure> {
    let shown = path.display();
    let Some(recording) = open(path)? else { return Ok(None) };
    let ways = recording.head().ways.iter().cloned();
    let ways: Vec<LaneSpec> = ways
        .map(serde_json::from_value)
        .collect::<Result<_, _>>()
        .map_err(|error| {
            Failure::Failed(format!(
                "{shown}: its ways are none of this fadelab: {error}; a law of your own is given by its header, --law \
                 ./mine.h"
            ))
        })?;
    let mut lanes: Vec<_> = ways.iter().map(LaneSpec::lane).collect();
    let again = recording.again(&mut lanes).map_err(Failure::failed)?;
    Ok(Some(Made { ways, again }))
}
