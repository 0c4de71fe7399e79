"""Handwritten digits: learn from 20 images of each, see what was learned and why it decides as it does."""

import numpy as np
from atomlearn import LCDLSVClassifier
from sklearn.datasets import load_digits

X, y = load_digits(return_X_y=True)
train = np.concatenate([np.flatnonzero(y == c)[:20] for c in range(10)])
test = np.setdiff1d(np.arange(len(y)), train)

model = LCDLSVClassifier(probability=True).fit(X[train], y[train])
print(f"{len(train)} training images, accuracy on {len(test)} others: {model.score(X[test], y[test]):.3f}")
print(f"{len(model.components_)} atoms after {model.n_iter_} iterations, objective {model.objective_[-1]:.4f}")

# The image the model is least sure of, and why it decided as it did.
p = model.predict_proba(X[test]).max(axis=1)
unsure = test[p.argmin()]
print(f"\nleast sure of image {unsure}, a {y[unsure]} (probability {p.min():.2f}):")
print(model.explain(X[unsure], top=3))
