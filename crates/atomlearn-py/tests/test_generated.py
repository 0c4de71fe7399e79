"""Generated and hand-written descriptions agree with what is there."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import atomlearn
import pytest
from atomlearn import _atomlearn
from atomlearn._base import PYTHON_NAMES

HERE = Path(__file__).parent


def test_estimators_are_up_to_date_with_the_registry():
    tool = HERE.parent / "tools" / "generate_estimators.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_method_has_a_class_with_its_parameters_and_defaults():
    for row in atomlearn.methods():
        cls = atomlearn._estimators.ESTIMATORS[row["key"]]
        params = cls().get_params()
        for info in row["params"]:
            default = "auto" if info["default"] is None else info["default"]
            assert params[PYTHON_NAMES.get(info["name"], info["name"])] == default, (row["key"], info["name"])
            assert f"\n{PYTHON_NAMES.get(info['name'], info['name'])} : " in inspect.getdoc(cls)


def test_the_names_that_users_rely_on_exist():
    names = "LCDLSV SVGDL SRC CRC KSVD DKSVD LCKSVD FDDL DLSI COPAR LRSDL MFL CADL SADL DPL DADL OneHotRidge LinearSVM"
    for name in names.split():
        cls = getattr(atomlearn, f"{name}Classifier")
        for method in ("fit", "predict", "decision_function", "score", "explain", "save"):
            assert inspect.getdoc(getattr(cls, method))
    assert atomlearn.load and atomlearn.compare and atomlearn.report


def test_stubs_describe_the_native_module():
    tree = ast.parse((HERE.parent / "python" / "atomlearn" / "_atomlearn.pyi").read_text())
    public = lambda names: {name for name in names if not name.startswith("_")}  # noqa: E731
    there = {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert set(there) == public(dir(_atomlearn))
    for name, node in there.items():
        thing = getattr(_atomlearn, name)
        if isinstance(node, ast.ClassDef):
            said = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            assert public(said) == public(dir(thing)), name
            functions = [
                (getattr(thing, f.name), f) for f in node.body if isinstance(f, ast.FunctionDef) and f.args.args
            ]
        else:
            functions = [(thing, node)]
        for function, stub in functions:
            if callable(function) and not stub.name.startswith("_") and function.__text_signature__:
                said = [argument.arg for argument in stub.args.args if argument.arg != "self"]
                assert said == [p for p in inspect.signature(function).parameters if p != "self"], stub.name


@pytest.mark.parametrize("name", atomlearn._estimators.__all__)
def test_signatures_are_explicit(name):
    signature = inspect.signature(getattr(atomlearn, name))
    assert all(p.kind is p.KEYWORD_ONLY and p.default is not p.empty for p in signature.parameters.values())
