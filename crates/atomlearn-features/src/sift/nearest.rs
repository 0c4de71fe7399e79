//! Distances to many centres in single precision, to find the nearest.

use atomlearn::linalg::{column_energies, mul_single};
use atomlearn::{Mat, MatRef};

/// Centres, and what their distances need.
#[derive(Clone, Debug)]
pub(crate) struct Nearest {
    /// Minus twice the centres.
    centers: Mat<f32>,
    energies: Vec<f32>,
}

impl Nearest {
    pub(crate) fn new(centers: MatRef<'_, f64>) -> Self {
        let energies = column_energies(centers).iter().map(|&energy| energy as f32).collect();
        Nearest {
            centers: Mat::from_fn(centers.nrows(), centers.ncols(), |i, j| -2.0 * centers[(i, j)] as f32),
            energies,
        }
    }

    /// `|c - x|^2 - |x|^2` of all centres (rows) and samples (columns).
    pub(crate) fn distances(&self, x: MatRef<'_, f64>) -> Mat<f32> {
        let x = Mat::from_fn(x.nrows(), x.ncols(), |i, j| x[(i, j)] as f32);
        let mut distances = mul_single(self.centers.transpose(), x.as_ref());
        for j in 0..distances.ncols() {
            distances.col_as_slice_mut(j).iter_mut().zip(&self.energies).for_each(|(d, energy)| *d += energy);
        }
        distances
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_the_definition_up_to_a_term_of_the_sample() {
        let value = |i: usize, j: usize| ((i * 7 + j * 5) % 11) as f64 / 11.0;
        let (centers, x) = (Mat::from_fn(6, 9, value), Mat::from_fn(6, 4, |i, j| value(i + 3, j * 2)));
        let found = Nearest::new(centers.as_ref()).distances(x.as_ref());
        for j in 0..4 {
            for k in 0..9 {
                let away = (centers.col(k) - x.col(j)).squared_norm_l2() - x.col(j).squared_norm_l2();
                assert!((f64::from(found[(k, j)]) - away).abs() < 1e-5);
            }
        }
    }
}
