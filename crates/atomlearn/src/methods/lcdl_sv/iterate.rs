//! What an iteration takes from the one before.

use crate::svm::Svm;
use crate::update::splitting::Kernel;
use crate::update::subspace::Subspace;
use crate::{Blocks, Error, Result, State};
use faer::{Mat, MatRef};

/// Dictionary and classifiers, in the range of the samples.
pub(super) struct Iterate {
    pub d: Mat<f64>,
    pub space: Subspace,
    pub svm: Svm,
    /// `U^T z` of the last codes.
    pub scores: Mat<f64>,
    /// As it was before the place of the next codes was found, which may switch it on.
    pub ridge: Option<f64>,
    /// The dictionary's kernel, where it is known and the way to the next codes.
    pub kernel: Option<Kernel>,
    /// Atoms of the classes.
    pub blocks: Blocks,
    /// The place of the next codes was found before; it follows from the rest.
    pub placed: bool,
}

/// Adds what [`Iterate::restore`] takes out to a state with `ridge` and `placed`.
pub(super) fn store(
    state: State,
    d: &Mat<f64>,
    space: &Subspace,
    svm: &Svm,
    scores: &Mat<f64>,
    kernel: Option<&Kernel>,
    blocks: &Blocks,
) -> State {
    let state = state.with("dictionary", d.as_ref()).with_blocks("atom_counts", blocks);
    let state = state.with("space_e", space.e_t.as_ref()).with("space_q", space.q.as_ref());
    let state = state.with_svm(svm).with("scores", scores.as_ref());
    let state = state.with_value("has_kernel", kernel.is_some());
    match kernel {
        Some(kernel) => state.with("kernel", kernel.basis()),
        None => state,
    }
}

impl Iterate {
    /// Atoms `d`, and no classifiers yet.
    pub(super) fn start(
        d: Mat<f64>,
        blocks: Blocks,
        x: MatRef<'_, f64>,
        n_classes: usize,
        ridge: Option<f64>,
    ) -> Result<Self> {
        Ok(Iterate {
            space: Subspace::new(d.as_ref(), x)?,
            svm: Svm::zero(d.ncols(), n_classes),
            scores: Mat::zeros(n_classes, x.ncols()),
            ridge,
            kernel: None,
            blocks,
            placed: false,
            d,
        })
    }

    /// The iterate of a state.
    pub(super) fn restore(state: State, classes: &[String], x: MatRef<'_, f64>) -> Result<Self> {
        let (ridge, placed, has_kernel): (_, _, bool) =
            (state.value("ridge")?, state.value("placed")?, state.value("has_kernel")?);
        let mut parts = state.into_parts(classes);
        let d = parts.take_shaped("dictionary", x.nrows(), None)?;
        let n_atoms = d.ncols();
        let q = parts.take_shaped("space_q", n_atoms, None)?;
        let rank = q.ncols();
        if rank == 0 || rank > n_atoms {
            return Err(Error::Data(format!("the state has {n_atoms} atoms of rank {rank}")));
        }
        let space = Subspace { e_t: parts.take_shaped("space_e", rank, x.nrows())?, q };
        let kernel = has_kernel.then(|| parts.take_shaped("kernel", n_atoms, n_atoms - rank)).transpose()?;
        Ok(Iterate {
            svm: parts.take_svm(Some(n_atoms))?,
            scores: parts.take_shaped("scores", classes.len(), x.ncols())?,
            ridge,
            kernel: kernel.map(Kernel::from_basis),
            blocks: parts.take_blocks("atom_counts", n_atoms)?,
            placed,
            d,
            space,
        })
    }
}
