//! `pca` and `pca-uncentered`: projection on principal directions.

use super::StepParts;
use super::affine::{Affine, column_matrix};
use super::partitioned::StepSums;
use super::spec::{Arguments, whole};
use super::steps::{FittedStep, Needs, StepInfo, StepSpec};
use crate::pca::{Pca, pca, pca_from_scatter};
use crate::{Error, Observer, Result};
use faer::{Mat, MatRef};
use std::fmt;
use std::sync::Arc;

pub(super) const CENTERED: StepInfo = StepInfo {
    name: "pca",
    usage: "pca:DIRECTIONS or pca:PERCENT%",
    examples: &["pca:300", "pca:98%"],
    doc: "projection on the principal directions of the training samples, which are centred.",
    needs: Needs::Scatter,
    parse: |arguments| parse(arguments, true),
};

pub(super) const UNCENTERED: StepInfo = StepInfo {
    name: "pca-uncentered",
    usage: "pca-uncentered:DIRECTIONS or pca-uncentered:PERCENT%",
    examples: &["pca-uncentered:300"],
    doc: "projection of the uncentred sample on the principal directions of the centred training samples.",
    needs: Needs::Scatter,
    parse: |arguments| parse(arguments, false),
};

/// Centred projection, or the basis of centred data applied to uncentred samples, as the published codes do.
#[derive(Debug)]
struct PcaSpec {
    keep: Keep,
    centered: bool,
}

/// How many principal directions to keep.
#[derive(Clone, Copy, Debug)]
enum Keep {
    Components(usize),
    Percent(f64),
}

fn parse(arguments: &Arguments<'_>, centered: bool) -> Result<Arc<dyn StepSpec>> {
    let [keep] = arguments.fields[..] else {
        return Err(arguments.bad("needs one number, as in pca:300 or pca:98%"));
    };
    let percent = |s: &str| s.parse::<f64>().ok().filter(|v| *v > 0.0 && *v <= 100.0);
    let keep = match keep.strip_suffix('%') {
        Some(number) => percent(number).map(Keep::Percent),
        None => whole(keep).map(Keep::Components),
    };
    let keep = keep.ok_or_else(|| arguments.bad("give a number of directions (pca:300) or of variance (pca:98%)"))?;
    Ok(Arc::new(PcaSpec { keep, centered }))
}

impl fmt::Display for PcaSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.info().name;
        match self.keep {
            Keep::Components(r) => write!(f, "{name}:{r}"),
            Keep::Percent(p) => write!(f, "{name}:{p}%"),
        }
    }
}

impl StepSpec for PcaSpec {
    fn info(&self) -> &'static StepInfo {
        if self.centered { &CENTERED } else { &UNCENTERED }
    }

    fn fit(&self, x: MatRef<'_, f64>, watch: &mut dyn Observer) -> Result<Box<dyn FittedStep>> {
        self.projection(pca(x, self.keep.most(), "PCA")?, watch)
    }

    fn fit_sums(&self, sums: &StepSums<'_>, watch: &mut dyn Observer) -> Result<Box<dyn FittedStep>> {
        let scatter = sums.scatter(self)?;
        let directions = pca_from_scatter(sums.mean.to_vec(), scatter, sums.n, self.keep.most(), "PCA")?;
        self.projection(directions, watch)
    }

    fn restore(&self, n: usize, parts: &mut StepParts<'_>) -> Result<Box<dyn FittedStep>> {
        let shift = if self.centered { Some(parts.take_column("shift", n)?) } else { None };
        Ok(Affine::projection(shift, parts.take("basis")?, true).boxed())
    }
}

impl PcaSpec {
    fn projection(&self, directions: Pca, watch: &mut dyn Observer) -> Result<Box<dyn FittedStep>> {
        let basis = self.keep.of(&directions, watch)?;
        let mean = self.centered.then(|| column_matrix(&directions.mean));
        Ok(Affine::projection(mean, basis, true).boxed())
    }
}

impl Keep {
    /// No more directions than this are kept.
    fn most(self) -> usize {
        match self {
            Keep::Components(r) => r,
            Keep::Percent(_) => usize::MAX,
        }
    }

    /// The directions that are to be kept.
    fn of(self, directions: &Pca, watch: &mut dyn Observer) -> Result<Mat<f64>> {
        let found = directions.basis.ncols();
        let mut kept = found;
        match self {
            Keep::Components(r) if found < r => {
                watch.warn(&format!("PCA: {found} instead of {r} directions, the training samples span no more"));
            }
            Keep::Components(_) => {}
            Keep::Percent(percent) => {
                let wanted = percent / 100.0 * directions.total_variance;
                let mut sum = 0.0;
                kept = 0;
                while kept < found && sum < wanted {
                    sum += directions.variances[kept];
                    kept += 1;
                }
            }
        }
        if kept == 0 {
            return Err(Error::Data("PCA: all training samples are equal, there is no direction to keep".into()));
        }
        Ok(directions.basis.subcols(0, kept).to_owned())
    }
}
