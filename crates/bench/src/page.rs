//! Puts the measured tables into the page, between the markers of each section.

use std::fmt::{Display, Write as _};
use std::path::Path;

use crate::row::{Row, Section};

/// What one part of the bench measured: printed, and put into the page.
pub trait Table: Display {
    /// Name of its block in the page.
    fn name(&self) -> &'static str;

    /// What stands in the block.
    fn markdown(&self) -> String;

    /// Figures that do not keep their bounds.
    fn missed(&self) -> Vec<&Row> {
        Vec::new()
    }
}

impl Table for Section {
    fn name(&self) -> &'static str {
        self.name
    }

    fn markdown(&self) -> String {
        let mut text = format!("{}:\n\n| case | | | bound | |\n|---|---:|---|---|---|\n", self.about);
        for row in &self.rows {
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

    fn missed(&self) -> Vec<&Row> {
        self.rows.iter().filter(|row| !row.holds()).collect()
    }
}

/// The page with `tables` in place of those that stood there.
fn replaced(mut page: String, tables: &[Box<dyn Table>]) -> Result<String, String> {
    for table in tables {
        let (begin, end) = (
            format!("<!-- {}: measured -->\n", table.name()),
            format!("<!-- {}: end -->", table.name()),
        );
        let from = page.find(&begin).map(|at| at + begin.len());
        let from = from.ok_or_else(|| format!("the page has no line '{}'", begin.trim()))?;
        let length = page[from..]
            .find(&end)
            .ok_or_else(|| format!("the page has no line '{end}' after its begin"))?;
        page.replace_range(from..from + length, &format!("\n{}\n", table.markdown()));
    }
    Ok(page)
}

/// Rewrites the file at `path`.
///
/// # Errors
/// In words, where it cannot be read or written or lacks a table's markers.
pub fn replace(path: &Path, tables: &[Box<dyn Table>]) -> Result<(), String> {
    let wrong = |what: String| format!("{}: {what}", path.display());
    let page = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let page = replaced(page, tables).map_err(wrong)?;
    std::fs::write(path, page).map_err(|error| wrong(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Bound;

    fn tables(value: f64) -> [Box<dyn Table>; 1] {
        let row = Row {
            case: "ten".to_owned(),
            quantity: "x ns-2",
            value,
            digits: 1,
            bound: Bound::AtLeast(8.0, 10.0),
            basis: String::new(),
        };
        [Box::new(Section {
            name: "speed",
            about: "Speed".to_owned(),
            rows: vec![row],
        })]
    }

    #[test]
    fn tables_replace_the_last_ones() {
        // Goal: only what stands between the markers changes, however often, and a page without markers is refused.
        let page = "# Page\n<!-- speed: measured -->\nold\n<!-- speed: end -->\nprose\n".to_owned();
        let once = replaced(page, &tables(9.0)).unwrap();
        assert!(
            once.contains("| ten | 9.0 | x ns-2 | at least 8, aim 10 | holds |"),
            "{once}"
        );
        assert!(
            once.starts_with("# Page\n") && once.ends_with("<!-- speed: end -->\nprose\n"),
            "{once}"
        );
        let twice = replaced(once, &tables(7.0)).unwrap();
        assert!(twice.contains("| MISSED |") && !twice.contains("9.0"), "{twice}");
        assert!(
            replaced("nothing".to_owned(), &tables(9.0))
                .unwrap_err()
                .contains("speed: measured")
        );
    }
}
