"""Contact laws by functions of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from . import _isobar
from ._errors import InputError
from ._states import Array, Layout, Named, array, number

# A function of points of contact surfaces, whose numbers it takes by name.
OfPoints = Callable[[Named], Any]

# What each function takes, besides the law's own parameters.
_TAKES = {
    "damping_factor": ["pressure", "normal_velocity", "dissipation"],
    "friction_coefficient": ["pressure", "slip_speed", "static_friction", "dynamic_friction"],
}
# Names that parameters of materials have already.
_TAKEN = {"hydroelastic_modulus", "relaxation_time", "friction", "e_t", "e_o", "e_r"}.union(*_TAKES.values())


@dataclass(frozen=True, repr=False)
class Law:
    """A contact law, for `Scene.with_law`."""

    damping_factor: OfPoints | None
    friction_coefficient: OfPoints | None
    parameters: tuple[tuple[str, float], ...]

    @classmethod
    def checked(cls, damping: OfPoints | None, friction: OfPoints | None, parameters: Mapping[str, float]) -> Law:
        """A law with good arguments."""
        for argument, function in zip(_TAKES, (damping, friction)):
            if function is not None and not callable(function):
                raise InputError(f"{argument}: found {type(function).__name__}; it must be a function of points")
        if damping is None and friction is None:
            raise InputError("law: found no function; there must be a damping_factor or a friction_coefficient")
        for name in parameters:
            if not (isinstance(name, str) and name.isidentifier()) or name in _TAKEN:
                raise InputError(f"parameters: found {name!r}; it must be a name that materials have no number of yet")
        values = tuple((name, number(value, f"parameters[{name!r}]")) for name, value in parameters.items())
        return cls(damping, friction, values)

    @property
    def functions(self) -> list[OfPoints]:
        """Those that there are."""
        return [function for function in (self.damping_factor, self.friction_coefficient) if function is not None]

    @cached_property
    def core(self) -> _isobar.Law:
        """The law as the compiled part has it, which keeps it for good."""
        has = [function is not None for function in (self.damping_factor, self.friction_coefficient)]
        return _isobar.Law(self._answers, has, [name for name, _ in self.parameters])

    @cached_property
    def _layouts(self) -> list[Layout]:
        own = [name for name, _ in self.parameters]
        return [Layout([*takes, *own]) for takes in _TAKES.values()]

    def _answers(self, which: int, rows: Array, has_derivatives: bool) -> tuple[Array, Array | None]:
        """The values of a function at points, and its derivatives if they are wanted: rows for each number that it takes."""
        argument, layout = list(_TAKES)[which], self._layouts[which]
        rows.flags.writeable = False
        function: OfPoints = getattr(self, argument)

        def valued(rows: Array) -> tuple[Array, Any]:
            found = function(Named(layout, rows.T))
            value, by = found if isinstance(found, tuple) and len(found) == 2 else (found, None)
            value = array(argument, value, rows.shape[1:])
            if not np.isfinite(value).all():
                at = int(np.argmin(np.isfinite(value)))
                point = ", ".join(f"{name} {x:g}" for name, x in zip(layout.columns, rows[:, at]))
                raise InputError(f"{argument}: returned {value[at]} at {point}; it must be finite")
            return value, by

        value, by = valued(rows)
        if not has_derivatives:
            return value, None
        if by is None:
            return value, _differences(lambda rows: valued(rows)[0], rows, layout.columns)
        if not isinstance(by, Mapping):
            return value, np.ascontiguousarray(array(argument, by, rows.T.shape).T)
        by_rows = np.zeros(rows.shape)
        for name, found in by.items():
            by_rows[layout.place(name)] = array(f"{argument}[{name!r}]", found, value.shape)
        return value, by_rows

    def __reduce__(self) -> tuple[Any, ...]:
        return Law, (self.damping_factor, self.friction_coefficient, self.parameters)

    def __repr__(self) -> str:
        names = (getattr(function, "__qualname__", type(function).__qualname__) for function in self.functions)
        return f"Law({', '.join(names)}, {dict(self.parameters)})"


def _differences(function: Callable[[Array], Array], rows: Array, names: list[str]) -> Array:
    """The derivatives of a function of points by the numbers that it takes, by central differences, in one call."""
    steps = np.cbrt(np.finfo(float).eps) * np.maximum(1e-3, np.abs(rows))
    sides = np.repeat(rows[:, None, None, :], 2, axis=1).repeat(len(rows), axis=2)
    for i, step in enumerate(steps):
        sides[i, :, i] += np.stack([step, -step])
        # Other numbers than velocities are not below 0.
        if names[i] != "normal_velocity":
            sides[i, :, i] = np.maximum(sides[i, :, i], np.minimum(rows[i], 0.0))
    found = function(sides.reshape(len(rows), -1)).reshape(sides.shape[1:])
    widths = np.stack([sides[i, 0, i] - sides[i, 1, i] for i in range(len(rows))])
    return np.ascontiguousarray((found[0] - found[1]) / widths)
