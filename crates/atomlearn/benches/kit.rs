//! Micro-benchmarks of the building blocks, at the sizes of Extended Yale B (300 features, 760 samples, 38 classes, 380
//! atoms): `RAYON_NUM_THREADS=1 cargo bench --bench kit [NAME]`.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use atomlearn::coding::lasso::{LassoLimits, LassoTask, lasso};
use atomlearn::coding::margin::{MarginSet, Margins};
use atomlearn::coding::omp::{OmpLimits, omp};
use atomlearn::graph::{Affinity, AtomGraph};
use atomlearn::init::class_pca_mean;
use atomlearn::linalg::{Spd, gram, mul, outer_gram, qr, select_columns};
use atomlearn::pca::pca;
use atomlearn::svm::one_vs_rest;
use atomlearn::{Dataset, Mat, synth};
use divan::Bencher;
use divan::counter::ItemsCount;

const CLASSES: usize = 38;
const FEATURES: usize = 300;

fn main() {
    divan::main();
}

/// Samples near a subspace per class, on top of one another enough for the SVM to have work.
fn samples(per_class: usize) -> Dataset {
    synth::blobs(CLASSES, per_class, FEATURES, 1)
}

/// Twenty atoms of each class, and `new` other samples of the same classes.
fn atoms_and_samples(new: usize) -> (Mat<f64>, Mat<f64>) {
    let all = samples(25);
    let (atoms, others): (Vec<usize>, Vec<usize>) = (0..all.n_samples()).partition(|i| i % 25 < 20);
    (select_columns(all.x(), &atoms), select_columns(all.x(), &others[..new]))
}

fn atoms() -> Mat<f64> {
    class_pca_mean(&samples(20), 10, &mut ()).unwrap().0
}

/// `G + I / 100`, positive definite.
fn code_matrix() -> Mat<f64> {
    let mut matrix = gram(atoms().as_ref());
    (0..matrix.nrows()).for_each(|k| matrix[(k, k)] += 0.01);
    matrix
}

/// Counts multiply-adds twice, so that the rate is in FLOP/s.
#[divan::bench]
fn gemm(bencher: Bencher<'_, '_>) {
    let (d, train) = (atoms(), samples(20));
    let flops = 2 * d.nrows() * d.ncols() * train.n_samples();
    bencher.counter(ItemsCount::new(flops)).bench(|| mul(d.transpose(), train.x()));
}

#[divan::bench]
fn gram_of_atoms(bencher: Bencher<'_, '_>) {
    let d = atoms();
    bencher.counter(ItemsCount::new(d.nrows() * d.ncols() * d.ncols())).bench(|| gram(d.as_ref()));
}

#[divan::bench]
fn outer_gram_of_codes(bencher: Bencher<'_, '_>) {
    let train = samples(20);
    bencher.bench(|| outer_gram(train.x()));
}

#[divan::bench]
fn spd_factor(bencher: Bencher<'_, '_>) {
    let matrix = code_matrix();
    let flops = matrix.nrows().pow(3) / 3;
    bencher.counter(ItemsCount::new(flops)).with_inputs(|| matrix.clone()).bench_values(|a| Spd::new(a, "bench"));
}

#[divan::bench]
fn spd_solve(bencher: Bencher<'_, '_>) {
    let (factor, right) = (Spd::new(code_matrix(), "bench").unwrap(), mul(atoms().transpose(), samples(20).x()));
    let flops = 2 * right.nrows() * right.nrows() * right.ncols();
    bencher.counter(ItemsCount::new(flops)).bench(|| factor.solve(right.as_ref()));
}

#[divan::bench]
fn qr_of_code_basis(bencher: Bencher<'_, '_>) {
    let d = atoms();
    bencher.bench(|| qr(d.transpose()));
}

#[divan::bench]
fn svm_from_zero(bencher: Bencher<'_, '_>) {
    let train = samples(20);
    let targets = train.targets();
    bencher.bench(|| one_vs_rest(train.x(), &targets, CLASSES, 0.2, None));
}

/// From the classifiers of nearly the same samples, as between two iterations of LCDL-SV.
#[divan::bench]
fn svm_warm(bencher: Bencher<'_, '_>) {
    let train = samples(20);
    let targets = train.targets();
    let other = synth::blobs(CLASSES, 20, FEATURES, 2);
    let near = Mat::from_fn(FEATURES, train.n_samples(), |i, j| train.x()[(i, j)] + 0.02 * other.x()[(i, j)]);
    let start = one_vs_rest(near.as_ref(), &targets, CLASSES, 0.2, None).unwrap();
    bencher.bench(|| one_vs_rest(train.x(), &targets, CLASSES, 0.2, Some(&start)));
}

#[divan::bench(args = [1e-3, 1e-2, 1e-1], sample_count = 10)]
fn lasso_over_samples(bencher: Bencher<'_, '_>, lambda: f64) {
    let (d, x) = atoms_and_samples(20);
    let (g, b) = (gram(d.as_ref()), mul(d.transpose(), x.as_ref()));
    let energies = vec![1.0; x.ncols()];
    let task = LassoTask::Penalized(lambda);
    bencher
        .counter(ItemsCount::new(x.ncols()))
        .bench(|| lasso(g.as_ref(), b.as_ref(), &energies, task, LassoLimits::default()));
}

#[divan::bench(args = [10, 30])]
fn omp_over_samples(bencher: Bencher<'_, '_>, sparsity: usize) {
    let (d, x) = atoms_and_samples(190);
    let (g, b) = (gram(d.as_ref()), mul(d.transpose(), x.as_ref()));
    let limits = OmpLimits { sparsity, error: None };
    bencher.counter(ItemsCount::new(x.ncols())).bench(|| omp(g.as_ref(), b.as_ref(), limits));
}

#[divan::bench(args = [1, 5])]
fn atom_graph(bencher: Bencher<'_, '_>, neighbours: usize) {
    let g = gram(atoms().as_ref());
    bencher.bench(|| AtomGraph::from_gram(g.as_ref(), neighbours, Affinity::default()));
}

#[divan::bench]
fn margin_codes(bencher: Bencher<'_, '_>) {
    let train = samples(20);
    let targets = train.targets();
    let svm = one_vs_rest(train.x(), &targets, CLASSES, 0.2, None).unwrap();
    let (coupling, scores) = (gram(svm.weights.as_ref()), mul(svm.weights.transpose(), train.x()));
    let margins = Margins { coupling: &coupling, bias: &svm.bias, strength: 1e-5, targets: &targets };
    bencher.bench(|| margins.weights(&scores, &scores, MarginSet::OnePass));
}

#[divan::bench]
fn pca_of_images(bencher: Bencher<'_, '_>) {
    let images = synth::blobs(CLASSES, 20, 2592, 1);
    bencher.bench(|| pca(images.x(), FEATURES, "bench"));
}
