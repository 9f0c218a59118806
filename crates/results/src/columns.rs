//! Tables of typed columns as Parquet or CSV, written from rows that are already in memory.
//!
//! Equal rows give equal bytes: the writer's properties are fixed and nothing in a file depends on time or host.

use std::borrow::Cow;
use std::fmt::Write;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use serde_json::json;

use crate::Error;
use crate::counters::{Counted, Counter};

/// How tables are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Typed and compressed, with units and meaning of the columns inside.
    Parquet,
    /// Text that every tool reads, with a table of the columns beside it.
    Csv,
}

impl Format {
    const fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
        }
    }
}

/// Rows of a row group. Readers skip row groups by their statistics; smaller ones cost space.
pub const GROUP_ROWS: usize = 1 << 17;

/// Takes a number from a row.
type Getter<R, N> = Box<dyn Fn(&R) -> N>;

/// Takes a text from a row, of which it is a part.
type TextGetter<R> = Box<dyn for<'r> Fn(&'r R) -> &'r str>;

/// How a column takes its value from a row.
pub enum Value<R> {
    /// Text that repeats: stored as a dictionary.
    Text(TextGetter<R>),
    /// A small set of numbers: stored as a dictionary.
    Key(Getter<R, u64>),
    /// A count, a size or a time below 2^63, stored signed so that differences of columns cannot wrap.
    Count(Getter<R, u64>),
    /// A whole number with a sign.
    Signed(Getter<R, i64>),
    /// A number that may be absent.
    Real(Getter<R, Option<f64>>),
}

/// A column: its name, its unit, what it means and where it comes from.
pub struct Column<R> {
    /// Name, with the unit last where it has one.
    pub name: Cow<'static, str>,
    /// Unit; `1` is a pure number, empty for text.
    pub unit: Cow<'static, str>,
    /// What it means.
    pub about: String,
    /// Where it comes from.
    pub value: Value<R>,
}

impl<R> Column<R> {
    /// A text column.
    pub fn text(name: &'static str, about: &str, value: impl for<'r> Fn(&'r R) -> &'r str + 'static) -> Self {
        Self {
            name: name.into(),
            unit: "".into(),
            about: about.to_owned(),
            value: Value::Text(Box::new(value)),
        }
    }

    /// A column of few distinct numbers.
    pub fn key(name: &'static str, about: &str, value: impl Fn(&R) -> u64 + 'static) -> Self {
        Self {
            name: name.into(),
            unit: "1".into(),
            about: about.to_owned(),
            value: Value::Key(Box::new(value)),
        }
    }

    /// A column of counts, sizes or times.
    pub fn count(name: &'static str, unit: &'static str, about: &str, value: impl Fn(&R) -> u64 + 'static) -> Self {
        Self {
            name: name.into(),
            unit: unit.into(),
            about: about.to_owned(),
            value: Value::Count(Box::new(value)),
        }
    }

    /// A column of a counter.
    pub fn counter<C>(counter: &'static Counter<C>, about: String) -> Self
    where
        R: Counted<C>,
    {
        Self {
            name: counter.name.into(),
            unit: counter.unit.into(),
            about,
            value: Value::Count(Box::new(|row: &R| (counter.get)(row.counters()))),
        }
    }

    /// The type as it is documented.
    pub const fn type_name(&self) -> &'static str {
        match self.value {
            Value::Text(_) => "text",
            Value::Key(_) => "unsigned",
            Value::Count(_) | Value::Signed(_) => "integer",
            Value::Real(_) => "real or null",
        }
    }

    fn schema(&self) -> Result<Type, ParquetError> {
        let (physical, repetition) = match self.value {
            Value::Text(_) => (Physical::BYTE_ARRAY, Repetition::REQUIRED),
            Value::Key(_) | Value::Count(_) | Value::Signed(_) => (Physical::INT64, Repetition::REQUIRED),
            Value::Real(_) => (Physical::DOUBLE, Repetition::OPTIONAL),
        };
        let logical = match self.value {
            Value::Text(_) => Some(LogicalType::String),
            Value::Key(_) => Some(LogicalType::integer(64, false)),
            Value::Count(_) | Value::Signed(_) | Value::Real(_) => None,
        };
        Type::primitive_type_builder(&self.name, physical)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .build()
    }

    fn write(&self, rows: &[R], writer: &mut SerializedColumnWriter) -> Result<(), ParquetError> {
        match &self.value {
            Value::Text(get) => {
                let values = texts(rows, get);
                writer.typed::<ByteArrayType>().write_batch(&values, None, None)?;
            }
            Value::Key(get) | Value::Count(get) => {
                let values: Vec<i64> = rows.iter().map(|row| get(row) as i64).collect();
                writer.typed::<Int64Type>().write_batch(&values, None, None)?;
            }
            Value::Signed(get) => {
                let values: Vec<i64> = rows.iter().map(get).collect();
                writer.typed::<Int64Type>().write_batch(&values, None, None)?;
            }
            Value::Real(get) => {
                let cells: Vec<Option<f64>> = rows.iter().map(get).collect();
                let values: Vec<f64> = cells.iter().copied().flatten().collect();
                let present: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
                writer
                    .typed::<DoubleType>()
                    .write_batch(&values, Some(&present), None)?;
            }
        }
        Ok(())
    }
}

/// The texts of a column. A series repeats its keys in every row: neighbours that are the very same text, not merely an
/// equal one, share one allocation.
fn texts<R>(rows: &[R], get: &TextGetter<R>) -> Vec<ByteArray> {
    let mut values: Vec<ByteArray> = Vec::with_capacity(rows.len());
    let mut last = "";
    for row in rows {
        let text = get(row);
        let same = values.last().filter(|_| std::ptr::eq(last, text)).cloned();
        values.push(same.unwrap_or_else(|| ByteArray::from(text)));
        last = text;
    }
    values
}

/// A table: its name, what it holds and its columns.
pub struct Table<R> {
    /// Name of the file, without `.parquet`.
    pub name: &'static str,
    /// What one row is.
    pub about: &'static str,
    pub columns: Vec<Column<R>>,
}

impl<R> Table<R> {
    /// Writes the rows of `batches` into `folder` and waits until they are on the disk. In Parquet they are gathered
    /// into row groups of at least [`GROUP_ROWS`], so that no more than one batch beyond that is held at a time.
    ///
    /// # Errors
    /// When the file cannot be created or written.
    pub fn write(&self, folder: &Path, format: Format, batches: impl Iterator<Item = Vec<R>>) -> Result<(), Error> {
        let path = folder.join(format!("{}.{}", self.name, format.extension()));
        let file = File::create(&path).map_err(Error::io("create", &path))?;
        let written = match format {
            Format::Parquet => self.write_to(file, batches).map_err(|source| Error::Parquet {
                path: path.clone(),
                source,
            }),
            Format::Csv => self.write_csv(file, batches).map_err(|source| Error::Csv {
                path: path.clone(),
                source,
            }),
        };
        written?.sync_all().map_err(Error::io("write to disk", &path))
    }

    /// A heading and a line per row; what is absent is empty.
    fn write_csv(&self, file: File, batches: impl Iterator<Item = Vec<R>>) -> csv::Result<File> {
        let mut writer = csv::Writer::from_writer(file);
        writer.write_record(self.columns.iter().map(|column| column.name.as_ref()))?;
        let mut cell = String::new();
        for row in batches.flatten() {
            for column in &self.columns {
                cell.clear();
                // Writing to a string cannot fail.
                let _ = match &column.value {
                    Value::Text(get) => {
                        writer.write_field(get(&row))?;
                        continue;
                    }
                    Value::Key(get) | Value::Count(get) => write!(cell, "{}", get(&row)),
                    Value::Signed(get) => write!(cell, "{}", get(&row)),
                    Value::Real(get) => get(&row).map_or(Ok(()), |value| write!(cell, "{value}")),
                };
                writer.write_field(&cell)?;
            }
            writer.write_record(None::<&[u8]>)?;
        }
        writer.into_inner().map_err(|error| error.into_error().into())
    }

    /// Adds what is known of each column to the table of columns.
    pub(crate) fn describe(&self, writer: &mut csv::Writer<Vec<u8>>) -> csv::Result<()> {
        for column in &self.columns {
            writer.write_record([self.name, &column.name, column.type_name(), &column.unit, &column.about])?;
        }
        Ok(())
    }

    fn write_to(&self, file: File, batches: impl Iterator<Item = Vec<R>>) -> Result<File, ParquetError> {
        let mut writer = SerializedFileWriter::new(file, Arc::new(self.schema()?), Arc::new(self.properties()))?;
        let mut rows = Vec::new();
        for batch in batches {
            rows.extend(batch);
            if rows.len() >= GROUP_ROWS {
                self.write_group(&rows, writer.next_row_group()?)?;
                rows.clear();
            }
        }
        if !rows.is_empty() {
            self.write_group(&rows, writer.next_row_group()?)?;
        }
        writer.into_inner()
    }

    fn write_group(&self, rows: &[R], mut group: SerializedRowGroupWriter<File>) -> Result<(), ParquetError> {
        for column in &self.columns {
            if let Some(mut writer) = group.next_column()? {
                column.write(rows, &mut writer)?;
                writer.close()?;
            }
        }
        group.close()?;
        Ok(())
    }

    fn schema(&self) -> Result<Type, ParquetError> {
        let fields: Result<Vec<_>, _> = self
            .columns
            .iter()
            .map(|column| column.schema().map(Arc::new))
            .collect();
        Type::group_type_builder(self.name).with_fields(fields?).build()
    }

    /// Counters grow slowly, so their differences pack into a few bits; keys repeat, so a dictionary holds them.
    fn properties(&self) -> WriterProperties {
        let columns: Vec<_> = self
            .columns
            .iter()
            .map(|column| json!({ "name": column.name, "unit": column.unit, "about": column.about }))
            .collect();
        let describe = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
        let mut properties = WriterProperties::builder()
            .set_created_by("fadelab".to_owned())
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_key_value_metadata(Some(vec![
                describe("fadelab.table", self.about.to_owned()),
                describe("fadelab.columns", json!(columns).to_string()),
            ]));
        for column in &self.columns {
            let path = ColumnPath::from(column.name.as_ref());
            properties = match column.value {
                Value::Text(_) | Value::Key(_) => properties.set_column_dictionary_enabled(path, true),
                Value::Count(_) | Value::Signed(_) => properties
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
                Value::Real(_) => properties.set_column_dictionary_enabled(path, false),
            };
        }
        properties.build()
    }
}
