//! Codes without the big system, where the dictionary has a small kernel.
//!
//! `A = D^T D + lambda (L + ridge I)` belongs to more atoms than there are dimensions. Let `N` be an orthonormal basis of
//! the kernel of `D` and `Q` one of everything orthogonal to `A N`. Both together split `A` in two:
//!
//! ```text
//! A^-1 = Q H^-1 Q^T + N S^-1 N^T,    H = Q^T A Q,    S = N^T A N
//! ```
//!
//! Codes `A^-1 D^T x = Q H^-1 (D Q)^T x` live in the span of `Q`. Since `D N = 0`, `A N = lambda (L + ridge I) N`, a sparse
//! product; its QR decomposition has as few columns as the kernel and gives `Q` together with the kernel of the next
//! dictionary, whose rows are in the span of `Q`. Compared with [`Subspace::code_basis`] this saves the factor of `A`, and
//! the QR decomposition of a matrix with as many columns as there are dimensions.

use super::subspace::{CodeBasis, Inverse, Subspace};
use crate::graph::AtomGraph;
use crate::linalg::{FullQr, Spd, gram, mul, norm1};
use faer::{Mat, MatRef, Scale, unzip, zip};

/// The way over the kernel is the shorter one while the kernel has at most one dimension for this many of the rest.
const WIDTH: usize = 3;
const STAGE: &str = "split code step";

/// `A` before it is formed.
pub struct CodeSystem<'a> {
    /// `D^T D`.
    pub atom_gram: Mat<f64>,
    /// Whose Laplacian is `L`.
    pub graph: &'a AtomGraph,
    /// `lambda`.
    pub weight: f64,
    /// Multiple of the identity added to `L`.
    pub ridge: f64,
}

/// The kernel of a dictionary.
pub struct Kernel {
    /// Its orthonormal basis, atoms x few.
    basis: Mat<f64>,
    /// Where it came about together with the dictionary's row space: both.
    both: Option<FullQr>,
}

impl Kernel {
    /// The kernel of `E Q^T`, if it is small.
    pub fn of(space: &Subspace) -> Option<Self> {
        let (n_atoms, rank) = space.q.shape();
        let few = WIDTH * (n_atoms - rank) <= rank;
        few.then(|| Kernel { basis: FullQr::new(space.q.as_ref()).rest(), both: None })
    }

    /// The kernel with this orthonormal basis.
    pub fn from_basis(basis: Mat<f64>) -> Self {
        Kernel { basis, both: None }
    }

    /// Its orthonormal basis, atoms x few.
    pub fn basis(&self) -> MatRef<'_, f64> {
        self.basis.as_ref()
    }

    /// True if it is the kernel of dictionaries of this row space, which may have lost directions.
    pub fn completes(&self, space: &Subspace) -> bool {
        let (n_atoms, rank) = space.q.shape();
        rank + self.basis.ncols() == n_atoms
    }

    /// The dictionary `E Q^T` that it [completes](Kernel::completes).
    pub fn dictionary(&self, space: &Subspace) -> Mat<f64> {
        match &self.both {
            Some(both) => both.transposed_mul_rest_transposed(space.e_t.as_ref()),
            None => space.dictionary(),
        }
    }

    /// The coordinates of all codes `A^-1 D^T x`, and the kernel of dictionaries `E Q^T` of any `E`. `None` if `A` is not
    /// positive definite or its condition number is above `worst`.
    pub fn code_basis(&self, d: MatRef<'_, f64>, system: &CodeSystem<'_>, worst: f64) -> Option<(CodeBasis, Kernel)> {
        let CodeSystem { atom_gram, graph, weight, ridge } = system;
        let (weight, ridge) = (*weight, *ridge);
        let (n_atoms, few) = self.basis.shape();
        let norm = norm1(atom_gram.as_ref()) + weight * (2.0 * graph.largest_degree() + ridge);
        if few == 0 {
            let mut a = atom_gram.clone();
            graph.add_laplacian(weight, &mut a);
            (0..n_atoms).for_each(|k| a[(k, k)] += weight * ridge);
            let h = Spd::new(a, STAGE).ok().filter(|h| h.condition(norm) <= worst)?;
            let map = h.solve(d.transpose());
            let q = Mat::identity(n_atoms, n_atoms);
            let basis = CodeBasis { q, map, inverse: Inverse::Factor(h), laplacian: Some(graph.laplacian()) };
            return Some((basis, Kernel { basis: Mat::zeros(n_atoms, 0), both: None }));
        }
        // (L + ridge I) N
        let mut moved = Scale(ridge) * &self.basis;
        graph.add_product(self.basis.as_ref(), &mut moved);
        let s = Spd::new(Scale(weight) * mul(self.basis.transpose(), moved.as_ref()), STAGE).ok()?;
        let both = FullQr::new(moved.as_ref());

        let laplacian = || both.rest_form(|v| graph.times(v), graph.laplacian_from(few));
        let (f, (q, laplacian)) = rayon::join(|| both.mul_rest(d), || (both.rest(), laplacian()));
        let mut h = gram(f.as_ref());
        zip!(&mut h, &laplacian).for_each(|unzip!(h, l)| *h += weight * l);
        (0..h.nrows()).for_each(|k| h[(k, k)] += weight * ridge);
        let h = Spd::new(h, STAGE).ok()?;
        if h.condition(norm) + s.condition(norm) > worst {
            return None;
        }
        let map = h.solve(f.transpose());
        let basis = CodeBasis { q, map, inverse: Inverse::Factor(h), laplacian: Some(laplacian) };
        Some((basis, Kernel { basis: both.span(), both: Some(both) }))
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
        let atom_gram = gram(d.as_ref());
        let graph = AtomGraph::from_gram(atom_gram.as_ref(), 2, Affinity::Squared);
        let mut a = atom_gram.clone();
        graph.add_laplacian(WEIGHT, &mut a);
        (0..n_atoms).for_each(|k| a[(k, k)] += WEIGHT * RIDGE);
        Problem { d, x, atom_gram, graph, a }
    }

    impl Problem {
        fn system(&self) -> CodeSystem<'_> {
            CodeSystem { atom_gram: self.atom_gram.clone(), graph: &self.graph, weight: WEIGHT, ridge: RIDGE }
        }

        fn split(&self, worst: f64) -> Option<(CodeBasis, Kernel)> {
            let space = Subspace::new(self.d.as_ref(), self.x.as_ref()).unwrap();
            Kernel::of(&space).unwrap().code_basis(self.d.as_ref(), &self.system(), worst)
        }
    }

    #[test]
    fn codes_and_inverse_are_those_of_the_whole_system() {
        for (features, n_atoms) in [(12, 15), (12, 12), (12, 9)] {
            let p = problem(features, n_atoms);
            let (basis, kernel) = p.split(1e12).unwrap();
            let a = Spd::new(p.a.clone(), "t").unwrap();
            let z = a.solve(mul(p.d.transpose(), p.x.as_ref()).as_ref());
            let found = mul(basis.q.as_ref(), mul(basis.map.as_ref(), p.x.as_ref()).as_ref());
            assert!((found - &z).norm_max() < 1e-10 * z.norm_max());
            // Vectors in the span of the dictionary's rows.
            let u = mul(p.d.transpose(), matrix(features, 3).as_ref());
            let Inverse::Factor(h) = &basis.inverse else { panic!("the split has a factor") };
            let solved = mul(basis.q.as_ref(), h.solve(mul(basis.q.transpose(), u.as_ref()).as_ref()).as_ref());
            let expected = a.solve(u.as_ref());
            assert!((solved - &expected).norm_max() < 1e-10 * expected.norm_max());

            let rank = features.min(n_atoms);
            assert_eq!((basis.q.ncols(), kernel.basis.ncols()), (rank, n_atoms - rank));
            assert!((gram(basis.q.as_ref()) - Mat::<f64>::identity(rank, rank)).norm_max() < 1e-13);
            assert!(kernel.basis.ncols() == 0 || mul(basis.q.transpose(), kernel.basis.as_ref()).norm_max() < 1e-13);
            let e_t = matrix(rank, features);
            let space = Subspace { q: basis.q.clone(), e_t };
            assert!((kernel.dictionary(&space) - space.dictionary()).norm_max() < 1e-13);
            let laplacian = mul(mul(basis.q.transpose(), p.graph.laplacian().as_ref()).as_ref(), basis.q.as_ref());
            assert!((basis.laplacian.unwrap() - laplacian).norm_max() < 1e-13);
        }
    }

    #[test]
    fn bad_conditions_are_left_to_others_and_large_kernels_too() {
        let p = problem(12, 15);
        let (values, _) = crate::linalg::sym_eig(p.a.as_ref(), "t").unwrap();
        let condition = values[0] / values[14];
        assert!(p.split(condition / 2.0).is_none() && p.split(100.0 * condition).is_some());
        let wide = problem(12, 17);
        assert!(Kernel::of(&Subspace::new(wide.d.as_ref(), wide.x.as_ref()).unwrap()).is_none());
        let nothing = CodeSystem { weight: 0.0, ..p.system() };
        let space = Subspace::new(p.d.as_ref(), p.x.as_ref()).unwrap();
        assert!(Kernel::of(&space).unwrap().code_basis(p.d.as_ref(), &nothing, f64::INFINITY).is_none());
    }
}
