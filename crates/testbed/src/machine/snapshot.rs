//! Guests that have booted, kept below the image's folder: the memory, which new guests map and share until they write,
//! and the state of the rest.
//!
//! A snapshot is made by the first run that wants one, for all that follow, in this process and in others. Where it
//! cannot be had a run boots by itself and comes to the same results.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::thread;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::{Whence, lseek};
use twox_hash::XxHash3_128;

use super::command::{self, MEMORY_BYTES};
use super::monitor::End;
use super::{Guest, LOOK, Report, TURNS};
use crate::Error;
use crate::image::{Image, qemu};
use crate::snapshots::{Known, Snapshot, Snapshots};

const MEMORY: &str = "memory";
const STATE: &str = "state";
/// Checksum of both.
const SUM: &str = "sum";
const LOCK: &str = "lock";

/// A folder of a snapshot begins so, followed by its key.
const PREFIX: &str = "snapshot-";

/// The snapshot of an image, made where there is none; `None` where none is wanted, or none can be had.
///
/// # Errors
/// [`Error::Stopped`], if `report` wants it.
pub fn of(image: &Image, report: &mut Report<'_>) -> Result<Option<Arc<Snapshot>>, Error> {
    let Some(snapshots) = image.snapshots() else {
        return Ok(None);
    };
    let mut known = snapshots.known.lock().unwrap_or_else(PoisonError::into_inner);
    if !report(0) {
        return Err(Error::Stopped);
    }
    if let Known::Unknown = *known {
        *known = match found_or_made(image, snapshots.tell, report) {
            Err(Error::Stopped) => return Err(Error::Stopped),
            Err(error) => {
                miss(snapshots, &error);
                Known::Missing
            }
            Ok(snapshot) => Known::There(Arc::new(snapshot)),
        };
    }
    match &*known {
        Known::There(snapshot) => Ok(Some(Arc::clone(snapshot))),
        _ => Ok(None),
    }
}

/// Goes on without a snapshot, from which no guest can be restored.
pub fn give_up(image: &Image, error: &Error) {
    let Some(snapshots) = image.snapshots() else { return };
    let mut known = snapshots.known.lock().unwrap_or_else(PoisonError::into_inner);
    // The first of several runs says it.
    if let Known::There(_) = std::mem::replace(&mut *known, Known::Missing) {
        miss(snapshots, error);
    }
}

fn miss(snapshots: &Snapshots, error: &Error) {
    let error = error.to_string();
    let mut lines = error.lines();
    let why: Vec<&str> = lines.next().into_iter().chain(lines.last()).collect();
    let why = why.join(" ");
    (snapshots.tell)(&format!("each guest boots by itself, without a snapshot: {why}"));
}

fn found_or_made(image: &Image, tell: fn(&str), report: &mut Report<'_>) -> Result<Snapshot, Error> {
    let folder = image.folder().join(format!("{PREFIX}{:032x}", key(image)?));
    let _lock = locked(&image.folder().join(LOCK), report)?;
    if folder.is_dir() {
        if is_whole(&folder) {
            return opened(&folder);
        }
        tell(&format!("{} is damaged and made anew", folder.display()));
        fs::remove_dir_all(&folder).map_err(Error::file("remove", &folder))?;
    }
    forget_others(image.folder());
    make(image, &folder, report)?;
    opened(&folder)
}

fn opened(folder: &Path) -> Result<Snapshot, Error> {
    let (memory, state) = (folder.join(MEMORY), folder.join(STATE));
    // QEMU wants to be allowed to write what it maps, and writes nothing.
    let options = OpenOptions::new().read(true).write(true).clone();
    Ok(Snapshot {
        memory: options.open(&memory).map_err(Error::file("open", &memory))?,
        state: fs::read(&state).map_err(Error::file("read", &state))?,
    })
}

/// Everything that a snapshot is made from beside the image, which is of one build of fadelab: QEMU and its options.
fn key(image: &Image) -> Result<u128, Error> {
    let mut hasher = XxHash3_128::new();
    let path = qemu()?;
    let mut bytes = Vec::new();
    let read = File::open(&path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(Error::file("read", &path))?;
    hasher.write(&bytes);
    hasher.write(TURNS);
    for argument in command::machine(image) {
        hasher.write(argument.as_bytes());
        hasher.write(&[0]);
    }
    Ok(hasher.finish_128())
}

/// Waits until nobody else makes a snapshot of the image. The lock goes with whoever has it.
fn locked(path: &Path, report: &mut Report<'_>) -> Result<Flock<File>, Error> {
    let mut file = File::create(path).map_err(Error::file("write", path))?;
    loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => return Ok(lock),
            Err((same, Errno::EWOULDBLOCK | Errno::EINTR)) => file = same,
            Err((_, error)) => return Err(Error::file("lock", path)(error.into())),
        }
        if !report(0) {
            return Err(Error::Stopped);
        }
        thread::sleep(LOOK);
    }
}

/// Boots a guest to the point at which it stops itself, in a folder of another name, which gets its own when it is
/// complete.
fn make(image: &Image, folder: &Path, report: &mut Report<'_>) -> Result<(), Error> {
    let work = tempfile::tempdir_in(image.folder()).map_err(Error::file("make a folder in", image.folder()))?;
    let new = |name: &str| {
        let path = work.path().join(name);
        let options = OpenOptions::new().read(true).write(true).create_new(true).clone();
        options.open(&path).map_err(Error::file("write", path))
    };
    let (memory, state) = (new(MEMORY)?, new(STATE)?);
    let failed = || Error::file("write", work.path());
    memory.set_len(MEMORY_BYTES).map_err(failed())?;
    let mut guest = Guest::booted(image, memory, &[], &crate::Recordings::default(), report)?;
    guest.monitor.save(&state);
    guest.wait(End::Saved, report)?;
    drop(guest);
    let sum = sum(work.path()).map_err(failed())?;
    fs::write(work.path().join(SUM), sum).map_err(failed())?;
    fs::rename(work.keep(), folder).map_err(Error::file("move", folder))
}

/// Removes snapshots of other options or another QEMU, and what a fadelab that was killed left. Guests that run keep
/// their files open.
fn forget_others(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let folders = entries.map(|entry| entry.path()).filter(|path| path.is_dir());
    for path in folders {
        // One that stays is in nobody's way.
        let _ = fs::remove_dir_all(path);
    }
}

/// Whether a snapshot is as it was made: a full disk or a crash may have cut it. It is read once by each process that
/// uses it, a tenth of a second where its pages are in memory.
fn is_whole(folder: &Path) -> bool {
    let noted = fs::read_to_string(folder.join(SUM)).unwrap_or_default();
    sum(folder).is_ok_and(|sum| sum == noted)
}

/// Bytes that are looked at together.
const BLOCK_BYTES: usize = 1 << 16;

/// The checksum of a snapshot's files. Most of the memory was never written: zeros do not count but by their place, and
/// where the file has holes nothing is read.
fn sum(folder: &Path) -> io::Result<String> {
    let mut hasher = XxHash3_128::new();
    let mut memory = File::open(folder.join(MEMORY))?;
    let length = memory.metadata()?.len();
    hasher.write(&length.to_le_bytes());
    let mut block = vec![0; BLOCK_BYTES];
    let mut place = 0;
    while let Some(data) = data_from(&memory, place)? {
        place = data - data % BLOCK_BYTES as u64;
        memory.seek(SeekFrom::Start(place))?;
        let count = (length - place).min(BLOCK_BYTES as u64) as usize;
        memory.read_exact(&mut block[..count])?;
        if block[..count].iter().any(|byte| *byte != 0) {
            hasher.write(&place.to_le_bytes());
            hasher.write(&block[..count]);
        }
        place += count as u64;
    }
    hasher.write(&fs::read(folder.join(STATE))?);
    Ok(format!("{:032x}", hasher.finish_128()))
}

/// Where data are next in a file, from a place on.
fn data_from(file: &File, place: u64) -> io::Result<Option<u64>> {
    match lseek(file, place as i64, Whence::SeekData) {
        Ok(data) => Ok(Some(data as u64)),
        Err(Errno::ENXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
