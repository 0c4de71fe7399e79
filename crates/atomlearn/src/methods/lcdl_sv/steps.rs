//! The steps of an iteration, each with its equation.
//!
//! Codes are found as `Z = Q2 Y`, the dictionary as `D = E Q^T` ([`super::subspace`]). In formulas, `a = 2 lambda2 theta`
//! and `A = D^T D + lambda1 L`.

use super::code_space::CodeSpace;
use super::iterate::Iterate;
use super::subspace::{CodeBasis, FactoredDictionary, Inverse, LeastSquares, MappedCodes, least_squares};
use super::training_run::TrainingRun;
use super::{AtomNorm, LcdlSv, Solver};
use crate::coding::margin::Margins;
use crate::graph::AtomGraph;
use crate::linalg::{Spd, column_norms, inner, mul, mul_add, outer_gram, qr, relative_change, trace, upper_mul};
use crate::svm::{self, Svm};
use crate::{Observer, Result};
use faer::{Mat, Scale};

/// The classifiers in the coordinates of the codes: `U`, `G = A^-1 U` and `M = U^T G`.
pub(super) struct ClassifierPull {
    pub u: Mat<f64>,
    pub g: Mat<f64>,
    pub coupling: Mat<f64>,
}

/// The last classifiers in the coordinates of new codes, and their `U^T z`: where the SVM step starts.
pub(super) struct WarmStart {
    weights: Mat<f64>,
    scores: Mat<f64>,
}

/// A new dictionary, and what follows from it for the objective.
pub(super) struct DictionaryStep {
    pub d: Mat<f64>,
    pub factored: FactoredDictionary,
    /// Of the dictionary, relative.
    pub change: f64,
    /// `|X - D Z|^2`.
    pub residual: f64,
    pub graph_term: f64,
    /// The codes, where the step cut or rescaled them: they have coordinates of their own.
    recoordinated: Option<(Mat<f64>, Mat<f64>)>,
}

/// New classifiers, and their `U^T z`.
pub(super) struct SvmStep {
    svm: Svm,
    scores: Mat<f64>,
}

/// Codes `Z = q y`.
#[derive(Clone, Copy)]
pub(super) struct Codes<'a> {
    q: &'a Mat<f64>,
    y: &'a Mat<f64>,
}

/// A dictionary of rescaled atoms; codes `q y` become `code_q (code_r y)`.
pub(super) struct Rescaled {
    pub code_q: Mat<f64>,
    pub code_r: Mat<f64>,
    pub dictionary: FactoredDictionary,
}

impl DictionaryStep {
    /// The codes that the dictionary was fitted to, as the step left them.
    fn codes<'a>(&'a self, found: &'a MappedCodes<'_>) -> Codes<'a> {
        match &self.recoordinated {
            Some((q, y)) => Codes { q, y },
            None => Codes { q: &found.basis.q, y: &found.y },
        }
    }
}

impl TrainingRun<'_> {
    /// `z_i = argmin_z |x_i - D z|^2 + lambda1 z^T L z + a sum_c hinge(y_ci (u_c^T z + b_c))^2`: ridge regression, pulled
    /// over the margins that are violated,
    ///
    /// ```text
    /// Z = A^-1 (D^T X + a U W)
    /// ```
    ///
    /// with weights `W` from [`crate::coding::margin`]. With a pull also where the SVM step starts.
    pub fn code_step<'a>(
        &self,
        at: &Iterate,
        code_space: &'a CodeSpace,
    ) -> Result<(MappedCodes<'a>, Option<WarmStart>)> {
        let params = self.params;
        let mut codes = MappedCodes::new(&code_space.basis, &self.samples);
        let Some(ClassifierPull { u, g, coupling }) = params.pull(&at.factored, &code_space.basis, &at.svm)? else {
            return Ok((codes, None));
        };
        let strength = params.strength();
        let margins = Margins { coupling: &coupling, bias: &at.svm.bias, strength, targets: &self.targets };
        let mut scores = mul(u.transpose(), &codes.y);
        let w = margins.weights(&scores, &at.scores, params.active_set);
        // The pull moves codes by a G W, and their scores by a M W.
        mul_add(scores.as_mut(), strength, &coupling, &w);
        codes.pull(Scale(strength) * g, w);
        Ok((codes, Some(WarmStart { weights: u, scores })))
    }

    /// `D = argmin_D |X - D Z|^2 = X Z^T (Z Z^T)^+`, its atoms rescaled if that is asked for. `last` is the dictionary that
    /// made the codes.
    pub fn dictionary_step(
        &self,
        last: &Mat<f64>,
        code_space: &CodeSpace,
        codes: &MappedCodes<'_>,
        watch: &mut dyn Observer,
    ) -> Result<DictionaryStep> {
        let CodeBasis { q, laplacian, .. } = &code_space.basis;
        let step = least_squares(&self.samples, codes, "LCDL-SV dictionary step", watch)?;
        let LeastSquares { dictionary, code_gram, residual, kept } = step;
        let cut = kept.map(|kept| (dictionary.q.clone(), mul(kept.transpose(), &codes.y)));
        let (factored, recoordinated, code_gram) = match self.params.rescale(&dictionary) {
            None => (dictionary, cut, code_gram),
            Some(Rescaled { code_q, code_r, dictionary }) => {
                let y = mul(&code_r, cut.as_ref().map_or(&codes.y, |(_, y)| y));
                let code_gram = outer_gram(&y);
                (dictionary, Some((code_q, y)), code_gram)
            }
        };
        // `Q2^T L Q2` is of use only in the coordinates it was found in.
        let (q, laplacian) = recoordinated.as_ref().map_or((q, laplacian.as_ref()), |(q, _)| (q, None));
        let ridge = code_space.ridge.unwrap_or(0.0);
        let graph_term = self.params.graph_term(&code_space.graph, laplacian, q, &code_gram, ridge);
        let d = match code_space.null_space_of(&factored) {
            Some(null_space) => null_space.dictionary(&factored),
            None => factored.dictionary(),
        };
        let change = relative_change(&d, last);
        Ok(DictionaryStep { d, factored, change, residual, graph_term, recoordinated })
    }

    /// The graph of the new dictionary, and the space of its codes; `None` if no iteration follows. `code_space` is that of
    /// the codes it was fitted to.
    pub fn graph_step(
        &self,
        iter: usize,
        step: &DictionaryStep,
        code_space: &CodeSpace,
        watch: &mut dyn Observer,
    ) -> Result<Option<CodeSpace>> {
        if iter == self.params.max_iter() || step.change < self.params.tol {
            return Ok(None);
        }
        let null_space = code_space.null_space_of(&step.factored).map(|null_space| &**null_space);
        self.params.code_space(&step.d, &step.factored, null_space, code_space.ridge, watch).map(Some)
    }

    /// `(U, b) = argmin sum_c ( |u_c|^2 + theta sum_i hinge(y_ci (u_c^T z_i + b_c))^2 )`, from a warm start. `None` if the
    /// dictionary step is going to rescale the codes, and the SVM step has to wait for it.
    pub fn svm_step(
        &self,
        codes: &MappedCodes<'_>,
        last: &Svm,
        warm_start: Option<WarmStart>,
        memory: &mut svm::Memory,
    ) -> Option<Result<SvmStep>> {
        let codes = Codes { q: &codes.basis.q, y: &codes.y };
        (self.params.atom_norm == AtomNorm::None).then(|| self.fit_svm(codes, last, warm_start, memory))
    }

    /// The iterate after all steps; `codes` live in `code_space`, those of the next iteration in `next`.
    pub fn advance(
        &self,
        mut at: Iterate,
        code_space: &CodeSpace,
        codes: &MappedCodes<'_>,
        (dictionary, next): (DictionaryStep, Option<CodeSpace>),
        svm: Option<Result<SvmStep>>,
        watch: &mut dyn Observer,
    ) -> Result<Iterate> {
        let codes = dictionary.codes(codes);
        let mut svm = match svm {
            Some(svm) if dictionary.recoordinated.is_none() => svm?,
            // Other coordinates, or even other codes, than the SVM was fitted to.
            _ => self.fit_svm(codes, &at.svm, None, &mut at.svm_memory)?,
        };
        if next.is_none() {
            svm = self.settle(codes, svm, watch)?;
        }
        at.terms = [
            ("reconstruction", dictionary.residual),
            ("graph", dictionary.graph_term),
            ("support vector", self.params.support_vector_term(&svm, &self.targets)),
        ];
        at.change = dictionary.change;
        at.svm = svm.svm;
        at.scores = svm.scores;
        at.ridge = code_space.ridge;
        at.null_space = code_space.null_space_of(&dictionary.factored).cloned();
        at.d = dictionary.d;
        at.factored = dictionary.factored;
        at.code_space = next;
        Ok(at)
    }

    /// The SVM on codes, solved for weights in their coordinates: a warm start then stays in the span of the codes by
    /// construction.
    fn fit_svm(
        &self,
        Codes { q, y }: Codes<'_>,
        last: &Svm,
        warm_start: Option<WarmStart>,
        memory: &mut svm::Memory,
    ) -> Result<SvmStep> {
        let n_classes = last.bias.len();
        let tau = 1.0 / self.params.theta;
        if self.params.svm_solver == Solver::Lbfgs {
            // Its stopping rule looks at single coordinates, so fidelity needs the original ones.
            let svm = svm::lbfgs::one_vs_rest(&mul(q, y), &self.targets, n_classes, tau);
            let in_span = mul(q.transpose(), &svm.weights);
            let svm = Svm { weights: mul(q, &in_span), bias: svm.bias };
            return Ok(SvmStep { svm, scores: mul(in_span.transpose(), y) });
        }
        let WarmStart { weights, scores } = warm_start.unwrap_or_else(|| {
            let weights = mul(q.transpose(), &last.weights);
            WarmStart { scores: mul(weights.transpose(), y), weights }
        });
        let start = Svm { weights, bias: last.bias.clone() };
        let start = svm::SvmStart { outputs: start.with_bias(scores), svm: &start };
        let svm::Trained { svm, outputs } =
            svm::one_vs_rest_in(memory, y.as_ref(), &self.targets, n_classes, tau, Some(start))?;
        let scores = Mat::from_fn(n_classes, y.ncols(), |c, i| outputs[(c, i)] - svm.bias[c]);
        Ok(SvmStep { svm: Svm { weights: mul(q, &svm.weights), bias: svm.bias }, scores })
    }

    /// The last SVM, once it is known to be the optimum for its codes: it becomes part of the model. L-BFGS stops short of
    /// the optimum by intention.
    fn settle(&self, Codes { q, y }: Codes<'_>, last: SvmStep, watch: &mut dyn Observer) -> Result<SvmStep> {
        if self.params.svm_solver == Solver::Lbfgs {
            return Ok(last);
        }
        let weights = mul(q.transpose(), &last.svm.weights);
        let in_span = Svm { weights, bias: last.svm.bias.clone() };
        let found = svm::settle(y, &self.targets, in_span.clone(), 1.0 / self.params.theta, watch)?;
        if found == in_span {
            return Ok(last);
        }
        let scores = mul(found.weights.transpose(), y);
        Ok(SvmStep { svm: Svm { weights: mul(q, &found.weights), bias: found.bias }, scores })
    }
}

impl LcdlSv {
    /// `a = 2 lambda2 theta`, the strength of the pull.
    pub(super) fn strength(&self) -> f64 {
        2.0 * self.lambda2 * self.theta
    }

    /// The classifiers as the code step sees them; `None` if they do not pull.
    pub(super) fn pull(
        &self,
        dictionary: &FactoredDictionary,
        basis: &CodeBasis,
        svm: &Svm,
    ) -> Result<Option<ClassifierPull>> {
        let q = &basis.q;
        if self.strength() == 0.0 || svm.weights.norm_max() == 0.0 {
            return Ok(None);
        }
        let u = mul(q.transpose(), &svm.weights);
        let g = match &basis.inverse {
            Inverse::Factor(h) => h.solve(&u),
            Inverse::Product(r) if self.atom_norm == AtomNorm::None => {
                upper_mul(r, mul(dictionary.q.transpose(), &svm.weights))
            }
            // Rescaled atoms take U out of the span of Q. The codes stay in theirs: with B = Q^T A^-1 Q, the inverse of
            // A restricted to it is R B^-1 R^T, the same as above whenever U = Q V.
            Inverse::Product(r) => {
                let b = mul(mul(dictionary.q.transpose(), q), r);
                let b = Spd::new(b, "LCDL-SV code step with constrained atoms")?;
                upper_mul(r, b.solve(mul(r.transpose(), &u)))
            }
        };
        let coupling = mul(u.transpose(), &g);
        Ok(Some(ClassifierPull { u, g, coupling }))
    }

    /// Atoms rescaled by `atom_norm`, and code rows by the inverse, so that `D Z` stays: `D S^-1` and `S Z` with diagonal
    /// `S`. `None` if atoms keep their lengths.
    pub(super) fn rescale(&self, dictionary: &FactoredDictionary) -> Option<Rescaled> {
        if self.atom_norm == AtomNorm::None {
            return None;
        }
        let lengths = column_norms(dictionary.dictionary());
        let scales: Vec<f64> = lengths
            .iter()
            .map(|&length| match self.atom_norm {
                AtomNorm::Ball => length.max(1.0),
                _ if length > 0.0 => length,
                _ => 1.0,
            })
            .collect();
        // The scaled basis is no longer orthonormal; its QR decomposition is, and its R goes to the other factor.
        let scaled = |power: i32| {
            let q = &dictionary.q;
            qr(Mat::from_fn(q.nrows(), q.ncols(), |k, j| q[(k, j)] * scales[k].powi(power)))
        };
        let (code_q, code_r) = scaled(1);
        let (q, r) = scaled(-1);
        let dictionary = FactoredDictionary { e_t: mul(&r, &dictionary.e_t), q };
        Some(Rescaled { code_q, code_r, dictionary })
    }

    /// `lambda1 tr(Z^T (L + ridge I) Z)` from `Z Z^T = q code_gram q^T`; `laplacian` is `q^T L q`, if that is known.
    pub(super) fn graph_term(
        &self,
        graph: &AtomGraph,
        laplacian: Option<&Mat<f64>>,
        q: &Mat<f64>,
        code_gram: &Mat<f64>,
        ridge: f64,
    ) -> f64 {
        let smooth = match laplacian {
            Some(laplacian) => inner(laplacian, code_gram).max(0.0),
            None => graph.energy(q, code_gram),
        };
        // q is orthonormal, so the energy of all codes is the trace.
        self.lambda1 * (smooth + ridge * trace(code_gram))
    }

    /// `2 lambda2 sum_c (|u_c|^2 + theta sum_i hinge^2)`.
    fn support_vector_term(&self, SvmStep { svm, scores }: &SvmStep, targets: &[usize]) -> f64 {
        let (norms, losses) = svm.objective_terms(&svm.with_bias(scores.clone()), targets);
        2.0 * self.lambda2 * (norms + self.theta * losses)
    }
}
