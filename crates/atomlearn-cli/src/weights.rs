//! `--weights` and `--class-weights`: how much each training sample counts.

use crate::failure::Failure;
use atomlearn::info::WeightsInfo;
use atomlearn::registry::{METHODS, Method};
use atomlearn_lab::data::LabData;

/// Letters of a list of classes that are shown.
const SHOWN: usize = 200;

/// How much samples count.
#[derive(clap::Args)]
pub struct WeightArgs {
    /// The column of a table, or variable of a .mat or .npz file, that says how much each sample counts: 2 is the sample twice, 0
    /// leaves it out; it is no feature
    #[arg(long = "weights", value_name = "COLUMN")]
    column: Option<String>,
    /// How much the samples of each class count: `balanced` (every class as much as any other) or LABEL=WEIGHT with commas between,
    /// 1 for the others; multiplies --weights
    #[arg(long, value_name = "HOW", value_parser = parsed)]
    class_weights: Option<ClassWeights>,
}

/// How much the samples of each class count.
#[derive(Clone, Debug, PartialEq)]
enum ClassWeights {
    /// In inverse proportion to the total weight of the class.
    Balanced,
    /// By the name of the class; one for the others.
    Given(Vec<(String, f64)>),
}

impl std::fmt::Display for ClassWeights {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ClassWeights::Balanced => f.write_str("balanced"),
            ClassWeights::Given(pairs) => {
                let written: Vec<String> = pairs.iter().map(|(label, weight)| format!("{label}={weight}")).collect();
                f.write_str(&written.join(","))
            }
        }
    }
}

fn parsed(text: &str) -> Result<ClassWeights, String> {
    if text == "balanced" {
        return Ok(ClassWeights::Balanced);
    }
    let pair = |part: &str| {
        let (label, weight) = part.rsplit_once('=').ok_or("write `balanced` or LABEL=WEIGHT, with commas between")?;
        let weight = weight.trim().parse().ok().filter(|w: &f64| w.is_finite() && *w >= 0.0);
        let weight = weight.ok_or_else(|| format!("the weight of `{label}` must be a number that is not negative"))?;
        Ok((label.trim().to_string(), weight))
    };
    text.split(',').map(pair).collect::<Result<Vec<_>, String>>().map(ClassWeights::Given)
}

impl WeightArgs {
    /// The column that holds the weights of samples.
    pub fn column(&self) -> Option<&String> {
        self.column.as_ref()
    }

    /// The flag that asks for weights, if one does.
    pub fn asked(&self) -> Option<&'static str> {
        let of_samples = self.column.as_ref().map(|_| "--weights");
        of_samples.or(self.class_weights.as_ref().map(|_| "--class-weights"))
    }

    /// Refuses weights for methods that do not use them.
    pub fn check(&self, method: &Method) -> Result<(), Failure> {
        let Some(flag) = self.asked().filter(|_| !method.weights) else { return Ok(()) };
        let able: Vec<&str> = METHODS.iter().filter(|method| method.weights).map(|method| method.key).collect();
        let why = format!("`{}` does not use weights of samples; these methods do: {}", method.key, able.join(", "));
        Err(Failure::usage(format!("{flag}: {why}")))
    }

    /// Weighs the data, of which the samples at `places` are trained on.
    pub fn weigh(&self, data: &mut LabData, places: &[usize]) -> Result<(), Failure> {
        let Some(how) = &self.class_weights else { return Ok(()) };
        let mut weights = data.weights.take().unwrap_or_else(|| vec![1.0; data.targets.len()]);
        let factors = match how {
            ClassWeights::Balanced => balanced(data, &weights, places),
            ClassWeights::Given(pairs) => given(data, pairs)?,
        };
        weights.iter_mut().zip(&data.targets).for_each(|(weight, &class)| *weight *= factors[class]);
        data.weights = Some(weights);
        Ok(())
    }

    /// What the notes of the model say.
    pub fn info(&self) -> Option<WeightsInfo> {
        self.asked()?;
        Some(WeightsInfo {
            column: self.column.clone(),
            class_weights: self.class_weights.as_ref().map(ToString::to_string),
        })
    }
}

/// A factor for every class that makes all classes weigh the same, and all samples together what they did before.
fn balanced(data: &LabData, weights: &[f64], places: &[usize]) -> Vec<f64> {
    let mut totals = vec![0.0; data.classes.len()];
    let mut there = vec![false; data.classes.len()];
    for &i in places {
        totals[data.targets[i]] += weights[i];
        there[data.targets[i]] = true;
    }
    let all: f64 = totals.iter().sum();
    let classes = there.iter().filter(|&&there| there).count() as f64;
    totals.iter().map(|&total| if total > 0.0 { all / (classes * total) } else { 0.0 }).collect()
}

fn given(data: &LabData, pairs: &[(String, f64)]) -> Result<Vec<f64>, Failure> {
    let mut factors = vec![1.0; data.classes.len()];
    for (label, weight) in pairs {
        let class = data.classes.iter().position(|class| class == label);
        let class = class.ok_or_else(|| {
            Failure::usage(format!(
                "--class-weights: there is no class `{label}`; the classes are {}",
                crate::plain::brief(&data.classes.join(", "), SHOWN)
            ))
        })?;
        factors[class] = *weight;
    }
    Ok(factors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_weights_are_read_as_they_are_written() {
        assert_eq!(parsed("balanced"), Ok(ClassWeights::Balanced));
        let given = ClassWeights::Given(vec![("a=b".into(), 2.0), ("c".into(), 0.5)]);
        assert_eq!(parsed("a=b=2, c=0.5"), Ok(given.clone()));
        assert_eq!(parsed(&given.to_string()), Ok(given));
        for wrong in ["", "even", "a=", "a=-1", "a=nan", "a=inf"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
