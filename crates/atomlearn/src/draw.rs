//! Random starting points: one seed, one stream per class or matrix.

use crate::linalg::normalize_columns;
use crate::span::Span;
use crate::{Error, Result};
use faer::Mat;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Stream `index` of a seed; streams are independent of each other and of the machine.
pub fn stream(seed: u64, index: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(index as u64);
    rng
}

/// Independent standard normal entries, column by column.
pub fn gaussian(rng: &mut ChaCha8Rng, rows: usize, cols: usize) -> Mat<f64> {
    let mut drawn = Mat::zeros(rows, cols);
    for column in drawn.as_mut().col_iter_mut() {
        column.iter_mut().for_each(|v| *v = StandardNormal.sample(rng));
    }
    drawn
}

/// Random atoms, each class from its own stream.
pub struct ClassDraws<'a> {
    streams: Vec<ChaCha8Rng>,
    n_features: usize,
    span: Option<&'a Span<'a>>,
}

impl<'a> ClassDraws<'a> {
    /// For atoms over so many features.
    pub fn new(n_classes: usize, n_features: usize, seed: u64) -> Self {
        ClassDraws { streams: (0..n_classes).map(|c| stream(seed, c)).collect(), n_features, span: None }
    }

    /// For atoms over all features of the data, of which the part is taken that the samples can see.
    pub fn within(span: &'a Span<'a>, seed: u64) -> Self {
        let full = span.full();
        ClassDraws { span: Some(span), ..ClassDraws::new(full.n_classes(), full.n_features(), seed) }
    }

    /// The next `count` atoms of class `c` in columns: uniform on the unit sphere of all features, then projected.
    pub fn atoms(&mut self, c: usize, count: usize) -> Mat<f64> {
        let mut drawn = gaussian(&mut self.streams[c], self.n_features, count);
        normalize_columns(drawn.as_mut());
        match self.span {
            Some(span) => span.project_columns(drawn),
            None => drawn,
        }
    }

    /// How far every stream was drawn from; 64 bits are more than can ever be drawn.
    pub fn positions(&self) -> Vec<u64> {
        self.streams.iter().map(|stream| u64::try_from(stream.get_word_pos()).unwrap_or(u64::MAX)).collect()
    }

    /// Goes to where the streams were when [`ClassDraws::positions`] was asked.
    pub fn seek(&mut self, positions: &[u64]) -> Result<()> {
        if positions.len() != self.streams.len() {
            return Err(Error::shape(
                "positions of random streams",
                format!("one per class ({})", self.streams.len()),
                positions.len(),
            ));
        }
        self.streams.iter_mut().zip(positions).for_each(|(stream, &position)| stream.set_word_pos(position.into()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{column_norms, mul};
    use crate::synth;

    #[test]
    fn streams_repeat_and_differ() {
        let mut draws = ClassDraws::new(2, 7, 3);
        let (a, b, more) = (draws.atoms(0, 4), draws.atoms(1, 4), draws.atoms(0, 4));
        assert!(column_norms(&a).iter().all(|n| (n - 1.0).abs() < 1e-14));
        assert!(a != b && a != more && a == ClassDraws::new(9, 7, 3).atoms(0, 4));
        assert!(a != ClassDraws::new(2, 7, 4).atoms(0, 4));
    }

    #[test]
    fn streams_go_on_from_any_position() {
        let mut draws = ClassDraws::new(2, 7, 3);
        for count in 0..40 {
            draws.atoms(0, count % 3);
            let mut again = ClassDraws::new(2, 7, 3);
            again.seek(&draws.positions()).unwrap();
            assert!(again.atoms(0, 2) == draws.atoms(0, 2) && again.atoms(1, 1) == draws.atoms(1, 1), "{count}");
        }
        assert!(draws.seek(&[0]).is_err() && draws.seek(&[u64::MAX; 2]).is_ok());
        assert!(draws.atoms(0, 3).is_all_finite());
    }

    #[test]
    fn drawn_in_the_span_means_projected() {
        let full = synth::blobs(2, 3, 20, 1);
        let span = Span::of(&full).unwrap();
        let seen = ClassDraws::within(&span, 1).atoms(1, 3);
        let all = ClassDraws::new(2, 20, 1).atoms(1, 3);
        assert!((seen - mul(span.basis().unwrap().transpose(), &all)).norm_max() < 1e-15);
    }
}
