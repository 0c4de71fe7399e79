//! Samples in JSON: rows of numbers, or objects that name the columns of the table the model was trained on.

use crate::reply::Refusal;
use crate::rows::{Expected, FORMS, Samples, too_many};
use atomlearn::Mat;
use atomlearn::io::{Cell, TableSchema};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::{BTreeSet, HashMap};
use std::fmt;

/// Names that are ignored and kept to be told.
const MAX_IGNORED: usize = 100;

/// The samples of a body.
pub fn parse(bytes: &[u8], expected: Expected, schema: &TableSchema) -> Result<Samples, Refusal> {
    let mut table = Table { expected, schema, values: Vec::new(), rows: 0, loose: 0, full: false, objects: None };
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = Outer { table: &mut table, inside: false }.deserialize(&mut reader).and_then(|()| reader.end());
    if table.full {
        return Err(too_many(expected.samples));
    }
    read.map_err(|e| Refusal::bad(format!("the JSON cannot be used: {e}; {FORMS}")))?;
    if table.loose > 0 {
        table.end_row(table.loose).map_err(Refusal::bad)?;
    }
    if table.rows == 0 {
        return Err(Refusal::bad(format!("the body holds no samples; {FORMS}")));
    }
    if let Some(objects) = &table.objects {
        return objects.samples(table.rows);
    }
    let features = expected.features;
    let x = Mat::from_fn(features, table.rows, |i, j| table.values[j * features + i]);
    Ok(Samples { x, notes: Vec::new(), regions: None })
}

/// What is read, row after row. Nothing is kept beyond what the model can take.
struct Table<'s> {
    expected: Expected,
    schema: &'s TableSchema,
    values: Vec<f64>,
    rows: usize,
    /// Numbers that stand outside rows: the values of a lone sample.
    loose: usize,
    full: bool,
    /// Set if samples are objects.
    objects: Option<Objects<'s>>,
}

impl<'s> Table<'s> {
    fn push(&mut self, value: f64, place: usize) -> Result<(), String> {
        if place == self.expected.features {
            return Err(format!(
                "row {} (counted from 0) has more than {place} numbers, the model takes {place}",
                self.rows
            ));
        }
        self.values.push(value);
        Ok(())
    }

    fn end_row(&mut self, length: usize) -> Result<(), String> {
        if length != self.expected.features {
            let takes = self.expected.features;
            return Err(format!("row {} (counted from 0) has {length} numbers, the model takes {takes}", self.rows));
        }
        self.count_row()
    }

    fn count_row(&mut self) -> Result<(), String> {
        self.rows += 1;
        self.full = self.rows > self.expected.samples;
        if self.full { Err("too many rows".into()) } else { Ok(()) }
    }

    /// The objects so far, if this one may come next.
    fn objects(&mut self) -> Result<&mut Objects<'s>, String> {
        if self.loose > 0 || (self.rows > 0 && self.objects.is_none()) {
            return Err("numbers and objects are mixed".into());
        }
        if !self.schema.header {
            return Err(format!(
                "row {} (counted from 0) is an object, but the model has no names for its features; send rows of numbers",
                self.rows
            ));
        }
        Ok(self.objects.get_or_insert_with(|| Objects::new(self.schema)))
    }

    fn end_object(&mut self) -> Result<(), String> {
        let row = self.rows;
        let ended = self.objects()?.end();
        ended.map_err(|why| format!("row {row} (counted from 0): {why}"))?;
        self.count_row()
    }

    /// Reads the value of a field of a sample.
    fn field<'de, A: MapAccess<'de>>(&mut self, name: &str, fields: &mut A) -> Result<(), A::Error> {
        let objects = self.objects().map_err(A::Error::custom)?;
        match objects.place_of.get(name.trim()).copied() {
            Some(place) => {
                let cell = fields.next_value_seed(One { name })?;
                objects.set(place, cell).map_err(A::Error::custom)
            }
            None => {
                objects.ignore(name);
                fields.next_value::<IgnoredAny>().map(drop)
            }
        }
    }

    fn object<'de, A: MapAccess<'de>>(&mut self, mut fields: A) -> Result<(), A::Error> {
        self.objects().map_err(A::Error::custom)?;
        while let Some(name) = fields.next_key::<String>()? {
            self.field(&name, &mut fields)?;
        }
        self.end_object().map_err(A::Error::custom)
    }

    fn items<'de, A: SeqAccess<'de>>(&mut self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Item(self))?.is_some() {}
        Ok(())
    }
}

/// A value of an object.
#[derive(Clone, Debug)]
enum NamedValue {
    Missing,
    Number(f64),
    Text(String),
}

/// Samples whose values have names.
struct Objects<'s> {
    schema: &'s TableSchema,
    place_of: HashMap<&'s str, usize>,
    /// Of the rows that are done, in the order of the model's columns.
    cells: Vec<NamedValue>,
    /// Of the row that is read.
    row: Vec<Option<NamedValue>>,
    /// Names in it that the model does not know.
    others: Vec<String>,
    ignored: BTreeSet<String>,
}

impl<'s> Objects<'s> {
    fn new(schema: &'s TableSchema) -> Self {
        let place_of = schema.column_names().into_iter().enumerate().map(|(place, name)| (name, place)).collect();
        let row = vec![None; schema.features.len()];
        Objects { schema, place_of, cells: Vec::new(), row, others: Vec::new(), ignored: BTreeSet::new() }
    }

    fn set(&mut self, place: usize, cell: NamedValue) -> Result<(), String> {
        match self.row[place].replace(cell) {
            None => Ok(()),
            Some(_) => Err(format!("`{}` comes twice in one object", self.schema.features[place].name)),
        }
    }

    fn ignore(&mut self, name: &str) {
        if self.others.len() < MAX_IGNORED {
            self.others.push(name.into());
        }
    }

    fn end(&mut self) -> Result<(), String> {
        if self.row.iter().any(Option::is_none) {
            let features = self.schema.features.iter().zip(&self.row);
            let found = features.filter(|(_, cell)| cell.is_some()).map(|(feature, _)| feature.name.as_str());
            let names: Vec<&str> = found.chain(self.others.iter().map(String::as_str)).collect();
            return self.schema.match_columns(&names).map(drop).map_err(|error| error.to_string());
        }
        self.cells.extend(self.row.iter_mut().filter_map(Option::take));
        for name in self.others.drain(..) {
            if self.ignored.len() < MAX_IGNORED {
                self.ignored.insert(name);
            }
        }
        Ok(())
    }

    fn samples(&self, rows: usize) -> Result<Samples, Refusal> {
        let width = self.row.len();
        let cell = |row: usize, column: usize| match &self.cells[row * width + column] {
            NamedValue::Missing => Cell::Missing,
            NamedValue::Number(value) => Cell::Number(*value),
            NamedValue::Text(text) => Cell::Text(text),
        };
        let place = |row, column: usize| format!("row {row} (counted from 0), `{}`", self.schema.features[column].name);
        let encoded = self.schema.encode(rows, cell, place).map_err(|error| Refusal::bad(error.to_string()))?;
        let ignored: Vec<&str> = self.ignored.iter().map(String::as_str).collect();
        let notes = encoded.notes.into_iter().chain(self.schema.ignored(&ignored));
        Ok(Samples { x: encoded.x, notes: notes.map(|note| note.text).collect(), regions: None })
    }
}

/// `[[...], ...]`, `[...]`, `[{...}, ...]`, `{...}`, or one of them as `{"rows": ...}`.
struct Outer<'a, 's> {
    table: &'a mut Table<'s>,
    /// This is what `rows` holds, so that an object is a sample.
    inside: bool,
}

impl<'de> DeserializeSeed<'de> for Outer<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Outer<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rows of numbers or objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<(), A::Error> {
        self.table.items(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let table = self.table;
        if self.inside {
            return table.object(fields);
        }
        // A column may be called `rows` too; then its value is no list.
        let is_column = table.schema.header && table.schema.features.iter().any(|feature| feature.name == "rows");
        let (mut first, mut whole) = (true, false);
        while let Some(name) = fields.next_key::<String>()? {
            if whole || (!table.schema.header && name != "rows") {
                let name: String = name.chars().take(40).collect();
                let why = if whole { "" } else { ", since the model has no names for its features" };
                return Err(A::Error::custom(format!("unknown field `{name}`; the only one is `rows`{why}")));
            }
            if first && !is_column && name == "rows" {
                fields.next_value_seed(Outer { table, inside: true })?;
                whole = true;
            } else {
                table.field(&name, &mut fields)?;
            }
            first = false;
        }
        if first || whole { Ok(()) } else { table.end_object().map_err(A::Error::custom) }
    }
}

/// A row, an object, or a number of the only row.
struct Item<'a, 's>(&'a mut Table<'s>);

impl<'de> DeserializeSeed<'de> for Item<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Item<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row of numbers or an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<(), A::Error> {
        if self.0.loose > 0 || self.0.objects.is_some() {
            return Err(A::Error::custom("numbers, rows and objects are mixed"));
        }
        let mut length = 0;
        while let Some(value) = numbers.next_element::<f64>()? {
            self.0.push(value, length).map_err(A::Error::custom)?;
            length += 1;
        }
        self.0.end_row(length).map_err(A::Error::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<(), A::Error> {
        self.0.object(fields)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        if self.0.rows > 0 {
            return Err(E::custom("numbers and rows are mixed"));
        }
        self.0.push(value, self.0.loose).map_err(E::custom)?;
        self.0.loose += 1;
        Ok(())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.visit_f64(value as f64)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.visit_f64(value as f64)
    }
}

/// The value of a field.
struct One<'n> {
    name: &'n str,
}

impl<'de> DeserializeSeed<'de> for One<'_> {
    type Value = NamedValue;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<NamedValue, D::Error> {
        reader.deserialize_any(self)
    }
}

impl Visitor<'_> for One<'_> {
    type Value = NamedValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number, text, true, false or null for `{}`", self.name)
    }

    fn visit_f64<E>(self, value: f64) -> Result<NamedValue, E> {
        Ok(NamedValue::Number(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<NamedValue, E> {
        Ok(NamedValue::Number(value as f64))
    }

    fn visit_i64<E>(self, value: i64) -> Result<NamedValue, E> {
        Ok(NamedValue::Number(value as f64))
    }

    /// As tables write it, so that it counts in columns of flags alone.
    fn visit_bool<E>(self, value: bool) -> Result<NamedValue, E> {
        Ok(NamedValue::Text(value.to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<NamedValue, E> {
        Ok(NamedValue::Text(text.into()))
    }

    fn visit_unit<E>(self) -> Result<NamedValue, E> {
        Ok(NamedValue::Missing)
    }
}
