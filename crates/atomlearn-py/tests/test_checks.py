"""scikit-learn's own checks on every estimator: all pass, none is expected to fail."""

import atomlearn
from sklearn.utils.estimator_checks import parametrize_with_checks

EVERY = [getattr(atomlearn, name)() for name in atomlearn._estimators.__all__]
VARIANTS = [
    atomlearn.LCDLSVClassifier(probability=True),
    atomlearn.CRCClassifier(probability=True),
    atomlearn.LCKSVDClassifier(variant=1),
    atomlearn.LCDLSVClassifier(rule="svm", prep="standard,unit"),
]


@parametrize_with_checks(EVERY + VARIANTS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
