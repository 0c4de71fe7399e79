"""What a fit tells while it runs: steps, printed lines, a bar, and scikit-learn's callbacks."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import Any, Callable

try:  # scikit-learn 1.9
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method):  # type: ignore[no-redef]
        return method


@dataclass(frozen=True)
class Step:
    """The state of a fit after an iteration; iteration 0 is the starting point."""

    iter: int
    objective: float | None
    terms: dict[str, float] = field(default_factory=dict)
    change: float | None = None
    max_iter: int | None = None
    _current: Callable[[], Any] | None = field(default=None, repr=False, compare=False)

    def estimator(self) -> Any:
        """A fitted estimator as of this iteration; only while a callback is called."""
        if self._current is None:
            raise ValueError("the estimator of an iteration can be had only in the callback that is told of it")
        return self._current()

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Step:
        """A step as the native module writes it."""
        terms = values["terms"]
        return cls(**{**values, "terms": dict(terms) if terms else {}})


Callback = Callable[[Step], Any]


class ProgressBar:
    """A callback that shows a progress bar on stderr, drawn by tqdm if it is installed.

    Examples
    --------
    >>> from atomlearn import LCDLSVClassifier, ProgressBar
    >>> model = LCDLSVClassifier(callback=ProgressBar())
    """

    def __init__(self) -> None:
        self._bar: Any = None

    def __call__(self, step: Step) -> None:
        if self._bar is None:
            self._bar = _new_bar(step.max_iter or 0)
        self._bar.n = step.iter
        if step.objective is not None:
            self._bar.set_postfix_str(f"objective {step.objective:.6g}", refresh=False)
        self._bar.refresh()

    def close(self) -> None:
        """Ends the bar; fits do so by themselves."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _new_bar(total: int) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _PlainBar(total)
    return tqdm(total=total, unit="it")


class _PlainBar:
    """The few methods of tqdm's bar that are used here."""

    def __init__(self, total: int) -> None:
        self.total, self.n, self.text = total, 0, ""

    def set_postfix_str(self, text: str, refresh: bool) -> None:
        self.text = text

    def refresh(self) -> None:
        full = 24 * self.n // max(self.total, 1)
        sys.stderr.write(f"\r[{'=' * full:24}] {self.n}/{self.total}  {self.text}")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\n")


class FitWatch:
    """Passes the steps of one fit to everybody who wants them: ``callback``, ``verbose``, ``set_callbacks``."""

    def __init__(self, estimator, X, y, fitted: Callable[[Any], dict[str, Any]]) -> None:
        self._estimator, self._X, self._y, self._fitted = estimator, X, y, fitted
        self._context = None
        if hasattr(estimator, "_init_callback_context"):
            most = getattr(estimator, "max_iter", None)
            self._context = estimator._init_callback_context(max_subtasks=most if isinstance(most, int) else None)
            self._context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def listener(self) -> Callable | None:
        """What the native fit should call, or None if nobody listens: then it need not wait."""
        estimator = self._estimator
        listens = estimator.callback is not None or estimator.verbose or getattr(estimator, "_skl_callbacks", None)
        return self._on_step if listens else None

    def _on_step(self, text: str, current_model: Callable) -> bool:
        estimator = self._estimator
        step = Step.from_dict({**json.loads(text), "_current": lambda: self._as_of_now(current_model())})
        stop = False
        if estimator.verbose:
            print(_line(type(estimator).__name__, step), flush=True)
        if estimator.callback is not None:
            stop = bool(estimator.callback(step))
        context = self._context
        if context is not None and step.iter > 0:
            # The core reports an iteration when it is over, so the task begins and ends at the same time.
            task = context.subcontext(task_name=f"iteration {step.iter}")
            task.call_on_fit_task_begin(estimator=estimator)
            stop |= task.call_on_fit_task_end(
                estimator=estimator,
                X=self._X,
                y=self._y,
                reconstruction_attributes=lambda: self._fitted(current_model()),
            )
        return stop

    def _as_of_now(self, model) -> Any:
        """A copy of the estimator with this model."""
        params = {**self._estimator.get_params(deep=False), "callback": None, "verbose": 0}
        copy = type(self._estimator)(**params)
        names = ("n_features_in_", "feature_names_in_")
        known = {name: getattr(self._estimator, name) for name in names if hasattr(self._estimator, name)}
        for name, value in {**known, **self._fitted(model)}.items():
            setattr(copy, name, value)
        return copy

    def end(self, model) -> None:
        """The fit is over."""
        if self._context is not None:
            self._context.call_on_fit_task_end(
                estimator=self._estimator,
                X=self._X,
                y=self._y,
                reconstruction_attributes=lambda: self._fitted(model),
            )

    def close(self) -> None:
        """Whatever happened, nothing more comes."""
        close = getattr(self._estimator.callback, "close", None)
        if close is not None:
            close()


def _line(name: str, step: Step) -> str:
    parts = [f"[{name}] iteration {step.iter}/{step.max_iter}"]
    if step.objective is not None:
        parts.append(f"objective {step.objective:.6e}")
    if step.change is not None:
        parts.append(f"change {step.change:.1e}")
    return "  ".join(parts)
