//! Memories of devices that the guest has for its host: one that stops the machine, one with what it is given.
#![allow(unsafe_code)]

use std::fs::{self, OpenOptions};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::{ptr, slice};

use nix::errno::Errno;
use nix::libc;

use crate::given;
use crate::stage::{Outcome, failed};

/// Where the kernel lists what is on the bus.
const BUS: &str = "/sys/bus/pci/devices";

/// A memory of a device: maker and model by their numbers, and which of its memories.
struct Place {
    vendor: &'static str,
    device: &'static str,
    number: usize,
}

/// QEMU's pvpanic: a write into it tells that the guest panics.
const STOP: Place = Place {
    vendor: "0x1b36",
    device: "0x0011",
    number: 0,
};

/// pvpanic's bit for a panic, for which QEMU is told to stop the machine.
const PANICKED: u8 = 1;

/// QEMU's ivshmem, whose third memory is a file of the host.
const GIVEN: Place = Place {
    vendor: "0x1af4",
    device: "0x1110",
    number: 2,
};

/// Stops the machine at this instruction, until the host lets it go on: here snapshots are taken.
pub fn stop() -> Outcome<()> {
    let memory = Memory::of(&STOP, 1)?;
    // SAFETY: the byte is mapped, and the device takes any.
    unsafe { memory.first.write_volatile(PANICKED) };
    Ok(())
}

/// Writes the files that the host gives where they belong.
pub fn take_given() -> Outcome<()> {
    let memory = Memory::of(&GIVEN, given::ROOM_BYTES)?;
    // SAFETY: all of it is mapped, and the host writes nothing while the machine runs.
    let bytes = unsafe { slice::from_raw_parts(memory.first, given::ROOM_BYTES) };
    let files = given::unpacked(bytes).ok_or("the host gives no files")?;
    for (path, bytes) in files {
        if let Some((folder, _)) = path.rsplit_once('/') {
            fs::create_dir_all(format!("{folder}/")).map_err(failed(folder))?;
        }
        fs::write(&path, bytes).map_err(failed(path))?;
    }
    Ok(())
}

/// A mapped memory of a device.
struct Memory {
    /// Of the whole pages around it.
    pages: *mut libc::c_void,
    pages_bytes: usize,
    /// Of the device's.
    first: *mut u8,
}

impl Memory {
    fn of(place: &Place, bytes: usize) -> Outcome<Self> {
        let folder = found(place)?;
        fs::write(folder.join("enable"), "1").map_err(failed(folder.display()))?;
        let resource = fs::read_to_string(folder.join("resource")).map_err(failed(folder.display()))?;
        let start = start(&resource, place.number).ok_or_else(|| format!("{}: no such memory", folder.display()))?;
        let page_bytes = 4_096;
        let offset = (start % page_bytes) as usize;
        let path = folder.join(format!("resource{}", place.number));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .map_err(failed(path.display()))?;
        let pages_bytes = (offset + bytes).next_multiple_of(page_bytes as usize);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses where, so nothing that is there is replaced.
        let pages = unsafe {
            libc::mmap(
                ptr::null_mut(),
                pages_bytes,
                access,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if pages == libc::MAP_FAILED {
            return Err(failed(path.display())(Errno::last()));
        }
        // SAFETY: the offset is within the first page.
        let first = unsafe { pages.cast::<u8>().add(offset) };
        Ok(Self {
            pages,
            pages_bytes,
            first,
        })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it was mapped like this, and nothing that points into it outlives it.
        unsafe { libc::munmap(self.pages, self.pages_bytes) };
    }
}

/// The folder of a device.
fn found(place: &Place) -> Outcome<PathBuf> {
    let entries = fs::read_dir(BUS).map_err(failed(BUS))?;
    let is = |folder: &PathBuf, name: &str, value: &str| {
        fs::read_to_string(folder.join(name)).is_ok_and(|text| text.trim() == value)
    };
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|folder| is(folder, "vendor", place.vendor) && is(folder, "device", place.device))
        .ok_or_else(|| format!("the machine has no device {}:{}", place.vendor, place.device))
}

/// Where a memory begins: the kernel has a line for each, of start, end and flags.
fn start(resource: &str, number: usize) -> Option<u64> {
    let line = resource.lines().nth(number)?;
    let start = line.split_whitespace().next()?.strip_prefix("0x")?;
    u64::from_str_radix(start, 16).ok().filter(|&start| start > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_begins_where_its_line_says() {
        // Goal: lines are counted from zero, and one that is not there, or empty, is none.
        let text = "0x00000000febf1000 0x00000000febf10ff 0x0000000000040200\n\
                    0x0000000000000000 0x0000000000000000 0x0000000000000000\n\
                    0x000000fe00000010 0x000000fe03ffffff 0x000000000014220c\n";
        assert_eq!(start(text, 0), Some(0xfebf_1000));
        assert_eq!(start(text, 1), None);
        assert_eq!(start(text, 2), Some(0xfe_0000_0010));
        assert_eq!(start(text, 3), None);
    }
}
