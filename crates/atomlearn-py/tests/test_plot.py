"""Pictures show what they should."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
from atomlearn import CRCClassifier, LCDLSVClassifier, plot  # noqa: E402


def test_atoms_are_taken_back_through_preprocessing(digits):
    X, y, *_ = digits
    # With every training sample an atom, the atoms taken back are the samples themselves.
    model = CRCClassifier(prep="pca-uncentered:64").fit(X, y)
    assert np.allclose(plot.atoms_as_samples(model), X[np.argsort(y, kind="stable")], atol=1e-8)
    standard = CRCClassifier(prep="standard").fit(X, y)
    back = plot.atoms_as_samples(standard) + X.mean(axis=0)
    varying = X.std(axis=0) > 0
    assert np.allclose(back[:, varying], X[np.argsort(y, kind="stable")][:, varying])


def test_atoms_convergence_and_confusion(digits):
    X, y, X_test, y_test = digits
    model = LCDLSVClassifier(prep="pca:30,unit", max_iter=5).fit(X, y)
    figure = plot.atoms(model, (8, 8), most=20)
    assert sum(bool(axis.images) for axis in figure.axes) == 20
    axis = plot.convergence(model)
    assert axis.lines[0].get_ydata().tolist() == model.objective_.tolist() and len(axis.lines) == 4
    counts = plot.confusion_matrix(model, X_test, y_test).images[0].get_array()
    assert np.trace(counts) / counts.sum() == pytest.approx(model.score(X_test, y_test))
    matplotlib.pyplot.close("all")


def test_mistakes_are_named(digits):
    X, y, *_ = digits
    with pytest.raises(ValueError, match="7 x 7 pixels do not make 64 features"):
        plot.atoms(LCDLSVClassifier(max_iter=1).fit(X, y), (7, 7))
    with pytest.raises(ValueError, match="no objective to show"):
        plot.convergence(CRCClassifier().fit(X, y))
