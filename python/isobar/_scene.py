"""Scenes, and what can be asked of them."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from os import PathLike
from pathlib import Path
from typing import Any

from . import _isobar
from ._errors import InputError, SimulationError, SimulationWarning
from ._laws import Law, OfPoints
from ._motions import Controls, OfTime, Trajectory
from ._states import Array, Layout, State, evaluated, linear, listed, number

# Values of parameters by their names, which can be hashed.
Changes = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Patch:
    """What acts between two bodies A and B that touch, at an instant. SI units, world frame."""

    a: str
    b: str
    force_on_a: Array
    """Force on A, N: shape (3,)."""
    torque_on_a: Array
    """Torque on A about its origin, N m: shape (3,)."""
    area: float
    """m²."""
    centroid: Array
    """Of the contact surface, m: shape (3,)."""
    max_pressure: float
    """Pa."""
    energy: float
    """Stored by the pressure fields, J."""
    points: Array
    """Centroids of the surface's faces, m: shape (faces, 3)."""
    normals: Array
    """Unit normals of the faces: shape (faces, 3)."""
    tractions_on_a: Array
    """Mean tractions on A, Pa; with the areas they sum to the force: shape (faces, 3)."""
    areas: Array
    """m²: shape (faces,)."""
    pressures: Array
    """Pressures at the points, without dissipation, Pa: shape (faces,)."""


@dataclass(frozen=True)
class StepJacobian:
    """A step and its derivatives. Rows are the directions of the state after the step, as in `Scene.tangent_names`.

    Of all steps of a motion (`Trajectory.linearize`) everything has an axis of steps in front.
    """

    state: State
    """The state after the step."""
    by_state: Array
    """By the directions of the state before it."""
    by_control: Array
    """By the control values: a column for each of `Scene.control_names`."""
    by_parameters: Array
    """By the parameters: a column for each, in the order that they were asked for in."""


@dataclass(frozen=True)
class GradientCheck:
    """Derivatives of a scene against differences, as `isobar gradient-check` has them."""

    passed: bool
    """Whether none is wrong, and no more are undecided than may be."""
    rows: list[dict[str, Any]]
    """One for each derivative: `quantity`, `component`, `input`, `claimed`, `difference`, `verdict` and more."""
    ways: list[dict[str, Any]]
    """The other ways that the same derivatives are made in."""
    table: str
    """The worst component of each vector, as text."""

    def __str__(self) -> str:
        return self.table


def _warn(messages: Iterable[str]) -> None:
    for message in messages:
        warnings.warn(message.removeprefix("warning: "), SimulationWarning, stacklevel=3)


class Scene:
    """Bodies, joints, materials and a solver, from a scene file. A scene does not change; it can be pickled.

    Calls of isobar release the interpreter's lock, and can be made from several threads.
    """

    def __init__(self, core: _isobar.Scene, text: str, changes: tuple[Changes | Law, ...] = ()) -> None:
        self._core, self._text, self._changes = core, text, changes
        self._layout = Layout(core.columns())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Scene:
        """Reads a scene file, TOML or JSON. Raises `InputError` with file, line and field."""
        if str(path) == "-":
            raise InputError("path: found '-'; it must be a file: text is read by Scene.parse")
        core = _isobar.Scene.load(path)
        _warn(core.warnings)
        return cls(core, Path(path).read_text(encoding="utf-8"))

    @classmethod
    def parse(cls, text: str | Mapping[str, Any], base: str | PathLike[str] | None = None) -> Scene:
        """A scene from the text of a scene file, TOML or JSON, or from its tables as dictionaries.

        `base` is the folder that files it names are found from, the working directory if there is none.
        """
        if isinstance(text, Mapping):
            try:
                text = json.dumps(text, allow_nan=False)
            except (TypeError, ValueError) as error:
                raise InputError(f"text: found tables that are not those of a scene file: {error}") from None
        core = _isobar.Scene.parse(text, Path(base or ".") / "scene")
        _warn(core.warnings)
        return cls(core, text)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._text, self.path.absolute(), self._changes, self.digest)

    def __repr__(self) -> str:
        return f"Scene({str(self.path)!r})"

    @cached_property
    def digest(self) -> str:
        """What tells the scene from others: a hash of its text, the files that it names, and the values that were given."""
        found = hashlib.sha256(repr((self._text, self._changes)).encode())
        for file in self._core.files:
            found.update(Path(file).read_bytes())
        return found.hexdigest()

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self._core.path)

    @property
    def time_step(self) -> float:
        """Length of a step, s."""
        return self._core.time_step

    @property
    def body_names(self) -> list[str]:
        """All bodies, fixed ones and links of robots too."""
        return self._core.body_names()

    @property
    def control_names(self) -> list[str]:
        """What the control values of a step are: commands of actuators."""
        return self._core.control_names()

    @property
    def force_names(self) -> list[str]:
        """What a function of forces returns: for each body that moves, free ones first, `ball.fx_N`, `.fy_N`, `.fz_N`, a force at
        its origin, and `.tx_N_m` …, a torque about it, both in the world frame; then for each joint `hinge.effort`, N m or N."""
        return self._core.force_names()

    @property
    def tangent_names(self) -> list[str]:
        """The directions in which states differ, for derivatives: for each free body `ball.rx`, `.ry`, `.rz` (a rotation
        vector in the world frame, rad), `.px` … (m), `.wx` … (angular velocity, rad/s), `.vx` … (m/s); then the joints'
        configurations and their velocities; then the deflections of bristles."""
        return self._core.tangent_names()

    @property
    def parameters(self) -> dict[str, float]:
        """The names of parameters and their values, SI units. Directions of the initial state (see `tangent_names`) and
        displacements of poses have the value 0, scales 1. Names of fit files, such as `materials.foam.friction`, and
        coordinates of meshes are understood too."""
        return {name: value for name, value, _ in self._core.parameters()}

    @property
    def parameter_units(self) -> dict[str, str]:
        """The units of `parameters`."""
        return {name: unit for name, _, unit in self._core.parameters()}

    @property
    def initial_state(self) -> State:
        """The state of the file, as a copy. Raises `InputError` where the scene cannot move."""
        if reason := self._core.motionless():
            raise InputError(reason)
        return State(self._layout, self._core.initial())

    def with_values(self, values: Mapping[str, float]) -> Scene:
        """The scene with other values of parameters, by the names of `parameters` or of fit files. Directions of the initial
        state displace it."""
        known = {name: number(value, f"values[{name!r}]") for name, value in values.items()}
        core = self._core.with_values(list(zip(listed(known), known.values())))
        return Scene(core, self._text, (*self._changes, tuple(known.items())))

    def with_law(
        self,
        damping_factor: OfPoints | None = None,
        friction_coefficient: OfPoints | None = None,
        parameters: Mapping[str, float] | None = None,
    ) -> Scene:
        """The scene with a contact law of your own: a factor of the pressure in place of Hunt and Crossley's, (1 − d v)₊, a
        coefficient of friction in place of Coulomb's, or both. Steps of the kind `tamsi` and explicit ones take it.

        Each is a function of n points of contact surfaces, whose numbers are arrays of shape (n,) by name. Both have
        `at["pressure"]`, Pa, without damping. The damping factor has `at["normal_velocity"]`, m/s, positive where bodies part,
        and `at["dissipation"]` of the pair, s/m. The coefficient of friction has `at["slip_speed"]`, m/s, never 0:
        √(v² + v_s²), with the slip velocity v and the stiction velocity v_s; `at["static_friction"]` and `at["dynamic_friction"]`
        of the pair. Both also have the numbers that `parameters` names, up to four, with values that all
        materials have at first; of a pair it is the mean. They are parameters of the scene, `materials.foam.viscosity`, like others.

        It returns an array of shape (n,), in which what is below 0 counts as 0, or `(values, derivatives)`, the latter by name
        (`{"slip_speed": …}`, 0 where there is none) or of shape (n, k) for k numbers in the order above. Else
        `isobar.jax.loss` and `isobar.torch.loss` make derivatives, or they are differences. The value at a point must not depend
        on others. There are no second derivatives.
        """
        law = Law.checked(damping_factor, friction_coefficient, parameters or {})
        return self._with(law)

    def _with(self, law: Law) -> Scene:
        core = self._core.with_law(law.core, [value for _, value in law.parameters])
        return Scene(core, self._text, (*self._changes, law))

    @property
    def laws(self) -> list[Law]:
        """The contact laws that `with_law` gave it, of which the last one counts."""
        return [law for law in self._changes if isinstance(law, Law)]

    def _vector(self, state: State | None, argument: str = "state") -> Array:
        if state is None:
            return self._core.initial()
        if not isinstance(state, State):
            raise InputError(f"{argument}: found {type(state).__name__}; it must be a State of this scene")
        if not self._layout.is_that_of(state._layout):
            raise InputError(
                f"{argument}: found a state with the columns {', '.join(state._layout.columns)}; "
                f"those of this scene are {', '.join(self._layout.columns)}"
            )
        return state.vector

    def contact(self, state: State | None = None) -> list[Patch]:
        """The contact of all bodies that touch, at a state or that of the file, as `isobar contact` has it."""
        return [Patch(**patch) for patch in self._core.contact(self._vector(state))]

    def step(
        self, state: State, control: Array | None = None, time: float = 0.0, forces: OfTime | None = None
    ) -> State:
        """The state after one step from a time in s (loads and commands of the file depend on it).

        `control` has a value for each of `control_names`, in place of the commands of the file. Controllers do not act in
        single steps. For `forces` see `rollout`. Raises `SimulationError` when the step fails.
        """
        given = self._vector(state), control, number(time, "time"), self._of_numbers(forces)
        return State(self._layout, self._core.step(*given))

    def step_jacobian(
        self,
        state: State,
        control: Array | None = None,
        time: float = 0.0,
        parameters: Iterable[str] = (),
        forces: OfTime | None = None,
    ) -> StepJacobian:
        """A step as by `step`, and its derivatives in the directions of `tangent_names`."""
        names = listed(parameters)
        given = self._vector(state), control, number(time, "time"), names, self._of_numbers(forces)
        after, *matrices = self._core.step_jacobian(*given)
        return StepJacobian(State(self._layout, after), *matrices)

    def rollout(
        self, until: float, controls: Controls | None = None, state: State | None = None, forces: OfTime | None = None
    ) -> Trajectory:
        """The motion from a state, or that of the file, until a time in s.

        `controls` has a row for each step and a column for each of `control_names`, in place of the commands of the file;
        controllers add to it. Or it is a function of time in s and `State` that is called at the start of each step, on a thread
        of isobar, and returns the row, an array of shape (m,). Gradients take its derivatives by
        the numbers of the state too: it may return `(row, derivatives)`, the latter of shape (m, n), or `isobar.jax.loss` and
        `isobar.torch.loss` make them, or else they are differences; deflections of bristles do not count.

        `forces` is a function of time and state that returns what acts besides the loads of the file: an array with a number for
        each of `force_names`, and its derivatives if it has them, as that of `controls`. It may be called several times a step.

        What these functions raise is passed on, with the time in its notes. Ctrl-C ends it. Warns of what is noticed on the way
        (`SimulationWarning`). Raises `SimulationError` when a step fails; its `trajectory` has the states before.
        """
        (trajectory,) = self._motions([self._vector(state)], until, controls, forces)
        if isinstance(trajectory, SimulationError):
            raise trajectory
        _warn(trajectory.warnings)
        return trajectory

    def rollout_batch(
        self,
        states: Sequence[State],
        until: float,
        controls: Controls | None = None,
        return_errors: bool = False,
        executor: Any = None,
        folder: str | PathLike[str] | None = None,
        forces: OfTime | None = None,
    ) -> list[Any]:
        """The motions from several states, on all threads (`RAYON_NUM_THREADS` says how many), under the same `controls` and
        `forces`. They have the same bits as by `rollout`, on any number of threads. For `executor` and `folder` see `run_jobs`.

        A motion whose step fails raises its `SimulationError` when all have ended; with `return_errors` that stands in
        its place. Warnings are only in `Trajectory.warnings`.
        """
        rows = [self._vector(state, f"states[{i}]") for i, state in enumerate(states)]
        if executor is not None or folder is not None:
            from ._fan_out import run_jobs

            return run_jobs(partial(_alone, self, until, controls, forces), states, executor, folder, return_errors)
        motions = self._motions(rows, until, controls, forces)
        failed = [motion for motion in motions if isinstance(motion, SimulationError)]
        if failed and not return_errors:
            raise failed[0]
        return motions

    def _of_numbers(self, forces: OfTime | None) -> Any:
        """A function of forces as the compiled part takes it."""
        if forces is None:
            return None
        if not callable(forces):
            raise InputError(f"forces: found {type(forces).__name__}; it must be a function of time and state")
        shape = (len(self.force_names),)

        def called(time: float, numbers: Array, has_derivatives: bool) -> tuple[Array, Array | None]:
            given = "forces", forces, shape, time, State(self._layout, numbers)
            return linear(*given) if has_derivatives else (evaluated(*given), None)

        return called

    def _motions(
        self, rows: list[Array], until: float, controls: Controls | None, forces: OfTime | None
    ) -> list[Trajectory | SimulationError]:
        until, function = number(until, "until"), controls if callable(controls) else None
        shape = (len(self.control_names),)

        def row(time: float, numbers: Array) -> Array:
            return evaluated("controls", controls, shape, time, State(self._layout, numbers))  # type: ignore[arg-type]

        given: Any = controls if function is None else row
        of_numbers = self._of_numbers(forces)
        found = _isobar.rollouts([(self._core, numbers, given, of_numbers) for numbers in rows], until)
        motions: list[Trajectory | SimulationError] = []
        for motion in found:
            motions.append(trajectory := Trajectory(self, motion, until, function, forces))
            if motion.failure is not None:
                motions[-1] = error = SimulationError(motion.failure)
                error.trajectory = trajectory
        return motions


def _alone(scene: Scene, until: float, controls: Controls | None, forces: OfTime | None, state: State) -> Trajectory:
    """The motion from a state, of a batch on other engines."""
    (motion,) = scene.rollout_batch([state], until, controls, forces=forces)
    found: Trajectory = motion
    return found


@lru_cache(maxsize=8)
def _restored(text: str, path: Path, changes: tuple[Changes | Law, ...], digest: str) -> Scene:
    """The scene of a pickle. Scenes do not change: who gets many pickles of one has it once."""
    scene = Scene(_isobar.Scene.parse(text, path), text)
    for change in changes:
        scene = scene._with(change) if isinstance(change, Law) else scene.with_values(dict(change))
    if scene.digest != digest:
        raise InputError(f"scene: found other files beside {path} than where it was pickled; they must be the same")
    return scene


def check_gradient(
    scene: Scene,
    steps: int = 20,
    only: str | Iterable[str] = (),
    tolerance: float = 1e-5,
    undecided: float = 0.02,
) -> GradientCheck:
    """Checks the derivatives of the first `steps` steps of a scene against differences, as `isobar gradient-check` does.

    `only` has parts of names of parameters that are checked, all where it is empty. Controllers are left out. It takes
    seconds to minutes, and hears Ctrl-C when it has ended.
    """
    limits = number(tolerance, "tolerance"), number(undecided, "undecided")
    report, table, passed = scene._core.check_gradient(steps, listed(only), *limits)
    found = json.loads(report)
    return GradientCheck(passed, found["rows"], found["ways"], table)
