//! Asks git which commit is being built. Only the command is told, so that the libraries stay as they are from one
//! commit to the next.

use std::path::Path;
use std::process::Command;

const UNKNOWN: &str = "unknown";

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    let root = root.expect("the crate stands in the folder crates of its sources");
    let hash = git(root, &["rev-parse", "HEAD"]);
    let date = git(root, &["show", "--no-patch", "--format=%cs", "HEAD"]);
    let is_changed =
        git(root, &["status", "--porcelain", "--untracked-files=no"]).is_some_and(|files| !files.is_empty());
    let hash = hash.map_or_else(|| UNKNOWN.to_owned(), |hash| hash + if is_changed { "+" } else { "" });
    println!("cargo::rustc-env=FADELAB_COMMIT={hash}");
    println!(
        "cargo::rustc-env=FADELAB_COMMIT_DATE={}",
        date.as_deref().unwrap_or(UNKNOWN)
    );
    watch(root);
}

/// What git says of these sources; nothing where they are no checkout, even if a folder above them is one.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    git.arg("-C").arg(root).args(arguments);
    git.env("GIT_CEILING_DIRECTORIES", root.parent()?)
        .env("GIT_OPTIONAL_LOCKS", "0");
    let output = git.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

/// Asks again after a commit, and when sources differ from it or no longer do.
fn watch(root: &Path) {
    for sources in ["crates", "laws", "scenarios", "web"] {
        println!("cargo::rerun-if-changed={}", root.join(sources).display());
    }
    for name in ["HEAD", "logs/HEAD", "index"] {
        let path = git(root, &["rev-parse", "--path-format=absolute", "--git-path", name]);
        if let Some(path) = path.filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}
