"""Differentiable simulation of contact patches: bodies with pressure fields, and gradients of their motion.

    import isobar

    scene = isobar.Scene.load("scene.toml")
    trajectory = scene.rollout(until=0.5)
    height = trajectory["ball.pz_m"]
    gradient = trajectory.gradient({"ball.pz_m": 1.0}, ["materials.foam.hydroelastic_modulus"])

All numbers are SI, in the world frame, in arrays of float64; names are those of the scene file.
"""

from ._errors import Error, InputError, SimulationError, SimulationWarning
from ._isobar import __version__
from ._scene import GradientCheck, Patch, Scene, StepJacobian, check_gradient, fit, optimize, value_and_gradient
from ._states import Gradient, Part, State, Trajectory

__all__ = [
    "Error",
    "Gradient",
    "GradientCheck",
    "InputError",
    "Part",
    "Patch",
    "Scene",
    "SimulationError",
    "SimulationWarning",
    "State",
    "StepJacobian",
    "Trajectory",
    "__version__",
    "check_gradient",
    "fit",
    "optimize",
    "value_and_gradient",
]
