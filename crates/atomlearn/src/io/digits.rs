//! Real data inside the library: the optical recognition of handwritten digits set of the UCI repository (E. Alpaydin,
//! C. Kaynak; CC BY 4.0), 1797 images of 8 x 8 pixels with values 0 to 16.

use super::assemble::assemble;
use super::npy::Npz;
use super::{RawData, ReadOptions};
use std::path::Path;

/// The digits: 64 features, 1797 samples, labels `0` to `9`.
pub fn digits() -> RawData {
    let bytes = include_bytes!("../../data/digits.npz");
    Npz::scan(Path::new("digits.npz"), bytes)
        .and_then(|npz| assemble(&npz, &ReadOptions::default()))
        .expect("the embedded digits are a valid archive, as a test proves")
}
