"""Why a sample was classified as it was."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any, Optional

import numpy as np

# Classes that are shown.
_SHOWN = 8


@dataclass(frozen=True)
class AtomUse:
    """How much one atom takes part in the code of a sample."""

    atom: int
    """Row of ``components_``."""
    label: Any
    """Class of the atom; None where atoms belong to no class."""
    code: float
    """Its coefficient."""
    share: float
    """``|code| * |atom|`` as a share of the sum over all atoms."""


@dataclass(frozen=True)
class ReadingUse:
    """What one of the readings that `AutoClassifier` fuses says about a sample."""

    reading: str
    """``residual``, ``ridge`` or ``discriminant``."""
    view: str
    """How samples are scaled for it."""
    kernel: str
    """``linear`` or ``rbf``."""
    gamma: Optional[float]
    """Width of the kernel."""
    kappa: float
    """The ridge."""
    weight: float
    """Its weight."""
    contributions: list[float]
    """Weight times score for every class; the softmax of their sum over all readings is the probability."""


@dataclass(frozen=True)
class Explanation:
    """One decision: scores of every class under every rule, class residuals, and the strongest atoms or readings."""

    label: Any
    """The predicted class."""
    rule: str
    """The rule that decided."""
    classes: list
    """Classes in the order of the lists below."""
    scores: dict[str, list[float]]
    """One score per class for every rule of the method, larger is better; LCDL-SV has ``residual`` (minus the
    residual over the size of the class's code), ``svm`` and ``fused`` (the first plus ``eta2`` times the second)."""
    residuals: Optional[list[float]]
    """``|x - D_c z_c|``, the part of the sample that the atoms of a class leave unexplained; None for methods whose
    dictionary has no classes."""
    atoms: list[AtomUse]
    """The strongest atoms, strongest first."""
    probabilities: Optional[list[float]] = None
    """Of every class, for `AutoClassifier`."""
    readings: list[ReadingUse] = field(default_factory=list)
    """What each fused reading says, for `AutoClassifier`."""
    sample: list[float] = field(default_factory=list)
    """The sample itself, before preprocessing."""
    feature_names: Optional[list[str]] = None
    """Names of its values, if the estimator was fitted on samples with names."""

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain lists, numbers and texts."""
        return asdict(self)

    def _repr_html_(self) -> str:
        """For notebooks."""
        head = f"<p>class <b>{escape(str(self.label))}</b>, decided by the {escape(self.rule)} rule</p>"
        return head + "".join(_html_table(*table) for table in self._tables())

    def __repr__(self) -> str:
        lines = [f"class {self.label}, decided by the {self.rule} rule"]
        for i, (names, rows) in enumerate(self._tables()):
            lines += ([""] if i else []) + _table(names, rows)
            if i == 0 and len(self.classes) > _SHOWN:
                lines.append(f"... and {len(self.classes) - _SHOWN} more classes")
        return "\n".join(lines)

    def _tables(self) -> list[tuple[list[str], list[list[str]]]]:
        """Heads and rows: the best classes, then the strongest atoms, or the readings."""
        best = sorted(range(len(self.classes)), key=lambda c: -self.scores[self.rule][c])
        columns = {f"{rule} score": values for rule, values in self.scores.items()}
        if self.probabilities is not None:
            columns = {"probability": self.probabilities}
            columns.update({f"reading {i}": use.contributions for i, use in enumerate(self.readings, 1)})
        if self.residuals is not None:
            columns["|x - D_c z_c|"] = self.residuals
        rows = [[str(self.classes[c])] + [f"{values[c]:.4f}" for values in columns.values()] for c in best[:_SHOWN]]
        tables = [(["class", *columns], rows)]
        if self.atoms:
            of = [["-" if use.label is None else str(use.label)] for use in self.atoms]
            used = [
                [str(use.atom), *label, f"{use.code:+.4f}", f"{100 * use.share:.1f} %"]
                for use, label in zip(self.atoms, of)
            ]
            tables.append((["atom", "of class", "code", "share"], used))
        if self.readings:
            used = [
                [str(i), use.reading, use.view, use.kernel, "-" if use.gamma is None else f"{use.gamma:.3g}"]
                + [f"{use.kappa:g}", f"{use.weight:.3f}"]
                for i, use in enumerate(self.readings, 1)
            ]
            tables.append((["reading", "kind", "view", "kernel", "gamma", "kappa", "weight"], used))
        return tables


def _html_table(head: list[str], rows: list[list[str]]) -> str:
    def row(tag: str, cells: list[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return (
        f"<table><thead>{row('th', head)}</thead><tbody>{''.join(row('td', cells) for cells in rows)}</tbody></table>"
    )


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in [head, *rows]]


def explain(estimator, X: np.ndarray, top: int) -> list[Explanation]:
    """One explanation per row of ``X``, which is valid already."""
    model, threads = estimator.model_, estimator._threads()
    order, classes = estimator._class_order(), estimator.classes_
    by_rule = {rule: scores[:, order] for rule, scores in model.scores_by_rule(X, threads).items()}
    labels = estimator.predict(X).tolist()
    of_model = classes[np.argsort(order)].tolist()
    strongest, residuals = model.strongest_atoms(X, top, threads), model.class_residuals(X, threads)
    contributions, proba, chosen = model.contributions(X, threads), None, []
    if contributions is not None:
        proba, chosen = model.probabilities(X, threads), json.loads(model.auto_report())["chosen"]
    names = getattr(estimator, "feature_names_in_", None)
    names = None if names is None else [str(name) for name in names]
    found = []
    for i, label in enumerate(labels):
        found.append(
            Explanation(
                label=label,
                rule=model.rule,
                classes=classes.tolist(),
                scores={rule: scores[i].tolist() for rule, scores in by_rule.items()},
                residuals=None if residuals is None else residuals[i, order].tolist(),
                atoms=[
                    AtomUse(atom, None if owner is None else of_model[owner], code, share)
                    for atom, owner, code, share in strongest[i]
                ],
                probabilities=None if proba is None else proba[i, order].tolist(),
                readings=[
                    ReadingUse(**use, contributions=said[i, order].tolist())
                    for use, said in zip(chosen, contributions or [])
                ],
                sample=X[i].tolist(),
                feature_names=names,
            )
        )
    return found
