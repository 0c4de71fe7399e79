//! What each column of a table is for, and why.

use super::Table;
use super::cells::{Column, Look};
use crate::io::ReadOptions;
use crate::{Error, NameKind, Result};

/// Column names that mean labels, in this order, once they are in lower case with `_` between words.
const LABEL_NAMES: [&str; 24] = [
    "label",
    "class",
    "target",
    "y",
    "labels",
    "classes",
    "targets",
    "species",
    "category",
    "diagnosis",
    "outcome",
    "class_label",
    "class_name",
    "classname",
    "classlabel",
    "label_name",
    "target_name",
    "target_class",
    "true_label",
    "ground_truth",
    "gnd",
    "variety",
    "cultivar",
    "response",
];
/// Column names that tell samples apart, likewise.
const ID_NAMES: [&str; 14] = [
    "id",
    "index",
    "idx",
    "ids",
    "row_id",
    "rowid",
    "row",
    "sample_id",
    "sampleid",
    "record_id",
    "uuid",
    "guid",
    "identifier",
    "__index_level_0__",
];
/// Names of samples, if they are text.
const NAME_NAMES: [&str; 6] = ["name", "names", "sample_name", "filename", "file_name", "file"];
/// A column that counts the rows is an index, in tables of at least so many rows.
const COUNTED: usize = 10;

/// Why a column holds the labels.
pub(super) const BY_USER: &str = "named by --y";
const BY_NAME: &str = "its name is a usual one for labels";
const ONLY_TEXT: &str = "the only column of text";
const LAST: &str = "the last column";

/// The roles of a table's columns, each by its place.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Roles {
    pub(super) label: Option<(usize, &'static str)>,
    pub(super) split: Option<usize>,
    /// Which samples belong together.
    pub(super) groups: Option<usize>,
    /// How much each sample counts.
    pub(super) weights: Option<usize>,
    /// The first of them is what samples are called.
    pub(super) ids: Vec<(usize, &'static str)>,
    pub(super) left_out: Vec<(usize, &'static str)>,
    pub(super) features: Vec<usize>,
}

impl Roles {
    /// Roles in a table that is to be learned from.
    pub(super) fn assign(table: &Table<'_>, options: &ReadOptions) -> Result<Self> {
        let mut free: Vec<usize> = (0..table.columns.len()).collect();
        let mut roles = Roles::default();
        let take = |free: &mut Vec<usize>, place: usize| free.retain(|&column| column != place);
        for names in &options.drop {
            for place in table.listed(names)? {
                take(&mut free, place);
                roles.left_out.push((place, "named by --drop"));
            }
        }
        // What the user names comes before what names suggest.
        let asked = match options.y.as_deref() {
            _ if options.labels.is_some() => None,
            Some("none") if table.named("none").is_err() => None,
            Some(y) => Some(table.column(y)?),
            None => None,
        };
        if let Some(place) = asked {
            take(&mut free, place);
            roles.label = Some((place, BY_USER));
        }
        if let Some(name) = &options.id {
            let place = table.column(name)?;
            take(&mut free, place);
            roles.ids.push((place, "named by --id"));
        }
        let beside = |name: &str, what: &str, label: Option<(usize, &str)>| {
            let place = table.column(name)?;
            if label.is_some_and(|(label, _)| label == place) {
                let why = format!("column `{name}` holds the labels, so it cannot hold the {what} too");
                return Err(Error::format(table.path, why));
            }
            Ok(place)
        };
        if let Some(name) = &options.groups {
            let place = beside(name, "groups", roles.label)?;
            take(&mut free, place);
            roles.groups = Some(place);
            roles.left_out.push((place, "named by --groups"));
        }
        if let Some(name) = &options.weights {
            let place = beside(name, "weights", roles.label)?;
            take(&mut free, place);
            roles.weights = Some(place);
            roles.left_out.push((place, "named by --weights"));
        }
        roles.split = free.iter().copied().find(|&c| table.header && is_split_name(&table.columns[c].name));
        roles.split.into_iter().for_each(|place| take(&mut free, place));
        if roles.label.is_none() && options.y.is_none() && options.labels.is_none() {
            roles.label = usual_label(table, &free);
            roles.label.into_iter().for_each(|(place, _)| take(&mut free, place));
        }
        for place in free.clone() {
            if table.columns[place].look == Look::Empty {
                take(&mut free, place);
                roles.left_out.push((place, "it is empty"));
            }
        }
        roles.ids.extend(ids(table, &free));
        roles.ids.iter().for_each(|(place, _)| take(&mut free, *place));
        if roles.label.is_none() && options.y.is_none() && options.labels.is_none() {
            roles.label = other_label(table, &free);
            roles.label.into_iter().for_each(|(place, _)| take(&mut free, place));
        }
        roles.features = free;
        Ok(roles)
    }
}

/// `is_train` in any case.
pub(super) fn is_split_name(name: &str) -> bool {
    name.eq_ignore_ascii_case("is_train")
}

/// True for names that columns of labels usually have.
pub(super) fn is_label_name(name: &str) -> bool {
    LABEL_NAMES.contains(&plain(name).as_str())
}

/// The name in lower case, with `_` between its words.
fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '-', '.'], "_")
}

/// A column of a usual name; of several the first in the list of names, and of those one in just these letters.
pub(super) fn usual_label(table: &Table<'_>, free: &[usize]) -> Option<(usize, &'static str)> {
    if !table.header {
        return None;
    }
    let name = |place: &usize| table.columns[*place].name.as_str();
    let found = LABEL_NAMES.iter().find_map(|usual| {
        let exact = free.iter().find(|place| name(place) == *usual);
        exact.or_else(|| free.iter().find(|place| plain(name(place)) == *usual))
    });
    found.map(|&place| (place, BY_NAME))
}

/// The only column of text, else the last.
pub(super) fn other_label(table: &Table<'_>, free: &[usize]) -> Option<(usize, &'static str)> {
    let mut text = free.iter().filter(|&&place| matches!(table.columns[place].look, Look::Text | Look::Boolean));
    match (text.next(), text.next()) {
        (Some(&place), None) => Some((place, ONLY_TEXT)),
        _ => free.last().map(|&place| (place, LAST)),
    }
}

/// Columns that tell samples apart instead of describing them. What people called so goes before what counts rows.
pub(super) fn ids(table: &Table<'_>, free: &[usize]) -> Vec<(usize, &'static str)> {
    let mut found: Vec<(u8, usize, &'static str)> =
        free.iter().filter_map(|&place| is_id(table, place).map(|(rank, why)| (rank, place, why))).collect();
    found.sort_by_key(|(rank, place, _)| (*rank, *place));
    found.into_iter().map(|(_, place, why)| (place, why)).collect()
}

fn is_id(table: &Table<'_>, place: usize) -> Option<(u8, &'static str)> {
    let column = &table.columns[place];
    let whole = !column.has_fractions() && column.look != Look::Unusable;
    let name = plain(&column.name);
    if table.index.contains(&column.name) {
        return Some((2, "an index that pandas wrote"));
    }
    if table.header && whole {
        if ID_NAMES.contains(&name.as_str()) || (name.ends_with("_id") && all_different(column)) {
            return Some((0, "an id by its name"));
        }
        if NAME_NAMES.contains(&name.as_str()) && column.look == Look::Text {
            return Some((1, "names of the samples"));
        }
        if name.is_empty() || name.starts_with("unnamed:_") {
            return Some((2, "an index without a name, as pandas and R write it"));
        }
    }
    (table.rows >= COUNTED && column.counts()).then_some((3, "it counts the rows"))
}

fn all_different(column: &Column) -> bool {
    let rows = match column.look {
        Look::Empty | Look::Unusable => return false,
        _ => column.len(),
    };
    let values: std::collections::HashSet<String> = (0..rows).map(|row| column.shown(row)).collect();
    values.len() == rows
}

impl Table<'_> {
    /// All columns of a name, or the one of a number where there is no header; an error that helps if there is none.
    pub(super) fn named(&self, name: &str) -> Result<Vec<usize>> {
        let found: Vec<usize> = (0..self.columns.len()).filter(|&c| self.columns[c].name == name.trim()).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        if !self.header {
            let width = self.columns.len();
            let why = format!("no column `{name}`: the table has no header, so give a number from 1 to {width}");
            return Err(Error::format(self.path, why));
        }
        Err(Error::unknown(NameKind::Column, name, self.columns.iter().map(|column| column.name.as_str())))
    }

    /// All columns of a list of names with commas between; a column whose own name has commas goes first.
    fn listed(&self, names: &str) -> Result<Vec<usize>> {
        self.named(names).or_else(|whole| {
            if !names.contains(',') {
                return Err(whole);
            }
            let each = names.split(',').filter(|name| !name.trim().is_empty()).map(|name| self.named(name));
            Ok(each.collect::<Result<Vec<_>>>()?.concat())
        })
    }

    /// The column of a name, which must be the only one.
    pub(super) fn column(&self, name: &str) -> Result<usize> {
        match self.named(name)?[..] {
            [one] => Ok(one),
            ref several => {
                let why = format!("{} columns are called `{name}`; give them different names", several.len());
                Err(Error::format(self.path, why))
            }
        }
    }
}
