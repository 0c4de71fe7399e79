//! Seeded, stratified folds.

use crate::{Error, Result};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Folds use a stream of the generator that nothing else does.
const STREAM: u64 = u64::MAX;

/// A number below `n`, each equally likely. Written out so that what is drawn stays the same whatever a library changes.
pub fn below(rng: &mut ChaCha8Rng, n: usize) -> usize {
    let n = n as u64;
    let whole = u64::MAX - u64::MAX % n;
    loop {
        let value = rng.next_u64();
        if value < whole {
            return (value % n) as usize;
        }
    }
}

/// Deals the samples of each class out into parts of like size; in fold f, part f validates and all others train. The parts are
/// sorted.
///
/// Class by class in the order given, the samples (ascending) are shuffled and dealt out in turn, each class beginning where
/// the one before it ended. The only sample of a class is in no part: it always trains, so that no fold lacks a class.
pub fn stratified(by_class: Vec<Vec<usize>>, folds: usize, seed: u64) -> Result<Vec<Vec<usize>>> {
    if folds < 2 {
        return Err(Error::param("folds", folds, "at least two are needed"));
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(STREAM);
    let mut validating = vec![Vec::new(); folds];
    let mut turn = 0;
    for mut own in by_class.into_iter().filter(|own| own.len() > 1) {
        own.sort_unstable();
        for k in 0..own.len() - 1 {
            let other = k + below(&mut rng, own.len() - k);
            own.swap(k, other);
        }
        for place in own {
            validating[turn % folds].push(place);
            turn += 1;
        }
    }
    if turn < folds {
        return Err(Error::Data(format!(
            "{turn} training samples of classes with two or more are too few for {folds} folds; use fewer folds"
        )));
    }
    validating.iter_mut().for_each(|part| part.sort_unstable());
    Ok(validating)
}
