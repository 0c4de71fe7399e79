use super::*;

fn near(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a} is not {b}");
}

/// Table 6 of Demsar (2006): C4.5 and three variants on 14 data sets. The last two numbers of the row before the last are
/// printed alike but ranked 2 and 3 there, so one of them has a further digit here.
const DEMSAR: [[f64; 4]; 14] = [
    [0.763, 0.768, 0.771, 0.798],
    [0.599, 0.591, 0.590, 0.569],
    [0.954, 0.971, 0.968, 0.967],
    [0.628, 0.661, 0.654, 0.657],
    [0.882, 0.888, 0.886, 0.898],
    [0.936, 0.931, 0.916, 0.931],
    [0.661, 0.668, 0.609, 0.685],
    [0.583, 0.583, 0.563, 0.625],
    [0.775, 0.838, 0.866, 0.875],
    [1.000, 1.000, 1.000, 1.000],
    [0.940, 0.962, 0.965, 0.962],
    [0.619, 0.666, 0.614, 0.669],
    [0.972, 0.981, 0.9751, 0.975],
    [0.957, 0.978, 0.946, 0.970],
];

fn demsar() -> Ranking {
    let names = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"].map(String::from).to_vec();
    let accuracy = (0..4).map(|j| DEMSAR.iter().map(|row| row[j]).collect()).collect();
    ranking((0..14).map(|i| i.to_string()).collect(), names, accuracy).unwrap()
}

#[test]
fn the_textbook_example_comes_out_as_printed() {
    let found = demsar();
    assert_eq!(found.methods, ["C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"]);
    for (rank, printed) in found.average_ranks.iter().zip([1.964, 2.000, 2.893, 3.143]) {
        near(*rank, printed, 5e-4);
    }
    // Printed are 9.28 and 3.69, without the correction for ties: three pairs and one group of four, so that
    // 3 (2^3 - 2) + (4^3 - 4) = 78 of 14 (4^3 - 4) = 840 are tied.
    let uncorrected = friedman(&found.average_ranks, 14, 0.0);
    near(uncorrected.chi2, 9.28, 5e-3);
    near(uncorrected.f, 3.69, 5e-3);
    near(found.friedman.chi2, uncorrected.chi2 / (1.0 - 78.0 / 840.0), 1e-12);
    // The critical value of F(3, 39) at 0.05 is 2.85.
    assert!(found.friedman.p < 0.05 && found.friedman.p > 0.01);
    near(found.critical_difference, 1.25, 5e-3);
    // Nemenyi's test cannot tell the best from the others: 3.143 - 1.964 = 1.18.
    assert_eq!(found.groups, [[0, 1, 2, 3]]);
    assert!(found.cautions.iter().any(|text| text.contains("more than 5 methods")));
}

#[test]
fn critical_values_of_nemenyi_are_those_of_the_table() {
    // Table 5(a) of Demsar (2006).
    let printed = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164];
    for (k, printed) in (2..=10).zip(printed) {
        near(nemenyi(k), printed, 1.1e-3);
    }
}

#[test]
fn wilcoxon_by_hand() {
    // Table 2 of Demsar: C4.5 against C4.5+m, R+ = 93 and R- = 12; the exact bound at 0.05 for 14 is 21.
    let differences: Vec<f64> = DEMSAR.iter().map(|row| ((row[1] - row[0]) * 1e3).round()).collect();
    let (statistic, p) = wilcoxon(&differences);
    assert_eq!(statistic, 12.0);
    assert!(p < 0.05 && p > 0.005, "{p}");
    // Five positive differences: only the two extreme sums of 32 are as far.
    assert_eq!(wilcoxon(&[1.0, 2.0, 3.0, 4.0, 5.0]), (0.0, 2.0 / 32.0));
    // Ranks 1, 2, 3 with signs + + -: sums 3 and 3 are the middle.
    assert_eq!(wilcoxon(&[1.0, 2.0, -3.0]), (3.0, 1.0));
    // Ties share ranks 1.5, 1.5, 3 (+ + -): |3 - 3| = 0.
    assert_eq!(wilcoxon(&[1.0, 1.0, -2.0]), (3.0, 1.0));
    assert_eq!(wilcoxon(&[0.0, 0.0]).1, 1.0);
    // Many data sets: the normal approximation is near what counting would give.
    let many: Vec<f64> = (1..=26).map(|i| if i % 4 == 0 { -f64::from(i) } else { f64::from(i) }).collect();
    let ranks: Vec<f64> = (1..=26).map(f64::from).collect();
    let away = many.iter().sum::<f64>().abs();
    near(wilcoxon(&many).1, exact(&ranks, away), 2e-3);
}

#[test]
fn holm_by_hand() {
    // 4 x 0.01, 3 x 0.013, 2 x 0.02, 1 x 0.6, each at least the one before.
    let found = holm(&[0.02, 0.01, 0.6, 0.013]);
    for (found, expected) in found.iter().zip([0.04, 0.04, 0.6, 0.04]) {
        near(*found, expected, 1e-12);
    }
    assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    assert!(holm(&[]).is_empty());
}

#[test]
fn ranks_share_ties_and_groups_are_largest() {
    assert_eq!(average_ranks(&[0.3, 0.1, 0.3, 0.2]), [3.5, 1.0, 3.5, 2.0]);
    assert_eq!(groups(&[1.0, 1.5, 2.5, 4.0], 1.2), [vec![0, 1], vec![1, 2]]);
    assert_eq!(groups(&[1.0, 3.0], 1.0), Vec::<Vec<usize>>::new());
    let same = friedman(&[1.0, 2.0, 3.0], 5, 0.0);
    // Four more data sets in the order of the first of six.
    near(same.p, 6.0f64.powi(-4), 1e-15);
    assert_eq!((same.chi2, same.f), (10.0, f64::INFINITY));
    // Two equal methods of three: three orders.
    near(friedman(&[1.5, 1.5, 3.0], 2, 12.0).p, 1.0 / 3.0, 1e-15);
}

/// Ranks 1 2 3, 1.5 1.5 3, 1 2.5 2.5, 1 2 3 have sums 4.5, 8, 11.5. Without ties, chi2 is
/// `12 / (4 3 4) (4.5^2 + 8^2 + 11.5^2) - 3 4 4 = 6.125`; two pairs are tied, `1 - 12 / (4 24) = 0.875`, and
/// `6.125 / 0.875 = 7` is what `scipy.stats.friedmanchisquare` gives.
#[test]
fn friedman_is_corrected_for_ties() {
    let accuracy = vec![vec![0.9, 0.8, 0.9, 0.7], vec![0.8, 0.8, 0.5, 0.6], vec![0.7, 0.1, 0.5, 0.5]];
    let names = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>();
    let found = ranking(names(4), names(3), accuracy.clone()).unwrap();
    near(found.friedman.chi2, 7.0, 1e-12);
    near(found.friedman.f, 21.0, 1e-10);

    // With the correction, F is that of a two-way analysis of variance of the ranks.
    let ranks: Vec<Vec<f64>> =
        (0..4).map(|d| average_ranks(&accuracy.iter().map(|row| -row[d]).collect::<Vec<_>>())).collect();
    let total: f64 = ranks.iter().flatten().map(|rank| (rank - 2.0).powi(2)).sum();
    let of_method = |m: usize| ranks.iter().map(|set| set[m]).sum::<f64>() / 4.0;
    let between: f64 = (0..3).map(|m| 4.0 * (of_method(m) - 2.0).powi(2)).sum();
    near(found.friedman.f, (between / 2.0) / ((total - between) / 6.0), 1e-10);

    let alike = ranking(names(2), names(2), vec![vec![0.5, 0.7], vec![0.5, 0.7]]).unwrap();
    assert_eq!(alike.friedman, Friedman { chi2: 0.0, f: 0.0, p: 1.0 });
}

#[test]
fn too_few_data_sets_are_said_to_be_too_few() {
    let names = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>();
    let accuracy = vec![vec![0.9, 0.8, 0.7], vec![0.8, 0.7, 0.6]];
    let found = ranking(names(3), names(2), accuracy).unwrap();
    assert!(found.cautions[0].contains("too few to conclude"));
    assert!(found.cautions[1].contains("no pair can be significant"), "{:?}", found.cautions);
    assert_eq!(found.average_ranks, [1.0, 2.0]);
    assert!(ranking(names(1), names(2), vec![vec![1.0], vec![1.0]]).is_err());
}
