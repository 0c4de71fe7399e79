//! Dictionary and codes in coordinates of the subspace they really live in.
//!
//! Ridge-like codes `z = A^-1 D^T x` fill only `rank(D)` of the `K` dimensions, so `Z Z^T` is singular whenever there are
//! more atoms than independent features, and any arithmetic that divides by its rounding noise falls apart. Written in
//! orthonormal coordinates nothing is singular: `D = E Q^T` and `Z = Q2 Y` with `Q`, `Q2` orthonormal (atoms x r), and
//! the dictionary step `D = X Z^T (Z Z^T)^+` becomes `E = X Y^T (Y Y^T)^-1`, `D = E Q2^T`, exactly.

use crate::linalg::{Spd, mul, orthonormal_range, outer_gram, qr, svd, sym_eig};
use crate::{Observer, Result};
use faer::{Mat, MatRef};

/// Singular values of a starting dictionary below this fraction of the largest do not count towards its rank.
const START_RANK: f64 = 3e-5;
/// Eigenvalues of `Y Y^T` below this fraction of the largest are cut when it is singular after all.
const CODE_RANK: f64 = 1e-12;

/// A dictionary `D = E Q^T`.
#[derive(Clone, Debug)]
pub struct Subspace {
    /// `E`, features x r.
    pub e: Mat<f64>,
    /// `Q`, atoms x r, orthonormal columns.
    pub q: Mat<f64>,
}

/// Where the codes of one iteration live: `A^-1 D^T x = Q2 (map x)`.
pub struct CodeBasis {
    /// `Q2`, atoms x r, orthonormal columns.
    pub q: Mat<f64>,
    /// `R` of the QR decomposition `A^-1 Q = Q2 R`.
    pub r: Mat<f64>,
    /// `R E^T`, r x features.
    pub map: Mat<f64>,
}

/// What the dictionary step leaves behind.
pub struct LeastSquares {
    /// The new dictionary.
    pub dictionary: Subspace,
    /// `Y`, r x samples, in the coordinates of `dictionary.q`.
    pub codes: Mat<f64>,
    /// `Y Y^T`.
    pub code_gram: Mat<f64>,
    /// `|X - E Y|^2`.
    pub residual: f64,
}

impl Subspace {
    /// Splits a starting dictionary; directions outside the range of the samples `x` are dropped.
    pub fn new(d: MatRef<'_, f64>, x: MatRef<'_, f64>) -> Result<Self> {
        let stage = "rank of the starting dictionary";
        let (_, s, v) = svd(d, stage)?;
        let rank = s.iter().take_while(|&&value| value > START_RANK * s[0]).count();
        let range = orthonormal_range(x, x.nrows().max(x.ncols()) as f64 * f64::EPSILON, stage)?;
        let q = if range.ncols() < rank {
            qr(mul(d.transpose(), range.as_ref()).as_ref()).0
        } else {
            v.subcols(0, rank).to_owned()
        };
        Ok(Subspace { e: mul(d, q.as_ref()), q })
    }

    /// `D = E Q^T`.
    pub fn dictionary(&self) -> Mat<f64> {
        mul(self.e.as_ref(), self.q.transpose())
    }

    /// The coordinates of all codes `A^-1 D^T x`.
    pub fn code_basis(&self, a: &Spd) -> CodeBasis {
        let (q, r) = qr(a.solve(self.q.as_ref()).as_ref());
        let map = mul(r.as_ref(), self.e.transpose());
        CodeBasis { q, r, map }
    }
}

/// The dictionary that fits `x` best, `E = X Y^T (Y Y^T)^-1`.
///
/// `Y` has full row rank in exact arithmetic; should rounding deny it, the lost directions are cut and reported.
pub fn least_squares(
    x: MatRef<'_, f64>,
    q: Mat<f64>,
    y: Mat<f64>,
    stage: &str,
    watch: &mut dyn Observer,
) -> Result<LeastSquares> {
    let code_gram = outer_gram(y.as_ref());
    let Ok(factor) = Spd::new(code_gram.clone(), stage) else {
        let (values, vectors) = sym_eig(code_gram.as_ref(), stage)?;
        let rank = values.iter().take_while(|&&v| v > CODE_RANK * values[0] && v > 0.0).count();
        if rank == 0 || rank == values.len() {
            return Err(crate::Error::numeric(stage, "all codes are zero"));
        }
        watch.warn(&format!("{stage}: codes have rank {rank} instead of {}, the rest was cut", values.len()));
        let kept = vectors.subcols(0, rank);
        return least_squares(x, mul(q.as_ref(), kept), mul(kept.transpose(), y.as_ref()), stage, watch);
    };
    let cross = mul(x, y.transpose());
    let e = factor.solve(cross.transpose()).transpose().to_owned();
    // |X - EY|^2 = |X|^2 - <E, X Y^T>, because E Y Y^T = X Y^T.
    let explained: f64 = e.col_iter().zip(cross.col_iter()).map(|(a, b)| a.transpose() * b).sum();
    let residual = (x.squared_norm_l2() - explained).max(0.0);
    Ok(LeastSquares { dictionary: Subspace { e, q }, codes: y, code_gram, residual })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{gram, pinv};
    use crate::observe::Trace;

    fn matrix(rows: usize, cols: usize) -> Mat<f64> {
        Mat::from_fn(rows, cols, |i, j| ((i * i * 3 + j * 7 + i * j * 5) % 23) as f64 / 23.0 - 0.45)
    }

    #[test]
    fn equals_the_pseudo_inverse_form_where_atoms_outnumber_features() {
        let (d, x) = (matrix(5, 9), matrix(5, 30));
        let start = Subspace::new(d.as_ref(), x.as_ref()).unwrap();
        assert!((start.dictionary() - &d).norm_max() < 1e-12);
        let mut a = gram(d.as_ref());
        (0..9).for_each(|i| a[(i, i)] += 0.1 + 0.05 * i as f64);
        let a = Spd::new(a, "t").unwrap();
        let basis = start.code_basis(&a);
        let y = mul(basis.map.as_ref(), x.as_ref());
        let z = a.solve(mul(d.transpose(), x.as_ref()).as_ref());
        assert!((mul(basis.q.as_ref(), y.as_ref()) - &z).norm_max() < 1e-11);

        let step = least_squares(x.as_ref(), basis.q, y, "t", &mut ()).unwrap();
        let expected = mul(x.as_ref(), pinv(z.as_ref(), "t").unwrap().as_ref());
        let found = step.dictionary.dictionary();
        assert!((&found - &expected).norm_max() < 1e-9);
        let residual = &x - mul(found.as_ref(), z.as_ref());
        assert!(mul(residual.as_ref(), z.transpose()).norm_max() < 1e-9);
        assert!((step.residual - residual.squared_norm_l2()).abs() < 1e-10);
    }

    /// Fixture F3 of the specification, checked by hand: four atoms, two samples.
    #[test]
    fn hand_checked_dictionary_step() {
        let z = faer::mat![
            [0.7263839069, -0.5929926589],
            [0.4586624444, -0.3053387954],
            [-0.2485806788, 0.7727522532],
            [0.7267546152, 0.0716845624]
        ];
        let x = faer::mat![[0.6, -0.8], [0.8, 0.6]];
        let (q, y) = qr(z.as_ref());
        let step = least_squares(x.as_ref(), q, y, "t", &mut ()).unwrap();
        let expected = faer::mat![
            [0.4748576604, 0.2502137891, -0.571765593, -0.0025077377],
            [0.1226750139, 0.1840187978, 0.8367775698, 1.1482487368]
        ];
        assert!((step.dictionary.dictionary() - expected).norm_max() < 1e-8);
        assert!(step.residual < 1e-14);
    }

    #[test]
    fn lost_directions_are_cut_aloud_and_small_ranges_respected() {
        let mut trace = Trace::default();
        let (q, _) = qr(matrix(6, 3).as_ref());
        let mut y = matrix(3, 10);
        (0..10).for_each(|j| y[(2, j)] = y[(0, j)]);
        let step = least_squares(matrix(4, 10).as_ref(), q, y, "t", &mut trace).unwrap();
        assert_eq!((step.dictionary.q.ncols(), trace.warnings.len()), (2, 1));
        let thin = mul(matrix(5, 2).as_ref(), matrix(2, 30).as_ref());
        assert_eq!(Subspace::new(matrix(5, 9).as_ref(), thin.as_ref()).unwrap().q.ncols(), 2);
    }
}
