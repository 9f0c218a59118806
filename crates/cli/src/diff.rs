//! `fadelab diff`: two results beside each other, seed by seed.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use fadelab_lab::Failure;
use fadelab_results::compare::{self, Change, Comparison, Moved};
use fadelab_results::{Experiment, Summary};

use crate::output;

/// Most figures that are shown unless all are asked for.
const SHOWN_MAX: usize = 40;

/// Arguments of `fadelab diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// Folder of the first result
    pub first: PathBuf,
    /// Folder of the second; differences are second minus first
    pub second: PathBuf,
    /// Show every figure, also those that did not move
    #[arg(long)]
    pub all: bool,
    /// End with status 1 if a figure moved beyond noise or stands in one result only
    #[arg(long)]
    pub exit_code: bool,
}

/// Compares two results.
///
/// # Errors
/// A folder that holds no result, or, if asked for, results that differ.
pub fn diff(args: &DiffArgs) -> Result<(), Failure> {
    let [first, second] = [&args.first, &args.second].map(|folder| output::result(folder));
    let (first, second) = (first?, second?);
    let comparison = Comparison::of(&Summary::of(&first), &Summary::of(&second));
    let mut text = format!("{} → {}\n", args.first.display(), args.second.display());
    for line in settings(&first, &second) {
        let _ = writeln!(text, "  {line}");
    }
    text += &figures(args, &comparison);
    output::print(&text)?;
    if args.exit_code && !comparison.is_same() {
        return Err(Failure::Failed("the results differ".to_owned()));
    }
    Ok(())
}

fn figures(args: &DiffArgs, comparison: &Comparison) -> String {
    let changes = comparison.changes.iter();
    let moved: Vec<&Change> = changes
        .filter(|change| args.all || matches!(change.moved(), Moved::BeyondNoise | Moved::OneSeed))
        .collect();
    let shown = if args.all {
        moved.len()
    } else {
        moved.len().min(SHOWN_MAX)
    };
    let mut text = String::new();
    if shown > 0 {
        let names = [&args.first, &args.second].map(|folder| name(folder));
        let _ = write!(text, "\n{}", compare::table(&moved[..shown], &names[0], &names[1]));
    }
    if shown < moved.len() {
        let _ = writeln!(text, "... and {} more; --all shows them", moved.len() - shown);
    }
    let count = |moved| comparison.count(moved);
    let (beyond, one) = (count(Moved::BeyondNoise), count(Moved::OneSeed));
    let _ = write!(
        text,
        "\n{} figures: {} equal, {} within noise, {beyond} moved (0 is outside of the 95 % interval of the paired \
         difference)",
        comparison.changes.len(),
        count(Moved::Not),
        count(Moved::WithinNoise),
    );
    if one > 0 {
        let _ = write!(text, ", {one} differ in the one seed there is");
    }
    text.push('\n');
    if beyond > 0 {
        text += "Of figures that did not truly move, one in twenty lies outside by chance.\n";
    }
    for (only, folder) in [
        (&comparison.only_first, &args.first),
        (&comparison.only_second, &args.second),
    ] {
        if !only.is_empty() {
            let _ = writeln!(text, "only in {}: {}", folder.display(), only.join("; "));
        }
    }
    text
}

fn name(folder: &std::path::Path) -> String {
    folder
        .file_name()
        .unwrap_or(folder.as_os_str())
        .to_string_lossy()
        .into_owned()
}

/// What was asked for differently: version, laws of the user's own, and keys of the scenario.
fn settings(first: &Experiment, second: &Experiment) -> Vec<String> {
    let mut lines = Vec::new();
    if first.version != second.version {
        lines.push(format!("fadelab {} → {}", first.version, second.version));
    }
    let sources = first.sources.iter().chain(&second.sources);
    let mut files: Vec<&str> = sources.map(|source| source.file.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    for file in files {
        let text = |part: &Experiment| part.sources.iter().find(|source| source.file == file).cloned();
        if text(first) != text(second) {
            lines.push(format!("laws/{file} differs"));
        }
    }
    let (old, new) = (keys(&first.scenario), keys(&second.scenario));
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let value = |keys: &BTreeMap<String, String>| keys.get(name).cloned().unwrap_or_else(|| "not set".to_owned());
        if old.get(name) != new.get(name) && has_law(&old, name) && has_law(&new, name) {
            lines.push(format!("{name}: {} → {}", value(&old), value(&new)));
        }
    }
    if lines.is_empty() && first.scenario != second.scenario {
        lines.push("the scenarios differ".to_owned());
    }
    lines
}

/// Parameters of a law say nothing where the law is not run at all.
fn has_law(keys: &BTreeMap<String, String>, name: &str) -> bool {
    let mut parts = name.splitn(3, '.');
    let (Some(kind @ ("law" | "router")), Some(law)) = (parts.next(), parts.next()) else {
        return true;
    };
    let section = format!("{kind}.{law}.");
    keys.keys().any(|key| key.starts_with(&section))
}

/// A resolved scenario as dotted keys and their values; nothing for the several scenarios of a paper.
fn keys(scenario: &str) -> BTreeMap<String, String> {
    let mut keys = BTreeMap::new();
    if let Ok(table) = scenario.parse::<toml::Table>() {
        flatten("", &toml::Value::Table(table), &mut keys);
    }
    keys
}

fn flatten(prefix: &str, value: &toml::Value, keys: &mut BTreeMap<String, String>) {
    let dotted = |key: &str| {
        if prefix.is_empty() {
            key.to_owned()
        } else {
            format!("{prefix}.{key}")
        }
    };
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                flatten(&dotted(key), value, keys);
            }
        }
        toml::Value::Array(items) if items.iter().any(toml::Value::is_table) => {
            for (place, value) in items.iter().enumerate() {
                flatten(&format!("{prefix}[{place}]"), value, keys);
            }
        }
        value => {
            keys.insert(prefix.to_owned(), value.to_string());
        }
    }
}
