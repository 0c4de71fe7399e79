"""Makes sparse_codes.csv, the reference codes of coding/omp.rs and coding/lasso.rs, with scikit-learn.

One matrix per line: name, rows, columns, entries column by column.
Run: python make_sparse_codes.py > sparse_codes.csv
"""

import numpy as np
from sklearn.linear_model import Lasso, orthogonal_mp_gram

rng = np.random.default_rng(7)
m, K, n = 15, 30, 5
D = rng.standard_normal((m, K))
D /= np.linalg.norm(D, axis=0)
X = rng.standard_normal((m, n))
X /= np.linalg.norm(X, axis=0)
G, B = D.T @ D, D.T @ X
energies = (X**2).sum(0)


def show(name, a):
    values = ",".join(repr(float(v)) for v in np.asarray(a).ravel(order="F"))
    print(f"{name},{a.shape[0]},{a.shape[1]},{values}")


show("dictionary", D)
show("samples", X)
show("omp_4", orthogonal_mp_gram(G, B, n_nonzero_coefs=4))
# scikit-learn's tolerance is the squared norm of the residual.
show("omp_error_0.3", orthogonal_mp_gram(G, B, tol=0.3**2, norms_squared=energies))
for penalty in (0.2, 0.02, 0.001):
    # scikit-learn divides the squared loss by the number of rows.
    lasso = Lasso(alpha=penalty / m, fit_intercept=False, tol=1e-15, max_iter=1_000_000)
    show(f"lasso_{penalty}", np.column_stack([lasso.fit(D, x).coef_ for x in X.T]))
