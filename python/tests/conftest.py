"""What the tests share: scenes, files of the repository, and differences of states."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import isobar

ROOT = Path(__file__).parents[2]

# Results do not depend on it, and pictures need no screen.
os.environ.setdefault("MPLBACKEND", "Agg")


def blocks(page: Path, language: str) -> list[str]:
    """The blocks of code of a page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="session")
def gripper() -> isobar.Scene:
    """A body, joints and actuators whose commands change."""
    return isobar.Scene.load(ROOT / "examples/grasp_lift/gripper.toml")


THROWN = """
[materials.foam]
hydroelastic_modulus = 1e5
dissipation = 1.0
friction = 0.5
[solver]
kind = "lagged"
time_step = 1e-3
[[bodies]]
name = "ball"
translation = [0, 0, 0.0497]
linear_velocity = [0.7, 0.2, -0.4]
angular_velocity = [3, 5, -4]
rpy = [0.3, -0.2, 0.5]
mass = 0.1
geometries = [{ shape = { ellipsoid = { semi_axes = [0.05, 0.055, 0.06], resolution = 0.03 } }, material = "foam" }]
[[bodies]]
name = "arm"
mass = 0.3
inertia = [[1e-3, 0, 0], [0, 1e-3, 0], [0, 0, 1e-3]]
[bodies.joint]
name = "hinge"
type = "revolute"
axis = [0, 1, 0]
translation = [1, 0, 1]
damping = 0.01
position = 0.3
[[actuators]]
name = "motor"
joints = ["hinge"]
drive = "force"
command = 0.02
[[bodies]]
name = "floor"
fixed = true
geometries = [{ shape = { half_space = {} }, rigid = true, material = "foam" }]
"""


@pytest.fixture(scope="session")
def thrown() -> isobar.Scene:
    """A body that slides on a floor, and an arm with a motor."""
    return isobar.Scene.parse(THROWN)


def times(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The product of quaternions."""
    w = p[0] * q[0] - p[1:] @ q[1:]
    return np.r_[w, p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:])]


def tangent(scene: isobar.Scene, start: isobar.State, end: isobar.State) -> np.ndarray:
    """The small displacement between two states, in the directions of `Scene.tangent_names`, independently of isobar's own."""
    out = np.zeros(len(scene.tangent_names))
    bodies = [name[:-3] for name in scene.tangent_names if name.endswith(".rx")]
    for i, name in enumerate(bodies):
        a, b = start[name], end[name]
        turn = times(b.quaternion, a.quaternion * [1, -1, -1, -1])
        out[12 * i : 12 * i + 3] = 2 * turn[1:] / turn[0]
        out[12 * i + 3 : 12 * i + 6] = b.position - a.position
        out[12 * i + 6 : 12 * i + 9] = b.angular_velocity - a.angular_velocity
        out[12 * i + 9 : 12 * i + 12] = b.linear_velocity - a.linear_velocity
    columns = start.columns
    joints = [c[:-2] for c in columns if c.endswith(".q")]
    at = 12 * len(bodies)
    for i, joint in enumerate(joints):
        out[at + i] = end[joint + ".q"] - start[joint + ".q"]
        out[at + len(joints) + i] = end[joint + ".v"] - start[joint + ".v"]
    return out


def command() -> str | None:
    """The command `isobar`, if it is built."""
    built = [ROOT / "target" / profile / "isobar" for profile in ("release", "debug")]
    there = [str(path) for path in built if path.exists()]
    return os.environ.get("ISOBAR_COMMAND") or (there[0] if there else shutil.which("isobar"))
