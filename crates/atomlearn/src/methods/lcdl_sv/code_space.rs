//! The graph of a dictionary, and the space that its codes live in.
//!
//! Codes `A^-1 D^T x`, `A = D^T D + lambda1 (L + ridge I)`, fill as many dimensions as the dictionary has rank. Their
//! coordinates ([`CodeBasis`]) are found in one of two ways.
//!
//! The general one is a factor of `A` and the QR decomposition of `A^-1 Q`, with `D = E Q^T`
//! ([`FactoredDictionary::code_basis`]).
//!
//! The fast one avoids both where `D` has a small null space. Let `N` be an orthonormal basis of it and `Q2` one of
//! everything orthogonal to `A N`. Both together split `A` in two:
//!
//! ```text
//! A^-1 = Q2 H^-1 Q2^T + N S^-1 N^T,    H = Q2^T A Q2,    S = N^T A N
//! ```
//!
//! Since `D N = 0`, codes `A^-1 D^T x = Q2 H^-1 (D Q2)^T x` live in the span of `Q2`, and `A N = lambda1 (L + ridge I) N` is a
//! sparse product. Its QR decomposition has only as many columns as the null space; it gives `Q2` and, because the rows
//! of the next dictionary are in the span of `Q2`, also the null space of that dictionary.
//!
//! With `lambda1 = 0` the codes are `(D^T D)^+ D^T x`, in the coordinates of the dictionary itself
//! ([`FactoredDictionary::shortest_codes`]).

use super::LcdlSv;
use super::subspace::{CodeBasis, FactoredDictionary, Inverse};
use crate::graph::AtomGraph;
use crate::linalg::{FullQr, Spd, add_diagonal, gram, mul, norm1};
use crate::{Observer, Result};
use faer::{Mat, MatRef, Scale, unzip, zip};
use std::sync::Arc;

/// Above this condition number the code matrix gets [`SAFE_RIDGE`] added to its Laplacian.
const WORST_CONDITION: f64 = 1e10;
const SAFE_RIDGE: f64 = 1e-3;
/// The null space is the faster way while the rank is at least this multiple of its dimension.
const RANK_PER_NULL_DIMENSION: usize = 3;
const SPLIT_STAGE: &str = "split code step";

/// The graph of a dictionary, and the coordinates of its codes.
pub(super) struct CodeSpace {
    pub graph: AtomGraph,
    pub basis: CodeBasis,
    /// Multiple of the identity that was added to the Laplacian; `None` as long as it is neither given nor needed.
    pub ridge: Option<f64>,
    /// The null space of all dictionaries whose rows are in the span of the basis, where it is small.
    null_space: Option<Arc<NullSpace>>,
}

impl CodeSpace {
    /// The null space of a dictionary that was fitted to these codes, if it is known. A dictionary that lost
    /// directions has a larger one.
    pub fn null_space_of(&self, dictionary: &FactoredDictionary) -> Option<&Arc<NullSpace>> {
        self.null_space.as_ref().filter(|null_space| null_space.completes(dictionary))
    }
}

impl LcdlSv {
    /// The graph of `D`, `A = D^T D + lambda1 (L + ridge I)`, and the coordinates of all codes `A^-1 D^T x`.
    pub(super) fn code_space(
        &self,
        d: &Mat<f64>,
        factored: &FactoredDictionary,
        null_space: Option<&NullSpace>,
        ridge: Option<f64>,
        watch: &mut dyn Observer,
    ) -> Result<CodeSpace> {
        let atom_gram = gram(d);
        let graph = AtomGraph::from_gram(&atom_gram, self.knn, self.affinity);
        if self.lambda1 == 0.0 {
            // No locality: nothing tells the codes of a sample apart that give the same residual, and the shortest are taken.
            return Ok(CodeSpace { graph, basis: factored.shortest_codes(watch)?, ridge, null_space: None });
        }
        let system = CodeSystem { atom_gram, graph: &graph, weight: self.lambda1, ridge: ridge.unwrap_or(0.0) };
        // A ridge that was given or switched on has to do, whatever the condition.
        let worst = if ridge.is_none() { WORST_CONDITION } else { f64::INFINITY };
        if let Some((basis, next)) = null_space.and_then(|n| n.code_basis(d.as_ref(), &system, worst)) {
            return Ok(CodeSpace { graph, basis, ridge, null_space: Some(Arc::new(next)) });
        }
        let mut ridge = ridge;
        let a = self.code_matrix(system.atom_gram, &graph, &mut ridge, watch)?;
        Ok(CodeSpace { graph, basis: factored.code_basis(&a), ridge, null_space: None })
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
                Ok(factor) if factor.condition(norm1(&a)) < WORST_CONDITION => return Ok(factor),
                _ => watch.warn(&format!(
                    "{stage}: the atom graph has {} components and cannot regularise {} atoms; \
                     laplacian_ridge = {SAFE_RIDGE} is used from here on (set it to silence this)",
                    graph.components(),
                    a.nrows(),
                )),
            }
        }
        let by = *ridge.get_or_insert(SAFE_RIDGE);
        add_diagonal(&mut a, self.lambda1 * by);
        Ok(Spd::with_jitter(a, stage, |text| watch.warn(text))?)
    }
}

/// `A` before it is formed.
struct CodeSystem<'a> {
    /// `D^T D`.
    atom_gram: Mat<f64>,
    /// Whose Laplacian is `L`.
    graph: &'a AtomGraph,
    /// `lambda1`.
    weight: f64,
    /// Multiple of the identity added to `L`.
    ridge: f64,
}

/// The null space of a dictionary.
pub(super) struct NullSpace {
    /// `N`, its orthonormal basis, atoms x dimension.
    basis: Mat<f64>,
    /// The decomposition it comes from, whose other columns are a basis of the dictionary's row space.
    decomposition: Option<FullQr>,
}

impl NullSpace {
    /// The null space of `E Q^T`, if it is small.
    pub fn of(dictionary: &FactoredDictionary) -> Option<Self> {
        let (n_atoms, rank) = dictionary.q.shape();
        let small = RANK_PER_NULL_DIMENSION * (n_atoms - rank) <= rank;
        small.then(|| NullSpace::from_basis(FullQr::new(&dictionary.q).rest()))
    }

    /// The null space with this orthonormal basis.
    pub fn from_basis(basis: Mat<f64>) -> Self {
        NullSpace { basis, decomposition: None }
    }

    /// Its orthonormal basis, atoms x dimension.
    pub fn basis(&self) -> MatRef<'_, f64> {
        self.basis.as_ref()
    }

    /// True if nothing is missing between it and the row space of a dictionary, which may have lost directions.
    fn completes(&self, dictionary: &FactoredDictionary) -> bool {
        let (n_atoms, rank) = dictionary.q.shape();
        rank + self.basis.ncols() == n_atoms
    }

    /// `D = E Q^T` of a dictionary that it [completes](NullSpace::completes): reflections as few as the null space has
    /// dimensions are less arithmetic than the product.
    pub fn dictionary(&self, factored: &FactoredDictionary) -> Mat<f64> {
        match &self.decomposition {
            Some(decomposition) => decomposition.transposed_mul_rest_transposed(&factored.e_t),
            None => factored.dictionary(),
        }
    }

    /// The coordinates of all codes `A^-1 D^T x`, and the null space of all dictionaries `E Q2^T`. `None` if `A` is not
    /// positive definite or its condition number is above `worst`.
    fn code_basis(&self, d: MatRef<'_, f64>, system: &CodeSystem<'_>, worst: f64) -> Option<(CodeBasis, NullSpace)> {
        let CodeSystem { atom_gram, graph, weight, ridge } = system;
        let weight = *weight;
        let ridge = *ridge;
        let (n_atoms, n_null) = self.basis.shape();
        // |A|_1 is at most this: a column of the Laplacian holds its degree twice.
        let norm = norm1(atom_gram) + weight * (2.0 * graph.largest_degree() + ridge);
        if n_null == 0 {
            // Independent atoms: codes fill all dimensions, Q2 = I and H = A.
            let mut a = atom_gram.clone();
            graph.add_laplacian(weight, &mut a);
            add_diagonal(&mut a, weight * ridge);
            let h = Spd::new(a, SPLIT_STAGE).ok().filter(|h| h.condition(norm) <= worst)?;
            let map = h.solve(d.transpose());
            let q = Mat::identity(n_atoms, n_atoms);
            let basis = CodeBasis { q, map, inverse: Inverse::Factor(h), laplacian: Some(graph.laplacian()) };
            return Some((basis, NullSpace::from_basis(Mat::zeros(n_atoms, 0))));
        }
        // A N / lambda1 = (L + ridge I) N, because D N = 0; and S = N^T A N, needed only for its condition.
        let mut image = Scale(ridge) * &self.basis;
        graph.add_product(&self.basis, &mut image);
        let s = Spd::new(Scale(weight) * mul(self.basis.transpose(), &image), SPLIT_STAGE).ok()?;
        // Its first columns span A N, the others are Q2.
        let decomposition = FullQr::new(&image);

        // H = (D Q2)^T D Q2 + lambda1 (Q2^T L Q2 + ridge I)
        let laplacian = || decomposition.rest_form(|v| graph.times(v), graph.laplacian_from(n_null));
        let (dq, (q, laplacian)) = rayon::join(|| decomposition.mul_rest(d), || (decomposition.rest(), laplacian()));
        let mut h = gram(&dq);
        zip!(&mut h, &laplacian).for_each(|unzip!(h, l)| *h += weight * l);
        add_diagonal(&mut h, weight * ridge);
        let h = Spd::new(h, SPLIT_STAGE).ok()?;
        // |A^-1| is at most |H^-1| + |S^-1|.
        if h.condition(norm) + s.condition(norm) > worst {
            return None;
        }
        let map = h.solve(dq.transpose());
        let basis = CodeBasis { q, map, inverse: Inverse::Factor(h), laplacian: Some(laplacian) };
        // The rows of any E Q2^T are orthogonal to A N, which therefore spans its null space.
        Some((basis, NullSpace { basis: decomposition.span(), decomposition: Some(decomposition) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Affinity;

    fn matrix(rows: usize, cols: usize) -> Mat<f64> {
        Mat::from_fn(rows, cols, |i, j| {
            ((i * 7919 + j * 104_729 + i * j * 31 + i * i * j * 17) % 1009) as f64 / 1009.0 - 0.5
        })
    }

    struct Problem {
        d: Mat<f64>,
        x: Mat<f64>,
        atom_gram: Mat<f64>,
        graph: AtomGraph,
        a: Mat<f64>,
    }

    const WEIGHT: f64 = 0.1;
    const RIDGE: f64 = 0.02;

    fn problem(features: usize, n_atoms: usize) -> Problem {
        let (d, x) = (matrix(features, n_atoms), matrix(features, 40));
        let atom_gram = gram(&d);
        let graph = AtomGraph::from_gram(&atom_gram, 2, Affinity::Squared);
        let mut a = atom_gram.clone();
        graph.add_laplacian(WEIGHT, &mut a);
        (0..n_atoms).for_each(|k| a[(k, k)] += WEIGHT * RIDGE);
        Problem { d, x, atom_gram, graph, a }
    }

    impl Problem {
        fn system(&self) -> CodeSystem<'_> {
            CodeSystem { atom_gram: self.atom_gram.clone(), graph: &self.graph, weight: WEIGHT, ridge: RIDGE }
        }

        fn split(&self, worst: f64) -> Option<(CodeBasis, NullSpace)> {
            let factored = FactoredDictionary::new(self.d.as_ref(), self.x.as_ref()).unwrap();
            NullSpace::of(&factored).unwrap().code_basis(self.d.as_ref(), &self.system(), worst)
        }
    }

    #[test]
    fn codes_and_inverse_are_those_of_the_whole_system() {
        for (features, n_atoms) in [(12, 15), (12, 12), (12, 9)] {
            let p = problem(features, n_atoms);
            let (basis, null_space) = p.split(1e12).unwrap();
            let a = Spd::new(p.a.clone(), "t").unwrap();
            let z = a.solve(mul(p.d.transpose(), &p.x));
            let found = mul(&basis.q, mul(&basis.map, &p.x));
            assert!((found - &z).norm_max() < 1e-10 * z.norm_max());
            // Vectors in the span of the dictionary's rows.
            let u = mul(p.d.transpose(), matrix(features, 3));
            let Inverse::Factor(h) = &basis.inverse else { panic!("the split has a factor") };
            let solved = mul(&basis.q, h.solve(mul(basis.q.transpose(), &u)));
            let expected = a.solve(&u);
            assert!((solved - &expected).norm_max() < 1e-10 * expected.norm_max());

            let rank = features.min(n_atoms);
            assert_eq!((basis.q.ncols(), null_space.basis.ncols()), (rank, n_atoms - rank));
            assert!((gram(&basis.q) - Mat::<f64>::identity(rank, rank)).norm_max() < 1e-13);
            assert!(null_space.basis.ncols() == 0 || mul(basis.q.transpose(), &null_space.basis).norm_max() < 1e-13);
            let e_t = matrix(rank, features);
            let factored = FactoredDictionary { q: basis.q.clone(), e_t };
            assert!((null_space.dictionary(&factored) - factored.dictionary()).norm_max() < 1e-13);
            let laplacian = mul(mul(basis.q.transpose(), p.graph.laplacian()), &basis.q);
            assert!((basis.laplacian.unwrap() - laplacian).norm_max() < 1e-13);
        }
    }

    #[test]
    fn without_locality_codes_are_the_shortest_of_least_squares() {
        for (features, n_atoms) in [(12, 15), (12, 9)] {
            let p = problem(features, n_atoms);
            let factored = FactoredDictionary::new(p.d.as_ref(), p.x.as_ref()).unwrap();
            let basis = factored.shortest_codes(&mut ()).unwrap();
            let z = mul(&basis.q, mul(&basis.map, &p.x));
            let rest = &p.x - mul(&p.d, &z);
            assert!(mul(p.d.transpose(), rest).norm_max() < 1e-12, "normal equations");
            // The shortest solution has no part in the null space of D: it is in the span of the rows.
            let outside = &z - mul(&factored.q, mul(factored.q.transpose(), &z));
            assert!(outside.norm_max() < 1e-13);
            let Inverse::Factor(h) = &basis.inverse else { panic!("there is a factor") };
            let u = mul(p.d.transpose(), matrix(features, 3));
            let solved = mul(&basis.q, h.solve(mul(basis.q.transpose(), &u)));
            assert!((mul(&p.atom_gram, solved) - &u).norm_max() < 1e-11 * u.norm_max());
        }
    }

    #[test]
    fn bad_conditions_are_left_to_others_and_large_null_spaces_too() {
        let p = problem(12, 15);
        let (values, _) = crate::linalg::sym_eig(&p.a, "t").unwrap();
        let condition = values[0] / values[14];
        assert!(p.split(condition / 2.0).is_none() && p.split(100.0 * condition).is_some());
        let wide = problem(12, 17);
        assert!(NullSpace::of(&FactoredDictionary::new(wide.d.as_ref(), wide.x.as_ref()).unwrap()).is_none());
        let nothing = CodeSystem { weight: 0.0, ..p.system() };
        let factored = FactoredDictionary::new(p.d.as_ref(), p.x.as_ref()).unwrap();
        assert!(NullSpace::of(&factored).unwrap().code_basis(p.d.as_ref(), &nothing, f64::INFINITY).is_none());
    }
}
