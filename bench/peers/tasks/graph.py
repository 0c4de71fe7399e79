"""The graph of nearest atoms."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from atomlearn import kit
from scipy.sparse import csr_array
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import kneighbors_graph

from ..data import unit
from ..timing import Answers, Contestant, Row, Verdict

FEATURES = 300


def rows(quick: bool, threads: int) -> Iterator[Row]:
    for K in (500,) if quick else (500, 5000):
        D = unit(np.random.default_rng(K).normal(size=(K, FEATURES)))
        yield Row(
            f"graph of the nearest atoms, K = {K}, {FEATURES} features",
            [
                Contestant("atomlearn", lambda D=D: kit.atom_graph(D, n_threads=threads), ours=True),
                Contestant("scikit-learn", lambda D=D: with_weights(D), note="kneighbors_graph, pairwise_distances"),
                Contestant(
                    "scikit-learn, edges only",
                    lambda D=D: csr_array(kneighbors_graph(D, 1, mode="distance")),
                    note="no weights, so no mean distance",
                ),
            ],
            same_edges,
            lambda answers, K=K: FEATURES * K**2,
            "mK^2",
        )


def with_weights(D: np.ndarray) -> csr_array:
    nearest = csr_array(kneighbors_graph(D, 1, mode="distance"))
    bandwidth = pairwise_distances(D).mean()
    nearest.data = np.exp(-(nearest.data**2) / (2.0 * bandwidth**2))
    return nearest.maximum(nearest.T)


def same_edges(answers: Answers) -> dict[str, Verdict]:
    """The same pairs and, where there are weights, the same weights."""
    ours = answers["atomlearn"]
    verdicts = {}
    for name, graph in answers.items():
        both = graph.maximum(graph.T)
        same = ((both != 0) != (ours != 0)).nnz == 0
        if name != "scikit-learn, edges only":
            same = same and abs(both - ours).max() < 1e-8
        verdicts[name] = Verdict(bool(same), "same edges" if same else "other edges or weights")
    return verdicts
