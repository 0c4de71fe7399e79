//! Dense SIFT: histograms of gradient directions in 4 x 4 cells of square patches on a grid.
//!
//! With `M_o(y, x)` the gradient length at a pixel shared linearly between the two nearest of 8 directions `o`, cell
//! `(i, j)` of the patch at `(top, left)` holds
//!
//! ```text
//! h(i, j, o) = sum_y sum_x t(y - top - (i + 1/2) b) t(x - left - (j + 1/2) b) M_o(y, x),   t(u) = max(0, 1 - |u|/b) / b
//! ```
//!
//! over the pixels of the patch, whose side is `4 b`. The sums are separable, so all patches of a row share the first
//! one. A descriptor is scaled to unit length, entries above 0.2 are cut, and it is scaled again (Lowe 2004). Patches of
//! low contrast stay shorter: noise must not look like structure (Lazebnik, Schmid, Ponce 2006).
//!
//! Sums are in single precision: pixels have 8 bits, and twice as many sums go through a vector register.

use atomlearn::Mat;
use atomlearn::io::pictures::Picture;
use atomlearn::linalg::vectorized;
use std::f32::consts::TAU;

/// Numbers in a descriptor.
pub(crate) const LENGTH: usize = CELLS * CELLS * DIRECTIONS;
const CELLS: usize = 4;
const DIRECTIONS: usize = 8;
/// Entries above this share of the length are cut.
const CLIP: f32 = 0.2;
/// A descriptor of this length before scaling is one of full contrast: about 4 grey levels a pixel all over.
const FULL_CONTRAST: f32 = 16.0;

/// The descriptors of a picture.
pub(crate) struct Descriptors {
    /// One per column.
    pub(crate) values: Mat<f64>,
    /// Centre of each patch, as shares of height and width.
    pub(crate) centers: Vec<(f64, f64)>,
}

/// All descriptors of a grey picture: every `step` pixels, for every patch side that fits.
pub(crate) fn describe(grey: &Picture, step: usize, patches: &[usize]) -> Descriptors {
    let gradients = gradients(grey);
    let sides: Vec<usize> = patches.iter().copied().filter(|&side| side <= grey.width.min(grey.height)).collect();
    let axes = |side: &usize| [Axis::new(grey.height, *side, step), Axis::new(grey.width, *side, step)];
    let axes: Vec<[Axis; 2]> = sides.iter().map(axes).collect();
    let count = axes.iter().map(|[rows, cols]| rows.starts.len() * cols.starts.len()).sum();
    let mut values = Mat::zeros(LENGTH, count);
    let mut centers = Vec::with_capacity(count);
    for (side, [rows, cols]) in sides.iter().zip(&axes) {
        pool(&gradients, grey.width, rows, cols, &mut values, centers.len());
        let middle = |start: usize, length: usize| (start as f64 + *side as f64 / 2.0) / length as f64;
        for &top in &rows.starts {
            centers.extend(cols.starts.iter().map(|&left| (middle(top, grey.height), middle(left, grey.width))));
        }
    }
    Descriptors { values, centers }
}

/// Gradient length of every pixel by direction. Directions lie side by side, so that all eight are summed at once.
fn gradients(grey: &Picture) -> Vec<[f32; DIRECTIONS]> {
    let (width, height) = (grey.width, grey.height);
    let mut gradients = vec![[0.0; DIRECTIONS]; width * height];
    let at = |y: usize, x: usize| f32::from(grey.pixels[y * width + x]);
    for y in 0..height {
        let (above, below) = (y.saturating_sub(1), (y + 1).min(height - 1));
        for x in 0..width {
            let (left, right) = (x.saturating_sub(1), (x + 1).min(width - 1));
            let (dx, dy) = (0.5 * (at(y, right) - at(y, left)), 0.5 * (at(below, x) - at(above, x)));
            if dx == 0.0 && dy == 0.0 {
                continue;
            }
            let length = (dx * dx + dy * dy).sqrt();
            let turn = (dy.atan2(dx) / TAU).rem_euclid(1.0) * DIRECTIONS as f32;
            let share = turn.fract();
            let bin = turn as usize % DIRECTIONS;
            let shares = &mut gradients[y * width + x];
            shares[bin] += length * (1.0 - share);
            shares[(bin + 1) % DIRECTIONS] += length * share;
        }
    }
    gradients
}

/// Patch starts along one side of the picture, and for each of a patch's four cells its first pixel and the weights from there.
struct Axis {
    starts: Vec<usize>,
    cells: [(usize, Vec<f32>); CELLS],
}

impl Axis {
    fn new(length: usize, side: usize, step: usize) -> Self {
        let count = (length - side) / step + 1;
        let first = (length - side - (count - 1) * step) / 2;
        let cell = side as f32 / CELLS as f32;
        let weight = |i: usize, pixel: usize| {
            let away = (pixel as f32 + 0.5 - (i as f32 + 0.5) * cell).abs();
            (1.0 - away / cell).max(0.0) / cell
        };
        let cells = std::array::from_fn(|i| {
            let inside: Vec<usize> = (0..side).filter(|&pixel| weight(i, pixel) > 0.0).collect();
            (inside[0], inside.iter().map(|&pixel| weight(i, pixel)).collect())
        });
        Axis { starts: (0..count).map(|k| first + k * step).collect(), cells }
    }
}

/// Writes the descriptors of all patches of one size from column `first` on. Rows are summed first: all patches that start in one row share these sums.
fn pool(gradients: &[[f32; DIRECTIONS]], width: usize, rows: &Axis, cols: &Axis, values: &mut Mat<f64>, first: usize) {
    let mut line = vec![[0.0; DIRECTIONS]; width];
    let mut patches = vec![[[[0.0; DIRECTIONS]; CELLS]; CELLS]; cols.starts.len()];
    for (r, &top) in rows.starts.iter().enumerate() {
        vectorized(
            #[inline(always)]
            || {
                for (i, (above, weights)) in rows.cells.iter().enumerate() {
                    line.fill([0.0; DIRECTIONS]);
                    for (pixel, &w) in weights.iter().enumerate() {
                        let row = &gradients[(top + above + pixel) * width..][..width];
                        add(w, row.as_flattened(), line.as_flattened_mut());
                    }
                    for (patch, &left) in patches.iter_mut().zip(&cols.starts) {
                        for ((before, weights), cell) in cols.cells.iter().zip(&mut patch[i]) {
                            *cell = weighted_sum(weights, &line[left + before..]);
                        }
                    }
                }
                for patch in &mut patches {
                    normalize(patch.as_flattened_mut().as_flattened_mut());
                }
            },
        );
        for (c, patch) in patches.iter().enumerate() {
            let column = values.col_as_slice_mut(first + r * patches.len() + c);
            let entries = patch.as_flattened().as_flattened();
            column.iter_mut().zip(entries).for_each(|(to, &entry)| *to = f64::from(entry));
        }
    }
}

#[inline(always)]
fn add(w: f32, from: &[f32], to: &mut [f32]) {
    to.iter_mut().zip(from).for_each(|(sum, v)| *sum += w * v);
}

#[inline(always)]
fn weighted_sum(weights: &[f32], line: &[[f32; DIRECTIONS]]) -> [f32; DIRECTIONS] {
    let mut sums = [0.0; DIRECTIONS];
    weights.iter().zip(line).for_each(|(&w, shares)| add(w, shares, &mut sums));
    sums
}

/// Eight sums at a time, so that it vectorises.
#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; DIRECTIONS];
    for (a, b) in a.chunks_exact(DIRECTIONS).zip(b.chunks_exact(DIRECTIONS)) {
        (0..DIRECTIONS).for_each(|l| sums[l] += a[l] * b[l]);
    }
    sums.iter().sum()
}

#[inline(always)]
fn normalize(column: &mut [f32]) {
    let length = |column: &[f32]| dot(column, column).sqrt();
    let before = length(column);
    if before == 0.0 {
        return;
    }
    let target = (before / FULL_CONTRAST).min(1.0);
    column.iter_mut().for_each(|v| *v = (*v * target / before).min(CLIP * target));
    let cut = length(column);
    column.iter_mut().for_each(|v| *v *= target / cut);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(side: usize, value: impl Fn(usize, usize) -> u8) -> Picture {
        let pixels = (0..side * side).map(|k| value(k / side, k % side)).collect();
        Picture { width: side, height: side, channels: 1, pixels }
    }

    fn texture(y: usize, x: usize) -> u8 {
        ((y * y * 3 + x * 11 + (x * y) % 17 * 9) % 251) as u8
    }

    #[test]
    fn a_constant_picture_has_zero_descriptors() {
        let flat = describe(&patch(40, |_, _| 90), 8, &[16, 24]);
        assert_eq!(flat.values.ncols(), 16 + 9);
        assert_eq!(flat.values.norm_max(), 0.0);
    }

    #[test]
    fn a_quarter_turn_permutes_cells_and_directions() {
        let side = 16;
        let upright = describe(&patch(side, texture), 8, &[side]);
        // Turned clockwise: what stood at (y, x) stands at (x, side - 1 - y), and direction o becomes o + 2.
        let turned = describe(&patch(side, |y, x| texture(side - 1 - x, y)), 8, &[side]);
        assert_eq!(upright.values.ncols(), 1);
        for i in 0..4 {
            for j in 0..4 {
                for o in 0..8 {
                    let was = upright.values[((i * 4 + j) * 8 + o, 0)];
                    let is = turned.values[((j * 4 + 3 - i) * 8 + (o + 2) % 8, 0)];
                    assert!((was - is).abs() < 1e-6, "cell {i} {j}, direction {o}: {was} {is}");
                }
            }
        }
    }

    #[test]
    fn descriptors_are_unit_and_faint_ones_shorter() {
        let length = |picture: &Picture| describe(picture, 8, &[16]).values.col(0).norm_l2();
        assert!((length(&patch(16, texture)) - 1.0).abs() < 1e-6);
        let faint = length(&patch(16, |_, x| (x / 4) as u8));
        assert!(faint > 0.0 && faint < 0.2, "{faint}");
    }

    #[test]
    fn a_ramp_has_one_direction_and_the_sums_of_the_definition() {
        let ramp = patch(16, |_, x| 10 * x as u8);
        let found = describe(&ramp, 8, &[16]);
        for cell in 0..16 {
            assert!((1..8).all(|o| found.values[(cell * 8 + o, 0)].abs() < 1e-6));
        }
        // An inner cell holds the mean of the gradient, 10; scaled alike, the ratio to an outer cell must be that of
        // the weights: the outermost columns see half the gradient, and an outer cell misses half a cell each way.
        let t = |u: f64| (1.0 - u.abs() / 4.0).max(0.0) / 4.0;
        let along = |center: f64| -> f64 {
            (0..16).map(|x| t(x as f64 + 0.5 - center) * if x == 0 || x == 15 { 5.0 } else { 10.0 }).sum()
        };
        let across = |center: f64| -> f64 { (0..16).map(|y| t(y as f64 + 0.5 - center)).sum() };
        let ratio = found.values[(0, 0)] / found.values[((4 + 1) * 8, 0)];
        let exact = along(2.0) * across(2.0) / (along(6.0) * across(6.0));
        // All entries lie above the cut of 0.2 or all below it: then clipping keeps ratios only below.
        assert!(ratio >= exact - 1e-6 && ratio <= 1.0, "{ratio} {exact}");
    }
}
