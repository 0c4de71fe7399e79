"""Explanations add up to the scores that decided."""

import json
import warnings
from dataclasses import replace

import atomlearn
import numpy as np
import pandas as pd
import pytest
from atomlearn import AutoClassifier, CRCClassifier, LCDLSVClassifier, LinearSVMClassifier


def test_lcdl_sv_parts_add_up_to_the_fused_score(digits):
    X, y, X_test, _ = digits
    model = LCDLSVClassifier(prep="pca:30,unit", eta2=2.0).fit(X, y)
    why = model.explain(X_test[:20], top=3)
    for i, one in enumerate(why):
        scores = {rule: np.array(values) for rule, values in one.scores.items()}
        assert np.allclose(scores["fused"], scores["residual"] + model.eta2 * scores["svm"], rtol=1e-12)
        assert np.allclose(scores["fused"], model.decision_function(X_test[i : i + 1])[0], rtol=1e-8)
        assert one.label == model.predict(X_test[i : i + 1])[0] == one.classes[int(np.argmax(scores["fused"]))]
        # |x - D_c z_c| and the residual rule, from their definitions.
        x = model.model_.prepare(X_test[i : i + 1], 1)[0]
        z = model.transform(X_test[i : i + 1])[0]
        counts = model.model_.parts()["atom_counts"].ravel().astype(int)
        ends = np.cumsum(counts)
        for c, (start, end) in enumerate(zip(ends - counts, ends)):
            residual = np.linalg.norm(x - z[start:end] @ model.components_[start:end])
            assert one.residuals[c] == pytest.approx(residual, abs=1e-9)
            assert scores["residual"][c] == pytest.approx(-residual / np.linalg.norm(z[start:end]), rel=1e-6)
        assert len(one.atoms) == 3 and one.atoms[0].share >= one.atoms[1].share
        for use in one.atoms:
            assert use.code == pytest.approx(z[use.atom], abs=1e-12)
            assert use.label == model.classes_[np.searchsorted(ends, use.atom, side="right")]


def test_one_sample_gives_one_explanation_that_reads_as_a_table(digits):
    X, y, X_test, _ = digits
    one = CRCClassifier().fit(X, y).explain(X_test[0])
    assert repr(one).startswith(f"class {one.label}, decided by the residual rule\n")
    assert json.loads(json.dumps(one.to_dict()))["atoms"][0]["atom"] == one.atoms[0].atom
    assert len({len(line) for line in repr(one).splitlines()[1:9]}) == 1


@pytest.mark.parametrize("key", sorted(atomlearn._estimators.ESTIMATORS))
def test_every_method_can_explain(key, digits):
    X, y, X_test, _ = digits
    names = np.array(["10", "9", "8"])  # another order in the core than in numpy
    few = y < 3
    model = atomlearn._estimators.ESTIMATORS[key]().fit(X[few], names[y[few]])
    one = model.explain(X_test[0])
    assert one.scores[one.rule] == pytest.approx(model.decision_function(X_test[:1])[0].tolist(), rel=1e-7)
    assert one.label == model.predict(X_test[:1])[0] and repr(one)


def test_methods_without_codes_have_no_transform(digits):
    X, y, X_test, _ = digits
    model = LinearSVMClassifier().fit(X, y)
    assert not hasattr(model, "transform") and not hasattr(model, "components_")
    assert model.explain(X_test[0]).atoms == []


def test_names_of_features_stay_and_notebooks_get_tables(digits):
    X, y, *_ = digits
    frame = pd.DataFrame(X, columns=[f"pixel <{i}>" for i in range(64)])
    model = AutoClassifier().fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        several, one = model.explain(frame.iloc[:2]), model.explain(frame.iloc[1])
    assert several[1].label == one.label and one.sample == X[1].tolist()
    assert one.feature_names == several[1].feature_names == list(frame.columns)
    assert AutoClassifier().fit(X, y).explain(X[0]).feature_names is None
    page = replace(one, label="<b>")._repr_html_()
    assert page.count("<table>") == 2 and "&lt;b&gt;" in page and "<b><b>" not in page
    assert page.count("<tr>") == 2 + 8 + len(one.readings)
