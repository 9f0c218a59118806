//! The guest's kernel and files, made from Debian's packages and this machine's programs, and kept in the user's cache.
//!
//! The archive is not compressed: the guest would spend more time unpacking than the host spends reading.

mod apt;
pub(crate) mod archive;
mod in_use;
mod modules;
pub(crate) mod programs;

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fadelab_kernel::Version;
use twox_hash::XxHash3_128;

use crate::need::{self, Need};
use crate::snapshots::Snapshots;
use crate::{Applications, Error, guest};
use archive::Archive;
use in_use::InUse;

/// The emulator that runs an image.
pub(crate) const QEMU: &str = "qemu-system-x86_64";

/// Where the emulator is.
pub(crate) fn qemu() -> Result<PathBuf, Error> {
    need::find(&(QEMU, "runs the kernel in virtual time", "qemu-system-x86"))
}

/// A kernel that can be had: its series and the suite of Debian that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its series, e.g. `6.1`, or `newest`.
    pub series: &'static str,
    suite: &'static str,
}

/// The kernels that can be had.
pub const KERNELS: [Kernel; 3] = [
    Kernel {
        series: "6.1",
        suite: "bookworm",
    },
    Kernel {
        series: "6.12",
        suite: "bookworm-backports",
    },
    Kernel {
        series: NEWEST,
        suite: "trixie-backports",
    },
];

/// Of whatever series it is when it is fetched.
const NEWEST: &str = "newest";

impl Kernel {
    /// The kernel of a series.
    ///
    /// # Errors
    /// [`Error::UnknownKernel`] with those that there are.
    pub fn of(series: &str) -> Result<Self, Error> {
        let found = KERNELS.into_iter().find(|kernel| kernel.series == series);
        found.ok_or_else(|| Error::UnknownKernel {
            given: series.to_owned(),
            allowed: KERNELS.map(|kernel| kernel.series).join(", "),
        })
    }
}

/// What runs in the guest beside fadelab.
const PROGRAMS: [Need; 2] = [
    ("ip", "builds networks", "iproute2"),
    ("tc", "builds queues", "iproute2"),
];

/// Images of a kernel that are kept: another build of fadelab has another one.
const IMAGES_KEPT: usize = 4;

/// The fadelab that runs in a guest.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// Its file here.
    pub path: &'a Path,
    /// What in it names the commit that it was built from: blanks stand there in the guest, so that its bytes are those
    /// of the code alone.
    pub stamp: &'a [u8],
}

/// A kernel and the files that it begins with.
#[derive(Clone, Debug)]
pub struct Image {
    version: Version,
    folder: PathBuf,
    package: String,
    applications: Applications,
    snapshots: Option<Arc<Snapshots>>,
    /// Nobody removes it for as long.
    _kept: Arc<InUse>,
}

impl Image {
    /// Makes an image with the kernel, `program` and applications in it, or finds it in the cache. What takes long is
    /// told to `say`.
    ///
    /// # Errors
    /// A program of the system is missing, the kernel's package cannot be had, or the cache cannot be written.
    pub fn prepare(
        kernel: &Kernel,
        program: Program<'_>,
        applications: Applications,
        mut say: impl FnMut(&str),
    ) -> Result<Self, Error> {
        qemu()?;
        let cache = cache()?.join(kernel.series);
        fs::create_dir_all(&cache).map_err(Error::file("make", &cache))?;
        if !apt::debs(&cache)?.first().is_some_and(|first| apt::is_whole(first)) {
            apt::fetch(kernel, &cache, &mut say)?;
        }
        let packages = apt::debs(&cache)?;
        let package = packages.first().ok_or_else(|| Error::NoPackage {
            series: kernel.series.to_owned(),
            suite: kernel.suite.to_owned(),
            why: "apt fetched nothing".to_owned(),
        })?;
        let mut tools = PROGRAMS
            .iter()
            .map(|need| Ok((need.0, need::find(need)?)))
            .collect::<Result<Vec<_>, Error>>()?;
        tools.extend(applications.find()?);
        let name = package.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let folder = cache.join(format!("image-{:032x}", key(&name, program.path, &tools)?));
        if folder.is_dir() && !is_whole(&folder) {
            say(&format!("{} is damaged and made anew", folder.display()));
            fs::remove_dir_all(&folder).map_err(Error::file("remove", &folder))?;
        }
        let kept = loop {
            if let Some(kept) = in_use::keep(&folder).map_err(Error::file("write", &folder))? {
                break kept;
            }
            say(&format!("making the image of {name}"));
            make(&packages, program, &tools, &cache, &folder)?;
            forget_old(&cache);
        };
        Ok(Self {
            version: version(&name)?,
            package: name,
            folder,
            applications,
            snapshots: None,
            _kept: Arc::new(kept),
        })
    }

    /// The kernel's package and version.
    pub fn package(&self) -> &str {
        &self.package
    }

    /// Version of the kernel.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Which applications are in it.
    pub fn applications(&self) -> Applications {
        self.applications
    }

    /// Where it is kept.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn kernel(&self) -> PathBuf {
        self.folder.join(KERNEL)
    }

    /// The archive with all files.
    pub(crate) fn archive(&self) -> PathBuf {
        self.folder.join(ARCHIVE)
    }

    /// From now on guests of the image, and of its copies, boot once and go on from a snapshot. What is in the way of
    /// that is told to `tell`, and then they boot as they do without.
    pub fn keep_snapshot(&mut self, tell: fn(&str)) {
        self.snapshots = Some(Arc::new(Snapshots::new(tell)));
    }

    pub(crate) fn snapshots(&self) -> Option<&Snapshots> {
        self.snapshots.as_deref()
    }
}

const KERNEL: &str = "vmlinuz";
const ARCHIVE: &str = "archive.cpio";
/// Checksum of the others.
const SUM: &str = "sum";

/// `$XDG_CACHE_HOME/fadelab/testbed`, else below `~/.cache`.
fn cache() -> Result<PathBuf, Error> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    let base = base.ok_or_else(|| Error::Tool {
        what: "finding the cache".to_owned(),
        why: "neither HOME nor XDG_CACHE_HOME is set".to_owned(),
    })?;
    Ok(base.join("fadelab").join("testbed"))
}

/// The checksum of an image's files.
fn sum(folder: &Path) -> io::Result<String> {
    let mut hasher = XxHash3_128::new();
    for name in [KERNEL, ARCHIVE] {
        let mut file = File::open(folder.join(name))?;
        hasher.write(&file.metadata()?.len().to_le_bytes());
        io::copy(&mut file, &mut Hashed(&mut hasher))?;
    }
    Ok(format!("{:032x}", hasher.finish_128()))
}

/// Whether an image is as it was made: a full disk or a crash may have cut it, and a guest that does not boot says
/// little.
fn is_whole(folder: &Path) -> bool {
    let noted = fs::read_to_string(folder.join(SUM)).unwrap_or_default();
    sum(folder).is_ok_and(|sum| sum == noted)
}

/// A program for the guest: its name there, and where it is here.
type Tool = (&'static str, PathBuf);

/// Everything that an image is made from.
fn key(package: &str, program: &Path, tools: &[Tool]) -> Result<u128, Error> {
    let mut hasher = XxHash3_128::new();
    hasher.write(package.as_bytes());
    for path in tools.iter().map(|(_, path)| path.as_path()).chain([program]) {
        let mut file = File::open(path).map_err(Error::file("open", path))?;
        io::copy(&mut file, &mut Hashed(&mut hasher)).map_err(Error::file("read", path))?;
    }
    Ok(hasher.finish_128())
}

/// Hashes what is written.
struct Hashed<'a>(&'a mut XxHash3_128);

impl Write for Hashed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Makes an image in a folder of another name, which gets its own when it is complete.
fn make(packages: &[PathBuf], program: Program<'_>, tools: &[Tool], cache: &Path, folder: &Path) -> Result<(), Error> {
    let work = tempfile::tempdir_in(cache).map_err(Error::file("make a folder in", cache))?;
    let root = work.path().join("package");
    for package in packages {
        apt::unpack(package, &root)?;
    }
    let is_merged = !root.join("lib").exists();
    if is_merged {
        symlink("usr/lib", root.join("lib")).map_err(Error::file("link in", &root))?;
    }
    let release = release(&root)?;
    let order = modules::ordered(&root, &release)?;
    let image = work.path().join("image");
    fs::create_dir(&image).map_err(Error::file("make", &image))?;
    // Since 6.19 it lies beside its modules.
    let places = [
        root.join("boot").join(format!("vmlinuz-{release}")),
        root.join("lib/modules").join(&release).join("vmlinuz"),
    ];
    let [boot, beside] = &places;
    let vmlinuz = if boot.exists() { boot } else { beside };
    fs::copy(vmlinuz, image.join(KERNEL)).map_err(Error::file("copy", vmlinuz))?;

    let mut archive = Archive::default();
    for mount in guest::FOLDERS {
        archive = archive.folder(mount);
    }
    let mut paths = Vec::new();
    for module in &order {
        let from = root.join("lib/modules").join(&release).join(module);
        let bytes = fs::read(&from).map_err(Error::file("read", &from))?;
        let to = format!("/modules/{}", module.rsplit('/').next().unwrap_or(module));
        archive = archive.file(&to, 0o644, bytes);
        paths.push(to);
    }
    archive = archive.file(guest::MODULES, 0o644, paths.join("\n"));
    archive = archive.file(guest::PROGRAM, 0o755, programs::for_guest(program)?);
    // Servers look up whose process they are.
    archive = archive.file("/etc/passwd", 0o644, b"root:x:0:0:root:/:/bin/false\n");
    archive = archive.file("/etc/group", 0o644, b"root:x:0:\n");
    for (name, path) in tools {
        let bytes = fs::read(path).map_err(Error::file("read", path))?;
        archive = archive.file(&format!("/bin/{name}"), 0o755, bytes);
    }
    let paths_of_tools = tools.iter().map(|(_, path)| path.clone());
    let all: Vec<PathBuf> = paths_of_tools.chain([program.path.to_owned()]).collect();
    for library in programs::libraries(&all) {
        let bytes = fs::read(&library).map_err(Error::file("read", &library))?;
        archive = archive.file(&library.to_string_lossy(), 0o755, bytes);
    }
    let write = |name: &str, bytes: &[u8]| {
        let path = image.join(name);
        fs::write(&path, bytes).map_err(Error::file("write", path))
    };
    write(ARCHIVE, &archive.finish().map_err(Error::file("write", &image))?)?;
    write(SUM, sum(&image).map_err(Error::file("read", &image))?.as_bytes())?;
    match fs::rename(&image, folder) {
        // Somebody else may have made the same one meanwhile.
        Err(_) if folder.is_dir() => Ok(()),
        moved => moved.map_err(Error::file("move", image)),
    }
}

/// The version of a kernel by the name of its package.
fn version(package: &str) -> Result<Version, Error> {
    let release = package.strip_prefix(apt::IMAGE).unwrap_or(package);
    Version::parse(release).ok_or_else(|| Error::Tool {
        what: "reading the kernel's package".to_owned(),
        why: format!("{package} has no version in its name"),
    })
}

/// The release of the only kernel in an unpacked package.
fn release(root: &Path) -> Result<String, Error> {
    let path = root.join("lib/modules");
    let mut entries = fs::read_dir(&path).map_err(Error::file("read", &path))?;
    let entry = entries.next().and_then(Result::ok).ok_or_else(|| Error::Tool {
        what: "reading the kernel's package".to_owned(),
        why: "it has no modules".to_owned(),
    })?;
    Ok(entry.file_name().to_string_lossy().into_owned())
}

/// Removes all but the newest images, and those that somebody uses.
fn forget_old(cache: &Path) {
    let entries = fs::read_dir(cache).into_iter().flatten().filter_map(Result::ok);
    let images = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("image-"));
    let mut images: Vec<_> = images
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    images.sort();
    for (_, path) in images.iter().rev().skip(IMAGES_KEPT) {
        in_use::remove_unused(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_image_is_known() {
        // Goal: a byte changed, moved from one file to the next or missing, a file or the checksum gone: all are seen.
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("it can be written");
        let whole = |kernel: &str, archive: &str| {
            write(KERNEL, kernel);
            write(ARCHIVE, archive);
            is_whole(folder.path())
        };
        assert!(!whole("kernel", "archive"), "without a checksum");
        write(SUM, &sum(folder.path()).expect("all are there"));
        assert!(whole("kernel", "archive"));
        for (kernel, archive) in [
            ("Kernel", "archive"),
            ("kernela", "rchive"),
            ("kernel", "archiv"),
            ("", ""),
        ] {
            assert!(!whole(kernel, archive), "{kernel} {archive}");
        }
        assert!(whole("kernel", "archive"));
        fs::remove_file(folder.path().join(ARCHIVE)).expect("it is there");
        assert!(!is_whole(folder.path()));
    }
}
