"""States and trajectories: numbers by the names of the scene file."""

from __future__ import annotations

import html
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from . import _isobar
from ._errors import InputError

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,unused-ignore]

    from ._scene import Scene, StepJacobian

Array = NDArray[np.float64]

# The columns of a part of a body or joint, and what the part is called.
_PARTS = {
    "position": ("px_m", "py_m", "pz_m"),
    "quaternion": ("qw", "qx", "qy", "qz"),
    "linear_velocity": ("vx_m_s", "vy_m_s", "vz_m_s"),
    "angular_velocity": ("wx_rad_s", "wy_rad_s", "wz_rad_s"),
}


def number(found: object, argument: str) -> float:
    """A number of Python or numpy as a float."""
    if type(found) is float:
        return found
    try:
        if isinstance(found, (str, bytes)):
            raise TypeError
        return float(found)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{argument}: found {found!r}; it must be a number") from None


def listed(names: str | Iterable[str]) -> list[str]:
    """Names, or a single one, as a list."""
    found = [names] if isinstance(names, str) else list(names)
    if wrong := [name for name in found if not isinstance(name, str)]:
        raise InputError(f"parameters: found {wrong[0]!r}; it must be a name")
    return found


def write(file: Path, content: bytes) -> None:
    """Writes a file, which appears when it is complete: other processes may read or write the same one."""
    part = file.with_name(f"{file.name}.{uuid4().hex}")
    part.write_bytes(content)
    part.replace(file)


class Layout:
    """Where the numbers of a state are: the columns of trajectory files, in their order."""

    def __init__(self, columns: list[str]) -> None:
        self.columns = columns
        self.index = {column: i for i, column in enumerate(columns)}
        names: dict[str, dict[str, list[int]]] = {}
        of_column = {column: part for part, own in _PARTS.items() for column in own}
        for i, column in enumerate(columns):
            name, _, what = column.rpartition(".")
            part = of_column.get(what, what.partition("[")[0])
            names.setdefault(name, {}).setdefault(part, []).append(i)
        self.names = {
            name: {part: slice(at[0], at[-1] + 1) for part, at in parts.items()} for name, parts in names.items()
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return Layout, (self.columns,)

    def is_that_of(self, other: Layout) -> bool:
        return self is other or self.columns == other.columns

    def of(self, name: str, values: Any) -> Any:
        """The numbers of a body or joint, or those of a column, of arrays whose last axis has the columns."""
        parts = self.names.get(name) if isinstance(name, str) else None
        return values[..., self.place(name)] if parts is None else Part(name, values, parts)

    def place(self, name: str) -> int:
        """The index of a column."""
        try:
            return self.index[name]
        except (KeyError, TypeError):
            raise self.unknown(name) from None

    def unknown(self, name: object) -> InputError:
        allowed = ", ".join([*self.names, *self.columns[:13]])
        return InputError(f"name: found {name!r}; it must be a body, a joint, or a column such as: {allowed}")

    def array(self, numbers: Mapping[str, float], argument: str) -> Array:
        """Numbers by columns, in their order; 0 for those that are not there."""
        out = np.zeros(len(self.columns))
        for name, found in numbers.items():
            out[self.place(name)] = number(found, f"{argument}[{name!r}]")
        return out


class Part:
    """The numbers of one body or joint: views, which can be written to in a state.

    In a trajectory they have one dimension more, of times, in front.
    """

    __slots__ = ("_name", "_parts", "_values")

    def __init__(self, name: str, values: Array, parts: dict[str, slice]) -> None:
        self._name, self._values, self._parts = name, values, parts

    def _slice(self, part: str) -> slice:
        try:
            return self._parts[part]
        except KeyError:
            raise InputError(f"{self._name}: has no {part}; it has {', '.join(self._parts)}") from None

    def _set(self, part: str, numbers: Any) -> None:
        place = self._slice(part)
        try:
            self._values[..., place] = numbers
        except (TypeError, ValueError) as error:
            message = f"{self._name}.{part}: found {numbers!r}; it must be {place.stop - place.start} numbers"
            raise InputError(f"{message} ({error})") from None

    def _part(name: str, doc: str) -> property:  # type: ignore[misc]
        return property(lambda self: self._values[..., self._slice(name)], lambda self, x: self._set(name, x), doc=doc)

    position = _part("position", "Position of a free body's origin in the world frame, m: shape (3,).")
    quaternion = _part("quaternion", "Orientation of a free body in the world frame, (w, x, y, z), of unit length.")
    linear_velocity = _part("linear_velocity", "Velocity of a free body's origin in the world frame, m/s: shape (3,).")
    angular_velocity = _part("angular_velocity", "Angular velocity of a free body in the world frame, rad/s: shape (3,).")
    q = _part("q", "Configuration of a joint, rad or m: one number, or as many as its kind has.")
    v = _part("v", "Velocity of a joint, rad/s or m/s: one number, or as many as its kind has.")

    del _part


class State:
    """Poses and velocities of the free bodies, configurations and velocities of the joints.

    `vector` has all numbers, float64, in the order of `columns`, which are those of trajectory files; it can be written to.
    `state["ball"]` is a body or joint (see `Part`), `state["ball.pz_m"]` one number. What is written is checked where the
    state is used: numbers must be finite, quaternions of unit length.
    """

    __slots__ = ("_layout", "vector")

    vector: Array

    def __init__(self, layout: Layout, vector: Array) -> None:
        self._layout, self.vector = layout, vector

    @property
    def columns(self) -> list[str]:
        """What the numbers of `vector` are, such as `ball.pz_m`: SI units, world frame."""
        return list(self._layout.columns)

    def __getitem__(self, name: str) -> Any:
        found = self._layout.of(name, self.vector)
        return found if isinstance(found, Part) else float(found)

    def __setitem__(self, name: str, value: float) -> None:
        self.vector[self._layout.place(name)] = number(value, f"state[{name!r}]")

    def copy(self) -> State:
        """Another state with the same numbers."""
        return State(self._layout, np.array(self.vector))

    def __reduce__(self) -> tuple[Any, ...]:
        return State, (self._layout, self.vector)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return self._layout.is_that_of(other._layout) and np.array_equal(self.vector, other.vector)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        numbers = ", ".join(f"{c}={x:.6g}" for c, x in zip(self._layout.columns, self.vector))
        return f"State({numbers})"


# A loss of the final state: its derivatives, or a function of it.
Loss = Callable[[State], Any] | Mapping[str, float] | Array
# Control values of all steps, or a function of time and state that returns those of a step.
OfTime = Callable[[float, State], Any]
Controls = Array | OfTime


@dataclass(frozen=True)
class Gradient:
    """A loss of a motion's final state, and its derivatives by the adjoint."""

    value: float
    """The loss."""
    by_state: Array
    """By the initial state, in the directions of `Scene.tangent_names`."""
    by_controls: Array
    """By the control values: a row for each step, a column for each of `Scene.control_names`."""
    by_parameters: dict[str, float]
    """By the parameters that were asked for, by their names."""
    by_controllers: Array
    """By the parameters of the scene's controllers, one controller after the other."""


class Trajectory:
    """The states of a motion.

    `times` has shape (n,), in s; `values` (n, m), a row for each time and a column for each of `columns`. Both are float64
    and cannot be written to. `trajectory["ball"].position` has shape (n, 3) (see `Part`), `trajectory["ball.pz_m"]` (n,).
    """

    def __init__(
        self, scene: Scene, motion: _isobar.Motion, until: float, function: OfTime | None, forces: OfTime | None
    ) -> None:
        self.scene, self._motion = scene, motion
        self._until, self._function, self._forces = until, function, forces
        self.times, self.values = motion.times(), motion.values()
        self.warnings: list[str] = motion.warnings
        for array in (self.times, self.values):
            array.flags.writeable = False

    @property
    def columns(self) -> list[str]:
        """What the columns of `values` are, such as `ball.pz_m`: SI units, world frame."""
        return list(self.scene._layout.columns)

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, name: str) -> Any:
        return self.scene._layout.of(name, self.values)

    def state(self, index: int) -> State:
        """The state of a row, as a copy."""
        return State(self.scene._layout, np.array(self.values[index]))

    @property
    def controls(self) -> Array | None:
        """The control values that were given or that the function of these returned: a row for each step, a column for each of
        `Scene.control_names`. None where the commands of the file acted."""
        return self._motion.controls()

    @property
    def final(self) -> State:
        """The last state, as a copy."""
        return self.state(-1)

    def gradient(self, loss: Loss, parameters: Iterable[str] = ()) -> Gradient:
        """The derivatives of a loss of the final state with respect to the initial state, the control values and
        `parameters` (names as in `Scene.parameters` or fit files), by one sweep backward.

        `loss` is a function of the final `State` that returns `(value, derivatives)`, the latter by column
        (`{"ball.pz_m": 1.0}`) or as an array like `State.vector`; a function that returns a number alone is differentiated by
        differences. Or it is such derivatives, of a loss that is linear. An array of shape (n, m) has derivatives with
        respect to all states.

        Of a motion whose `controls` are a function, it is called again for its derivatives at every step, and `by_controls` is
        by what is added to what it returns: times the derivatives of that by numbers in the function, it is by these.

        Ctrl-C is heard when the sweep has ended. Raises `InputError` for unknown names and wrong arrays.
        """
        names = listed(parameters)
        value, by_values = _derivatives(loss, self)
        ((by_state, by_controls, by_parameters, by_controllers),) = _isobar.gradients(
            [self._motion], [by_values], [self._feedback()], names
        )
        return Gradient(value, by_state, by_controls, dict(zip(names, by_parameters)), by_controllers)

    def _feedback(self) -> Array | None:
        """The derivatives of what the function returned, by the numbers of the states: rows for each step."""
        if self._function is None:
            return None
        m, n = len(self.scene.control_names), len(self.columns)
        given = [(float(time), self.state(k)) for k, time in enumerate(self.times[:-1])]
        rows = [linear("controls", self._function, (m,), *one)[1] for one in given]
        return np.concatenate([np.zeros((0, n)), *rows])

    def linearize(self, parameters: Iterable[str] = ()) -> StepJacobian:
        """The derivatives of every step of the motion, as `Scene.step_jacobian` has them, with an axis of steps in front: of d
        directions (`Scene.tangent_names`) and m control values, `by_state` has shape (steps, d, d), `by_control` (steps, d, m)
        and `by_parameters` (steps, d, number of names); `state` has the states after the steps by name, `vector` (steps, n).

        `by_control` is by the control values that acted. What controllers, or `controls` that are a function, make of a state is
        not in `by_state`. The steps are linearized on all threads, about their ends, which costs less than to take them again.
        Raises `InputError` for unknown names.
        """
        from ._functions import Named
        from ._scene import StepJacobian

        names = listed(parameters)
        found = self.scene._core.linearize(self._motion, names)
        d, steps = len(self.scene.tangent_names), len(self) - 1
        columns = d, len(self.scene.control_names), len(names)
        shaped = [part.reshape(steps, d, count) for part, count in zip(found, columns)]
        return StepJacobian(Named(self.scene._layout, self.values[1:]), *shaped)

    def hessian_product(
        self,
        residuals: Callable[[State], Any] | Array,
        along: Mapping[str, float],
        controls: Array | None = None,
    ) -> tuple[dict[str, float], Array]:
        """The product JᵀJ v of the Gauss–Newton approximation of the Hessian of ½ |r|² with a direction v, where J is the
        derivative of residuals r by parameters and control values. It is the Hessian where r is 0 or linear in these, and leaves
        out second derivatives of the motion, of which there are none.

        `residuals` is a function of the final `State` that returns r, shape (k,), and its derivatives by `State.vector`, shape
        (k, n), or r alone, which is differentiated by differences. Or it is these derivatives, (k, n), or (times, k, n) for k
        residuals of each state of the motion. `along` has v by the names of parameters (as in `Scene.parameters` or fit files;
        directions of the initial state too), `controls` by the control values, shape (steps, m), 0 where there is none.

        Returns the product by the names in `along`, also those that are 0 there, and by the control values, shape (steps, m). It
        costs a simulation in dual numbers, two or three of `Scene.rollout`, and a sweep backward as `gradient`, however many
        residuals and names there are; J is not formed. Raises `InputError` for wrong arrays and unknown names, and for motions
        under controllers.
        """
        if self._function is not None or self.scene._core.has_controllers:
            raise InputError("motion: found one under controllers; it must be one under given control values")
        n = len(self.columns)
        if callable(residuals):
            residuals = linear("residuals", residuals, (None,), self.final)[1]
        rows = array("residuals", residuals, (None, n), (len(self), None, n))
        if not rows.size:
            raise InputError(f"residuals: found none, with shape {rows.shape}; there must be at least one")
        of_each = {name: number(x, f"along[{name!r}]") for name, x in zip(listed(along), along.values())}
        found = self._motion.hessian_product(rows.reshape(-1, n), rows.shape[-2], list(of_each.items()), controls)
        return dict(zip(of_each, found[0])), found[1]

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the trajectory as the command `isobar simulate --out` does, CSV in full precision; to a name that ends in
        `.html` a page for a browser, with a film and plots."""
        if str(path).lower().endswith(".html"):
            self._motion.write_page(path)
        else:
            self._motion.save(path)

    def _repr_html_(self) -> str:
        """The page, in a notebook."""
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.html"
            self.save(page)
            text = html.escape(page.read_text(encoding="utf-8"))
        return f'<iframe srcdoc="{text}" style="width: 100%; height: 40em; border: 0"></iframe>'

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas DataFrame with the columns of the trajectory file, and times in s as its index."""
        import pandas

        return pandas.DataFrame(self.values, columns=self.columns, index=pandas.Index(self.times, name="t_s"))

    def __reduce__(self) -> tuple[Any, ...]:
        given = self.scene, np.array(self.values), self._until, self.controls, self.warnings, self._motion.failure
        return _restored, (*given, self._function, self._forces)

    def __repr__(self) -> str:
        return f"Trajectory({len(self)} states of {self.scene!r}, until {self.times[-1]:g} s)"


def _restored(
    scene: Scene,
    values: Array,
    until: float,
    controls: Array | None,
    warnings: list[str],
    failure: str | None,
    function: OfTime | None,
    forces: OfTime | None,
) -> Trajectory:
    motion = scene._core.motion(values, until, controls, warnings, failure, scene._of_numbers(forces))
    return Trajectory(scene, motion, until, function, forces)


def array(argument: str, found: Any, *shapes: tuple[int | None, ...]) -> Array:
    """Numbers of numpy, or of what gives its numbers to it, as JAX and torch do, as an array of one of these shapes; None is any
    length."""
    try:
        numbers = np.asarray(found)
    except (TypeError, ValueError, RuntimeError):
        numbers = np.asarray(repr(found))

    def fits(shape: tuple[int | None, ...]) -> bool:
        return len(shape) == numbers.ndim and all(n in (None, own) for n, own in zip(shape, numbers.shape))

    if numbers.dtype != np.float64 or not any(map(fits, shapes)):
        allowed = " or ".join(str(shape).replace("None", "any number") for shape in shapes)
        raise InputError(
            f"{argument}: found {numbers.dtype} with shape {numbers.shape}; it must be a float64 array of shape {allowed}"
        )
    return np.ascontiguousarray(numbers)


def linear(argument: str, function: Callable[..., Any], shape: tuple[int | None, ...], *given: Any) -> tuple[Array, Array]:
    """What a function returns of a state, the last of what it is given, and its derivatives by the state's numbers: those that
    it returns too, or else differences."""
    found = function(*given)
    if isinstance(found, tuple) and len(found) == 2:
        value = array(argument, found[0], shape)
        return value, array(argument, found[1], (*value.shape, given[-1].vector.size))
    value = array(argument, found, shape)
    differences = _differences(lambda state: evaluated(argument, function, value.shape, *given[:-1], state), given[-1])
    return value, np.ascontiguousarray(differences)


def evaluated(argument: str, function: Callable[..., Any], shape: tuple[int | None, ...], *given: Any) -> Array:
    """What a function returns, without its derivatives."""
    found = function(*given)
    return array(argument, found[0] if isinstance(found, tuple) and len(found) == 2 else found, shape)


def _derivatives(loss: Loss, trajectory: Trajectory) -> tuple[float, Array]:
    """The value of a loss, and its derivatives with respect to all states."""
    layout, values = trajectory.scene._layout, trajectory.values
    by_values = np.zeros_like(values)
    if callable(loss):
        final = trajectory.final
        found = loss(final)
        if isinstance(found, tuple) and len(found) == 2:
            value, by_final = _value(found[0]), found[1]
        else:
            value, by_final = _value(found), _differences(lambda state: _value(loss(state)), final)
    else:
        value, by_final = 0.0, loss
    if isinstance(by_final, Mapping):
        by_final = layout.array(by_final, "loss")
    by_final = array("loss", by_final, values.shape[1:], values.shape)
    if by_final.ndim == 2:
        by_values = by_final
    else:
        by_values[-1] = by_final
    # Of derivatives alone it is the value of the loss that is linear. (Threads of BLAS would take longer than the adjoint.)
    return (value if callable(loss) else float((by_values * values).sum())), by_values


def _value(found: object) -> float:
    """The value of a loss."""
    try:
        value = number(found, "loss")
    except InputError:
        raise InputError(f"loss: returned {found!r}; it must return a number, or a number and its derivatives") from None
    if not np.isfinite(value):
        raise InputError(f"loss: returned {value}; it must be finite")
    return value


def _differences(function: Callable[[State], Any], at: State) -> Array:
    """The derivatives of a function of a state, by central differences, with those by one number in a column."""
    steps = np.cbrt(np.finfo(float).eps) * np.maximum(1.0, np.abs(at.vector))
    out = []
    for i, step in enumerate(steps):
        sides = [at.copy(), at.copy()]
        sides[0].vector[i] -= step
        sides[1].vector[i] += step
        out.append((function(sides[1]) - function(sides[0])) / (sides[1].vector[i] - sides[0].vector[i]))
    return np.stack(out, -1)
