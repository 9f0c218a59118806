//! The figures that a paper's README states: whoever reads them there shall find what was measured.

use crate::ledger::Entry;

/// Means with intervals that a README states of claims and that their runs do not give, each with its claim.
pub fn unmeasured(readme: &str, entries: &[Entry<'_>]) -> Vec<String> {
    let of_entry = |entry: &Entry<'_>| missing(readme, &entry.claim.id, &[&entry.measured, &entry.claim().why]);
    entries.iter().flat_map(of_entry).collect()
}

/// Those of the row `| `ID` | ... | figures | **verdict** |` that are in none of the texts `given`. That each claim has
/// a row is another test's matter.
fn missing(readme: &str, id: &str, given: &[&str]) -> Vec<String> {
    let head = format!("| `{id}` |");
    let rows = readme
        .lines()
        .filter(|line| line.starts_with(&head) && line.ends_with("** |"));
    let is_given = |figure: &String| given.iter().any(|text| text.contains(figure.as_str()));
    let figures = rows.flat_map(figures).filter(|figure| !is_given(figure));
    figures.map(|figure| format!("{figure} ({id})")).collect()
}

/// `MEAN ± HALF` and `MEAN (LOW..HIGH)` in a text.
fn figures(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |word: &str| word.trim_matches(|letter: char| !letter.is_ascii_digit()).to_owned();
    let mut found = Vec::new();
    for (place, word) in words.iter().enumerate().skip(1) {
        let before = number(words[place - 1]);
        let ends = word.trim_end_matches([',', ';', '.']);
        if *word == "±" {
            let half = words.get(place + 1).map_or_else(String::new, |half| number(half));
            found.push(format!("{before} ± {half}"));
        } else if ends.starts_with('(') && ends.ends_with(')') && ends.contains("..") && !before.is_empty() {
            found.push(format!("{before} {ends}"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_among_words() {
        // Goal: every mean with an interval of a sentence, in both of its forms, and nothing else.
        let text = "| `a.b` | 5 of them | VCP 102 ± 25, XCP 12 (0..25); and (as said) 0.5 | **differs** |";
        assert_eq!(figures(text), ["102 ± 25", "12 (0..25)"]);
    }

    #[test]
    fn a_figure_that_no_run_gave_is_found() {
        // Goal: of a claim's row, and of no other claim's, what neither its criteria nor its reason say.
        let readme = "| `a` | x | 1.5 ± 0.1 and 2 ± 1 | **differs** |\n| `b` | x | 9 ± 1 | **differs** |\n";
        assert_eq!(
            missing(readme, "a", &["run.utilisation 1.5 ± 0.1 >= 1", "but 2 ± 3"]),
            ["2 ± 1 (a)"]
        );
        assert_eq!(missing(readme, "a", &["1.5 ± 0.1", "2 ± 1."]), Vec::<String>::new());
    }
}
