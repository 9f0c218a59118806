//! The machine: file systems, modules, the port to the host, and the switch.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::path::Path;

use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount as mount_at};
use nix::sys::reboot::{RebootMode, reboot};

use crate::stage::{Outcome, failed};

/// What is mounted where, in this order.
const MOUNTS: [(&str, &str); 7] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("tmpfs", "/run"),
    ("tmpfs", "/tmp"),
    ("cgroup2", "/sys/fs/cgroup"),
    ("bpf", "/sys/fs/bpf"),
];

/// `MODULE_INIT_COMPRESSED_FILE`: the kernel unpacks the module itself.
const COMPRESSED: u32 = 4;

/// Mounts what programs expect.
pub fn mount() -> Outcome<()> {
    for (kind, place) in MOUNTS {
        mount_at(Some(kind), place, Some(kind), MsFlags::empty(), None::<&str>).map_err(failed(place))?;
    }
    Ok(())
}

/// Loads the modules of a list, in its order. One of a law that the kernel refuses is missed by whoever asks for it.
pub fn load(list: &str) -> Outcome<()> {
    let modules = fs::read_to_string(list).map_err(failed(list))?;
    for path in modules.lines() {
        let file = File::open(path).map_err(failed(path))?;
        let mut flags = ModuleInitFlags::empty();
        if Path::new(path).extension().is_none_or(|end| end != "ko") {
            flags = ModuleInitFlags::from_bits_retain(COMPRESSED);
        }
        match finit_module(&file, &CString::default(), flags) {
            Ok(()) | Err(nix::Error::EEXIST) => {}
            Err(error) => return Err(format!("the kernel does not load {path}: {error}")),
        }
    }
    Ok(())
}

/// What runs set that is the whole machine's: room for packets, and buffers as large as an application asks for.
pub fn settings() -> Outcome<()> {
    let settings = [
        ("net/core/netdev_max_backlog", "1000000"),
        ("net/core/rmem_max", "268435456"),
        ("net/core/wmem_max", "268435456"),
    ];
    for (name, value) in settings {
        fs::write(format!("/proc/sys/{name}"), value).map_err(failed(name))?;
    }
    Ok(())
}

/// Opens a port to the host, of the only virtio console.
pub fn port(number: u32) -> Outcome<File> {
    let path = format!("/dev/vport0p{number}");
    OpenOptions::new().write(true).open(&path).map_err(failed(&path))
}

/// The kernel's release.
pub fn release() -> Outcome<String> {
    let path = "/proc/sys/kernel/osrelease";
    Ok(fs::read_to_string(path).map_err(failed(path))?.trim().to_owned())
}

/// Ends the machine.
pub fn switch_off() -> ! {
    let Err(error) = reboot(RebootMode::RB_POWER_OFF);
    // The kernel panics when its first program ends, which ends the machine too.
    panic!("the machine does not switch off: {error}");
}
