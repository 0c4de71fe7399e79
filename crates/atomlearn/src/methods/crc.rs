//! CRC: collaborative representation with regularised least squares.
//!
//! The dictionary is the training set, `D = X`; a sample's code over all of it is ridge regression,
//!
//! ```text
//! z = argmin |x - D z|^2 + kappa |z|^2 = (D^T D + kappa I)^-1 D^T x,
//! ```
//!
//! and the class with the smallest regularised residual `|x - D_c z_c| / |z_c|` wins.
//! Deviation: the original scales `kappa` with the number of samples; here it is used as given.

use crate::export::{Graph, Value};
use crate::linalg::mul;
use crate::method::sizes_row;
use crate::params::{Domain, params};
use crate::score::RidgeResiduals;
use crate::{Blocks, Classifier, Dataset, Fit, Observer, Parts, Result};
use faer::{Mat, MatRef};

/// Which residual decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Residual {
    /// `|x - D_c z_c| / |z_c|`, the original rule.
    Regularized,
    /// `|x - D_c z_c|`.
    Plain,
}

params! {
    /// Parameters of CRC.
    pub struct Crc {
        /// Weight of the squared norm of the code.
        kappa: f64 = 1e-3, Domain::Positive, grid [1e-4, 1e-3, 1e-2, 1e-1, 1.0];
        /// Divide each class residual by the size of the class's code, as the original does, or not.
        residual: Residual = Residual::Regularized, Domain::OneOf(&["regularized", "plain"]);
    }
}

/// The training set, ready to code against.
pub struct CrcModel {
    classes: Vec<String>,
    dictionary: Mat<f64>,
    sizes: Mat<f64>,
    coder: RidgeResiduals,
    residual: Residual,
}

impl Crc {
    fn model(&self, classes: Vec<String>, dictionary: Mat<f64>, blocks: &Blocks) -> Result<CrcModel> {
        let coder = RidgeResiduals::new(dictionary.as_ref(), blocks, self.kappa, "CRC coder")?;
        Ok(CrcModel { classes, sizes: sizes_row(blocks), coder, residual: self.residual, dictionary })
    }
}

impl Fit for Crc {
    type Model = CrcModel;
    const KEY: &'static str = "crc";
    const DECISION: &'static [&'static str] = &["kappa", "residual"];

    fn learn(&self, train: &Dataset, _watch: &mut dyn Observer) -> Result<CrcModel> {
        self.model(train.classes().to_vec(), train.x().to_owned(), train.blocks())
    }

    fn restore(&self, mut parts: Parts) -> Result<CrcModel> {
        let dictionary = parts.take("dictionary")?;
        let blocks = parts.take_blocks("atom_counts", dictionary.ncols())?;
        self.model(parts.classes, dictionary, &blocks)
    }
}

impl Classifier for CrcModel {
    fn n_features(&self) -> usize {
        self.dictionary.nrows()
    }

    fn classes(&self) -> &[String] {
        &self.classes
    }

    fn parts(&self) -> Vec<(&'static str, MatRef<'_, f64>)> {
        vec![("dictionary", self.dictionary.as_ref()), ("atom_counts", self.sizes.as_ref())]
    }

    fn rules(&self) -> &'static [&'static str] {
        &["residual"]
    }

    fn score_rules_block(&self, x: MatRef<'_, f64>) -> Vec<Mat<f64>> {
        let residuals = self.coder.of(x);
        vec![match self.residual {
            Residual::Regularized => -residuals.regularized(),
            Residual::Plain => -residuals.squared,
        }]
    }

    fn codes_block(&self, x: MatRef<'_, f64>) -> Option<Mat<f64>> {
        Some(mul(self.coder.map(), x))
    }

    fn export(&self, graph: &mut Graph, x: &Value) -> Result<Value> {
        let residuals = self.coder.export(graph, x);
        let residual = match self.residual {
            Residual::Regularized => residuals.regularized(graph),
            Residual::Plain => residuals.squared,
        };
        Ok(graph.negative(&residual))
    }
}
