//! The way back: what a direction in the preprocessed space looks like among the raw features.

use super::{Fitted, Prep, StepSpec};
use crate::linalg::mul;
use faer::{Mat, MatRef};

impl Prep {
    /// Maps patterns (columns) of the preprocessed space back to raw features, or `None` where a step has no way back.
    ///
    /// Patterns are directions: lengths mean nothing and means are not added. Of all raw patterns that `pca` maps to the
    /// same point it gives the shortest. Random projections and kernel maps have no useful way back; features that `standard` made zero
    /// come back as zero.
    pub fn back(&self, patterns: MatRef<'_, f64>) -> Option<Mat<f64>> {
        let mut patterns = patterns.to_owned();
        for (spec, step) in self.spec.0.iter().zip(&self.steps).rev() {
            if matches!(spec, StepSpec::Random { .. } | StepSpec::Kernel(_)) {
                return None;
            }
            patterns = step.back(patterns);
        }
        Some(patterns)
    }
}

impl Fitted {
    fn back(&self, mut patterns: Mat<f64>) -> Mat<f64> {
        let Fitted::Affine { basis, scale, .. } = self else { return patterns };
        if let Some(scale) = scale {
            let undo = |v: &mut f64, s: f64| *v = if s == 0.0 { 0.0 } else { *v / s };
            for column in patterns.as_mut().col_iter_mut() {
                column.iter_mut().zip(scale.col(0).iter()).for_each(|(v, s)| undo(v, *s));
            }
        }
        match basis {
            Some(basis) => mul(basis.as_ref(), patterns.as_ref()),
            None => patterns,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::linalg::normalize_columns;
    use crate::prep::{Prep, PrepSpec};
    use faer::Mat;

    fn data() -> Mat<f64> {
        Mat::from_fn(5, 30, |i, j| ((i * 13 + j * 7 + i * j) % 17) as f64 + i as f64)
    }

    fn fitted(spec: &str) -> Prep {
        spec.parse::<PrepSpec>().unwrap().fit(data().as_ref(), &mut ()).unwrap().0
    }

    /// Differences of samples are directions, so the way there and back must give them again where nothing is lost.
    #[test]
    fn there_and_back_is_the_identity_on_directions() {
        let x = data();
        let zero = Mat::from_fn(5, 30, |i, _| x[(i, 0)]);
        for spec in ["none", "center", "standard", "pca:5", "pca-uncentered:5", "standard,center,pca:5"] {
            let prep = fitted(spec);
            let moved = prep.apply(x.as_ref()) - prep.apply(zero.as_ref());
            let back = prep.back(moved.as_ref()).unwrap();
            assert!((&back - (&x - &zero)).norm_max() < 1e-10, "{spec}");
        }
    }

    #[test]
    fn unit_keeps_the_direction_and_a_cut_basis_projects() {
        let mut x = data();
        let back = fitted("unit").back(fitted("unit").apply(x.as_ref()).as_ref()).unwrap();
        normalize_columns(x.as_mut());
        assert!((back - &x).norm_max() < 1e-14);
        let prep = fitted("pca-uncentered:2");
        let once = prep.back(prep.apply(x.as_ref()).as_ref()).unwrap();
        let twice = prep.back(prep.apply(once.as_ref()).as_ref()).unwrap();
        assert!((once - twice).norm_max() < 1e-12, "a projection, applied twice, is itself");
    }

    #[test]
    fn random_projections_and_kernel_maps_have_no_way_back() {
        for spec in ["random:4,unit", "unit,kernel:rbf:auto:4"] {
            assert!(fitted(spec).back(Mat::zeros(4, 1).as_ref()).is_none());
        }
    }
}
