//! Whether a column can hold classes at all.

use std::collections::HashMap;

/// Numbers with at least so many different values are looked at closely.
const MANY: usize = 20;

/// Says what is wrong with labels that look like measured values or names of samples; `None` if they may be classes.
///
/// Classes come again. Values with fractions are measured where there are many; whole numbers where many of them occur only once;
/// texts are names where most of them do.
pub(super) fn no_classes(labels: &[String]) -> Option<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    labels.iter().for_each(|label| *counts.entry(label).or_insert(0) += 1);
    let classes = counts.len();
    let samples = labels.len();
    let single = counts.values().filter(|&&count| count == 1).count();
    let numeric = counts.keys().all(|label| label.parse::<f64>().is_ok());
    let fractions = numeric && counts.keys().any(|label| label.parse::<i128>().is_err());
    let refused = if fractions {
        classes > MANY || (classes > MANY / 2 && 2 * single > classes)
    } else if numeric {
        (classes > MANY && 4 * single > classes) || (classes >= MANY / 2 && 2 * single > classes)
    } else {
        classes >= MANY / 2 && 2 * single > classes
    };
    refused.then(|| {
        let kind = if numeric { "numbers" } else { "texts" };
        format!("holds {classes} different {kind} in {samples} rows, {single} of them only once")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(values: impl IntoIterator<Item = String>) -> Vec<String> {
        values.into_iter().collect()
    }

    #[test]
    fn measured_values_and_names_are_no_classes() {
        assert!(no_classes(&labels((0..100).map(|i| format!("{}", i as f64 / 7.0)))).is_some());
        assert!(no_classes(&labels((0..100).map(|i| format!("{}", i * i % 199)))).is_some());
        assert!(no_classes(&labels((0..100).map(|i| format!("name {i}")))).is_some());
        let text = no_classes(&labels((0..535).map(|i| format!("{}", 100 + i)))).unwrap_or_default();
        assert!(text.contains("535 different numbers"), "{text}");
    }

    #[test]
    fn few_samples_of_many_classes_are_classes() {
        assert_eq!(no_classes(&labels((0..200).map(|i| (i / 2).to_string()))), None);
        assert_eq!(no_classes(&labels((0..120).map(|i| format!("person {}", i / 3)))), None);
        assert_eq!(no_classes(&labels((0..6).map(|i| format!("{}", 0.5 * (i / 2) as f64)))), None);
        assert_eq!(no_classes(&labels(["a", "b", "c"].map(String::from))), None);
    }
}
