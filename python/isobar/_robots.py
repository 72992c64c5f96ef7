"""Robots from files of theirs, and from models of MuJoCo."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ._errors import InputError
from ._scene import Scene
from ._states import write

Materials = Mapping[str, Mapping[str, Any] | str]


@dataclass(frozen=True)
class Robot:
    """A robot of a file, as an entry of a scene's `robots`."""

    entry: dict[str, Any]
    """The fields of the entry."""
    materials: dict[str, Any]
    """Materials that it brings, by their names."""

    @classmethod
    def load(cls, path: str | PathLike[str], materials: Materials | None = None, **entry: Any) -> Robot:
        """The robot of a URDF, SDF or MJCF file; the file is read where a scene is made of it.

        `materials` has for geometries, links or classes of an MJCF file, by their names, the fields of a material
        (`{"hydroelastic_modulus": 1e5, "friction": 0.5}`), or the name of one, `"rigid"` or `"none"`. All other fields of
        a scene's `robots` can be given as well: `prefix`, `base`, `translation`, `positions`, `drive` and so on.
        """
        given = dict(materials or {})
        own = {name: dict(found) for name, found in given.items() if isinstance(found, Mapping)}
        of_links = {name: name if name in own else found for name, found in given.items()}
        return cls({"urdf": str(Path(path).absolute()), "materials": of_links, **entry}, own)

    def scene(self, **tables: Any) -> Scene:
        """A scene with the robot. The other tables of the scene, such as `bodies`, `solver`, `gravity` and more `materials`,
        are as in scene files."""
        materials = {**self.materials, **tables.pop("materials", {})}
        robots = [self.entry, *tables.pop("robots", [])]
        return Scene.parse({"materials": materials, "robots": robots, **tables})


def from_mujoco(
    model: Any,
    materials: Materials | None = None,
    folder: str | PathLike[str] | None = None,
    **tables: Any,
) -> Scene:
    """The scene of a compiled model of MuJoCo: of an `MjSpec`, or of the `MjModel` that was loaded last.

    Its tree, joints, masses, geometries, actuators, gravity and time step are taken over; poses as MuJoCo saves them, which is
    to six digits. MuJoCo's contact parameters are no moduli: `materials` gives those of geoms and bodies (see `Robot.load`);
    who has none touches nothing. `tables` has the other tables of the scene, and `gravity` or `solver` instead of the
    model's. What has a part in the motion and was left out is told by a `SimulationWarning`; spatial tendons, flexes, `weld`,
    `connect` and other constraints are refused by name (`InputError`).

    The scene refers to the files that are made, an MJCF file and its meshes. They are in `folder`, or in one of the system's
    for temporary files.
    """
    import mujoco  # type: ignore[import-not-found,import-untyped,unused-ignore]

    if isinstance(model, mujoco.MjSpec):
        spec = model.copy()
        model = spec.compile()
        text = spec.to_xml()
    elif isinstance(model, mujoco.MjModel):
        text = _saved(mujoco, model)
    else:
        raise InputError(f"model: found {type(model).__name__}; it must be an MjModel or an MjSpec of mujoco")
    root = ElementTree.fromstring(text)
    bodies = [model.body(i).name for i in range(1, model.nbody)]
    if bodies != [body.get("name", "") for body in root.iter("body")]:
        found = f"found one with the bodies {', '.join(bodies)}, which are not those of the one that was loaded last"
        raise InputError(f"model: {found}; it must be that, or an MjSpec")
    _write_masses(model, root)
    meshes = dict(_meshes(mujoco, model, root))
    text = ElementTree.tostring(root, encoding="unicode")
    digest = hashlib.sha256((text + "".join(meshes.values())).encode()).hexdigest()[:16]
    place = Path(folder or Path(tempfile.gettempdir()) / f"isobar-{digest}")
    place.mkdir(parents=True, exist_ok=True)
    for name, content in {**meshes, "robot.xml": text}.items():
        write(place / name, content.encode())
    gravity = np.zeros(3) if model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY else model.opt.gravity
    tables = {"gravity": gravity.tolist(), "solver": {"time_step": model.opt.timestep}, **tables}
    return Robot.load(place / "robot.xml", materials).scene(**tables)


def _saved(mujoco: Any, model: Any) -> str:
    """The file of the model that was loaded last, with the numbers of this one."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.xml")
        try:
            mujoco.mj_saveLastXML(path, model)
        except mujoco.FatalError as error:
            message = "it must be the one that was loaded last, from MJCF or URDF; or give its MjSpec"
            raise InputError(f"model: found one that MuJoCo cannot save ({error}); {message}") from None
        return Path(path).read_text(encoding="utf-8")


def _write_masses(model: Any, root: ElementTree.Element) -> None:
    """Gives all bodies the masses of the compiled model."""
    for settings in root.iter("compiler"):
        for bound in ("boundmass", "boundinertia", "settotalmass", "inertiafromgeom", "balanceinertia"):
            settings.attrib.pop(bound, None)
    for i, body in enumerate(root.iter("body"), start=1):
        for written in body.findall("inertial"):
            body.remove(written)
        parts = {"pos": model.body_ipos, "quat": model.body_iquat, "diaginertia": model.body_inertia, "mass": model.body_mass}
        numbers = {name: " ".join(map(repr, np.ravel(part[i]).tolist())) for name, part in parts.items()}
        body.insert(0, ElementTree.Element("inertial", numbers))


def _meshes(mujoco: Any, model: Any, root: ElementTree.Element) -> Iterator[tuple[str, str]]:
    """The files of the compiled meshes, which the elements are made to name."""
    for i, mesh in enumerate(root.iterfind("asset/mesh")):
        first, count = model.mesh_vertadr[i], model.mesh_vertnum[i]
        turn = np.empty(9)
        mujoco.mju_quat2Mat(turn, model.mesh_quat[i])
        vertices = model.mesh_vert[first : first + count] @ turn.reshape(3, 3).T + model.mesh_pos[i]
        first, count = model.mesh_faceadr[i], model.mesh_facenum[i]
        lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
        lines += [f"f {a} {b} {c}" for a, b, c in (model.mesh_face[first : first + count] + 1).tolist()]
        mesh.attrib.clear()
        mesh.attrib |= {"name": model.mesh(i).name, "file": f"mesh{i}.obj"}
        yield f"mesh{i}.obj", "\n".join(lines) + "\n"
    for settings in root.iter("compiler"):
        settings.attrib.pop("meshdir", None)
        settings.attrib.pop("assetdir", None)
