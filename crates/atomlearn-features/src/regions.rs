//! A picture with one region taken out, to see what that region said.

use atomlearn::io::pictures::Picture;
use std::ops::Range;

/// The picture without cell `(row, col)` of a grid of so many `rows` and `cols`. What is taken out is filled from its edges, so that
/// neither structure is left in it nor a new edge made.
pub fn without_region(picture: &Picture, grid: (usize, usize), cell: (usize, usize)) -> Picture {
    let part = |length: usize, of: usize, index: usize| index * length / of..(index + 1) * length / of;
    let rows = part(picture.height, grid.0.max(1), cell.0);
    let cols = part(picture.width, grid.1.max(1), cell.1);
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
}
