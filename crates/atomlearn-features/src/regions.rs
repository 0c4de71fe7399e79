//! Pictures with one region taken out, to see what that region said.

use crate::map::{FeatureMap, FeatureSpec};
use crate::resize::resize;
use atomlearn::io::pictures::Picture;
use atomlearn::{Mat, Result};
use rayon::prelude::*;
use std::ops::Range;

/// About so many regions are looked at.
const CELLS: f64 = 36.0;
/// Fewest and most regions along a side.
const ALONG: [f64; 2] = [3.0, 12.0];
/// Larger pictures shrink first: finer structure than this is in no region of its own.
const LONGEST: usize = 480;

/// The features of a picture without each of its regions.
#[derive(Clone, Debug)]
pub struct Regions {
    /// Regions from top to bottom.
    pub rows: usize,
    /// Regions from left to right.
    pub cols: usize,
    /// Features of the whole picture.
    pub whole: Mat<f64>,
    /// Features without each region in turn, row by row; features x regions.
    pub without: Mat<f64>,
}

impl FeatureMap {
    /// The features of a picture without each region of a grid of about square cells. Large pictures shrink first, `whole` too, so
    /// that the two can be compared.
    pub fn regions(&self, picture: &Picture) -> Result<Regions> {
        let picture = &self.reduced(picture);
        let (rows, cols) = grid(picture);
        let cells: Vec<(usize, usize)> = (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))).collect();
        let features = |&cell: &(usize, usize)| self.apply(&without_region(picture, (rows, cols), cell));
        let vectors = cells.par_iter().map(features).collect::<Result<Vec<_>>>()?;
        let whole = self.apply(picture)?;
        Ok(Regions {
            rows,
            cols,
            without: Mat::from_fn(whole.len(), vectors.len(), |i, j| vectors[j][i]),
            whole: Mat::from_fn(whole.len(), 1, |i, _| whole[i]),
        })
    }

    /// The picture, smaller if it is large; a part that is cut out stands in pixels of the original.
    fn reduced(&self, picture: &Picture) -> Picture {
        let longer = picture.width.max(picture.height);
        if longer <= LONGEST || self.crop().is_some() {
            return picture.clone();
        }
        let side = |length: usize| (length * LONGEST + longer / 2) / longer;
        resize(picture, side(picture.width), side(picture.height))
    }

    fn crop(&self) -> Option<crate::frame::Crop> {
        match self.spec() {
            FeatureSpec::Pixels(spec) => spec.crop,
            FeatureSpec::RandomFace(spec) => spec.pixels.crop,
            FeatureSpec::SiftPyramid(spec) => spec.crop,
            FeatureSpec::Fisher(spec) => spec.crop,
            FeatureSpec::Onnx(spec) => spec.crop,
        }
    }
}

/// Rows and columns of about square regions; never more than there are pixels.
fn grid(picture: &Picture) -> (usize, usize) {
    let shape = picture.width as f64 / picture.height as f64;
    let along = |number: f64, pixels: usize| (number.round().clamp(ALONG[0], ALONG[1]) as usize).min(pixels);
    (along((CELLS / shape).sqrt(), picture.height), along((CELLS * shape).sqrt(), picture.width))
}

/// The picture without cell `(row, col)` of a grid of so many `rows` and `cols`. What is taken out is filled from its edges, so that
/// neither structure is left in it nor a new edge made.
fn without_region(picture: &Picture, grid: (usize, usize), cell: (usize, usize)) -> Picture {
    let part = |length: usize, of: usize, index: usize| index * length / of..(index + 1) * length / of;
    let rows = part(picture.height, grid.0, cell.0);
    let cols = part(picture.width, grid.1, cell.1);
    let mut filled = picture.clone();
    for y in rows.clone() {
        for x in cols.clone() {
            for channel in 0..picture.channels {
                let at = |y: usize, x: usize| {
                    f64::from(picture.pixels[(y * picture.width + x) * picture.channels + channel])
                };
                let across = between(x, &cols, picture.width, |x| at(y, x));
                let down = between(y, &rows, picture.height, |y| at(y, x));
                let value = match (across, down) {
                    (Some(across), Some(down)) => 0.5 * (across + down),
                    (one, other) => one.or(other).unwrap_or(at(y, x)),
                };
                filled.pixels[(y * picture.width + x) * picture.channels + channel] = value.round() as u8;
            }
        }
    }
    filled
}

/// The value at `place`, on the line between the pixels on both sides of the range; beside the picture's edge there is only one.
fn between(place: usize, range: &Range<usize>, length: usize, at: impl Fn(usize) -> f64) -> Option<f64> {
    let before = range.start.checked_sub(1).map(&at);
    let after = (range.end < length).then(|| at(range.end));
    let share = (place + 1 - range.start) as f64 / (range.len() + 1) as f64;
    match (before, after) {
        (Some(before), Some(after)) => Some(before * (1.0 - share) + after * share),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fit, Frame, PixelsSpec};

    #[test]
    fn only_the_region_changes_and_a_ramp_stays_a_ramp() {
        let ramp = Picture {
            width: 12,
            height: 9,
            channels: 1,
            pixels: (0..108).map(|k| (k % 12 * 10 + k / 12 * 3) as u8).collect(),
        };
        assert_eq!(without_region(&ramp, (3, 3), (1, 1)), ramp);
        let mut spot = ramp.clone();
        spot.pixels[4 * 12 + 5] = 255;
        assert_eq!(without_region(&spot, (3, 3), (1, 1)), ramp);
        let corner = without_region(&spot, (3, 3), (0, 0));
        let changed: Vec<usize> = (0..108).filter(|&k| corner.pixels[k] != spot.pixels[k]).collect();
        assert!(!changed.is_empty() && changed.iter().all(|k| k % 12 < 4 && k / 12 < 3));
        let whole = without_region(&spot, (1, 1), (0, 0));
        assert_eq!(whole, spot, "nothing is known beside the picture");
    }

    #[test]
    fn regions_are_about_square_and_the_features_are_those_without_each_of_them() {
        let picture = |width: usize, height: usize| Picture {
            width,
            height,
            channels: 3,
            pixels: (0..width * height * 3).map(|k| (k * k % 251) as u8).collect(),
        };
        for (width, height, expected) in [(300, 300, (6, 6)), (400, 100, (3, 12)), (5, 900, (12, 3)), (2, 1, (1, 2))] {
            assert_eq!(grid(&picture(width, height)), expected, "{width} x {height}");
        }
        let frame = Frame { rows: 8, cols: 8, fit: Fit::Stretch };
        let spec = FeatureSpec::Pixels(PixelsSpec { crop: None, frame });
        let map = FeatureMap::unfitted(&spec, None).unwrap();
        let photo = picture(40, 48);
        let found = map.regions(&photo).unwrap();
        assert_eq!((found.rows, found.cols, found.without.shape()), (7, 5, (64, 35)));
        assert_eq!(found.whole.col_as_slice(0), map.apply(&photo).unwrap());
        let one = map.apply(&without_region(&photo, (7, 5), (2, 3))).unwrap();
        assert_eq!(found.without.col_as_slice(2 * 5 + 3), one);
        // A large picture is made smaller first, whole and parts alike; one with a part to cut out is not.
        let large = picture(1000, 600);
        assert_eq!((map.reduced(&large).width, map.reduced(&large).height), (480, 288));
        let cut = FeatureSpec::Pixels(PixelsSpec { crop: "900x500+10+20".parse().ok(), frame });
        assert_eq!(FeatureMap::unfitted(&cut, None).unwrap().reduced(&large), large);
    }
}
