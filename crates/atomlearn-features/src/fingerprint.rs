//! Perceptual hashes: pictures that look alike, whatever their size, format and compression.

use crate::resize::resize;
use atomlearn::io::pictures::Picture;

/// Columns and rows of the differences that make the hash.
const SIDE: usize = 8;
/// Pixels of the small picture that confirms it.
const SMALL: usize = 16;
/// Bits of 64 in which hashes of one picture may differ.
const MOST_BITS: u32 = 6;
/// Mean difference of grey levels in the small pictures.
const MOST_LEVELS: f64 = 5.0;

/// What a picture looks like from afar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// One bit for each of 8 x 8 places: is it brighter than its neighbour on the right?
    hash: u64,
    /// 16 x 16 grey levels. Pictures without structure share their hash, and differ here.
    small: Vec<u8>,
}

impl Fingerprint {
    /// The fingerprint of a picture.
    pub fn new(picture: &Picture) -> Self {
        let grey = picture.grey();
        let nine = resize(&grey, SIDE + 1, SIDE).pixels;
        let brighter = |k: usize| nine[k / SIDE * (SIDE + 1) + k % SIDE] > nine[k / SIDE * (SIDE + 1) + k % SIDE + 1];
        let hash = (0..SIDE * SIDE).fold(0, |hash, k| hash << 1 | u64::from(brighter(k)));
        Fingerprint { hash, small: resize(&grey, SMALL, SMALL).pixels }
    }

    /// True if both are most likely the same picture.
    pub fn matches(&self, other: &Self) -> bool {
        if (self.hash ^ other.hash).count_ones() > MOST_BITS {
            return false;
        }
        let difference: u64 = self.small.iter().zip(&other.small).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
        difference as f64 <= MOST_LEVELS * (SMALL * SMALL) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(width: usize, height: usize, value: impl Fn(f64, f64) -> f64) -> Picture {
        let pixels = (0..width * height)
            .map(|k| value((k / width) as f64 / height as f64, (k % width) as f64 / width as f64) as u8)
            .collect();
        Picture { width, height, channels: 1, pixels }
    }

    #[test]
    fn a_picture_is_known_in_another_size_and_after_compression_and_others_are_not() {
        let waves = |y: f64, x: f64| 127.0 + 60.0 * (9.0 * x).sin() + 60.0 * (7.0 * y + 3.0 * x).cos();
        let first = picture(200, 150, waves);
        let small = Fingerprint::new(&picture(90, 70, waves));
        let squeezed = Picture::decode("a.jpg".as_ref(), &first.to_jpeg().unwrap()).unwrap();
        let first = Fingerprint::new(&first);
        assert!(first.matches(&small) && first.matches(&Fingerprint::new(&squeezed)));
        assert!(!first.matches(&Fingerprint::new(&picture(200, 150, |y, x| waves(x, y)))));
        let (dark, light) = (picture(20, 20, |_, _| 20.0), picture(20, 20, |_, _| 220.0));
        assert!(!Fingerprint::new(&dark).matches(&Fingerprint::new(&light)));
    }
}
