//! Columns for the keys of a sweep: numbers in one unit where all values of a key are numbers, else words.

use super::Keyed;
use crate::columns::{Column, Table, Value};
use crate::swept::{SweptKey, column_name};

/// The column behind which those of the coordinates stand.
const POINT: &str = "point";

impl<R: Keyed> Table<R> {
    /// The table with a column for each key of the sweep.
    pub(super) fn with_coordinates(mut self, swept: &[SweptKey]) -> Self {
        let place = self.columns.iter().position(|column| column.name == POINT);
        let places = place.map_or(self.columns.len(), |place| place + 1)..;
        for (place, key) in places.zip(swept) {
            let mut column = column(key);
            // What a paper's ledger runs has a coordinate `run`, which is the name of another column.
            if self.columns.iter().any(|other| other.name == column.name) {
                column.name = format!("{POINT}_{}", column.name).into();
            }
            self.columns.insert(place, column);
        }
        self
    }
}

fn column<R: Keyed>(key: &SweptKey) -> Column<R> {
    let about = format!("swept key `{}`", key.key);
    let (name, wanted) = (column_name(&key.key), key.key.clone());
    let Some((ending, unit, numbers)) = key.column() else {
        return Column {
            name: name.into(),
            unit: "".into(),
            about,
            value: Value::Text(Box::new(move |row: &R| value(row, &wanted).unwrap_or_default())),
        };
    };
    let known: Vec<(String, f64)> = key.values.iter().cloned().zip(numbers).collect();
    let number = move |row: &R| {
        let given = value(row, &wanted)?;
        known.iter().find(|(text, _)| text == given).map(|(_, number)| *number)
    };
    Column {
        name: (name + &ending).into(),
        unit: unit.into(),
        about,
        value: Value::Real(Box::new(number)),
    }
}

/// The value of a key at the point of a row's run; a key that the run's part of a ledger does not sweep has none.
fn value<'r, R: Keyed>(row: &'r R, key: &str) -> Option<&'r str> {
    let found = row.key().coordinates.iter().find(|(name, _)| name == key);
    found.map(|(_, value)| value.as_str())
}
