//! `fadelab diff`: two results beside each other, seed by seed.

use std::fmt::Write;
use std::path::{Component, Path, PathBuf};

use clap::Args;
use fadelab_lab::{Failure, settings};
use fadelab_results::Summary;
use fadelab_results::compare::{self, Change, Comparison, Moved};

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
    for setting in settings::differing(&first, &second) {
        let _ = writeln!(text, "  {setting}");
    }
    text += &figures(args, &comparison);
    output::print_told(&text)?;
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
        let names = names(&args.first, &args.second);
        let _ = write!(
            text,
            "\n{}",
            compare::table(&moved[..shown], &names[0], &names[1], output::width())
        );
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

/// Headings of the two columns: the last parts of their paths that tell them apart.
fn names(first: &Path, second: &Path) -> [String; 2] {
    let (one, other): (Vec<Component<'_>>, Vec<Component<'_>>) =
        (first.components().collect(), second.components().collect());
    let common = one
        .iter()
        .rev()
        .zip(other.iter().rev())
        .take_while(|(one, other)| one == other)
        .count();
    let last = |parts: &[Component<'_>]| {
        let from = parts.len().saturating_sub(common + 1);
        parts[from..].iter().collect::<PathBuf>().display().to_string()
    };
    [last(&one), last(&other)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_different_names() {
        // Goal: two results of one name in different folders are told apart, and others by their name alone.
        let names = |first: &str, second: &str| names(Path::new(first), Path::new(second));
        assert_eq!(names("results/a-001", "results/a-002"), ["a-001", "a-002"]);
        assert_eq!(names("old/x", "new/x"), ["old/x", "new/x"]);
        assert_eq!(names("x", "new/x"), ["x", "new/x"]);
        assert_eq!(names("/1/out/x", "/2/out/x"), ["1/out/x", "2/out/x"]);
    }
}
