"""States: numbers by the names of the scene file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from ._errors import InputError

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
        # Those of laws have no bodies.
        allowed = ", ".join([*filter(None, self.names), *self.columns[:13]])
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


class Named(State):
    """Numbers of states, or of points of contact laws, as an array of any library, by name: `final["ball"].position`,
    `final["ball.pz_m"]`, `at["slip_speed"]`."""

    __slots__ = ()

    def __init__(self, layout: Layout, vector: Any) -> None:
        super().__init__(layout, vector)

    def __getitem__(self, name: str) -> Any:
        return self._layout.of(name, self.vector)

    def __repr__(self) -> str:
        return f"Named({self.vector!r})"


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
    by = differences(lambda state: evaluated(argument, function, value.shape, *given[:-1], state), given[-1])
    return value, np.ascontiguousarray(by)


def evaluated(argument: str, function: Callable[..., Any], shape: tuple[int | None, ...], *given: Any) -> Array:
    """What a function returns, without its derivatives."""
    found = function(*given)
    return array(argument, found[0] if isinstance(found, tuple) and len(found) == 2 else found, shape)


def differences(function: Callable[[State], Any], at: State) -> Array:
    """The derivatives of a function of a state, by central differences, with those by one number in a column."""
    steps = np.cbrt(np.finfo(float).eps) * np.maximum(1.0, np.abs(at.vector))
    out = []
    for i, step in enumerate(steps):
        sides = [at.copy(), at.copy()]
        sides[0].vector[i] -= step
        sides[1].vector[i] += step
        out.append((function(sides[1]) - function(sides[0])) / (sides[1].vector[i] - sides[0].vector[i]))
    return np.stack(out, -1)
