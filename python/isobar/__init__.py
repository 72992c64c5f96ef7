"""Differentiable simulation of contact patches: bodies with pressure fields, and gradients of their motion.

    import isobar

    scene = isobar.Scene.load("scene.toml")
    trajectory = scene.rollout(until=0.5)
    height = trajectory["ball.pz_m"]
    gradient = trajectory.gradient({"ball.pz_m": 1.0}, ["materials.foam.hydroelastic_modulus"])

All numbers are SI, in the world frame, in arrays of float64; names are those of the scene file. `isobar.jax` and
`isobar.torch` have steps and motions as functions that those libraries differentiate through.
"""

from importlib import import_module
from typing import Any

from ._errors import Error, InputError, SimulationError, SimulationWarning
from ._fan_out import Ensemble, ensemble, run_jobs
from ._files import fit, optimize
from ._isobar import __version__
from ._motions import Gradient, Trajectory, value_and_gradient
from ._robots import Robot, from_mujoco
from ._scene import GradientCheck, Patch, Scene, StepJacobian, check_gradient
from ._states import Part, State

__all__ = [
    "Ensemble",
    "Error",
    "Gradient",
    "GradientCheck",
    "InputError",
    "Part",
    "Patch",
    "Robot",
    "Scene",
    "SimulationError",
    "SimulationWarning",
    "State",
    "StepJacobian",
    "Trajectory",
    "__version__",
    "check_gradient",
    "ensemble",
    "fit",
    "from_mujoco",
    "optimize",
    "run_jobs",
    "value_and_gradient",
]


def __getattr__(name: str) -> Any:
    # They are imported where they are used, and need what they are for.
    if name in ("jax", "torch"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
