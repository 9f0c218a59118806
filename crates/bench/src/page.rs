//! Puts the measured tables into the page, between the markers of each section.

use std::fmt::Write as _;
use std::path::Path;

use crate::row::Section;

fn table(section: &Section) -> String {
    let mut text = format!("{}:\n\n| case | | | bound | |\n|---|---:|---|---|---|\n", section.about);
    for row in &section.rows {
        let basis = if row.basis.is_empty() {
            String::new()
        } else {
            format!(" ({})", row.basis)
        };
        let verdict = row.verdict();
        writeln!(
            text,
            "| {} | {:.*} | {}{basis} | {} | {verdict} |",
            row.case,
            row.digits,
            row.value,
            row.quantity,
            row.bound_text()
        )
        .expect("a string takes all");
    }
    text
}

/// The page with the tables of `sections` in place of those that stood there.
fn replaced(mut page: String, sections: &[Section]) -> Result<String, String> {
    for section in sections {
        let (begin, end) = (
            format!("<!-- {}: measured -->\n", section.name),
            format!("<!-- {}: end -->", section.name),
        );
        let from = page.find(&begin).map(|at| at + begin.len());
        let from = from.ok_or_else(|| format!("the page has no line '{}'", begin.trim()))?;
        let length = page[from..]
            .find(&end)
            .ok_or_else(|| format!("the page has no line '{end}' after its begin"))?;
        page.replace_range(from..from + length, &format!("\n{}\n", table(section)));
    }
    Ok(page)
}

/// Rewrites the file at `path`.
///
/// # Errors
/// In words, where it cannot be read or written or lacks a section's markers.
pub fn replace(path: &Path, sections: &[Section]) -> Result<(), String> {
    let wrong = |what: String| format!("{}: {what}", path.display());
    let page = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let page = replaced(page, sections).map_err(wrong)?;
    std::fs::write(path, page).map_err(|error| wrong(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Bound, Row};

    fn section(value: f64) -> Section {
        let row = Row {
            case: "ten".to_owned(),
            quantity: "x ns-2",
            value,
            digits: 1,
            bound: Bound::AtLeast(8.0, 10.0),
            basis: String::new(),
        };
        Section {
            name: "speed",
            about: "Speed".to_owned(),
            rows: vec![row],
        }
    }

    #[test]
    fn tables_replace_the_last_ones() {
        // Goal: only what stands between the markers changes, however often, and a page without markers is refused.
        let page = "# Page\n<!-- speed: measured -->\nold\n<!-- speed: end -->\nprose\n".to_owned();
        let once = replaced(page, &[section(9.0)]).unwrap();
        assert!(
            once.contains("| ten | 9.0 | x ns-2 | at least 8, aim 10 | holds |"),
            "{once}"
        );
        assert!(
            once.starts_with("# Page\n") && once.ends_with("<!-- speed: end -->\nprose\n"),
            "{once}"
        );
        let twice = replaced(once, &[section(7.0)]).unwrap();
        assert!(twice.contains("| MISSED |") && !twice.contains("9.0"), "{twice}");
        assert!(
            replaced("nothing".to_owned(), &[section(9.0)])
                .unwrap_err()
                .contains("speed: measured")
        );
    }
}
