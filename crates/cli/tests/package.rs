//! What the Debian package does to laws that are loaded: its own scripts, on the command that the tests are of.

mod common;
mod hosts;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::Scratch;
use hosts::{Hosts, is_registered, possible, said, unique};

/// A shell's words with commands of a folder before others.
fn with(folder: &Path, script: &str) -> Output {
    let search = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("sh");
    command
        .args(["-ec", script])
        .env("PATH", search)
        .output()
        .expect("a shell")
}

/// Puts a command `fadelab` into a folder of its own: a script.
fn command_in(scratch: &Scratch, folder: &str, script: &str) -> PathBuf {
    let folder = scratch.0.join(folder);
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("fadelab"), format!("#!/bin/sh\n{script}\n")).expect("a file");
    let mode = Permissions::from_mode(0o755);
    fs::set_permissions(folder.join("fadelab"), mode).expect("ours");
    folder
}

/// The package, unpacked: its scripts below `DEBIAN`.
fn unpacked(scratch: &Scratch) -> PathBuf {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let made = Command::new(top.join("tools/deb"))
        .arg(env!("CARGO_BIN_EXE_fadelab"))
        .arg(&scratch.0)
        // Nobody sends it anywhere.
        .env("DPKG_DEB_COMPRESSOR_TYPE", "none")
        .output()
        .expect("tools/deb runs");
    assert!(made.status.success(), "{}", said(&made));
    let package = String::from_utf8_lossy(&made.stdout).trim().to_owned();
    let root = scratch.0.join("root");
    let unpacked = Command::new("dpkg-deb").arg("-R").arg(package).arg(&root).output();
    assert!(unpacked.expect("dpkg").status.success());
    root
}

#[test]
fn a_package_leaves_laws_at_an_upgrade_and_takes_them_along() {
    // Goal: while a law is loaded an upgrade, with the scripts of both versions, leaves it where it is; a removal
    // unloads it and forgets what was compiled, and where the command cannot do its part the package goes all the same
    // and says what stays.
    let has_tools = Command::new("dpkg-shlibdeps").arg("--version").output().is_ok();
    if !possible() || !has_tools {
        eprintln!("skipped: dpkg-dev is missing, or no law can be loaded here");
        return;
    }
    let (hosts, scratch, law) = (Hosts::new(), Scratch::new(), unique("flp"));
    let root = unpacked(&scratch);
    let [prerm, postinst] = ["prerm", "postinst"].map(|name| root.join("DEBIAN").join(name).display().to_string());
    // Laws of others on this machine stay: all that are to be unloaded are the test's.
    let packaged = root.join("usr/bin/fadelab").display().to_string();
    let command = command_in(
        &scratch,
        "bin",
        &format!("[ \"$*\" != 'kernel unload --all' ] || set -- kernel unload {law}\nexec {packaged} \"$@\""),
    );
    let load = format!("fadelab kernel load vcp --as {law} --dev {}:wire\n", hosts.0[0]);
    let is_loaded = format!("fadelab kernel list | grep -q '^{law}  law vcp, sockets of'\n");

    let upgraded = with(
        &command,
        &format!("{load}{prerm} upgrade 2\n{postinst} configure 1\n{is_loaded}"),
    );
    assert!(upgraded.status.success(), "{}", said(&upgraded));
    let removed = with(&command, &format!("{prerm} remove\n! {is_loaded}"));
    assert!(removed.status.success() && !is_registered(&law), "{}", said(&removed));
    assert!(!Path::new("/var/cache/fadelab/compiled").exists());

    // Where a law is loaded the script asks for the command.
    let (hosts, other) = (Hosts::new(), unique("flp"));
    let broken = command_in(&scratch, "broken", "exit 1");
    let load = format!("{packaged} kernel load vcp --as {other} --dev {}:wire\n", hosts.0[0]);
    let kept = with(
        &broken,
        &format!("{load}{prerm} remove\n{packaged} kernel unload {other}\n"),
    );
    assert!(kept.status.success(), "{}", said(&kept));
    assert!(said(&kept).contains("goes with the next boot"), "{}", said(&kept));
    assert!(with(&broken, &format!("{prerm} upgrade 2\n")).status.success());
}

#[test]
fn a_package_brings_the_programs_of_its_laws() {
    // Goal: the unpacked command loads a law on a machine without a compiler.
    let has_tools = Command::new("dpkg-shlibdeps").arg("--version").output().is_ok();
    if !possible() || !has_tools {
        eprintln!("skipped: dpkg-dev is missing, or no law can be loaded here");
        return;
    }
    let scratch = Scratch::new();
    let root = unpacked(&scratch);
    let name = unique("flp");
    let installed = |arguments: &[&str]| {
        let mut command = Command::new(root.join("usr/bin/fadelab"));
        command.args(arguments).env("FADELAB_CLANG", "/nonexistent");
        command.output().expect("it runs")
    };
    let output = installed(&["kernel", "load", "xcp", "--as", &name]);
    assert!(output.status.success() && is_registered(&name), "{}", said(&output));
    let output = installed(&["kernel", "unload", &name]);
    assert!(output.status.success(), "{}", said(&output));
}
