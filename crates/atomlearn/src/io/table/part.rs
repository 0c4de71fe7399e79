//! A table of which only some samples may be learned from: categories and fills come from those samples alone.

use super::fit::number_fill;
use super::schema::{ColumnKind, FeatureColumn, Fill, Impute, TableSchema, list};
use crate::{Error, Result};
use faer::{Mat, MatRef};

/// How a table becomes samples by what a part of its samples says.
#[derive(Clone, Debug)]
pub struct TablePart {
    /// As it would be had the table held these samples alone.
    pub schema: TableSchema,
    /// What there is to warn about.
    pub warnings: Vec<String>,
    kept: Vec<Kept>,
}

/// A feature of the whole table that the part knows too.
#[derive(Clone, Debug)]
struct Kept {
    feature: usize,
    /// First feature of the same column; it is NaN where the cell is missing.
    first: usize,
    /// Value where the cell is missing.
    fill: f64,
}

impl TableSchema {
    /// The schema with which missing cells become NaN, in the first feature of their column.
    pub(super) fn with_gaps(&self) -> Self {
        let mut schema = self.clone();
        if schema.impute.is_some() {
            schema.features.iter_mut().for_each(|feature| feature.fill = Some(Fill::Number(f64::NAN)));
        }
        schema
    }

    /// True if the features of a sample depend on which samples are learned from.
    pub fn depends_on_part(&self) -> bool {
        let category = |feature: &FeatureColumn| matches!(feature.kind, ColumnKind::Category { .. });
        self.impute.is_some() || self.features.iter().any(category)
    }

    /// What the samples at `places` say about the table. `x` has all its samples as they were read to be split later, see
    /// [`crate::io::ReadOptions::split_later`].
    ///
    /// Categories that none of the samples has are no features; columns without any value among them are left out.
    pub fn of_part(&self, x: MatRef<'_, f64>, places: &[usize]) -> Result<TablePart> {
        let mut first = 0;
        let mut features = Vec::new();
        let mut kept = Vec::new();
        let mut empty = Vec::new();
        for column in &self.features {
            let known = column.of_part(first, x, places, self.impute, &mut kept);
            match known {
                Some(known) => features.push(known),
                None => empty.push(column.name.as_str()),
            }
            first += column.kind.width();
        }
        if kept.is_empty() {
            return Err(Error::Data("no column of the table has a value in the training part".into()));
        }
        let warnings = (!empty.is_empty())
            .then(|| format!("columns without a value in the training part are left out: {}", list(&empty, 12)));
        let schema = TableSchema { features, ..self.clone() };
        Ok(TablePart { schema, warnings: warnings.into_iter().collect(), kept })
    }
}

impl FeatureColumn {
    /// The column as the samples at `places` know it, with the features it keeps; `None` if they have no value of it.
    fn of_part(
        &self,
        first: usize,
        x: MatRef<'_, f64>,
        places: &[usize],
        impute: Option<Impute>,
        kept: &mut Vec<Kept>,
    ) -> Option<FeatureColumn> {
        let present = || places.iter().copied().filter(|&place| !x[(first, place)].is_nan());
        present().next()?;
        let ColumnKind::Category { levels } = &self.kind else {
            let fill = impute.and_then(|impute| number_fill(present().map(|place| x[(first, place)]), impute));
            kept.push(Kept { feature: first, first, fill: fill.unwrap_or(f64::NAN) });
            return Some(FeatureColumn { fill: fill.map(Fill::Number), ..self.clone() });
        };
        let count = |level: usize| present().filter(|&place| x[(first + level, place)] == 1.0).count();
        let counts: Vec<usize> = (0..levels.len()).map(count).collect();
        let most = counts.iter().copied().max()?;
        let usual = counts.iter().position(|&count| count == most)?;
        let seen: Vec<usize> = (0..levels.len()).filter(|&level| counts[level] > 0).collect();
        kept.extend(seen.iter().map(|&level| Kept {
            feature: first + level,
            first,
            fill: if level == usual { 1.0 } else { 0.0 },
        }));
        let fill = impute.map(|_| Fill::Level(levels[usual].clone()));
        let levels = seen.iter().map(|&level| levels[level].clone()).collect();
        Some(FeatureColumn { kind: ColumnKind::Category { levels }, fill, ..self.clone() })
    }
}

impl TablePart {
    /// Samples of the table at these places, features x samples; `x` is as for [`TableSchema::of_part`].
    pub fn apply(&self, x: MatRef<'_, f64>, places: &[usize]) -> Mat<f64> {
        Mat::from_fn(self.kept.len(), places.len(), |i, j| {
            let kept = &self.kept[i];
            let place = places[j];
            if x[(kept.first, place)].is_nan() { kept.fill } else { x[(kept.feature, place)] }
        })
    }
}

#[cfg(test)]
mod tests {

    use crate::io::{Impute, RawData, ReadOptions, read_bytes};
    use std::path::Path;

    const TABLE: &str = "a,color,rare,y\n1,red,,u\n,blue,,v\n5,red,,u\n100,,7,v\n7,green,,u\n3,blue,,v\n";

    fn read(text: &str, impute: Option<Impute>, split_later: bool) -> RawData {
        let options = ReadOptions { impute, split_later, y: Some("y".into()), ..ReadOptions::default() };
        read_bytes(Path::new("a.csv"), text.as_bytes().to_vec(), &options).unwrap()
    }

    /// The rows at these places as a table of their own.
    fn rows(places: &[usize]) -> String {
        let lines: Vec<&str> = TABLE.lines().collect();
        let kept = places.iter().map(|&place| lines[place + 1].to_string() + "\n");
        std::iter::once(lines[0].to_string() + "\n").chain(kept).collect()
    }

    #[test]
    fn a_part_is_encoded_as_if_the_table_had_no_other_rows() {
        for impute in [Impute::Median, Impute::Mean, Impute::MostFrequent] {
            let whole = read(TABLE, Some(impute), true);
            let schema = whole.schema.as_ref().unwrap();
            assert!(schema.depends_on_part());
            for places in [&[0, 1, 2, 3, 5][..], &[1, 3, 4], &[0, 1, 2, 3, 4, 5]] {
                let part = schema.of_part(whole.x.as_ref(), places).unwrap();
                let alone = read(&rows(places), Some(impute), false);
                assert_eq!(part.apply(whole.x.as_ref(), places), alone.x, "{impute:?} {places:?}");
                assert_eq!(part.schema.feature_names(), alone.feature_names.unwrap());
                assert_eq!(part.schema.features, alone.schema.unwrap().features);
                assert!(part.warnings.is_empty());
            }
        }
    }

    #[test]
    fn what_the_part_has_not_seen_is_no_feature() {
        let whole = read(TABLE, Some(Impute::Median), true);
        let part = whole.schema.as_ref().unwrap().of_part(whole.x.as_ref(), &[0, 1, 2]).unwrap();
        assert_eq!(part.schema.feature_names(), ["a", "color=blue", "color=red"]);
        assert!(part.warnings[0].contains("`rare`"), "{:?}", part.warnings);
        // Sample 3 has no color: the usual one. Sample 4 has one that is not known.
        let other = part.apply(whole.x.as_ref(), &[3, 4]);
        assert_eq!(other, faer::mat![[100.0, 7.0], [0.0, 0.0], [1.0, 0.0]]);
        let nothing = read("a,b,y\n,1,u\n2,,v\n", Some(Impute::Median), true);
        let schema = nothing.schema.unwrap();
        assert_eq!(schema.of_part(nothing.x.as_ref(), &[0]).unwrap().schema.feature_names(), ["b"]);
    }

    #[test]
    fn without_gaps_and_categories_parts_do_not_matter() {
        let plain = read("a,b,y\n1,2,u\n3,4,v\n", None, true);
        assert!(!plain.schema.unwrap().depends_on_part());
    }
}
