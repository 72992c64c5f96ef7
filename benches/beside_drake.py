"""Contact queries and steps in Drake and in isobar, on one thread, in turns: the tables of the guide (Speed) and of `docs/steps.md` (Cost).

    pip install drake
    cargo bench --no-run
    python3 benches/beside_drake.py [--rounds 3] [--only TEXT] [--markdown FILE]

Scenes, meshes and poses' distribution are those of `benches/contact.rs` and `benches/step.rs`, whose programs are run for
each case, one after Drake has measured its own. A query of Drake is `ComputeContactSurfaces` less what the same call takes
where the bodies are far apart (poses, broad phase and Python); one of isobar is surface and wrench. Medians of wall clocks.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import time
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np
from pydrake.common import MemoryFile
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    Box,
    Cylinder,
    HalfSpace,
    HydroelasticContactRepresentation,
    InMemoryMesh,
    Mesh,
    ProximityProperties,
    Sphere,
)
from pydrake.math import RigidTransform, RollPitchYaw, RotationMatrix
from pydrake.multibody.math import SpatialVelocity
from pydrake.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    ContactModel,
    CoulombFriction,
    DiscreteContactApproximation,
)
from pydrake.multibody.tree import PrismaticJoint, SpatialInertia, UnitInertia
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

POSES = 32
RADIUS = 0.1
MODULUS = 1e5
SURFACES = {
    "polygons": HydroelasticContactRepresentation.kPolygon,
    "triangles": HydroelasticContactRepresentation.kTriangle,
}
KINDS = {
    "Sap": DiscreteContactApproximation.kSap,
    "Lagged": DiscreteContactApproximation.kLagged,
    "Similar": DiscreteContactApproximation.kSimilar,
}


def icosphere(radius, level):
    """An icosahedron whose faces are divided `level` times, filled by tetrahedra around its middle, as VTK."""
    g = (1 + 5**0.5) / 2
    corners = [(-1, g, 0), (1, g, 0), (-1, -g, 0), (1, -g, 0), (0, -1, g), (0, 1, g)]
    corners += [(0, -1, -g), (0, 1, -g), (g, 0, -1), (g, 0, 1), (-g, 0, -1), (-g, 0, 1)]
    points = [np.array(corner) / np.linalg.norm(corner) for corner in corners]
    near = [[b for b in range(12) if 0 < np.linalg.norm(points[a] - points[b]) < 1.1] for a in range(12)]
    faces = [(a, b, c) for a in range(12) for b in near[a] for c in near[a] if a < b < c and c in near[b]]
    for _ in range(level):
        middles = {}

        def middle(a, b):
            key = (min(a, b), max(a, b))
            if key not in middles:
                middles[key] = len(points)
                points.append((points[a] + points[b]) / np.linalg.norm(points[a] + points[b]))
            return middles[key]

        divided = []
        for a, b, c in faces:
            ab, bc, ca = middle(a, b), middle(b, c), middle(c, a)
            divided += [(a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca)]
        faces = divided
    tetrahedra = []
    for a, b, c in faces:
        volume = np.dot(np.cross(points[a], points[b]), points[c])
        tetrahedra.append((0, a + 1, b + 1, c + 1) if volume > 0 else (0, a + 1, c + 1, b + 1))
    lines = ["# vtk DataFile Version 3.0", "icosphere", "ASCII", "DATASET UNSTRUCTURED_GRID"]
    lines += [f"POINTS {len(points) + 1} double", "0 0 0"]
    lines += ["%.17g %.17g %.17g" % tuple(radius * point) for point in points]
    lines += [f"CELLS {len(tetrahedra)} {5 * len(tetrahedra)}"]
    lines += ["4 %d %d %d %d" % tetrahedron for tetrahedron in tetrahedra]
    lines += [f"CELL_TYPES {len(tetrahedra)}"] + ["10"] * len(tetrahedra)
    text = "\n".join(lines) + "\n"
    return Mesh(InMemoryMesh(mesh_file=MemoryFile(text, ".vtk", "icosphere.vtk")))


def properties(modulus, resolution, friction=0.0, dissipation=0.0, relaxation=None):
    """Contact properties; rigid without a modulus."""
    found = ProximityProperties()
    if modulus is None:
        AddRigidHydroelasticProperties(resolution, found)
    else:
        AddCompliantHydroelasticProperties(resolution, modulus, found)
    AddContactMaterial(properties=found, dissipation=dissipation, friction=CoulombFriction(friction, friction))
    if relaxation is not None:
        found.AddProperty("material", "relaxation_time", relaxation)
    return found


def pose(rotation, translation):
    return RigidTransform(RotationMatrix(rotation), np.array(translation, float))


def turned(rpy):
    return RollPitchYaw(*rpy).ToRotationMatrix().matrix()


def random_rotation(random):
    w, x, y, z = (lambda q: q / np.linalg.norm(q))(random.normal(size=4))
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])


def apart(distance):
    """Poses of two bodies turned at random, in a random direction from each other."""
    random = np.random.default_rng(1)
    found = []
    for _ in range(POSES):
        direction = random.normal(size=3)
        offset = distance * direction / np.linalg.norm(direction)
        found.append((pose(random_rotation(random), [0, 0, 0]), pose(random_rotation(random), offset)))
    return found


def nearly_fixed(a, b):
    """A turned by a few hundredths of a radian at random."""
    random = np.random.default_rng(2)
    turn = lambda: turned(0.03 * random.normal(size=3))
    return [(pose(turn() @ turned(a[0]), a[1]), pose(turned(b[0]), b[1])) for _ in range(POSES)]


class Query:
    """Contact surfaces of two bodies in Drake."""

    def __init__(self, a, b, poses, kind):
        builder = DiagramBuilder()
        self.plant, graph = AddMultibodyPlantSceneGraph(builder, 0.0)
        self.bodies = []
        for name, (shape, of_shape) in (("A", a), ("B", b)):
            inertia = SpatialInertia(1.0, np.zeros(3), UnitInertia.SolidSphere(0.1))
            body = self.plant.AddRigidBody(name, inertia)
            self.plant.RegisterCollisionGeometry(body, RigidTransform(), shape, name, of_shape)
            self.bodies.append(body)
        self.plant.set_contact_model(ContactModel.kHydroelastic)
        self.plant.Finalize()
        self.diagram = builder.Build()
        self.context = self.diagram.CreateDefaultContext()
        self.of_plant = self.plant.GetMyMutableContextFromRoot(self.context)
        self.query = graph.get_query_output_port().Eval(graph.GetMyContextFromRoot(self.context))
        self.poses, self.surface = poses, SURFACES[kind]

    def times(self, poses):
        """Seconds of each call, and the faces of the last surfaces."""
        found, faces = [], []
        for both in poses:
            for body, x in zip(self.bodies, both):
                self.plant.SetFreeBodyPose(self.of_plant, body, x)
            start = time.perf_counter()
            surfaces = self.query.ComputeContactSurfaces(self.surface)
            found.append(time.perf_counter() - start)
            faces.append(sum(surface.num_faces() for surface in surfaces))
        return statistics.median(found), statistics.fmean(faces)

    def measure(self):
        far = [(pose(np.eye(3), [0, 0, 100 + i]), pose(np.eye(3), [0, 0, -100 - i])) for i in range(200)]
        once, faces = self.times(self.poses)
        rounds = int(min(max(0.5 / (POSES * once), 1), 20))
        seconds = statistics.median(self.times(self.poses)[0] for _ in range(rounds))
        return seconds - self.times(far)[0], faces


class Steps:
    """Steps of a scene of Drake's, from a settled state."""

    def __init__(self, scene, kind):
        builder = DiagramBuilder()
        self.plant, _ = AddMultibodyPlantSceneGraph(builder, 1e-3)
        self.start, self.settle = scene(self.plant)
        self.plant.set_contact_model(ContactModel.kHydroelastic)
        self.plant.set_discrete_contact_approximation(KINDS[kind])
        self.plant.Finalize()
        self.diagram = builder.Build()

    def measure(self):
        simulator = Simulator(self.diagram)
        self.start(self.plant, self.plant.GetMyMutableContextFromRoot(simulator.get_mutable_context()))
        simulator.Initialize()
        simulator.AdvanceTo(self.settle)
        start = time.perf_counter()
        simulator.AdvanceTo(self.settle + 0.5)
        seconds = (time.perf_counter() - start) / 500
        context = self.plant.GetMyContextFromRoot(simulator.get_context())
        results = self.plant.get_contact_results_output_port().Eval(context)
        contacts = range(results.num_hydroelastic_contacts())
        faces = sum(results.hydroelastic_contact_info(i).contact_surface().num_faces() for i in contacts)
        return seconds, faces


def soft(modulus, resolution):
    return properties(modulus, resolution, friction=0.8, dissipation=1.25, relaxation=0.01)


def ball_on_box(plant):
    radius = 0.05
    ball = plant.AddRigidBody("ball", SpatialInertia(0.5, np.zeros(3), UnitInertia.SolidSphere(radius)))
    plant.RegisterCollisionGeometry(ball, RigidTransform(), Sphere(radius), "ball", soft(1e5, 0.035))
    below = pose(np.eye(3), [0, 0, -0.05])
    plant.RegisterCollisionGeometry(plant.world_body(), below, Box(0.6, 0.6, 0.1), "box", soft(1e6, 0.1))

    def start(plant, context):
        plant.SetFreeBodyPose(context, ball, pose(turned([0.3, 0.2, 0.1]), [0, 0, radius - 0.003]))
        velocity = SpatialVelocity(np.array([0, 1.0, 0, 0.05, 0, 0.0]))
        plant.SetFreeBodySpatialVelocity(context=context, body=ball, V_JpJc=velocity)

    return start, 0.3


def gripper(shape, unit, resolution):
    def scene(plant):
        body = plant.AddRigidBody("held", SpatialInertia(0.2, np.zeros(3), unit))
        plant.RegisterCollisionGeometry(body, RigidTransform(), shape, "held", soft(2e5, resolution))
        for i in range(2):
            inertia = SpatialInertia(0.1, np.zeros(3), UnitInertia.SolidBox(0.02, 0.06, 0.06))
            finger = plant.AddRigidBody(f"finger{i}", inertia)
            box = Box(0.02, 0.06, 0.06)
            plant.RegisterCollisionGeometry(finger, RigidTransform(), box, f"finger{i}", soft(5e5, 0.03))
            frames = plant.world_frame(), finger.body_frame()
            joint = plant.AddJoint(PrismaticJoint(f"joint{i}", *frames, [1, 0, 0], damping=2.0))
            plant.AddJointActuator(f"force{i}", joint)

        def start(plant, context):
            plant.SetFreeBodyPose(context, body, pose(turned([0.1, 0.05, 0.2]), [0, 0, 0]))
            for i, side in enumerate((-1, 1)):
                plant.GetJointByName(f"joint{i}").set_translation(context, side * (0.04 + 0.01 - 0.0015))
            plant.get_actuation_input_port().FixValue(context, np.array([15.0, -15.0]))

        return start, 0.2

    return scene


def cases():
    """The name of each case in isobar's benches, the program, and what measures it in Drake."""
    compliant = properties(MODULUS, 1.0)
    for level, count in ((1, 80), (3, 1280), (5, 20480)):
        ball = (icosphere(RADIUS, level), compliant)
        for kind in SURFACES:
            for place, distance in (("depth 0.2 R", 1.8 * RADIUS), ("centre distance R", RADIUS)):
                if (level == 5 and (kind, distance) != ("polygons", RADIUS)) or (level == 1 and kind == "polygons"):
                    continue
                name = f"icospheres of {count} tets, {place}"
                if level == 1:
                    name = f"unit icospheres, k = 1, {'depth 0.2' if distance > RADIUS else 'centre distance 1'}"
                yield f"contact/{name}/{kind}", "contact", lambda b=ball, d=distance, k=kind: Query(b, b, apart(d), k)
    slab = (Box(0.2, 0.16, 0.12), compliant)
    cube = (Box(0.1, 0.1, 0.1), compliant)
    ball = (icosphere(RADIUS, 2), compliant)
    rigid_ball = (Sphere(RADIUS), properties(None, 0.035))
    ground = (HalfSpace(), properties(None, 1.0))
    origin = ([0, 0, 0], [0, 0, 0])
    flat = [
        ("box on box, face on face, 8 mm deep", slab, cube, origin, ([0.05, -0.03, 0.4], [0.01, 0.02, 0.102])),
        ("cube corner in box", slab, cube, origin, ([0.7, 0.6, 0.3], [0.02, 0.01, 0.135])),
        ("sphere of 320 tets on rigid half-space", ball, ground, ([0.4, -0.8, 1.3], [0, 0, 0.085]), origin),
        ("rigid sphere of 320 triangles in box", rigid_ball, slab, ([0, 0, 0], [0.01, 0.02, 0.14]), origin),
    ]
    for name, a, b, of_a, of_b in flat:
        drake = lambda a=a, b=b, of=(of_a, of_b): Query(a, b, nearly_fixed(*of), "triangles")
        yield f"contact/{name}/triangles", "contact", drake
    radius = 0.04
    scenes = {
        "ball of 128 tets on a box": ball_on_box,
        "two fingers and a ball": gripper(Sphere(radius), UnitInertia.SolidSphere(radius), 0.028),
        "two fingers and a cylinder": gripper(
            Cylinder(radius, 0.08), UnitInertia.SolidCylinder(radius, 0.08, [0, 0, 1]), 0.02
        ),
    }
    for name, scene in scenes.items():
        for kind in KINDS:
            yield f"step/{name}/{kind} Step", "step", lambda s=scene, k=kind: Steps(s, k)


def programs():
    """The compiled benches, by name."""
    command = ["cargo", "bench", "--no-run", "--bench", "contact", "--bench", "step", "--message-format=json"]
    built = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, cwd=Path(__file__).parent.parent)
    messages = (json.loads(line) for line in built.stdout.splitlines() if line.startswith("{"))
    return {m["target"]["name"]: m["executable"] for m in messages if m.get("executable")}


def in_isobar(program, name):
    """Seconds of a case, and the faces of its table."""
    command = [program, "--bench", "--output-format", "bencher", f"^{re.escape(name)}$"]
    output = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    found = re.search(r"bench: +([0-9,]+) ns/iter", output)
    if found is None:
        raise SystemExit(f"{program}: measured nothing of `{name}`:\n{output}")
    faces = re.search(r"(\d+) faces", output) or re.search(r"^\S.*?  +(\d+)  +[\d.]+ [µm]?s", output, re.MULTILINE)
    return float(found[1].replace(",", "")) * 1e-9, float(faces[1]) if faces else float("nan")


def duration(seconds):
    return f"{seconds * 1e6:.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--rounds", type=int, default=3, help="turns of each case")
    arguments.add_argument("--only", default="", help="cases whose name has this in it")
    arguments.add_argument("--markdown", type=Path, help="file to write the table to")
    arguments = arguments.parse_args()
    benches, rows = programs(), []
    for name, program, make in cases():
        if arguments.only not in name:
            continue
        drake, turns = make(), []
        for _ in range(arguments.rounds):
            turns.append((drake.measure(), in_isobar(benches[program], name)))
        of_drake, of_isobar = (statistics.median(turn[side][0] for turn in turns) for side in range(2))
        ratios = [turn[0][0] / turn[1][0] for turn in turns]
        faces = "{:.0f} / {:.0f}".format(turns[0][0][1], turns[0][1][1])
        per_face = of_drake / turns[0][0][1] / (of_isobar / turns[0][1][1])
        what = name.split("/", 1)[1].replace("/", ", ").replace(" Step", ", a step")
        rows.append((what, faces, duration(of_drake), duration(of_isobar), of_drake / of_isobar, per_face))
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        print(f"{what}: {faces} faces, {rows[-1][2]} / {rows[-1][3]} = {rows[-1][4]:.2f} ({spread})", flush=True)
    if arguments.markdown:
        lines = ["| | faces, Drake / isobar | Drake | isobar | ratio | a face |", "|---|---|---|---|---|---|"]
        lines += ["| {} | {} | {} | {} | {:.1f} | {:.1f} |".format(*row) for row in rows]
        arguments.markdown.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
