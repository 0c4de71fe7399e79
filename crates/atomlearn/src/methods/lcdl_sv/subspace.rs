//! Dictionary and codes in coordinates of the subspace they really live in.
//!
//! Ridge-like codes `z = A^-1 D^T x` fill only `rank(D)` of the `K` dimensions, so `Z Z^T` is singular whenever there are
//! more atoms than independent features, and any arithmetic that divides by its rounding noise falls apart. Written in
//! orthonormal coordinates nothing is singular: `D = E Q^T` and `Z = Q2 Y` with `Q`, `Q2` orthonormal (atoms x r), and
//! the dictionary step `D = X Z^T (Z Z^T)^+` becomes `E = X Y^T (Y Y^T)^-1`, `D = E Q2^T`, exactly.

use crate::linalg::{
    Spd, add_lower_product, gram, inner, mirror, mul, mul_add, norm1, orthonormal_range, outer_gram, qr, sym_eig,
    upper_mul,
};
use crate::{Observer, Result};
use faer::{Mat, MatRef};

/// Singular values of a starting dictionary below this fraction of the largest do not count towards its rank.
const START_RANK: f64 = 3e-5;
/// A starting dictionary whose Gram matrix is conditioned better than this has full rank by that measure.
const CLEAR_START_CONDITION: f64 = 1e8;
/// Singular values of the samples below this fraction of the largest do not count towards theirs.
const SAMPLE_RANK: f64 = 1e-7;
/// The same for eigenvalues of `X X^T`.
const OUTER_RANK: f64 = 1e-13;
/// Samples whose Gram matrix is conditioned better than this have full rank beyond doubt.
const CLEAR_CONDITION: f64 = 1e10;
/// Eigenvalues of `Y Y^T` below this fraction of the largest are cut when it is singular after all.
const CODE_RANK: f64 = 1e-12;

const START_STAGE: &str = "rank of the starting dictionary";

/// A dictionary `D = E Q^T`, with an orthonormal basis `Q` of its row space.
#[derive(Clone, Debug)]
pub(crate) struct FactoredDictionary {
    /// `E^T`, r x features.
    pub e_t: Mat<f64>,
    /// `Q`, atoms x r, orthonormal columns.
    pub q: Mat<f64>,
}

/// Coordinates of the codes of one iteration: `A^-1 D^T x = Q2 (map x)`.
pub(crate) struct CodeBasis {
    /// `Q2`, atoms x r, orthonormal columns.
    pub q: Mat<f64>,
    /// From samples to codes, r x features.
    pub map: Mat<f64>,
    /// How `A^-1` is applied within the span of the codes.
    pub inverse: Inverse,
    /// `Q2^T L Q2`, if it is a by-product.
    pub laplacian: Option<Mat<f64>>,
}

/// `A^-1` on vectors `u` in the span of the dictionary's rows: `A^-1 u = Q2 g`.
pub(crate) enum Inverse {
    /// `R` of the QR decomposition `A^-1 Q = Q2 R`: `g = R Q^T u`.
    Product(Mat<f64>),
    /// The factor of `Q2^T A Q2`: `g = (Q2^T A Q2)^-1 Q2^T u`.
    Factor(Spd),
}

/// Samples `X`, with `X X^T` where they outnumber the features.
pub(crate) struct Samples<'a> {
    /// `X`.
    pub x: MatRef<'a, f64>,
    outer: Option<Mat<f64>>,
    energy: f64,
}

/// Codes `Z = Q2 Y` with `Y = M X + G W`.
pub(crate) struct MappedCodes<'a> {
    /// `Y`, r x samples.
    pub y: Mat<f64>,
    /// `Q2` and the map `M`.
    pub basis: &'a CodeBasis,
    /// `G` (r x classes) and `W` (classes x samples), if there is such a part.
    pull: Option<(Mat<f64>, Mat<f64>)>,
}

/// What the dictionary step leaves behind.
pub(crate) struct LeastSquares {
    /// The new dictionary.
    pub dictionary: FactoredDictionary,
    /// `Y Y^T`, in the coordinates of `dictionary.q`.
    pub code_gram: Mat<f64>,
    /// `|X - E Y|^2`.
    pub residual: f64,
    /// Codes had to be cut: those that are left are `kept^T Y`.
    pub kept: Option<Mat<f64>>,
}

impl FactoredDictionary {
    /// Factors a starting dictionary; directions outside the span of the samples `x` are dropped, because codes never use
    /// them.
    pub fn new(d: MatRef<'_, f64>, x: MatRef<'_, f64>) -> Result<Self> {
        let small = if x.nrows() <= x.ncols() { outer_gram(x) } else { gram(x) };
        Self::within(d, small, || Ok(orthonormal_range(x, SAMPLE_RANK, START_STAGE)?))
    }

    /// The same from `X X^T`, whose rounding hides more of the smallest directions than the samples' own.
    pub fn from_outer(d: MatRef<'_, f64>, outer: &Mat<f64>) -> Result<Self> {
        Self::within(d, outer.clone(), || {
            let (values, vectors) = sym_eig(outer, START_STAGE)?;
            let rank = values.iter().take_while(|&&v| v > OUTER_RANK * values[0] && v > 0.0).count();
            Ok(vectors.subcols(0, rank).to_owned())
        })
    }

    fn within(d: MatRef<'_, f64>, small_gram: Mat<f64>, range: impl FnOnce() -> Result<Mat<f64>>) -> Result<Self> {
        let mut q = row_space(d, START_STAGE)?;
        // The rank of the samples is worth an SVD only if it is in doubt; a factor of their Gram matrix says so.
        if condition(small_gram) >= CLEAR_CONDITION {
            let range = range()?;
            if range.ncols() < q.ncols() {
                q = qr(mul(d.transpose(), &range)).0;
            }
        }
        Ok(FactoredDictionary { e_t: mul(q.transpose(), d.transpose()), q })
    }

    /// `D = E Q^T`.
    pub fn dictionary(&self) -> Mat<f64> {
        mul(self.e_t.transpose(), self.q.transpose())
    }

    /// The coordinates of all codes `A^-1 D^T x`.
    pub fn code_basis(&self, a: &Spd) -> CodeBasis {
        let (q, r) = qr(a.solve(&self.q));
        let map = upper_mul(&r, &self.e_t);
        CodeBasis { q, map, inverse: Inverse::Product(r), laplacian: None }
    }

    /// The coordinates of the shortest least-squares codes `(D^T D)^+ D^T x = Q (E^T E)^-1 E^T x`.
    pub fn shortest_codes(&self, watch: &mut dyn Observer) -> Result<CodeBasis> {
        let h = Spd::with_jitter(outer_gram(&self.e_t), "LCDL-SV code step without locality", |text| watch.warn(text))?;
        let map = h.solve(&self.e_t);
        Ok(CodeBasis { q: self.q.clone(), map, inverse: Inverse::Factor(h), laplacian: None })
    }
}

impl<'a> Samples<'a> {
    /// Forms `X X^T` if that is the cheaper way to the products with codes.
    pub fn new(x: MatRef<'a, f64>) -> Self {
        Samples { x, outer: (x.ncols() > x.nrows()).then(|| outer_gram(x)), energy: x.squared_norm_l2() }
    }
}

impl<'a> MappedCodes<'a> {
    /// `Y = M X`.
    pub fn new(basis: &'a CodeBasis, samples: &Samples<'_>) -> Self {
        MappedCodes { y: mul(&basis.map, samples.x), basis, pull: None }
    }

    /// Adds `G W`.
    pub fn pull(&mut self, g: Mat<f64>, w: Mat<f64>) {
        mul_add(self.y.as_mut(), 1.0, &g, &w);
        self.pull = Some((g, w));
    }

    /// `Y Y^T` and `Y X^T`.
    fn sums(&self, samples: &Samples<'_>) -> (Mat<f64>, Mat<f64>) {
        let map = self.basis.map.as_ref();
        let Some(outer) = &samples.outer else {
            return rayon::join(|| outer_gram(&self.y), || mul(&self.y, samples.x.transpose()));
        };
        // With X X^T known, Y X^T = M X X^T + G W X^T and Y Y^T = Y X^T M^T + Y W^T G^T go over the samples only in W X^T
        // and W W^T, which are as narrow as there are classes.
        let mut cross = mul(map, outer);
        let mut gram = Mat::zeros(self.y.nrows(), self.y.nrows());
        if let Some((g, w)) = &self.pull {
            let along = mul(w, samples.x.transpose());
            mul_add(cross.as_mut(), 1.0, g, &along);
            let mut pulled = mul(map, along.transpose());
            mul_add(pulled.as_mut(), 1.0, g, outer_gram(w));
            add_lower_product(gram.as_mut(), 1.0, &pulled, g.transpose());
        }
        add_lower_product(gram.as_mut(), 1.0, &cross, map.transpose());
        mirror(&mut gram);
        (gram, cross)
    }
}

/// Orthonormal basis of the rows of `d`, from the smaller of its two Gram matrices.
fn row_space(d: MatRef<'_, f64>, stage: &str) -> Result<Mat<f64>> {
    let (m, n_atoms) = d.shape();
    let small = if n_atoms <= m { gram(d) } else { outer_gram(d) };
    // A factor is much cheaper than eigenvalues, and enough unless the rank is in doubt.
    if condition(small.clone()) < CLEAR_START_CONDITION {
        return Ok(if n_atoms <= m { Mat::identity(n_atoms, n_atoms) } else { qr(d.transpose()).0 });
    }
    let (values, vectors) = sym_eig(&small, stage)?;
    let rank = values.iter().take_while(|&&v| v > START_RANK * START_RANK * values[0]).count();
    let leading = vectors.subcols(0, rank);
    Ok(if n_atoms <= m { leading.to_owned() } else { qr(mul(d.transpose(), leading)).0 })
}

/// Condition number of a Gram matrix; infinite if it is singular to rounding.
fn condition(gram: Mat<f64>) -> f64 {
    let norm = norm1(&gram);
    Spd::new(gram, "rank").map_or(f64::INFINITY, |factor| factor.condition(norm))
}

/// The dictionary that fits `X` best, `E = X Y^T (Y Y^T)^-1`.
///
/// `Y` has full row rank in exact arithmetic; directions that rounding took are cut, with a warning.
pub(crate) fn least_squares(
    samples: &Samples<'_>,
    codes: &MappedCodes<'_>,
    stage: &str,
    watch: &mut dyn Observer,
) -> Result<LeastSquares> {
    let (code_gram, cross) = codes.sums(samples);
    least_squares_from_sums(&codes.basis.q, code_gram, &cross, samples.energy, stage, watch)
}

/// The same from `Y Y^T`, `Y X^T` and `|X|^2`.
pub(crate) fn least_squares_from_sums(
    q: &Mat<f64>,
    code_gram: Mat<f64>,
    cross: &Mat<f64>,
    energy: f64,
    stage: &str,
    watch: &mut dyn Observer,
) -> Result<LeastSquares> {
    if let Ok(factor) = Spd::new(code_gram.clone(), stage) {
        let (e_t, residual) = best_fit(&factor, cross, energy);
        return Ok(LeastSquares {
            dictionary: FactoredDictionary { e_t, q: q.clone() },
            code_gram,
            residual,
            kept: None,
        });
    }
    // The same problem in the directions of Y that are left.
    let kept = kept_directions(&code_gram, stage, watch)?;
    let into = |a: &Mat<f64>| mul(kept.transpose(), a);
    let code_gram = mul(into(&code_gram), &kept);
    let factor = Spd::new(code_gram.clone(), stage)?;
    let (e_t, residual) = best_fit(&factor, &into(cross), energy);
    let dictionary = FactoredDictionary { e_t, q: mul(q, &kept) };
    Ok(LeastSquares { dictionary, code_gram, residual, kept: Some(kept) })
}

/// The directions of the codes that rounding has left.
fn kept_directions(code_gram: &Mat<f64>, stage: &str, watch: &mut dyn Observer) -> Result<Mat<f64>> {
    let (values, vectors) = sym_eig(code_gram, stage)?;
    let rank = values.iter().take_while(|&&v| v > CODE_RANK * values[0] && v > 0.0).count();
    if rank == 0 || rank == values.len() {
        return Err(crate::Error::numeric(stage, "all codes are zero"));
    }
    watch.warn(&format!("{stage}: codes have rank {rank} instead of {}, the rest was cut", values.len()));
    Ok(vectors.subcols(0, rank).to_owned())
}

/// `E^T = (Y Y^T)^-1 Y X^T` and `|X - EY|^2 = |X|^2 - <E, X Y^T>`, because `E Y Y^T = X Y^T`.
fn best_fit(factor: &Spd, cross: &Mat<f64>, energy: f64) -> (Mat<f64>, f64) {
    let e_t = factor.solve(cross);
    let explained = inner(&e_t, cross);
    (e_t, (energy - explained).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::pinv;
    use crate::observe::Trace;

    fn matrix(rows: usize, cols: usize) -> Mat<f64> {
        Mat::from_fn(rows, cols, |i, j| ((i * i * 3 + j * 7 + i * j * 5) % 23) as f64 / 23.0 - 0.45)
    }

    #[test]
    fn equals_the_pseudo_inverse_form_where_atoms_outnumber_features() {
        let (d, x) = (matrix(5, 9), matrix(5, 30));
        let start = FactoredDictionary::new(d.as_ref(), x.as_ref()).unwrap();
        assert!((start.dictionary() - &d).norm_max() < 1e-12);
        let mut a = gram(&d);
        (0..9).for_each(|i| a[(i, i)] += 0.1 + 0.05 * i as f64);
        let a = Spd::new(a, "t").unwrap();
        let basis = start.code_basis(&a);
        let samples = Samples::new(x.as_ref());
        let mut codes = MappedCodes::new(&basis, &samples);
        let z = a.solve(mul(d.transpose(), &x));
        assert!((mul(&basis.q, &codes.y) - &z).norm_max() < 1e-11);

        codes.pull(matrix(5, 3), matrix(3, 30));
        let z = mul(&basis.q, &codes.y);
        let step = least_squares(&samples, &codes, "t", &mut ()).unwrap();
        let expected = mul(&x, pinv(&z, "t").unwrap());
        let found = step.dictionary.dictionary();
        assert!((&found - &expected).norm_max() < 1e-9);
        let residual = &x - mul(&found, &z);
        assert!(mul(&residual, z.transpose()).norm_max() < 1e-9);
        assert!((step.residual - residual.squared_norm_l2()).abs() < 1e-10);
    }

    /// Worked by hand: four atoms, two samples.
    #[test]
    fn hand_checked_dictionary_step() {
        let z = faer::mat![
            [0.7263839069, -0.5929926589],
            [0.4586624444, -0.3053387954],
            [-0.2485806788, 0.7727522532],
            [0.7267546152, 0.0716845624]
        ];
        let x = faer::mat![[0.6, -0.8], [0.8, 0.6]];
        let (q, y) = qr(&z);
        // The samples are orthonormal, so y = (y x^T) x.
        let samples = Samples::new(x.as_ref());
        let basis = CodeBasis { q, map: mul(&y, x.transpose()), inverse: Inverse::Product(y), laplacian: None };
        let codes = MappedCodes::new(&basis, &samples);
        let step = least_squares(&samples, &codes, "t", &mut ()).unwrap();
        let expected = faer::mat![
            [0.4748576604, 0.2502137891, -0.571765593, -0.0025077377],
            [0.1226750139, 0.1840187978, 0.8367775698, 1.1482487368]
        ];
        assert!((step.dictionary.dictionary() - expected).norm_max() < 1e-8);
        assert!(step.residual < 1e-14);
    }

    #[test]
    fn lost_directions_are_cut_with_a_warning_and_small_spans_respected() {
        let mut trace = Trace::default();
        let (q, _) = qr(matrix(6, 3));
        let mut y = matrix(3, 10);
        (0..10).for_each(|j| y[(2, j)] = y[(0, j)]);
        let x = matrix(4, 10);
        let samples = Samples::new(x.as_ref());
        let inverse = Inverse::Product(Mat::identity(3, 3));
        let basis = CodeBasis { q, map: Mat::zeros(3, 4), inverse, laplacian: None };
        let mut codes = MappedCodes::new(&basis, &samples);
        codes.pull(Mat::identity(3, 3), y);
        let step = least_squares(&samples, &codes, "t", &mut trace).unwrap();
        assert_eq!((step.dictionary.q.ncols(), trace.warnings.len()), (2, 1));
        let thin = mul(matrix(5, 2), matrix(2, 30));
        assert_eq!(FactoredDictionary::new(matrix(5, 9).as_ref(), thin.as_ref()).unwrap().q.ncols(), 2);
    }
}
