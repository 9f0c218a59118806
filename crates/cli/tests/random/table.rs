//! The tables of a result, read from their CSV files.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;

/// The tables of a result, by the names of their files.
pub const TABLES: [&str; 9] = [
    "links",
    "flows",
    "runs",
    "flow_totals",
    "groups",
    "completions",
    "histograms",
    "drops",
    "tunnels",
];

/// A table as text: names with commas or quotes are not among those that scenarios of chance give.
#[derive(Clone)]
pub struct Table {
    pub name: &'static str,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// Where the rows of a link or flow stand, one after the other, by its name.
    places: BTreeMap<String, Range<usize>>,
}

impl Table {
    pub fn read(folder: &Path, name: &'static str) -> Result<Self, String> {
        let path = folder.join(format!("csv/{name}.csv"));
        let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect());
        let columns: Vec<String> = lines.next().ok_or_else(|| format!("{} is empty", path.display()))?;
        let rows: Vec<Vec<String>> = lines.collect();
        let key = columns
            .iter()
            .position(|column| ["link", "flow"].contains(&column.as_str()));
        let mut places: BTreeMap<String, Range<usize>> = BTreeMap::new();
        for (row, cells) in rows.iter().enumerate() {
            let name = key.and_then(|key| cells.get(key)).cloned().unwrap_or_default();
            places.entry(name).or_insert(row..row).end = row + 1;
        }
        Ok(Self {
            name,
            columns,
            rows,
            places,
        })
    }

    /// The last row of a link or flow; with a time, the last that is not later.
    pub fn last_of(&self, name: &str, until_ns: Option<u64>) -> Option<usize> {
        let mut rows = self.places.get(name)?.clone();
        match until_ns {
            None => rows.next_back(),
            Some(until_ns) => rows.rfind(|&row| self.count(row, "time_ns") <= until_ns),
        }
    }

    pub fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|name| name == column)
    }

    fn place(&self, column: &str) -> usize {
        let place = self.columns.iter().position(|name| name == column);
        place.unwrap_or_else(|| panic!("table {} has no column {column}", self.name))
    }

    pub fn text(&self, row: usize, column: &str) -> &str {
        &self.rows[row][self.place(column)]
    }

    pub fn set(&mut self, row: usize, column: &str, value: &str) {
        let place = self.place(column);
        value.clone_into(&mut self.rows[row][place]);
    }

    /// A count; what is none is found by the ranges.
    pub fn count(&self, row: usize, column: &str) -> u64 {
        self.text(row, column).parse().unwrap_or(0)
    }

    /// A real number, if it is there.
    pub fn real(&self, row: usize, column: &str) -> Option<f64> {
        self.text(row, column).parse().ok()
    }

    pub fn about(&self, row: usize) -> String {
        let named = ["link", "flow", "time_ns"].iter().filter(|name| self.has(name));
        let named: Vec<String> = named.map(|name| format!("{name} {}", self.text(row, name))).collect();
        format!("{} row {row} ({})", self.name, named.join(", "))
    }
}

/// All of a result.
#[derive(Clone)]
pub struct Tables(Vec<Table>);

impl Tables {
    pub fn read(folder: &Path) -> Result<Self, String> {
        TABLES
            .iter()
            .map(|name| Table::read(folder, name))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Table> {
        self.0.iter()
    }

    pub fn get(&self, name: &str) -> &Table {
        let table = self.0.iter().find(|table| table.name == name);
        table.unwrap_or_else(|| panic!("there is no table {name}"))
    }

    pub fn get_mut(&mut self, name: &str) -> &mut Table {
        let table = self.0.iter_mut().find(|table| table.name == name);
        table.unwrap_or_else(|| panic!("there is no table {name}"))
    }
}
