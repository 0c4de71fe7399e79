//! A pattern of numbers as a small picture or line, one byte a value.

use super::{LINE_POINTS, PICTURE_SIDE};
use atomlearn::io::ImageShape;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// A pattern as base64 text: a picture row by row where the shape is known, else a line with 128 for zero.
pub fn draw(pattern: &[f64], shape: Option<ImageShape>) -> String {
    STANDARD.encode(shape.map_or_else(|| line(pattern), |shape| picture(pattern, shape)))
}

/// The sides of a picture after it was made small enough.
pub fn picture_size(shape: ImageShape) -> [usize; 2] {
    let longest = shape.rows.max(shape.cols).max(PICTURE_SIDE);
    [shape.rows, shape.cols].map(|side| (side * PICTURE_SIDE / longest).clamp(1, side))
}

/// Pixels row by row, the smallest value black and the largest white; large pictures by means over boxes.
fn picture(atom: &[f64], shape: ImageShape) -> Vec<u8> {
    let [rows, cols] = picture_size(shape);
    let at = |r: usize, c: usize| atom[if shape.column_major { c * shape.rows + r } else { r * shape.cols + c }];
    let ends = |i: usize, parts: usize, side: usize| (i * side / parts, (i + 1) * side / parts);
    let mut pixels = Vec::with_capacity(rows * cols);
    for i in 0..rows {
        let (top, bottom) = ends(i, rows, shape.rows);
        for j in 0..cols {
            let (left, right) = ends(j, cols, shape.cols);
            let sum: f64 = (top..bottom).flat_map(|r| (left..right).map(move |c| at(r, c))).sum();
            pixels.push(sum / ((bottom - top) * (right - left)) as f64);
        }
    }
    let (low, high) = pixels.iter().fold((f64::MAX, f64::MIN), |(l, h), &v| (l.min(v), h.max(v)));
    let grey = |v: f64| if high > low { (255.0 * (v - low) / (high - low)).round() as u8 } else { 128 };
    pixels.into_iter().map(grey).collect()
}

/// Means over as many runs of features as a line may have points; 128 is zero, the largest size is 127 away from it.
fn line(atom: &[f64]) -> Vec<u8> {
    let (n, points) = (atom.len(), atom.len().min(LINE_POINTS));
    let mean = |i: usize| {
        let run = &atom[i * n / points..(i + 1) * n / points];
        run.iter().sum::<f64>() / run.len() as f64
    };
    let values: Vec<f64> = (0..points).map(mean).collect();
    let largest = values.iter().fold(0.0f64, |most, v| most.max(v.abs()));
    let byte = |v: f64| if largest > 0.0 { (128.0 + 127.0 * v / largest).round() as u8 } else { 128 };
    values.into_iter().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_right_way_up_and_shrink_by_means() {
        // 2 x 3, down the columns first: 1 3 5 / 2 4 6.
        let down = ImageShape { rows: 2, cols: 3, column_major: true };
        assert_eq!(picture(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], down), [0, 102, 204, 51, 153, 255]);
        let across = ImageShape { column_major: false, ..down };
        assert_eq!(picture(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], across), [0, 51, 102, 153, 204, 255]);
        let large = ImageShape { rows: 72, cols: 4, column_major: false };
        assert_eq!(picture_size(large), [36, 2]);
        let halves: Vec<f64> = (0..288).map(|i| if i % 4 < 2 { -1.0 } else { 3.0 }).collect();
        assert!(picture(&halves, large).chunks(2).all(|row| row == [0, 255]));
        assert!(picture(&[0.5; 288], large).iter().all(|&grey| grey == 128));
    }

    #[test]
    fn lines_keep_sign_and_shape() {
        assert_eq!(line(&[0.0, 1.0, -1.0, 0.5]), [128, 255, 1, 192]);
        let long: Vec<f64> = (0..1000).map(|i| if i < 500 { 2.0 } else { -2.0 }).collect();
        let bytes = line(&long);
        assert_eq!((bytes.len(), bytes[0], bytes[127]), (128, 255, 1));
        assert_eq!(line(&[0.0; 3]), [128; 3]);
    }
}
