//! Resampling by cubic convolution (a = -1/2), widened when a picture shrinks so that nothing is skipped.
//!
//! Rows first, then columns, in whole numbers with weights of 22 bits, each result rounded to 8 bits: the arithmetic of the
//! antialiased bicubic that networks were usually trained with, to the last grey level.

use atomlearn::io::pictures::Picture;

/// Bits of a weight behind the point.
const BITS: u32 = 22;

/// Weights of the source pixels `first..first + weights.len()` in one target pixel; they add up to one, up to rounding.
struct Taps {
    first: usize,
    weights: Vec<i64>,
}

/// The picture in another size.
pub fn resize(picture: &Picture, width: usize, height: usize) -> Picture {
    let (width, height) = (width.max(1), height.max(1));
    let channels = picture.channels;
    let mut narrow = picture.clone();
    if width != picture.width {
        let taps = taps(picture.width, width);
        let row_length = picture.width * channels;
        let mut pixels = Vec::with_capacity(width * picture.height * channels);
        for row in picture.pixels.chunks_exact(row_length) {
            for tap in &taps {
                for channel in 0..channels {
                    let value = |(k, w): (usize, &i64)| w * i64::from(row[(tap.first + k) * channels + channel]);
                    pixels.push(to_byte(tap.weights.iter().enumerate().map(value).sum()));
                }
            }
        }
        narrow = Picture { width, pixels, ..narrow };
    }
    if height != narrow.height {
        let row_length = width * channels;
        let mut pixels = Vec::with_capacity(height * row_length);
        let mut sums = vec![0; row_length];
        for tap in taps(narrow.height, height) {
            sums.fill(0);
            for (k, w) in tap.weights.iter().enumerate() {
                let row = &narrow.pixels[(tap.first + k) * row_length..][..row_length];
                sums.iter_mut().zip(row).for_each(|(sum, &v)| *sum += w * i64::from(v));
            }
            pixels.extend(sums.iter().map(|&sum| to_byte(sum)));
        }
        narrow = Picture { height, pixels, ..narrow };
    }
    narrow
}

fn to_byte(sum: i64) -> u8 {
    ((sum + (1 << (BITS - 1))) >> BITS).clamp(0, 255) as u8
}

fn taps(from: usize, to: usize) -> Vec<Taps> {
    let scale = from as f64 / to as f64;
    let stretch = scale.max(1.0);
    let support = 2.0 * stretch;
    let tap = |target: usize| {
        let center = (target as f64 + 0.5) * scale;
        let first = ((center - support + 0.5).max(0.0)) as usize;
        let end = ((center + support + 0.5) as usize).min(from).max(first + 1);
        let weights: Vec<f64> = (first..end).map(|i| cubic((i as f64 + 0.5 - center) / stretch)).collect();
        let one = f64::from(1 << BITS) / weights.iter().sum::<f64>();
        Taps { first, weights: weights.iter().map(|w| (w * one).round() as i64).collect() }
    };
    (0..to).map(tap).collect()
}

/// The cubic convolution kernel with a = -1/2.
fn cubic(x: f64) -> f64 {
    let x = x.abs();
    if x < 1.0 {
        (1.5 * x - 2.5) * x * x + 1.0
    } else if x < 2.0 {
        ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(width: usize, height: usize, channels: usize, value: impl Fn(usize, usize) -> u8) -> Picture {
        let pixels = (0..height).flat_map(|r| (0..width).map(move |c| (r, c)));
        let pixels = pixels.flat_map(|(r, c)| vec![value(r, c); channels]).collect();
        Picture { width, height, channels, pixels }
    }

    #[test]
    fn constants_stay_and_sizes_change() {
        for (width, height) in [(3, 9), (40, 2), (7, 5)] {
            let small = resize(&picture(7, 5, 3, |_, _| 77), width, height);
            assert_eq!((small.width, small.height, small.pixels.len()), (width, height, 3 * width * height));
            assert!(small.pixels.iter().all(|&v| v == 77));
        }
    }

    #[test]
    fn a_ramp_stays_a_ramp_away_from_the_edges() {
        let ramp = picture(64, 64, 1, |r, c| (2 * c + r) as u8);
        let half = resize(&ramp, 32, 32);
        for r in 4..28 {
            for c in 4..28 {
                let exact = 2.0 * (2.0 * c as f64 + 0.5) + 2.0 * r as f64 + 0.5;
                assert!((f64::from(half.pixels[r * 32 + c]) - exact).abs() <= 1.0);
            }
        }
        assert_eq!(resize(&ramp, 64, 64), ramp);
    }
}
