"""What can go wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._motions import Trajectory


class Error(Exception):
    """Every exception that isobar raises by itself."""


class InputError(Error, ValueError):
    """An argument or a file is not good. The message names it, what was found, and what is allowed.

    `file`, `line` (from 1) and `field` (such as `bodies[0].mass`) say where, of files; each is None where it is not known.
    """

    def __init__(
        self, message: str, file: Path | None = None, line: int | None = None, field: str | None = None
    ) -> None:
        super().__init__(message)
        self.file, self.line, self.field = file, line, field


class SimulationError(Error, RuntimeError):
    """A step, a fit or an optimization failed on its way. The message has the time and the bodies.

    `trajectory` is the motion before a step that failed, of rollouts; else it is None.
    """

    trajectory: Trajectory | None = None


class SimulationWarning(UserWarning):
    """Something in a scene or a motion that is hardly meant, such as a body that falls through another."""
