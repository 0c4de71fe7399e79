//! Axes: from numbers to places in a drawing.

use serde::Serialize;

/// A mark on an axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tick {
    /// Place in the drawing.
    pub at: f64,
    /// What stands there.
    pub label: String,
}

/// Rounded to a tenth of a unit, which is finer than any screen.
pub fn tenth(value: f64) -> f64 {
    (10.0 * value).round() / 10.0
}

/// A map from values to places, linear or logarithmic.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
}

/// Values that can be drawn; others would only break the drawing.
pub fn drawable(value: f64) -> bool {
    value.is_finite() && value.abs() < 1e100
}

impl Axis {
    /// A linear axis over the values with a margin (a share of their range), drawn between `from` and `to`.
    pub fn linear(values: impl Iterator<Item = f64>, margin: f64, (from, to): (f64, f64)) -> Self {
        let (low, high) = extent(values);
        let pad = (margin * (high - low)).max(1e-3 * high.abs()).max(1e-9);
        Axis { low: low - pad, high: high + pad, from, to, log: false }
    }

    /// A logarithmic axis over the positive ones among the values.
    pub fn log(values: impl Iterator<Item = f64>, margin: f64, (from, to): (f64, f64)) -> Self {
        let (low, high) = extent(values.filter(|v| *v > 0.0).map(f64::log10));
        let pad = (margin * (high - low)).max(0.05);
        Axis { low: low - pad, high: high + pad, from, to, log: true }
    }

    /// An axis with these very ends.
    pub fn exact(low: f64, high: f64, (from, to): (f64, f64)) -> Self {
        Axis { low, high, from, to, log: false }
    }

    /// The axis, cut so that nothing lies below or above these values.
    pub fn within(self, least: f64, most: f64) -> Self {
        Axis { low: self.low.max(least), high: self.high.min(most), ..self }
    }

    /// Place of a value; values beyond the ends are drawn at the ends.
    pub fn place(&self, value: f64) -> f64 {
        let value = if self.log { value.max(f64::MIN_POSITIVE).log10() } else { value };
        let share = if self.high > self.low { (value - self.low) / (self.high - self.low) } else { 0.5 };
        tenth(self.from + share.clamp(0.0, 1.0) * (self.to - self.from))
    }

    /// About `count` round marks.
    pub fn ticks(&self, count: usize) -> Vec<Tick> {
        let values = if self.log { self.log_values(count) } else { round_values(self.low, self.high, count) };
        values.into_iter().map(|value| Tick { at: self.place(value), label: short(value) }).collect()
    }

    /// Round marks at whole numbers only.
    pub fn whole_ticks(&self, count: usize) -> Vec<Tick> {
        let whole = |tick: &Tick| tick.label.parse::<i64>().is_ok();
        self.ticks(count).into_iter().filter(whole).collect()
    }

    fn log_values(&self, count: usize) -> Vec<f64> {
        let (first, last) = (self.low.floor() as i32, self.high.ceil() as i32);
        let inside = |v: &f64| (self.low..=self.high).contains(&v.log10());
        let at = |steps: &[f64], every: usize| -> Vec<f64> {
            let decade = |e: i32| steps.iter().map(move |k| k * 10f64.powi(e));
            (first..=last).step_by(every).flat_map(decade).filter(inside).collect()
        };
        let fine = [at(&[1.0, 2.0, 5.0], 1), at(&[1.0, 3.0], 1), at(&[1.0], 1)];
        let few = fine.into_iter().find(|values| values.len() <= count + 1);
        few.unwrap_or_else(|| at(&[1.0], ((last - first) as usize).div_ceil(count.max(1))))
    }
}

fn extent(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.filter(|v| drawable(*v)).fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
    if low <= high { (low, high) } else { (0.0, 1.0) }
}

fn round_values(low: f64, high: f64, count: usize) -> Vec<f64> {
    let rough = ((high - low) / count.max(1) as f64).max(1e-12 * high.abs()).max(1e-12);
    let unit = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|k| k * unit).into_iter().find(|step| *step >= rough).unwrap_or(10.0 * unit);
    let first = (low / step).ceil();
    let nth = |k: usize| (first + k as f64) * step;
    (0..3 * count).map(nth).take_while(|v| *v <= high + 1e-9 * step).collect()
}

/// A number in few characters.
pub fn short(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e5).contains(&value.abs()) {
        return format!("{value:.1e}").replace(".0e", "e");
    }
    format!("{}", (value * 1e6).round() / 1e6)
}

/// A number to four significant digits.
pub fn brief(value: f64) -> String {
    if value == 0.0 || !(1e-3..1e5).contains(&value.abs()) {
        return short(value);
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    format!("{value:.*}", digits.max(0) as usize)
}

/// A text of at most so many characters.
pub fn clipped(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_string();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// The text, or its beginning and its end: what tells `cultivar 1` from `cultivar 2` stands there.
pub fn clipped_inside(text: &str, most: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= most {
        return text.to_string();
    }
    let kept = most.saturating_sub(1);
    let end = kept / 2;
    letters[..kept - end].iter().chain(&['…']).chain(&letters[letters.len() - end..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_stay_apart_by_beginning_and_end() {
        assert_eq!(clipped_inside("cultivar 1", 9), "cult…ar 1");
        assert_eq!(clipped_inside("cultivar 1", 10), "cultivar 1");
        assert_eq!(clipped_inside("ab", 1), "…");
    }

    fn labels(axis: Axis, count: usize) -> Vec<String> {
        axis.ticks(count).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn marks_are_round_inside_and_few() {
        assert_eq!(labels(Axis::exact(0.0, 10.0, (0.0, 1.0)), 5), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(Axis::exact(93.1, 96.2, (0.0, 1.0)), 5), ["94", "95", "96"]);
        assert_eq!(labels(Axis::log([0.01, 10.0].into_iter(), 0.0, (0.0, 1.0)), 4), ["0.01", "0.1", "1", "10"]);
        for (low, high) in [(5.0, 5.0), (-1e99, 1e99), (0.0, 1e-300), (1e16, 1e16 + 2.0)] {
            assert!(Axis::exact(low, high, (0.0, 1.0)).ticks(5).len() <= 15, "{low} {high}");
        }
        let wide = Axis::log([1e-90, 1e90].into_iter(), 0.0, (0.0, 1.0));
        assert!((2..=7).contains(&wide.ticks(5).len()));
    }

    #[test]
    fn places_are_always_numbers_inside_the_drawing() {
        for values in [vec![], vec![f64::NAN], vec![f64::INFINITY, 1.0], vec![1e308, -1e308], vec![2.0; 3]] {
            for axis in [
                Axis::linear(values.iter().copied(), 0.1, (0.0, 100.0)),
                Axis::log(values.iter().copied(), 0.1, (0.0, 100.0)),
            ] {
                for value in [0.0, -5.0, 1e300, f64::MAX] {
                    assert!((0.0..=100.0).contains(&axis.place(value)), "{values:?} {value}");
                }
            }
        }
    }

    #[test]
    fn numbers_and_texts_stay_short() {
        assert_eq!([short(0.0), short(0.25), short(123456.0), short(2e-7)], ["0", "0.25", "1.2e5", "2e-7"]);
        assert_eq!(
            [brief(10.343139), brief(0.0237881), brief(12345.6), brief(7.5e-6)],
            ["10.34", "0.02379", "12346", "7.5e-6"]
        );
        assert_eq!([clipped("äöü", 3), clipped("äöüß", 3)], ["äöü", "äö…"]);
    }
}
