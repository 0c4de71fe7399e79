//! The steps of an iteration.

use super::{AtomNorm, LcdlSv, Solver};
use crate::coding::margin::Margins;
use crate::graph::AtomGraph;
use crate::linalg::{Spd, column_norms, gram, inner, mul, mul_add, norm1, outer_gram, qr, relative_change, upper_mul};
use crate::svm::{self, Svm};
use crate::update::splitting::{CodeSystem, Kernel};
use crate::update::subspace::{CodeBasis, Inverse, LeastSquares, MappedCodes, Samples, Subspace, least_squares};
use crate::{Observer, Result};
use faer::{Mat, Scale};

/// Above this condition number the code matrix gets [`SAFE_RIDGE`] added to its Laplacian.
const WORST_CONDITION: f64 = 1e10;
const SAFE_RIDGE: f64 = 1e-3;

/// Where the codes of a dictionary live.
pub(super) struct Place {
    graph: AtomGraph,
    pub basis: CodeBasis,
    /// The kernel of all dictionaries whose rows are in the span of the basis, where it is small.
    rest: Option<Kernel>,
}

/// A new dictionary, and what follows from it for the objective.
pub(super) struct Renewed {
    pub d: Mat<f64>,
    pub space: Subspace,
    pub change: f64,
    pub residual: f64,
    pub graph_term: f64,
    /// Codes `Z = q y` in coordinates other than those they came in, cut or rescaled.
    pub recoded: Option<(Mat<f64>, Mat<f64>)>,
}

/// The last classifiers in the coordinates of new codes, and their `U^T z`.
pub(super) struct Before {
    weights: Mat<f64>,
    scores: Mat<f64>,
}

/// The classifiers in the coordinates of the codes: `U`, `G = A^-1 U` and `M = U^T G`.
pub(super) struct Pull {
    pub u: Mat<f64>,
    pub g: Mat<f64>,
    pub coupling: Mat<f64>,
}

/// A dictionary of rescaled atoms; codes `q y` become `code_q (code_r y)`.
pub(super) struct Rescaled {
    pub code_q: Mat<f64>,
    pub code_r: Mat<f64>,
    pub dictionary: Subspace,
}

impl Place {
    /// The kernel of dictionaries with this row space, if it is at hand.
    pub fn kernel_of(&self, space: &Subspace) -> Option<&Kernel> {
        self.rest.as_ref().filter(|rest| rest.completes(space))
    }
}

impl LcdlSv {
    /// The graph of a dictionary, and where its codes live: by way of the dictionary's kernel if that is small.
    pub(super) fn place(
        &self,
        d: &Mat<f64>,
        space: &Subspace,
        kernel: Option<&Kernel>,
        ridge: &mut Option<f64>,
        watch: &mut dyn Observer,
    ) -> Result<Place> {
        let atom_gram = gram(d.as_ref());
        let graph = AtomGraph::from_gram(atom_gram.as_ref(), self.knn, self.affinity);
        let system = CodeSystem { atom_gram, graph: &graph, weight: self.lambda1, ridge: ridge.unwrap_or(0.0) };
        let worst = if ridge.is_none() { WORST_CONDITION } else { f64::INFINITY };
        if let Some((basis, rest)) = kernel.and_then(|kernel| kernel.code_basis(d.as_ref(), &system, worst)) {
            return Ok(Place { graph, basis, rest: Some(rest) });
        }
        let a = self.code_matrix(system.atom_gram, &graph, ridge, watch)?;
        Ok(Place { graph, basis: space.code_basis(&a), rest: None })
    }

    /// `A = D^T D + lambda1 (L + ridge I)`, factored. Singular as soon as the graph has more components than the
    /// dictionary has dimensions; then, unless the user fixed it, the ridge is switched on for good.
    pub(super) fn code_matrix(
        &self,
        gram: Mat<f64>,
        graph: &AtomGraph,
        ridge: &mut Option<f64>,
        watch: &mut dyn Observer,
    ) -> Result<Spd> {
        let stage = "LCDL-SV code step";
        let mut a = gram;
        graph.add_laplacian(self.lambda1, &mut a);
        if ridge.is_none() {
            match Spd::new(a.clone(), stage) {
                Ok(factor) if factor.condition(norm1(a.as_ref())) < WORST_CONDITION => return Ok(factor),
                _ => watch.warn(&format!(
                    "{stage}: the atom graph has {} components and cannot regularise {} atoms; \
                     laplacian_ridge = {SAFE_RIDGE} is used from here on (set it to silence this)",
                    graph.components(),
                    a.nrows(),
                )),
            }
        }
        let by = *ridge.get_or_insert(SAFE_RIDGE);
        (0..a.nrows()).for_each(|i| a[(i, i)] += self.lambda1 * by);
        Spd::with_jitter(a, stage, watch)
    }

    /// The codes in their basis, `Y = Y0 + a G W`, see [`crate::coding::margin`]; `scores` are `U^T z` of the previous
    /// codes. With a pull also the classifiers in that basis and their scores of the new codes.
    pub(super) fn codes<'a>(
        &self,
        basis: &'a CodeBasis,
        pull: Option<Pull>,
        samples: &Samples<'_>,
        bias: &[f64],
        scores: &Mat<f64>,
        targets: &[usize],
    ) -> (MappedCodes<'a>, Option<Before>) {
        let mut codes = MappedCodes::new(basis.map.as_ref(), samples);
        let Some(Pull { u, g, coupling }) = pull else {
            return (codes, None);
        };
        let strength = self.strength();
        let margins = Margins { coupling: coupling.as_ref(), bias, strength, targets };
        let mut moved = mul(u.transpose(), codes.y.as_ref());
        let w = margins.weights(moved.as_ref(), scores.as_ref(), self.active_set);
        mul_add(moved.as_mut(), strength, coupling.as_ref(), w.as_ref());
        codes.pull(Scale(strength) * g, w);
        (codes, Some(Before { weights: u, scores: moved }))
    }

    /// `a`, the strength of the pull.
    pub(super) fn strength(&self) -> f64 {
        2.0 * self.lambda2 * self.theta
    }

    /// The classifiers as the code step sees them; `None` where they do not pull.
    pub(super) fn pull(&self, space: &Subspace, basis: &CodeBasis, svm: &Svm) -> Result<Option<Pull>> {
        let q = &basis.q;
        if self.strength() == 0.0 || svm.weights.norm_max() == 0.0 {
            return Ok(None);
        }
        let u = mul(q.transpose(), svm.weights.as_ref());
        let g = match &basis.inverse {
            Inverse::Factor(h) => h.solve(u.as_ref()),
            Inverse::Product(r) if self.atom_norm == AtomNorm::None => {
                upper_mul(r.as_ref(), mul(space.q.transpose(), svm.weights.as_ref()).as_ref())
            }
            // Rescaled atoms take U out of the span of Q. The codes stay in theirs: with B = Q^T A^-1 Q, the inverse of
            // A restricted to it is R B^-1 R^T, the same as above whenever U = Q V.
            Inverse::Product(r) => {
                let b = mul(mul(space.q.transpose(), q.as_ref()).as_ref(), r.as_ref());
                let b = Spd::new(b, "LCDL-SV code step with constrained atoms")?;
                upper_mul(r.as_ref(), b.solve(mul(r.transpose(), u.as_ref()).as_ref()).as_ref())
            }
        };
        let coupling = mul(u.transpose(), g.as_ref());
        Ok(Some(Pull { u, g, coupling }))
    }

    /// The dictionary step; `last` is the dictionary that made the codes.
    pub(super) fn renew(
        &self,
        samples: &Samples<'_>,
        place: &Place,
        codes: &MappedCodes<'_>,
        last: &Mat<f64>,
        ridge: Option<f64>,
        watch: &mut dyn Observer,
    ) -> Result<Renewed> {
        let CodeBasis { q, laplacian, .. } = &place.basis;
        let step = least_squares(samples, q, codes, "LCDL-SV dictionary step", watch)?;
        let LeastSquares { dictionary, code_gram, residual, kept } = step;
        let cut = kept.map(|kept| (dictionary.q.clone(), mul(kept.transpose(), codes.y.as_ref())));
        let (space, recoded, code_gram) = match self.rescale(&dictionary) {
            None => (dictionary, cut, code_gram),
            Some(Rescaled { code_q, code_r, dictionary }) => {
                let y = mul(code_r.as_ref(), cut.as_ref().map_or(&codes.y, |(_, y)| y).as_ref());
                let code_gram = outer_gram(y.as_ref());
                (dictionary, Some((code_q, y)), code_gram)
            }
        };
        let (q, laplacian) = recoded.as_ref().map_or((q, laplacian.as_ref()), |(q, _)| (q, None));
        let graph_term = self.graph_term(&place.graph, laplacian, q, &code_gram, ridge.unwrap_or(0.0));
        let d = match place.kernel_of(&space) {
            Some(kernel) => kernel.dictionary(&space),
            None => space.dictionary(),
        };
        let change = relative_change(d.as_ref(), last.as_ref());
        Ok(Renewed { d, space, change, residual, graph_term, recoded })
    }

    /// Atoms rescaled by `atom_norm`, and code rows by the inverse, so that `D Z` stays.
    pub(super) fn rescale(&self, dictionary: &Subspace) -> Option<Rescaled> {
        if self.atom_norm == AtomNorm::None {
            return None;
        }
        let lengths = column_norms(dictionary.dictionary().as_ref());
        let scales: Vec<f64> = lengths
            .iter()
            .map(|&length| match self.atom_norm {
                AtomNorm::Ball => length.max(1.0),
                _ if length > 0.0 => length,
                _ => 1.0,
            })
            .collect();
        let scaled = |power: i32| {
            let q = &dictionary.q;
            qr(Mat::from_fn(q.nrows(), q.ncols(), |k, j| q[(k, j)] * scales[k].powi(power)).as_ref())
        };
        let (code_q, code_r) = scaled(1);
        let (q, r) = scaled(-1);
        Some(Rescaled { code_q, code_r, dictionary: Subspace { e_t: mul(r.as_ref(), dictionary.e_t.as_ref()), q } })
    }

    /// The SVM on the codes `Z = q y`, and its `U^T z`. Warm starts stay in the span of the codes by construction.
    pub(super) fn classifiers(
        &self,
        q: &Mat<f64>,
        y: &Mat<f64>,
        targets: &[usize],
        last: &Svm,
        before: Option<Before>,
        memory: &mut svm::Memory,
    ) -> Result<(Svm, Mat<f64>)> {
        let (n_classes, tau) = (last.bias.len(), 1.0 / self.theta);
        if self.svm_solver == Solver::Lbfgs {
            // Its stopping rule looks at single coordinates, so fidelity needs the original ones.
            let svm = svm::lbfgs::one_vs_rest(mul(q.as_ref(), y.as_ref()).as_ref(), targets, n_classes, tau);
            let in_span = mul(q.transpose(), svm.weights.as_ref());
            let svm = Svm { weights: mul(q.as_ref(), in_span.as_ref()), bias: svm.bias };
            return Ok((svm, mul(in_span.transpose(), y.as_ref())));
        }
        let Before { weights, scores } = before.unwrap_or_else(|| {
            let weights = mul(q.transpose(), last.weights.as_ref());
            Before { scores: mul(weights.transpose(), y.as_ref()), weights }
        });
        let start = Svm { weights, bias: last.bias.clone() };
        let start = svm::Start { outputs: start.with_bias(scores), svm: &start };
        let svm::Trained { svm, outputs } =
            svm::one_vs_rest_in(memory, y.as_ref(), targets, n_classes, tau, Some(start))?;
        let scores = Mat::from_fn(n_classes, y.ncols(), |c, i| outputs[(c, i)] - svm.bias[c]);
        Ok((Svm { weights: mul(q.as_ref(), svm.weights.as_ref()), bias: svm.bias }, scores))
    }

    /// The last SVM, found by [`LcdlSv::classifiers`] for the same codes, once it is known to be the optimum. L-BFGS stops
    /// short of it by intention.
    pub(super) fn settled(
        &self,
        q: &Mat<f64>,
        y: &Mat<f64>,
        targets: &[usize],
        last: Svm,
        scores: Mat<f64>,
        watch: &mut dyn Observer,
    ) -> Result<(Svm, Mat<f64>)> {
        if self.svm_solver == Solver::Lbfgs {
            return Ok((last, scores));
        }
        let in_span = Svm { weights: mul(q.transpose(), last.weights.as_ref()), bias: last.bias.clone() };
        let found = svm::settle(y.as_ref(), targets, in_span.clone(), 1.0 / self.theta, watch)?;
        if found == in_span {
            return Ok((last, scores));
        }
        let scores = mul(found.weights.transpose(), y.as_ref());
        Ok((Svm { weights: mul(q.as_ref(), found.weights.as_ref()), bias: found.bias }, scores))
    }

    /// `lambda1 tr(Z^T (L + ridge I) Z)` from `Z Z^T = q code_gram q^T`; `laplacian` is `q^T L q`, where it is at hand.
    pub(super) fn graph_term(
        &self,
        graph: &AtomGraph,
        laplacian: Option<&Mat<f64>>,
        q: &Mat<f64>,
        code_gram: &Mat<f64>,
        ridge: f64,
    ) -> f64 {
        let smooth = match laplacian {
            Some(laplacian) => inner(laplacian.as_ref(), code_gram.as_ref()).max(0.0),
            None => graph.energy(q.as_ref(), code_gram.as_ref()),
        };
        // q is orthonormal, so the energy of all codes is the trace.
        let energy: f64 = (0..code_gram.nrows()).map(|k| code_gram[(k, k)]).sum();
        self.lambda1 * (smooth + ridge * energy)
    }

    /// `2 lambda2 sum_c (|u_c|^2 + theta sum_i hinge^2)`; `scores` are without bias.
    pub(super) fn support_vector_term(&self, svm: &Svm, scores: &Mat<f64>, targets: &[usize]) -> f64 {
        let (norms, losses) = svm.objective_terms(svm.with_bias(scores.clone()).as_ref(), targets);
        2.0 * self.lambda2 * (norms + self.theta * losses)
    }
}
