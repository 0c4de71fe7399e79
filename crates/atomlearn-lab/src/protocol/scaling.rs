//! A word about features in very different units, which most methods take at face value.

use crate::protocol::data::LabData;
use atomlearn::prep::PrepSpec;

/// Standard deviations may differ by this factor without a word.
const FAR: f64 = 100.0;
/// Of many features, so many of the smallest and of the largest are left out of the comparison: the rare words of a histogram are
/// no other unit.
const RARE: usize = 50;

/// A warning with the cure, where there is [`fact`] of one.
pub fn warning(data: &LabData, places: &[usize], prep: &PrepSpec) -> Option<String> {
    fact(data, places, prep).map(|fact| {
        format!("{fact}; put them on one scale with option `prep = standard` or option `prep = standard,unit`")
    })
}

/// That features differ in scale by more than 100-fold, where they do and `prep` does not put them on one.
///
/// Constant features do not count, and pixels are in one unit whatever they show.
pub fn fact(data: &LabData, places: &[usize], prep: &PrepSpec) -> Option<String> {
    // Within `views(...)` the steps of every view must.
    let scales = |steps: &str| steps.split(',').any(|step| step.trim() == "standard");
    let scaled = prep.described().any(|(written, step)| match written.strip_prefix("views(") {
        Some(views) => views.trim_end_matches(')').split('|').all(|view| view.rsplit('=').next().is_some_and(scales)),
        None => step.name == "standard",
    });
    if scaled || data.image_shape.is_some() || places.len() < 2 {
        return None;
    }
    let mut spreads: Vec<(f64, usize)> =
        (0..data.x.nrows()).map(|i| (spread(data, places, i), i)).filter(|(s, _)| *s > 0.0).collect();
    spreads.sort_by(|a, b| a.0.total_cmp(&b.0));
    let cut = spreads.len() / RARE;
    let inner = spreads.get(cut..spreads.len() - cut)?;
    let (&(small, low), &(large, high)) = (inner.first()?, inner.last()?);
    if large <= FAR * small {
        return None;
    }
    let ratio = large / small;
    let ratio = if ratio < 1e6 { format!("{ratio:.0}") } else { format!("{ratio:.0e}") };
    Some(format!(
        "features differ in scale by a factor of {ratio} ({} against {}), so the largest outweigh all others",
        name(data, high),
        name(data, low)
    ))
}

fn name(data: &LabData, feature: usize) -> String {
    match &data.feature_names {
        Some(names) => format!("`{}`", names[feature]),
        None => format!("feature {feature} (counted from 0)"),
    }
}

/// Standard deviation of a feature; rounding alone counts as none.
fn spread(data: &LabData, places: &[usize], feature: usize) -> f64 {
    // Cells that are missing are filled later.
    let values = || places.iter().map(|&j| data.x[(feature, j)]).filter(|v| !v.is_nan());
    let n = values().count() as f64;
    let mean = values().map(|v| v / n).sum::<f64>();
    let deviation = values().map(|v| (v - mean).powi(2) / n).sum::<f64>().sqrt();
    if deviation > 1e-12 * mean.abs() { deviation } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::data::synthetic;

    #[test]
    fn only_far_scales_without_standard_are_warned_of() {
        let mut data = synthetic(2, 10, 4, 1);
        let all: Vec<usize> = (0..20).collect();
        let prep = |text: &str| text.parse::<PrepSpec>().unwrap();
        assert_eq!(warning(&data, &all, &prep("unit")), None);
        (0..20).for_each(|j| data.x[(3, j)] *= 1000.0);
        (0..20).for_each(|j| data.x[(2, j)] = 7.3);
        data.feature_names = Some(["a", "b", "c", "big"].map(String::from).to_vec());
        let text = warning(&data, &all, &prep("unit")).unwrap();
        assert!(text.contains("`big` against") && text.contains("option `prep = standard`"), "{text}");
        assert_eq!(warning(&data, &all, &prep("standard,unit")), None);
        assert_eq!(warning(&data, &all, &prep("standard")), None);
        assert_eq!(warning(&data, &all, &prep("views(a@1-2=standard|3-4=standard,unit)")), None);
        assert!(warning(&data, &all, &prep("views(1-2=standard|3-4=unit)")).is_some());
        data.image_shape = Some(atomlearn::io::ImageShape { rows: 2, cols: 2, column_major: false });
        assert_eq!(warning(&data, &all, &prep("unit")), None);
    }
}
