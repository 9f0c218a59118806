//! Kernels from Debian: their packages are fetched and unpacked, never installed.
//!
//! apt works with lists, cache and sources of its own in a folder that is gone afterwards. Only the address of the
//! mirror and the key come from the machine's configuration, so that what reaches it otherwise reaches it here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;
use crate::image::Kernel;
use crate::image::programs;
use crate::need::{self, Need};

const APT: Need = ("apt-get", "fetches the kernel's package", "apt");
const UNPACK: Need = ("dpkg-deb", "unpacks the kernel's package", "dpkg");

/// Depends on the newest kernel of a suite.
const NEWEST: &str = "linux-image-cloud-amd64";

/// What the name of a kernel's package begins with.
pub const IMAGE: &str = "linux-image-";

/// A mirror as the machine's configuration has it.
#[derive(Debug, PartialEq, Eq)]
struct Mirror {
    address: String,
    signed_by: Option<String>,
}

/// Fetches the newest package of a kernel into `folder`, and those into which it is split.
///
/// # Errors
/// No apt, no mirror, no network, no such package.
pub fn fetch(kernel: &Kernel, folder: &Path, mut say: impl FnMut(&str)) -> Result<(), Error> {
    let apt_get = need::find(&APT)?;
    let mirror = mirror(&apt_get)?;
    let work = tempfile::tempdir_in(folder).map_err(Error::file("make a folder in", folder))?;
    let config = configure(kernel, &mirror, work.path())?;
    let apt = |program: &Path, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.arg("-c").arg(&config).args(arguments).current_dir(work.path());
        programs::output("apt", &mut command).map_err(|error| Error::NoPackage {
            series: kernel.series.to_owned(),
            suite: kernel.suite.to_owned(),
            why: error.to_string(),
        })
    };
    say(&format!("looking for the kernel in Debian's {}", kernel.suite));
    apt(&apt_get, &["update", "--error-on=any"])?;
    let about = apt(Path::new("apt-cache"), &["show", "--no-all-versions", NEWEST])?;
    let package = dependency(&about, kernel.series).ok_or_else(|| Error::NoPackage {
        series: kernel.series.to_owned(),
        suite: kernel.suite.to_owned(),
        why: format!("{NEWEST} there is of another series"),
    })?;
    say(&format!("fetching {package}"));
    let about = apt(Path::new("apt-cache"), &["show", "--no-all-versions", package])?;
    let wanted = [&["download", package][..], &parts(&about, package)].concat();
    apt(&apt_get, &wanted)?;
    // The package itself last: where it is, the others are.
    for fetched in debs(work.path())?.into_iter().rev() {
        let kept = folder.join(fetched.file_name().unwrap_or_default());
        fs::rename(&fetched, &kept).map_err(Error::file("move", &fetched))?;
    }
    Ok(())
}

/// Unpacks a package into a folder.
///
/// # Errors
/// There is no `dpkg-deb`, or the package is damaged.
pub fn unpack(package: &Path, folder: &Path) -> Result<(), Error> {
    let unpack = need::find(&UNPACK)?;
    let mut command = Command::new(unpack);
    command.arg("-x").arg(package).arg(folder);
    match programs::output("unpacking the kernel's package", &mut command) {
        Err(Error::Tool { what, why }) => Err(Error::Tool {
            what,
            why: format!("{why}; remove {}, and it is fetched anew", package.display()),
        }),
        unpacked => unpacked.map(drop),
    }
}

/// The package files in a folder: the kernel's own first, which is none of its parts, then the others.
///
/// # Errors
/// The folder cannot be read.
pub fn debs(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(folder).map_err(Error::file("read", folder))?;
    let files = entries.filter_map(Result::ok).map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files
        .filter(|file| file.extension().is_some_and(|end| end == "deb"))
        .collect();
    files.sort_by_key(|file| (!is_whole(file), file.clone()));
    Ok(files)
}

/// Whether a package file is that of a kernel and not of a part of one.
pub fn is_whole(file: &Path) -> bool {
    file.file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with(IMAGE))
}

fn mirror(apt_get: &Path) -> Result<Mirror, Error> {
    let format = "$(ORIGIN)|$(COMPONENT)|$(CODENAME)|$(REPO_URI)|$(SIGNED_BY)";
    let mut command = Command::new(apt_get);
    command.args(["indextargets", "--format", format, "Created-By: Packages"]);
    choose(&programs::output("apt-get indextargets", &mut command)?).ok_or(Error::NoMirror)
}

/// Debian's own archive among the sources; the archives of security updates and the like have no backports.
fn choose(targets: &str) -> Option<Mirror> {
    targets.lines().find_map(|line| {
        let fields: Vec<&str> = line.split('|').collect();
        let [origin, component, codename, address, signed_by] = fields[..] else {
            return None;
        };
        let is_main = origin == "Debian" && component == "main" && !codename.contains('-');
        is_main.then(|| Mirror {
            address: address.to_owned(),
            // apt leaves the name of a field that is empty.
            signed_by: (signed_by.starts_with('/')).then(|| signed_by.to_owned()),
        })
    })
}

/// Writes sources and configuration, and gives the path of the latter.
fn configure(kernel: &Kernel, mirror: &Mirror, work: &Path) -> Result<PathBuf, Error> {
    let write = |name: &str, text: String| {
        let path = work.join(name);
        fs::write(&path, text).map_err(Error::file("write", &path))?;
        Ok(path)
    };
    for folder in ["lists/partial", "cache/archives/partial"] {
        let path = work.join(folder);
        fs::create_dir_all(&path).map_err(Error::file("make", &path))?;
    }
    let key = mirror
        .signed_by
        .as_ref()
        .map_or_else(String::new, |file| format!(" signed-by={file}"));
    let sources = write(
        "sources.list",
        format!("deb [arch=amd64{key}] {} {} main\n", mirror.address, kernel.suite),
    )?;
    let work = work.display();
    write(
        "apt.conf",
        format!(
            "Dir::Etc::SourceList \"{}\";\nDir::Etc::SourceParts \"/dev/null\";\nDir::State::Lists \"{work}/lists\";\n\
             Dir::Cache \"{work}/cache\";\nAPT::Sandbox::User \"\";\nAPT::Architecture \"amd64\";\n\
             Acquire::Languages \"none\";\nAcquire::Retries \"3\";\n#clear APT::Update::Post-Invoke;\n\
             #clear APT::Update::Post-Invoke-Success;\n",
            sources.display()
        ),
    )
}

/// Names of the packages that one depends on.
fn dependencies(about: &str) -> impl Iterator<Item = &str> {
    let depends = about.lines().find_map(|line| line.strip_prefix("Depends: "));
    let each = depends.into_iter().flat_map(|depends| depends.split(','));
    each.filter_map(|depend| depend.split_whitespace().next())
}

/// The kernel that the newest package depends on, if it is of that series or any is wanted.
fn dependency<'a>(about: &'a str, series: &str) -> Option<&'a str> {
    let package = dependencies(about).find(|package| package.starts_with(IMAGE))?;
    let version = package.strip_prefix(IMAGE)?;
    let is_wanted = series == super::NEWEST || version.strip_prefix(series)?.starts_with('.');
    is_wanted.then_some(package)
}

/// What a kernel's package is split into since 6.19: packages of the same release that it depends on.
fn parts<'a>(about: &'a str, package: &str) -> Vec<&'a str> {
    let release = package.strip_prefix(IMAGE).unwrap_or(package);
    dependencies(about).filter(|part| part.ends_with(release)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_debians_archive() {
        // Goal: of the machine's sources Debian's own archive is taken, not its updates or somebody else's packages.
        let targets = "Node Source|main|nodistro|https://other.example/|/key.gpg\n\
                       Debian|main|bookworm-security|http://one.example/debian-security/|$(SIGNED_BY)\n\
                       Debian|contrib|bookworm|http://one.example/debian/|$(SIGNED_BY)\n\
                       Debian|main|bookworm|http://one.example/debian/|/usr/share/keyrings/debian.gpg\n";
        let mirror = choose(targets).unwrap();
        assert_eq!(mirror.address, "http://one.example/debian/");
        assert_eq!(mirror.signed_by.as_deref(), Some("/usr/share/keyrings/debian.gpg"));
        assert_eq!(choose("Ubuntu|main|noble|http://two.example/|x\n"), None);
    }

    #[test]
    fn a_kernel_of_another_series_is_not_taken() {
        // Goal: 6.1 is not 6.12.
        let about = "Package: linux-image-cloud-amd64\nDepends: linux-image-6.12.95+deb12-cloud-amd64 (= 6.12.95-1)\n";
        assert_eq!(dependency(about, "6.12"), Some("linux-image-6.12.95+deb12-cloud-amd64"));
        assert_eq!(dependency(about, "newest"), dependency(about, "6.12"));
        assert_eq!(dependency(about, "6.1"), None);
        assert_eq!(dependency("Package: x\n", "6.1"), None);
    }
}
