//! A table as text. What is wider than the terminal goes on below, with the columns that tell the rows apart repeated.

use std::ops::Range;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// Columns between two columns.
const GAP: usize = 2;

/// Least columns of a key that is folded.
const FOLDED_MIN: usize = 8;

/// Headings and rows of a table, all as text.
pub(crate) struct Grid {
    /// How many columns from the left tell the rows apart.
    pub keys: usize,
    /// Columns that hold numbers, aligned at the right.
    pub numbers: Range<usize>,
    /// A heading may have two lines.
    pub headings: Vec<String>,
    /// As many cells each as there are headings.
    pub rows: Vec<Vec<String>>,
}

/// A line of text, and the place of the row that it belongs to: none for headings.
pub(crate) type Line = (String, Option<usize>);

impl Grid {
    /// The lines, at most `width` wide if that is given: columns that find no room stand in further blocks, and keys
    /// that would leave none for any are folded.
    pub(crate) fn lines(&self, width: Option<usize>) -> Vec<Line> {
        let Some(width) = width else {
            return self.block(&[], self.keys..self.headings.len());
        };
        let widest = (self.keys..self.headings.len()).map(|column| self.width(column)).max();
        let caps = self.key_caps(width.saturating_sub(widest.unwrap_or(0)));
        let keys_width: usize = caps.iter().map(|cap| cap + GAP).sum();
        let mut lines = Vec::new();
        let mut begin = self.keys;
        while begin < self.headings.len() || lines.is_empty() {
            let end = self.last_that_fits(begin, width.saturating_sub(keys_width));
            if !lines.is_empty() {
                lines.push((String::new(), None));
            }
            lines.extend(self.block(&caps, begin..end));
            begin = end;
        }
        lines
    }

    /// The lines as a text that ends with a new line.
    pub(crate) fn text(&self, width: Option<usize>) -> String {
        let lines = self.lines(width).into_iter();
        lines.map(|(line, _)| line + "\n").collect()
    }

    /// The end of the columns from `begin` on that fit into `room`: one at least.
    fn last_that_fits(&self, begin: usize, room: usize) -> usize {
        let mut used = 0;
        let fits = |column: &usize| {
            used += self.width(*column) + if *column > begin { GAP } else { 0 };
            *column == begin || used <= room
        };
        begin + (begin..self.headings.len()).take_while(fits).count()
    }

    /// Widths of the keys that leave `room` for them and their gaps: the widest gives way first.
    fn key_caps(&self, room: usize) -> Vec<usize> {
        let mut caps: Vec<usize> = (0..self.keys).map(|key| self.width(key)).collect();
        while caps.iter().map(|cap| cap + GAP).sum::<usize>() > room {
            match caps.iter_mut().max().filter(|cap| **cap > FOLDED_MIN) {
                Some(widest) => *widest -= 1,
                None => break,
            }
        }
        caps
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| &row[column]);
        let texts = cells.chain([&self.headings[column]]).flat_map(|text| text.lines());
        texts.map(|line| line.chars().count()).max().unwrap_or(0)
    }

    /// The keys, folded to `caps` if there are any, and some of the other columns.
    fn block(&self, caps: &[usize], columns: Range<usize>) -> Vec<Line> {
        let shown: Vec<usize> = (0..self.keys).chain(columns).collect();
        let cells = |row: &[String]| -> Vec<String> {
            let cell = |&column: &usize| match caps.get(column) {
                Some(&cap) => folded(&row[column], cap),
                None => row[column].clone(),
            };
            shown.iter().map(cell).collect()
        };
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled);
        let mut owners = Vec::new();
        let heading = (&self.headings, None);
        let rows = self.rows.iter().enumerate().map(|(place, row)| (row, Some(place)));
        for (row, owner) in [heading].into_iter().chain(rows) {
            let cells = cells(row);
            let height = cells.iter().map(|cell| cell.split('\n').count()).max().unwrap_or(1);
            owners.extend(std::iter::repeat_n(owner, height));
            table.add_row(cells);
        }
        for (place, column) in table.column_iter_mut().enumerate() {
            let last = place + 1 == shown.len();
            column.set_padding((0, if last { 0 } else { GAP as u16 }));
            if self.numbers.contains(&shown[place]) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table
            .lines()
            .map(|line| line.trim_end().to_owned())
            .zip(owners)
            .collect()
    }
}

/// The text in lines of at most `width` characters, broken behind a space, a comma or a sign where there is one.
fn folded(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let mut rest: Vec<char> = line.chars().collect();
        while rest.len() > width.max(1) {
            let is_seam = |place: &usize| matches!(rest[place - 1], ' ' | ',' | '+' | '/' | '=' | ':' | ';');
            let seam = (1..=width.max(1)).rev().find(is_seam).unwrap_or(width.max(1));
            let head: String = rest.drain(..seam).collect();
            lines.push(head.trim_end().to_owned());
        }
        lines.push(rest.into_iter().collect());
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(keys: &[&str], numbers: usize) -> Grid {
        let headings = keys.iter().map(|_| "key".to_owned());
        Grid {
            keys: keys.len(),
            numbers: keys.len()..keys.len() + numbers,
            headings: headings.chain((0..numbers).map(|n| format!("n{n}\n%"))).collect(),
            rows: vec![
                keys.iter()
                    .map(|&key| key.to_owned())
                    .chain((0..numbers).map(|n| format!("{}", n * 1111)))
                    .collect(),
            ],
        }
    }

    fn text(lines: &[Line]) -> String {
        lines.iter().map(|(line, _)| line.clone() + "\n").collect()
    }

    #[test]
    fn what_finds_no_room_goes_on_below() {
        // Goal: every column stands in some block, each block names its rows, and lines know their rows.
        let lines = grid(&["a law"], 4).lines(Some(20));
        let expected = "key    n0    n1\n        %     %\na law   0  1111\n\n\
                        key      n2    n3\n          %     %\na law  2222  3333\n";
        assert_eq!(text(&lines), expected);
        let owners: Vec<Option<usize>> = lines.iter().map(|(_, owner)| *owner).collect();
        assert_eq!(owners, [None, None, Some(0), None, None, None, Some(0)]);
        assert_eq!(grid(&["a law"], 4).lines(None).len(), 3);
    }

    #[test]
    fn wide_keys_are_folded() {
        // Goal: keys wider than the terminal leave room for the figures, at seams where there are any, and no part of
        // them is lost.
        assert_eq!(folded("cubic+fq_codel/vcp", 16), "cubic+fq_codel/\nvcp");
        assert_eq!(folded("abcdefgh", 3), "abc\ndef\ngh");
        let lines = grid(&["cubic+fq_codel/vcp over a/long/path.txt", "b"], 1).lines(Some(30));
        assert!(
            lines.iter().all(|(line, _)| line.chars().count() <= 30),
            "{}",
            text(&lines)
        );
        assert!(text(&lines).contains("path.txt"), "{}", text(&lines));
        assert_eq!(
            lines.iter().filter(|(_, row)| *row == Some(0)).count(),
            2,
            "{}",
            text(&lines)
        );
    }
}
