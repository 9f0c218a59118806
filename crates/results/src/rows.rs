//! Reads a table back, one row group at a time, column by column.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};

use crate::counters::Counter;

/// The columns of a row group that hold text or whole numbers.
pub struct Rows {
    /// Number of rows.
    pub len: usize,
    texts: BTreeMap<String, Vec<ByteArray>>,
    numbers: BTreeMap<String, Vec<i64>>,
}

/// Calls `take` with each row group of the file in turn.
///
/// # Errors
/// In words: the file cannot be opened, is no Parquet, or `take` refuses what is in it.
pub fn each(path: &Path, mut take: impl FnMut(&Rows) -> Result<(), String>) -> Result<(), String> {
    let file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => "it is missing".to_owned(),
        _ => error.to_string(),
    })?;
    let reader = SerializedFileReader::new(file).map_err(|error| error.to_string())?;
    for place in 0..reader.num_row_groups() {
        let rows = reader.get_row_group(place).and_then(|group| Rows::read(group.as_ref()));
        take(&rows.map_err(|error| error.to_string())?)?;
    }
    Ok(())
}

impl Rows {
    fn read(group: &dyn RowGroupReader) -> Result<Self, ParquetError> {
        let len = usize::try_from(group.metadata().num_rows())?;
        let mut rows = Self {
            len,
            texts: BTreeMap::new(),
            numbers: BTreeMap::new(),
        };
        for place in 0..group.num_columns() {
            let name = group.metadata().column(place).column_descr().name().to_owned();
            match group.get_column_reader(place)? {
                ColumnReader::ByteArrayColumnReader(column) => {
                    rows.texts.insert(name, values(column, len)?);
                }
                ColumnReader::Int64ColumnReader(column) => {
                    rows.numbers.insert(name, values(column, len)?);
                }
                // Figures: whoever reads the rows back computes them again.
                _ => {}
            }
        }
        Ok(rows)
    }

    /// A text column.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn texts(&self, name: &str) -> Result<Vec<&str>, String> {
        let column = self.texts.get(name).ok_or_else(|| missing(name))?;
        let text = |value: &'_ ByteArray| -> Result<(), String> {
            value.as_utf8().map(|_| ()).map_err(|error| format!("{name}: {error}"))
        };
        column.iter().try_for_each(text)?;
        Ok(column.iter().map(|value| value.as_utf8().unwrap_or_default()).collect())
    }

    /// A column of whole numbers.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn numbers(&self, name: &str) -> Result<&[i64], String> {
        self.numbers.get(name).map(Vec::as_slice).ok_or_else(|| missing(name))
    }

    /// The counters of each row, of those that `wanted` picks.
    ///
    /// # Errors
    /// A column is missing.
    pub fn counters<C: Default + Clone>(
        &self,
        counters: &[Counter<C>],
        wanted: fn(&Counter<C>) -> bool,
    ) -> Result<Vec<C>, String> {
        let mut rows = vec![C::default(); self.len];
        for counter in counters.iter().filter(|counter| wanted(counter)) {
            for (row, value) in rows.iter_mut().zip(self.numbers(counter.name)?) {
                (counter.set)(row, *value as u64);
            }
        }
        Ok(rows)
    }
}

fn missing(name: &str) -> String {
    format!("it has no column {name}")
}

fn values<T: DataType>(mut column: ColumnReaderImpl<T>, len: usize) -> Result<Vec<T::T>, ParquetError> {
    let mut values = Vec::with_capacity(len);
    while values.len() < len {
        let (records, _, _) = column.read_records(len - values.len(), None, None, &mut values)?;
        if records == 0 {
            return Err(ParquetError::EOF(format!("{} of {len} rows are there", values.len())));
        }
    }
    Ok(values)
}
