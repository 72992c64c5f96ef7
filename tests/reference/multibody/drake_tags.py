"""Makes drake_tags.json: ten robots with Drake's tags, and what Drake holds of them and of public files with such tags.

    pip install drake==1.58.0 && python drake_tags.py ../../../../shared/data

What is drawn is left out of public files, as not all of its meshes are there.
"""

import json
import re
import sys
from pathlib import Path

import numpy as np
from pydrake.geometry import GeometryId, VolumeMesh
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
from pydrake.systems.framework import DiagramBuilder

rng = np.random.default_rng(20261130)
PUBLIC = [
    "public/drake/examples/hydroelastic/spatula_slip_control/spatula.sdf",
    "public/drake/examples/hydroelastic/python_ball_paddle/paddle.sdf",
    "public/drake/examples/hydroelastic/python_ball_paddle/ball.sdf",
    "public/drake/examples/hydroelastic/ball_plate/floor.sdf",
    "public/drake/examples/multibody/deformable/models/simple_gripper.sdf",
    "models/wsg_50/schunk_wsg_50_hydro_bubble.sdf",
]
SHAPES = {
    "box": ("size", 3),
    "sphere": ("radius", 1),
    "cylinder": ("radius length", 2),
    "capsule": ("radius length", 2),
    "ellipsoid": ("a b c", 3),
}
PROPERTIES = {
    "hydroelastic_modulus": (1e4, 1e8),
    "mesh_resolution_hint": (0.01, 0.1),
    "hunt_crossley_dissipation": (0.1, 5),
    "relaxation_time": (0.01, 0.2),
}


def drawn(low, high, count=1):
    return [float(f"{x:.6g}") for x in rng.uniform(low, high, count)]


def words(numbers):
    return " ".join(map(repr, numbers))


def properties(is_sdf):
    """Any of them; static friction is the larger."""
    given = {name: drawn(*bounds)[0] for name, bounds in PROPERTIES.items() if rng.random() < 0.7}
    low, high = sorted(drawn(0.1, 1, 2))
    given |= [{}, {"mu_dynamic": low}, {"mu_static": high}, {"mu_dynamic": low, "mu_static": high}][rng.integers(4)]
    kind = ["", "<drake:compliant_hydroelastic/>", "<drake:rigid_hydroelastic/>"][rng.integers(3)]
    if "compliant" in kind:
        given.setdefault("hydroelastic_modulus", drawn(1e4, 1e8)[0])
    if kind:
        given.setdefault("mesh_resolution_hint", drawn(0.05, 0.1)[0])
    tags = [f"<drake:{n}>{x!r}</drake:{n}>" if is_sdf else f'<drake:{n} value="{x!r}"/>' for n, x in given.items()]
    return f"<drake:proximity_properties>{kind}{''.join(tags)}</drake:proximity_properties>"


def shape(is_sdf):
    name = list(SHAPES)[rng.integers(len(SHAPES))]
    fields, count = SHAPES[name]
    numbers = drawn(0.05, 0.3, count)
    if name == "box":
        inner, attributes = f"<size>{words(numbers)}</size>", f'size="{words(numbers)}"'
    else:
        fields = fields.split()
        inner = "".join(f"<{f}>{x!r}</{f}>" for f, x in zip(fields, numbers))
        attributes = " ".join(f'{f}="{x!r}"' for f, x in zip(fields, numbers))
    own = f"drake:{name}" if name in ("capsule", "ellipsoid") else name
    return f"<{own}>{inner}</{own}>" if is_sdf else f"<{own} {attributes}/>"


def placed(is_sdf):
    at, turn = drawn(-1, 1, 3), drawn(-3, 3, 3)
    return f"<pose>{words(at + turn)}</pose>" if is_sdf else f'<origin xyz="{words(at)}" rpy="{words(turn)}"/>'


def link(name, is_sdf):
    mass, (a, b, c) = drawn(0.1, 2)[0], drawn(0.01, 0.02, 3)
    if is_sdf:
        inertia = f"<mass>{mass!r}</mass><inertia><ixx>{a!r}</ixx><iyy>{b!r}</iyy><izz>{c!r}</izz></inertia>"
    else:
        inertia = f'<mass value="{mass!r}"/><inertia ixx="{a!r}" ixy="0" ixz="0" iyy="{b!r}" iyz="0" izz="{c!r}"/>'
    collisions = "".join(
        f'<collision name="{name}_{i}">{placed(is_sdf)}<geometry>{shape(is_sdf)}</geometry>{properties(is_sdf)}</collision>\n'
        for i in range(2)
    )
    return f'<link name="{name}"><inertial>{placed(is_sdf)}{inertia}</inertial>\n{collisions}</link>\n'


def robot(is_sdf):
    links = "".join(link(name, is_sdf) for name in ("base", "tip"))
    if is_sdf:
        joint = '<joint name="j" type="revolute"><parent>base</parent><child>tip</child><axis><xyz>0 0 1</xyz></axis></joint>'
        return f'<sdf version="1.9"><model name="r">\n{links}{joint}\n</model></sdf>\n'
    joint = '<joint name="j" type="continuous"><parent link="base"/><child link="tip"/><axis xyz="0 0 1"/></joint>'
    return f'<robot name="r">\n{links}{joint}\n</robot>\n'


def held(text, form):
    """What Drake holds of the collisions and masses of a robot."""
    builder = DiagramBuilder()
    plant, graph = AddMultibodyPlantSceneGraph(builder, 0.001)
    (model,) = Parser(plant).AddModelsFromString(text, form)
    plant.Finalize()
    inspector = graph.model_inspector()
    collisions, masses = [], []
    context = plant.CreateDefaultContext()
    for index in plant.GetBodyIndices(model):
        body = plant.get_body(index)
        inertia = body.CalcSpatialInertiaInBodyFrame(context)
        own = inertia.Shift(inertia.get_com()).CalcRotationalInertia().CopyToFullMatrix3()
        masses.append([body.name(), inertia.get_mass(), inertia.get_com().tolist(), own.tolist()])
        for geometry in plant.GetCollisionGeometriesForBody(body):
            collisions.append({"body": body.name(), **collision(inspector, geometry)})
    return {"collisions": collisions, "masses": masses}


def collision(inspector, geometry: GeometryId):
    found, pose = inspector.GetProximityProperties(geometry), inspector.GetPoseInFrame(geometry)
    kind = inspector.GetShape(geometry)
    # Meshes of rigid geometries are surfaces, those of compliant ones are filled.
    mesh = inspector.maybe_get_hydroelastic_mesh(geometry)
    friction = found.GetProperty("material", "coulomb_friction")

    def of(group, name):
        return found.GetProperty(group, name) if found.HasProperty(group, name) else None

    numbers = {
        "Box": lambda: list(kind.size()),
        "Sphere": lambda: [kind.radius()],
        "Cylinder": lambda: [kind.radius(), kind.length()],
        "Capsule": lambda: [kind.radius(), kind.length()],
        "Ellipsoid": lambda: [kind.a(), kind.b(), kind.c()],
    }
    name = type(kind).__name__
    return {
        "name": inspector.GetName(geometry).split("::")[-1],
        "shape": name.lower(),
        "numbers": numbers.get(name, list)(),
        "rotation": pose.rotation().matrix().tolist(),
        "translation": pose.translation().tolist(),
        "has_field": None if mesh is None else isinstance(mesh, VolumeMesh),
        "modulus": of("hydroelastic", "hydroelastic_modulus"),
        "resolution": of("hydroelastic", "resolution_hint"),
        "dissipation": of("material", "hunt_crossley_dissipation"),
        "relaxation_time": of("material", "relaxation_time"),
        "friction": [friction.dynamic_friction(), friction.static_friction()],
    }


def main():
    own = [(text, "sdf" if i % 2 else "urdf") for i, text in enumerate(robot(i % 2) for i in range(10))]
    out = [{"format": form, "text": text, **held(text, form)} for text, form in own]
    for name in PUBLIC if len(sys.argv) > 1 else []:
        text = (Path(sys.argv[1]) / name).read_text()
        text = re.sub(r"<visual.*?</visual>", "", text, flags=re.DOTALL)
        try:
            out.append({"format": "sdf", "file": name, **held(text, "sdf")})
        except RuntimeError as error:
            print(name, str(error).splitlines()[0])
    path = Path(__file__).with_suffix(".json")
    lines = ",\n".join(map(json.dumps, out))
    path.write_text(f'{{"source": "Drake 1.58, drake_tags.py", "robots": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
