//! Building blocks of the methods: sparse codes, K-SVD, PCA, the graph of atoms, dense SIFT descriptors.

use crate::arrays::{rows, samples};
use crate::error::to_python;
use crate::run::pool;
use atomlearn::coding::lasso::{LassoLimits, LassoTask};
use atomlearn::coding::omp::OmpLimits;
use atomlearn::coding::sparse::SparseCodes;
use atomlearn::graph::{Affinity, AtomGraph};
use atomlearn::io::pictures::Picture;
use atomlearn::linalg::{gram, mul};
use atomlearn::update::ksvd::{AtomUpdate, KsvdIteration, Signals};
use atomlearn::{Error, Mat, MatRef, Result};
use numpy::{PyArray1, PyArray2, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

type InputRows<'py> = PyReadonlyArray2<'py, f64>;
type OutputMatrix<'py> = Bound<'py, PyArray2<f64>>;
type Vector<'py, T> = Bound<'py, PyArray1<T>>;
/// Values, column indices and row pointers, as scipy takes them.
type Csr<'py> = (Vector<'py, f64>, Vector<'py, i64>, Vector<'py, i64>);

/// Lasso codes of the rows of `x` over the atoms in the rows of `d`.
#[pyfunction]
pub fn lasso<'py>(
    py: Python<'py>,
    x: InputRows<'py>,
    d: InputRows<'py>,
    penalty: f64,
    tolerance: f64,
    threads: usize,
) -> PyResult<Csr<'py>> {
    let codes = on_threads(py, &x, &d, threads, |x, d| {
        let energies: Vec<f64> = x.col_iter().map(|x| x.squared_norm_l2()).collect();
        let correlations = mul(d.transpose(), x);
        let limits = LassoLimits { tolerance, ..LassoLimits::default() };
        let (gram, task) = (gram(d), LassoTask::Penalized(penalty));
        Ok(atomlearn::coding::lasso::lasso(gram.as_ref(), correlations.as_ref(), &energies, task, limits).codes)
    })?;
    Ok(csr(py, &codes))
}

/// OMP codes of the rows of `x` with at most `sparsity` of the atoms in the rows of `d`.
#[pyfunction]
pub fn omp<'py>(
    py: Python<'py>,
    x: InputRows<'py>,
    d: InputRows<'py>,
    sparsity: usize,
    threads: usize,
) -> PyResult<Csr<'py>> {
    let codes = on_threads(py, &x, &d, threads, |x, d| {
        let limits = OmpLimits { sparsity, error: None };
        let correlations = mul(d.transpose(), x);
        Ok(atomlearn::coding::omp::omp(gram(d).as_ref(), correlations.as_ref(), limits))
    })?;
    Ok(csr(py, &codes))
}

/// `iterations` of K-SVD from the atoms in the rows of `d`; the atoms and the codes that belong to them.
#[pyfunction]
pub fn ksvd<'py>(
    py: Python<'py>,
    x: InputRows<'py>,
    d: InputRows<'py>,
    sparsity: usize,
    iterations: usize,
    exact: bool,
    threads: usize,
) -> PyResult<(OutputMatrix<'py>, Csr<'py>)> {
    let update = if exact { AtomUpdate::Exact } else { AtomUpdate::Approximate };
    let (atoms, codes) = on_threads(py, &x, &d, threads, |x, d| {
        let mut ksvd = KsvdIteration::new(Signals::plain(x), d.to_owned(), sparsity, update);
        for _ in 0..iterations {
            ksvd.iterate()?;
        }
        if iterations == 0 {
            ksvd.code();
        }
        Ok((ksvd.atoms().to_owned(), ksvd.codes().clone()))
    })?;
    Ok((rows(py, atoms.as_ref())?, csr(py, &codes)))
}

/// Mean, at most `most` principal directions in rows, and the variances along them.
#[pyfunction]
pub fn pca<'py>(
    py: Python<'py>,
    x: InputRows<'py>,
    most: usize,
    threads: usize,
) -> PyResult<(Vector<'py, f64>, OutputMatrix<'py>, Vector<'py, f64>)> {
    let (x, pool) = (samples(&x)?, pool(threads)?);
    let found = py.detach(|| pool.install(|| atomlearn::pca::pca(x, most, "pca"))).map_err(to_python)?;
    let (mean, variances) = (PyArray1::from_vec(py, found.mean), PyArray1::from_vec(py, found.variances));
    Ok((mean, rows(py, found.basis.as_ref())?, variances))
}

/// Edges `(i, j, weight)` with `i < j` of the graph of the `k` nearest atoms, as three arrays.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub fn atom_graph<'py>(
    py: Python<'py>,
    d: InputRows<'py>,
    k: usize,
    threads: usize,
) -> PyResult<(Vector<'py, i64>, Vector<'py, i64>, Vector<'py, f64>)> {
    let (d, pool) = (samples(&d)?, pool(threads)?);
    let edges = py.detach(|| pool.install(|| AtomGraph::new(d, k, Affinity::default()))).edges;
    let from = PyArray1::from_iter(py, edges.iter().map(|edge| edge.0 as i64));
    let to = PyArray1::from_iter(py, edges.iter().map(|edge| edge.1 as i64));
    Ok((from, to, PyArray1::from_iter(py, edges.iter().map(|edge| edge.2))))
}

/// SIFT descriptors of patches on a grid of a grey image, one per row, and the patches' middles: rows and columns in pixels.
#[pyfunction]
pub fn dense_sift<'py>(
    py: Python<'py>,
    image: PyReadonlyArray2<'py, u8>,
    step: usize,
    patches: Vec<usize>,
) -> PyResult<(OutputMatrix<'py>, OutputMatrix<'py>)> {
    let (height, width) = (image.shape()[0], image.shape()[1]);
    let picture = Picture { width, height, channels: 1, pixels: image.as_array().iter().copied().collect() };
    let found = py.detach(|| atomlearn_features::dense_sift(&picture, step, &patches)).map_err(to_python)?;
    let center = |i: usize, j: usize| if i == 0 { found.centers[j].0 } else { found.centers[j].1 };
    let centers = Mat::from_fn(2, found.centers.len(), center);
    Ok((rows(py, found.descriptors.as_ref())?, rows(py, centers.as_ref())?))
}

/// Does `work` on samples and atoms of as many features, while other Python threads go on.
fn on_threads<T: Send>(
    py: Python<'_>,
    x: &InputRows<'_>,
    d: &InputRows<'_>,
    threads: usize,
    work: impl FnOnce(MatRef<'_, f64>, MatRef<'_, f64>) -> Result<T> + Send,
) -> PyResult<T> {
    let (x, d, pool) = (samples(x)?, samples(d)?, pool(threads)?);
    if x.nrows() != d.nrows() {
        let text = format!("samples have {} features, atoms have {}: they must agree", x.nrows(), d.nrows());
        return Err(to_python(Error::Data(text)));
    }
    py.detach(|| pool.install(|| work(x, d))).map_err(to_python)
}

fn csr<'py>(py: Python<'py>, codes: &SparseCodes) -> Csr<'py> {
    let entries = || (0..codes.n_samples()).map(|i| codes.sample(i));
    let values = PyArray1::from_vec(py, entries().flat_map(|(_, values)| values).copied().collect());
    let atoms = PyArray1::from_vec(py, entries().flat_map(|(atoms, _)| atoms).map(|&k| k as i64).collect());
    let ends = entries().scan(0, |end, (atoms, _)| {
        *end += atoms.len() as i64;
        Some(*end)
    });
    (values, atoms, PyArray1::from_vec(py, std::iter::once(0).chain(ends).collect()))
}
