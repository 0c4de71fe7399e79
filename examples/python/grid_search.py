"""Choose parameters by cross-validation on the training samples, then look at the test samples once."""

from atomlearn import LCDLSVClassifier
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=300, stratify=y, random_state=0)

# Each worker of joblib fits on its share of the processors.
grid = {"eta2": [1.0, 5.0, 20.0], "rule": ["svm", "fused"]}
search = GridSearchCV(LCDLSVClassifier(), grid, cv=3, n_jobs=2).fit(X_train, y_train)

print("best parameters:", search.best_params_)
print(f"cross-validation {search.best_score_:.3f}, test {search.score(X_test, y_test):.3f}")
