//! Tables as text: aligned columns, and what differs between two versions of one.

use std::collections::BTreeMap;

/// Space between columns.
const GAP: &str = "  ";

/// A table under an introduction. The first `keys` columns name a row and stand left, the others are numbers.
pub struct Table {
    pub introduction: String,
    pub heading: Vec<&'static str>,
    pub keys: usize,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// The text of the file.
    pub fn text(&self) -> String {
        let heading: Vec<String> = self.heading.iter().map(|&name| name.to_owned()).collect();
        let width = |column: usize| {
            let cells = self
                .rows
                .iter()
                .chain([&heading])
                .map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..heading.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
                if column < self.keys {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            });
            format!("{}\n", cells.collect::<Vec<_>>().join(GAP).trim_end())
        };
        let lines: String = [&heading].into_iter().chain(&self.rows).map(line).collect();
        format!("{}\n\n{lines}", self.introduction.trim_end())
    }

    /// Which numbers of which rows moved between two texts of this table.
    pub fn moved(&self, before: &str, now: &str) -> Vec<String> {
        let (before, now) = (self.parsed(before), self.parsed(now));
        let mut lines = Vec::new();
        for (name, cells) in &now {
            match before.get(name) {
                None => lines.push(format!("{name}: a new row")),
                Some(old) if old != cells => lines.push(format!("{name}: {}", self.changes(old, cells))),
                Some(_) => {}
            }
        }
        let gone = before.keys().filter(|name| !now.contains_key(*name));
        lines.extend(gone.map(|name| format!("{name}: the row is gone")));
        lines
    }

    fn changes(&self, old: &[String], new: &[String]) -> String {
        let of_column = |(column, name): (usize, &&str)| {
            let empty = String::new();
            let (old, new) = (old.get(column).unwrap_or(&empty), new.get(column).unwrap_or(&empty));
            (old != new).then(|| format!("{name} {old} -> {new}"))
        };
        let names = self.heading[self.keys..].iter();
        names.enumerate().filter_map(of_column).collect::<Vec<_>>().join(", ")
    }

    /// Rows by their keys: what stands below the heading. A cell has no two spaces in a row.
    fn parsed(&self, text: &str) -> BTreeMap<String, Vec<String>> {
        let is_heading = |line: &str| cells(line) == self.heading;
        let below = text.lines().skip_while(|line| !is_heading(line)).skip(1);
        let row = |line: &str| {
            let mut keys: Vec<String> = cells(line).into_iter().map(str::to_owned).collect();
            let numbers = keys.split_off(self.keys.min(keys.len()));
            (keys.join(" at "), numbers)
        };
        below.map(row).collect()
    }
}

fn cells(line: &str) -> Vec<&str> {
    line.split(GAP).map(str::trim).filter(|cell| !cell.is_empty()).collect()
}
