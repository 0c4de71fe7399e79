//! What an iteration takes from the one before.

use super::code_space::{CodeSpace, NullSpace};
use super::subspace::FactoredDictionary;
use crate::svm::{self, Svm};
use crate::{Blocks, Error, Result, State};
use faer::{Mat, MatRef};
use std::sync::Arc;

/// Dictionary and classifiers, in the span of the samples.
pub(super) struct Iterate {
    /// `D`.
    pub d: Mat<f64>,
    /// The same as `E Q^T`.
    pub factored: FactoredDictionary,
    /// Atoms of the classes.
    pub blocks: Blocks,
    /// `(U, b)`.
    pub svm: Svm,
    /// `U^T z` of the last codes.
    pub scores: Mat<f64>,
    /// Memory of the SVM step.
    pub svm_memory: svm::Memory,
    /// Multiple of the identity added to the Laplacian, as the last codes needed it.
    pub ridge: Option<f64>,
    /// The null space of `D`, where it is known and small.
    pub null_space: Option<Arc<NullSpace>>,
    /// The graph of `D` and the space of its codes; `None` when no iteration follows.
    pub code_space: Option<CodeSpace>,
    /// Terms of the objective by name.
    pub terms: [(&'static str, f64); 3],
    /// Relative change of the dictionary in the last iteration.
    pub change: f64,
}

impl Iterate {
    /// Atoms `d`, and no classifiers yet.
    pub fn start(
        d: Mat<f64>,
        blocks: Blocks,
        x: MatRef<'_, f64>,
        n_classes: usize,
        ridge: Option<f64>,
    ) -> Result<Self> {
        let factored = FactoredDictionary::new(d.as_ref(), x)?;
        let svm = Svm::zero(d.ncols(), n_classes);
        let scores = Mat::zeros(n_classes, x.ncols());
        Ok(Iterate::new(d, factored, blocks, svm, scores, ridge))
    }

    fn new(
        d: Mat<f64>,
        factored: FactoredDictionary,
        blocks: Blocks,
        svm: Svm,
        scores: Mat<f64>,
        ridge: Option<f64>,
    ) -> Self {
        Iterate {
            d,
            factored,
            blocks,
            svm,
            scores,
            svm_memory: svm::Memory::default(),
            ridge,
            null_space: None,
            code_space: None,
            terms: [("", 0.0); 3],
            change: f64::INFINITY,
        }
    }

    /// What [`Iterate::restore`] goes on from. The code space is not part of it, because it follows from the rest.
    pub fn state(&self, iter: usize, converged: bool) -> State {
        let state = State::after(iter, converged)
            .with_value("ridge", self.ridge)
            .with_value("placed", self.code_space.is_some())
            .with("dictionary", &self.d)
            .with_blocks("atom_counts", &self.blocks)
            .with("space_e", &self.factored.e_t)
            .with("space_q", &self.factored.q)
            .with_svm(&self.svm)
            .with("scores", &self.scores)
            .with_value("has_kernel", self.null_space.is_some());
        match &self.null_space {
            Some(null_space) => state.with("kernel", null_space.basis()),
            None => state,
        }
    }

    /// The iterate of a state, and whether its code space was found before the state was taken.
    pub fn restore(state: State, classes: &[String], x: MatRef<'_, f64>) -> Result<(Self, bool)> {
        let ridge = state.value("ridge")?;
        let had_code_space = state.value("placed")?;
        let has_null_space: bool = state.value("has_kernel")?;
        let mut parts = state.into_parts(classes);
        let d = parts.take_shaped("dictionary", x.nrows(), None)?;
        let n_atoms = d.ncols();
        let q = parts.take_shaped("space_q", n_atoms, None)?;
        let rank = q.ncols();
        if rank == 0 || rank > n_atoms {
            return Err(Error::Data(format!("the state has {n_atoms} atoms of rank {rank}")));
        }
        let factored = FactoredDictionary { e_t: parts.take_shaped("space_e", rank, x.nrows())?, q };
        let null_space = has_null_space.then(|| parts.take_shaped("kernel", n_atoms, n_atoms - rank)).transpose()?;
        let svm = parts.take_svm(Some(n_atoms))?;
        let scores = parts.take_shaped("scores", classes.len(), x.ncols())?;
        let blocks = parts.take_blocks("atom_counts", n_atoms)?;
        let mut at = Iterate::new(d, factored, blocks, svm, scores, ridge);
        at.null_space = null_space.map(|basis| Arc::new(NullSpace::from_basis(basis)));
        Ok((at, had_code_space))
    }
}
