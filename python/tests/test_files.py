"""Fits and optimizations from files, and the blocks of the pages."""

import re
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest

import isobar
from conftest import ROOT, blocks


def test_fit():
    found = isobar.fit(ROOT / "examples/fit_ball/fit.toml")
    assert found["converged"]
    # The data were made with these, and the standard errors are for noise that is known.
    truth = {"hydroelastic_modulus": 1e5, "dissipation": 0.8, "friction": 0.4}
    assert len(found["estimates"]) == len(truth)
    for estimate in found["estimates"]:
        expected = truth[estimate["name"].rpartition(".")[2]]
        assert abs(estimate["value"] - expected) < 6 * estimate["standard_error"], estimate


def test_optimize(tmp_path):
    problem = (ROOT / "crates/cli/src/init/problem.toml").read_text(encoding="utf-8")
    (tmp_path / "problem.toml").write_text(problem, encoding="utf-8")
    for name in ("pusher.toml",):
        (tmp_path / name).write_bytes((ROOT / "crates/cli/src/init" / name).read_bytes())
    found = isobar.optimize(tmp_path / "problem.toml")
    assert found["converged"], found["termination"]
    assert found["cost"] < found["history"][0]["cost"]
    assert all(len(command["times"]) == len(command["values"]) for command in found["commands"])


def run(block: str, where: dict) -> None:
    with warnings.catch_warnings():
        # As to a reader who looks at errors alone.
        warnings.simplefilter("ignore", isobar.SimulationWarning)
        exec(compile(block, "<block>", "exec"), where)


def test_the_blocks_of_the_readme_run(monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(ROOT)
    found = blocks(ROOT / "README.md", "python")
    assert found
    for block in found:
        run(block, {})


def test_the_blocks_of_the_guide_run(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    page = ROOT / "docs/guide/src/python.md"
    # Whole files of the guide begin with their names.
    for other in sorted(Path(page.parent).glob("*.md")):
        for block in blocks(other, "toml") + blocks(other, "csv"):
            first = block.splitlines()[0]
            if first.startswith("# ") and first.endswith((".toml", ".csv")) and " " not in first[2:]:
                (tmp_path / first[2:]).write_text(block, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    found = blocks(page, "python")
    assert len(found) > 5
    where: dict = {}
    for block in found:
        # What is optional may not be there.
        needed = set(re.findall(r"^import (jax|torch|mujoco)\b", block, re.MULTILINE))
        needed |= set(re.findall(r"\b(jax|torch|mujoco)\.", block))
        if all(find_spec(name) for name in needed):
            run(block, where)


@pytest.mark.filterwarnings("default")
def test_the_notebook_runs():
    nbclient, nbformat, *_ = map(pytest.importorskip, ["nbclient", "nbformat", "ipykernel", "jax", "matplotlib"])
    path = ROOT / "python/examples/tour.ipynb"
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": path.parent}}).execute()
    told = [output.text for cell in notebook.cells for output in cell.get("outputs", []) if output.output_type == "stream"]
    assert "cm from the goal" in told[-1]
