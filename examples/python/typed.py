"""For type checkers: what the public import gives is typed. The tests run `mypy --strict` and pyright on this file."""

import numpy as np
from atomlearn import KSVD, AutoClassifier, Explanation, LCDLSVClassifier, OneHotRidgeClassifier, compare, kit

rng = np.random.default_rng(0)
y = np.arange(90) % 3
X = rng.normal(size=(3, 10))[y] + 0.3 * rng.normal(size=(90, 10))

model: LCDLSVClassifier = LCDLSVClassifier(max_iter=3, rule="svm").fit(X, y)
labels: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]" = model.predict(X[:5])
why = model.explain(X[0])
assert isinstance(why, Explanation)
shares: list[float] = [use.share for use in why.atoms]
assert 0.0 < sum(shares) <= 1.0

accuracy: float = AutoClassifier().fit(X, y).loo_accuracy_
assert accuracy > 0.5
print(f"accuracy {accuracy:.3f}")

ridge: OneHotRidgeClassifier = OneHotRidgeClassifier(lam=0.1, class_weight={0: 2.0})
ridge = ridge.fit(X, y, sample_weight=np.ones(90)).partial_fit(X, y, classes=[0, 1, 2])
assert ridge.predict(X).shape == (90,)

coder: KSVD = KSVD(8, sparsity=3, random_state=0).fit(X)
assert coder.inverse_transform(coder.transform(X)).shape == X.shape
assert kit.omp(X, coder.components_, 3).shape == (len(X), 8)

table: str = compare(X, y, methods=["ridge", "knn"], folds=3, repeats=1).to_latex()
assert "ridge" in table
