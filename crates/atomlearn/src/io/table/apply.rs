//! A later table to a model: columns are found by their names, and everything else is as it was in training.

use super::roles::{self, is_split_name};
use super::schema::{Matched, TableSchema};
use super::{Note, Table, labels, matching};
use crate::io::{RawData, ReadOptions};
use crate::{Error, Result};

/// Samples of `table` as the model of `schema` takes them. Labels are read if their column is there, unless `--y none` says
/// that they are not wanted.
pub(super) fn apply(mut table: Table<'_>, schema: &TableSchema, options: &ReadOptions) -> Result<RawData> {
    let mut notes = std::mem::take(&mut table.notes);
    let matched = matched(&table, schema, &mut notes)?;
    table.check_size(schema.n_features())?;
    let x = table.encode(schema, &matched.places, options, &mut notes)?;
    let label = label(&table, schema, &matched, options)?;
    let is_train = matched.others.iter().copied().find(|&c| table.header && is_split_name(&table.columns[c].name));
    let mut free: Vec<usize> = matched.others.clone();
    free.retain(|&place| Some(place) != label && Some(place) != is_train);
    let ids = ids(&table, schema, &free, options)?;
    if table.header && schema.header {
        let others = free.iter().filter(|&&place| ids != Some(place));
        let names: Vec<&str> = others.map(|&place| table.columns[place].name.as_str()).collect();
        notes.extend(schema.ignored(&names));
    }
    let labels = match (&options.labels, label) {
        (Some(file), _) => Some(matching(labels::read_file(file)?, file, table.rows)?),
        (None, Some(place)) => Some(table.labels(place)?.text),
        (None, None) => None,
    };
    let is_train = is_train.map(|place| table.split(place)).transpose()?;
    let ids = ids.map(|place| table.names(place));
    let feature_names = schema.header.then(|| schema.feature_names());
    Ok(RawData {
        labels,
        is_train,
        names: ids.clone(),
        ids,
        feature_names,
        schema: Some(schema.clone()),
        notes,
        ..RawData::new(x)
    })
}

/// Where the features are: by name if both tables have names, else by place.
fn matched(table: &Table<'_>, schema: &TableSchema, notes: &mut Vec<Note>) -> Result<Matched> {
    if table.header && schema.header {
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        return schema.match_columns(&names).map_err(|error| table.at(error));
    }
    let width = table.columns.len();
    let places: Vec<usize> = if width == schema.features.len() {
        (0..width).collect()
    } else if width == schema.columns {
        schema.features.iter().map(|feature| feature.place).collect()
    } else {
        let whole =
            if schema.columns == schema.features.len() { String::new() } else { format!(" or {}", schema.columns) };
        let why = format!(
            "the table has {width} columns{}; the model takes {}{whole}, as in training",
            if table.header { "" } else { " and no header to find them by" },
            schema.features.len()
        );
        return Err(Error::format(table.path, why));
    };
    if schema.header {
        notes.push(Note::warning(
            "the table has no header, so its columns are taken in the order of the training table".to_string(),
        ));
    } else if table.header {
        notes.push(Note::plain(
            "the model was trained without a header, so names are ignored and columns go by their order",
        ));
    }
    let others = (0..width).filter(|place| !places.contains(place)).collect();
    Ok(Matched { places, others })
}

fn label(table: &Table<'_>, schema: &TableSchema, matched: &Matched, options: &ReadOptions) -> Result<Option<usize>> {
    if options.labels.is_some() {
        return Ok(None);
    }
    let by_name = table.header && schema.header;
    match options.y.as_deref() {
        Some("none") if table.named("none").is_err() => Ok(None),
        Some(y) => {
            let place = table.column(y)?;
            if matched.places.contains(&place) {
                return Err(Error::format(
                    table.path,
                    format!("column `{y}` is a feature of the model, so it cannot hold the labels"),
                ));
            }
            Ok(Some(place))
        }
        None => Ok(match &schema.label {
            Some(label) if by_name => table.named(&label.name).ok().and_then(|places| places.first().copied()),
            Some(label) => Some(label.place).filter(|place| matched.others.contains(place)),
            // The model does not say: what is left and is no id may be it.
            None => {
                let ids = roles::ids(table, &matched.others);
                let no_split = |place: &usize| !(table.header && is_split_name(&table.columns[*place].name));
                let free: Vec<usize> = matched.others.iter().copied().filter(no_split).collect();
                let no_ids: Vec<usize> = free.iter().copied().filter(|p| ids.iter().all(|(id, _)| id != p)).collect();
                let chosen = roles::usual_label(table, &free).or_else(|| roles::other_label(table, &no_ids));
                chosen.map(|(place, _)| place)
            }
        }),
    }
}

/// The column that says what samples are called.
fn ids(table: &Table<'_>, schema: &TableSchema, free: &[usize], options: &ReadOptions) -> Result<Option<usize>> {
    if let Some(name) = &options.id {
        return table.column(name).map(Some);
    }
    let by_name = table.header && schema.header;
    let known = schema.ids.iter().find_map(|id| {
        free.iter()
            .copied()
            .find(|&place| if by_name { table.columns[place].name == id.name } else { place == id.place })
    });
    Ok(known.or_else(|| roles::ids(table, free).first().map(|(place, _)| *place)))
}
