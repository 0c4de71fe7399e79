//! k-means with k-means++ starting points: the visual words.

use super::nearest::Nearest;
use crate::extract::{ImageObserver, stop_if_asked};
use atomlearn::kernel::spread_out;
use atomlearn::linalg::select_columns;
use atomlearn::{Mat, MatRef, Result};
use rayon::prelude::*;

const MAX_ITER: usize = 30;
/// Lloyd's iterations end when the mean squared distance falls by less than this share.
const TOLERANCE: f64 = 1e-4;
/// Starting points are drawn among so many samples for each word.
const SEEDS_PER_WORD: usize = 10;
/// Samples assigned together; fixed, so that results never depend on the number of threads.
const BLOCK: usize = 512;

/// At most `count` centres of the columns of `x`, which stand in random order.
pub(crate) fn kmeans(x: MatRef<'_, f64>, count: usize, seed: u64, watch: &dyn ImageObserver) -> Result<Mat<f64>> {
    let some = x.subcols(0, x.ncols().min(SEEDS_PER_WORD * count));
    let mut centers = spread_out(some, count.min(some.ncols()), seed);
    watch.begin("visual words", MAX_ITER);
    let mut last = f64::INFINITY;
    for _ in 0..MAX_ITER {
        stop_if_asked(watch)?;
        let nearest = assign(centers.as_ref(), x);
        let total: f64 = nearest.iter().map(|&(_, distance)| distance).sum();
        centers = means(x, &nearest, centers.ncols());
        watch.advance();
        if total >= last * (1.0 - TOLERANCE) {
            break;
        }
        last = total;
    }
    Ok(centers)
}

/// The nearest centre of every sample and the squared distance to it; the centre is found in single precision.
fn assign(centers: MatRef<'_, f64>, x: MatRef<'_, f64>) -> Vec<(usize, f64)> {
    let search = Nearest::new(centers);
    let starts: Vec<usize> = (0..x.ncols()).step_by(BLOCK).collect();
    let block = |&start: &usize| {
        let block = x.subcols(start, BLOCK.min(x.ncols() - start));
        let distances = search.distances(block);
        let nearest = |j: usize| {
            let distances = distances.col_as_slice(j).iter().copied().enumerate();
            let (k, _) = distances.fold((0, f32::INFINITY), |best, (k, d)| if d < best.1 { (k, d) } else { best });
            (k, (centers.col(k) - block.col(j)).squared_norm_l2())
        };
        (0..block.ncols()).map(nearest).collect::<Vec<_>>()
    };
    starts.par_iter().map(block).collect::<Vec<_>>().concat()
}

/// The mean of each centre's samples; a centre without any moves to the sample that is farthest from its own.
fn means(x: MatRef<'_, f64>, nearest: &[(usize, f64)], count: usize) -> Mat<f64> {
    let mut sums = Mat::<f64>::zeros(x.nrows(), count);
    let mut sizes = vec![0usize; count];
    for (j, &(k, _)) in nearest.iter().enumerate() {
        sizes[k] += 1;
        let mut sum = sums.col_mut(k);
        sum += x.col(j);
    }
    let mut far: Vec<usize> = (0..nearest.len()).collect();
    far.sort_by(|&a, &b| nearest[b].1.total_cmp(&nearest[a].1).then(a.cmp(&b)));
    let mut far = far.into_iter();
    for (k, &size) in sizes.iter().enumerate() {
        if size > 0 {
            sums.col_mut(k).iter_mut().for_each(|v| *v /= size as f64);
        } else if let Some(j) = far.next() {
            sums.col_mut(k).copy_from(select_columns(x, &[j]).col(0));
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_separated_groups_are_found_and_every_centre_is_a_mean() {
        let truth = [(0.0, 0.0), (10.0, 0.0), (0.0, 10.0), (7.0, 7.0)];
        let x = Mat::from_fn(2, 200, |i, j| {
            let (a, b) = truth[j % 4];
            (if i == 0 { a } else { b }) + ((j * 7 + i * 3) % 13) as f64 / 13.0
        });
        let centers = kmeans(x.as_ref(), 4, 3, &()).unwrap();
        let nearest = assign(centers.as_ref(), x.as_ref());
        assert!(nearest.iter().all(|&(_, distance)| distance < 2.0));
        for k in 0..4 {
            let own: Vec<usize> = (0..200).filter(|&j| nearest[j].0 == k).collect();
            assert_eq!(own.len(), 50);
            let mean: f64 = own.iter().map(|&j| x[(0, j)]).sum::<f64>() / 50.0;
            assert!((centers[(0, k)] - mean).abs() < 1e-9);
        }
        let equal = Mat::from_fn(2, 30, |_, _| 1.0);
        assert_eq!(kmeans(equal.as_ref(), 8, 0, &()).unwrap().ncols(), 1);
    }
}
