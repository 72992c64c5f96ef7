"""Work and precision of Drake's error-controlled integrators and of its fixed steps in the scenes of main.rs.

    pip install drake==1.58.0
    python3 examples/work_precision/drake.py > drake.csv
    cargo run --release --example work_precision -- docs drake.csv

With names of scenes as arguments only those are run.

Rows: scene, integrator, accuracy (of `discrete`: the step in s), error of the bodies' positions at the end (m), and
seconds of the process's computing a second, the least of three runs. Errors are against the tightest run of Drake that
integrates the same model: of `cenic` and `discrete`, which regularize friction like isobar's velocity-level steps,
against `cenic`; of the others, which have friction as an arc tangent of the slip, against one of them. Runs that
take too long are cut; these and the references are told on the error output.
"""

import itertools
import pathlib
import re
import sys
import time
import warnings

# Drake imports a module `drake` of its own, which is not this file.
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:] = [folder for folder in sys.path if pathlib.Path(folder).resolve() != HERE]

import numpy as np
from pydrake.common import MemoryFile
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
    AddCompliantHydroelasticPropertiesForHalfSpace,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    Box,
    Cylinder,
    HalfSpace,
    HydroelasticContactRepresentation,
    InMemoryMesh,
    Mesh,
    ProximityProperties,
)
from pydrake.math import RigidTransform, RollPitchYaw
from pydrake.multibody.math import SpatialVelocity
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, ContactModel, CoulombFriction
from pydrake.multibody.tree import BodyIndex, PrismaticJoint, SpatialInertia, UnitInertia, default_model_instance
from pydrake.systems.analysis import ResetIntegratorFromFlags, Simulator
from pydrake.systems.framework import DiagramBuilder, EventStatus
from pydrake.systems.primitives import AffineSystem

warnings.simplefilter("ignore")
LONGEST = 0.01
# Seconds of computing after which a run is cut, a reference is, and tighter runs are not tried.
CUT = 30.0
CUT_REFERENCE = 60.0
PATIENCE = 10.0
CONVEX = ("cenic", "discrete")
ARM = HERE.parent / "gradient_table/arm.urdf"


def properties(modulus, dissipation=1.25, friction=0.8, slab=None, edge=1.0):
    """Of a compliant body (of a half-space with the depth of its slab), or of a rigid one without a modulus."""
    p = ProximityProperties()
    if modulus is None:
        AddRigidHydroelasticProperties(edge, p)
    elif slab is None:
        AddCompliantHydroelasticProperties(edge, modulus, p)
    else:
        AddCompliantHydroelasticPropertiesForHalfSpace(slab, modulus, p)
    AddContactMaterial(properties=p, dissipation=dissipation, friction=CoulombFriction(friction, friction))
    return p


def icosphere(radius, level):
    """isobar's mesh of a ball: an icosahedron whose faces are divided `level` times, and its centre."""
    g = (1 + 5**0.5) / 2
    signs = list(itertools.product((-1, 1), (-g, g)))
    points = [(0, a, b) for a, b in signs] + [(a, b, 0) for a, b in signs] + [(b, 0, a) for a, b in signs]
    points = [np.array(p) / np.linalg.norm(p) for p in points]
    # The edges are the twelve points' shortest distances; three points that are all on edges make a face.
    near = lambda a, b: np.linalg.norm(points[a] - points[b]) < 1.06
    corners = itertools.combinations(range(12), 3)
    faces = [f for f in corners if all(near(a, b) for a, b in itertools.combinations(f, 2))]
    for _ in range(level):
        middles, divided = {}, []

        def middle(a, b):
            key = min(a, b), max(a, b)
            if key not in middles:
                p = points[a] + points[b]
                middles[key] = len(points)
                points.append(p / np.linalg.norm(p))
            return middles[key]

        for a, b, c in faces:
            ab, bc, ca = middle(a, b), middle(b, c), middle(c, a)
            divided += [(a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca)]
        faces = divided
    outward = lambda a, b, c: np.linalg.det([points[a], points[b], points[c]]) > 0
    faces = [f if outward(*f) else (f[0], f[2], f[1]) for f in faces]
    centre = len(points)
    lines = ["# vtk DataFile Version 3.0", "ball", "ASCII", "DATASET UNSTRUCTURED_GRID"]
    lines += [f"POINTS {centre + 1} double"] + ["%.17g %.17g %.17g" % tuple(radius * p) for p in points] + ["0 0 0"]
    lines += [f"CELLS {len(faces)} {5 * len(faces)}"] + [f"4 {centre} {a} {b} {c}" for a, b, c in faces]
    lines += [f"CELL_TYPES {len(faces)}"] + ["10"] * len(faces)
    return Mesh(InMemoryMesh(mesh_file=MemoryFile("\n".join(lines) + "\n", ".vtk", "ball.vtk")))


def pose(rpy, position):
    return RigidTransform(RollPitchYaw(*rpy), position)


class Scene:
    """A diagram under construction, of a plant with the time step given (0: continuous)."""

    def __init__(self, time_step, stiction_velocity=1e-3):
        self.builder = DiagramBuilder()
        self.plant, _ = AddMultibodyPlantSceneGraph(self.builder, time_step)
        self.stiction_velocity = stiction_velocity

    def body(self, name, mass, inertia, shape, props):
        inertia = SpatialInertia(mass, np.zeros(3), inertia)
        body = self.plant.AddRigidBody(name, default_model_instance(), inertia)
        self.plant.RegisterCollisionGeometry(body, RigidTransform(), shape, name, props)
        return body

    def fixed(self, name, position, shape, props):
        place = RigidTransform(np.array(position, float))
        self.plant.RegisterCollisionGeometry(self.plant.world_body(), place, shape, name, props)

    def finalize(self):
        self.plant.set_contact_model(ContactModel.kHydroelastic)
        self.plant.set_contact_surface_representation(HydroelasticContactRepresentation.kPolygon)
        self.plant.Finalize()
        self.plant.set_stiction_tolerance(self.stiction_velocity)

    def case(self, start, until):
        return self.builder.Build(), self.plant, start, until


def ball(time_step):
    """A ball that is dropped, turning, onto a box."""
    scene = Scene(time_step)
    plant, radius = scene.plant, 0.05
    body = scene.body("ball", 0.5, UnitInertia.SolidSphere(radius), icosphere(radius, 2), properties(1e5))
    scene.fixed("box", [0, 0, -0.05], Box(0.6, 0.6, 0.1), properties(1e6))
    scene.finalize()

    def start(context):
        plant.SetFreeBodyPose(context, body, pose((0.3, 0.2, 0.1), [0, 0, radius - 0.003]))
        velocity = SpatialVelocity(np.array([0, 1.0, 0, 0.05, 0, 0.0]))
        plant.SetFreeBodySpatialVelocity(context=context, body=body, V_JpJc=velocity)

    return scene.case(start, 0.5)


def gripper(time_step):
    """Two fingers on prismatic joints that squeeze a ball."""
    scene = Scene(time_step)
    plant, radius = scene.plant, 0.04
    body = scene.body("ball", 0.2, UnitInertia.SolidSphere(radius), icosphere(radius, 1), properties(2e5))
    for i in range(2):
        size = 0.02, 0.06, 0.06
        finger = scene.body(f"finger{i}", 0.1, UnitInertia.SolidBox(*size), Box(*size), properties(5e5))
        joint = PrismaticJoint(f"guide{i}", plant.world_frame(), finger.body_frame(), [1, 0, 0], damping=2.0)
        plant.AddJointActuator(f"drive{i}", plant.AddJoint(joint))
    scene.finalize()

    def start(context):
        plant.SetFreeBodyPose(context, body, pose((0.1, 0.05, 0.2), [0, 0, 0]))
        for i, side in enumerate((-1, 1)):
            plant.GetJointByName(f"guide{i}").set_translation(context, side * (radius + 0.01 - 0.0015))
        plant.get_actuation_input_port().FixValue(context, np.array([15.0, -15.0]))

    return scene.case(start, 0.2)


def coin(time_step):
    """A rigid coin, a fan of 152 triangles, that slides and spins on a stiff compliant half-space."""
    scene = Scene(time_step)
    plant, radius, thickness, mass, modulus = scene.plant, 0.01213, 0.00175, 0.00567, 1e9
    material = {"dissipation": 10.0, "friction": 0.2}
    disk = Cylinder(radius, thickness)
    rigid = properties(None, edge=2 * np.pi * radius / 151.9, **material)
    body = scene.body("coin", mass, UnitInertia.SolidCylinder(radius, thickness, [0, 0, 1]), disk, rigid)
    scene.fixed("plane", [0, 0, 0], HalfSpace(), properties(modulus, slab=thickness, **material))
    scene.finalize()
    area = 76 * radius**2 * np.sin(2 * np.pi / 152)
    sink = mass * 9.81 * thickness / (modulus * area)

    def start(context):
        plant.SetFreeBodyPose(context, body, pose((0, 0, 0), [0, 0, thickness / 2 - sink]))
        velocity = SpatialVelocity(np.array([0, 0, 1.0 / radius, 0.3, 0, 0]))
        plant.SetFreeBodySpatialVelocity(context=context, body=body, V_JpJc=velocity)

    return scene.case(start, 0.2)


def clutter(time_step):
    """Balls in three layers of four in a bin."""
    scene = Scene(time_step)
    plant, radius, spacing, side, layers = scene.plant, 0.05, 0.0985, 2, 3
    material = properties(1e6, friction=0.5)
    scene.fixed("ground", [0, 0, -0.1], Box(4, 4, 0.2), material)
    width, height, wall = (side - 1) * spacing, (layers + 1) * spacing, 0.1
    for axis, sign in itertools.product((0, 1), (-1, 1)):
        size = [width + 4 * spacing, width + 4 * spacing, height + 0.2]
        size[axis] = wall
        place = [width / 2, width / 2, height / 2]
        place[axis] += sign * (width + spacing + wall) / 2
        scene.fixed(f"wall {axis} {sign}", place, Box(*size), material)
    places = []
    for i in range(side * side * layers):
        x, y, z = i % side, i // side % side, i // side**2
        a, b, c = (((i * k) % 1 - 0.5) * 1e-3 for k in (0.618034, 0.754878, 0.56984))
        place = [x * spacing + a, y * spacing + b, radius - 5e-4 + z * spacing + c]
        mesh = icosphere(radius, 1)
        places.append((scene.body(f"ball {i}", 0.5, UnitInertia.SolidSphere(radius), mesh, material), place))
    scene.finalize()

    def start(context):
        for body, place in places:
            plant.SetFreeBodyPose(context, body, RigidTransform(np.array(place)))

    return scene.case(start, 0.1)


def arm(time_step):
    """An arm whose pad presses on a block that slides on a table: arm.toml of the gradient table.

    Its servos are a system of their own, an affine function of the joints' state: drives with gains are only there for
    discrete plants.
    """
    scene = Scene(time_step, 1e-2)
    plant = scene.plant
    urdf = re.sub("<collision>.*?</collision>", "", ARM.read_text(), flags=re.DOTALL)
    (robot,) = Parser(plant).AddModelsFromString(urdf, "urdf")
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
    hand = plant.GetBodyByName("hand")
    pad = properties(3e5, dissipation=1.0, friction=0.9)
    at = RigidTransform([0.25, 0, 0])
    plant.RegisterCollisionGeometry(hand, at, icosphere(0.03, 2), "pad", pad)
    wood = {"dissipation": 0.3, "friction": 0.4}
    size = 0.1, 0.08, 0.05
    block = scene.body("block", 0.5, UnitInertia.SolidBox(*size), Box(*size), properties(5e6, **wood))
    scene.fixed("table", [0, 0, 0], HalfSpace(), properties(None, **wood))
    joints = [plant.GetJointByName(name) for name in ("turn", "lift", "bend")]
    for joint in joints:
        plant.AddJointActuator(joint.name(), joint, 60.0 if joint.name() != "bend" else 20.0)
    scene.finalize()
    gains = np.zeros((3, 6))
    gains[0, 3], gains[1, 1], gains[1, 4] = -2.0, -400.0, -10.0
    none = np.zeros((0, 0)), np.zeros((0, 6)), np.zeros(0), np.zeros((3, 0))
    servo = scene.builder.AddSystem(AffineSystem(*none, gains, np.array([2.0 * 0.2, 400.0 * -0.3, 0.5])))
    scene.builder.Connect(plant.get_state_output_port(robot), servo.get_input_port())
    scene.builder.Connect(servo.get_output_port(), plant.get_actuation_input_port(robot))

    def start(context):
        plant.SetFreeBodyPose(context, block, pose((0.003, -0.002, 0.2), [0.4604, 0.003, 0.0249]))
        for joint, angle in zip(joints, (0.005, -0.35, 1.1249)):
            joint.set_angle(context, angle)

    return scene.case(start, 0.3)


# With the accuracy of the reference of `cenic`, and integrator and accuracy of that of the others.
SCENES = {
    "ball": (ball, 1e-9, "radau3", 1e-6),
    "gripper with ball": (gripper, 1e-9, "radau3", 1e-6),
    "coin": (coin, 1e-9, "runge_kutta3", 1e-5),
    "clutter of 12": (clutter, 1e-8, "runge_kutta3", 1e-5),
    "arm": (arm, 1e-9, "runge_kutta3", 1e-6),
}
DECADES = [10.0**-k for k in range(1, 9)]
METHODS = (
    ("cenic", DECADES),
    ("discrete", (5e-3, 2e-3, 1e-3, 2.5e-4, 6.25e-5)),
    ("radau3", DECADES[1:5]),
    ("implicit_euler", DECADES[1:4]),
    ("runge_kutta3", DECADES[:5]),
)


def run(make, integrator, accuracy, cut=CUT):
    """The positions of the bodies at the end, the seconds that it took, and the time that was reached."""
    diagram, plant, start, until = make(accuracy if integrator == "discrete" else 0.0)
    simulator = Simulator(diagram)
    start(plant.GetMyMutableContextFromRoot(simulator.get_mutable_context()))
    if integrator != "discrete":
        ResetIntegratorFromFlags(simulator, integrator, LONGEST)
        simulator.get_mutable_integrator().set_target_accuracy(accuracy)
    simulator.Initialize()
    begin = time.process_time()

    def watch(context):
        late = time.process_time() - begin > cut
        return EventStatus.ReachedTermination(diagram, "cut") if late else EventStatus.DidNothing()

    simulator.set_monitor(watch)
    simulator.AdvanceTo(until)
    seconds = time.process_time() - begin
    context = plant.GetMyContextFromRoot(simulator.get_context())
    bodies = [plant.get_body(BodyIndex(i)) for i in range(1, plant.num_bodies())]
    positions = [plant.EvalBodyPoseInWorld(context, b).translation() for b in bodies]
    reached = simulator.get_context().get_time()
    return positions, seconds, reached if reached < until - 1e-9 else None, until


def off(a, b):
    return max(np.linalg.norm(p - q) for p, q in zip(a, b))


def remark(*words):
    print(*words, file=sys.stderr, flush=True)


def rows(name):
    make, convex, integrator, accuracy = SCENES[name]
    references = {}
    for model, by in ((True, ("cenic", convex)), (False, (integrator, accuracy))):
        end, seconds, reached, until = run(make, *by, CUT_REFERENCE)
        if reached is None:
            references[model] = end
            remark(f"{name}: reference {by[0]} {by[1]:g} took {seconds:.1f} s")
        else:
            remark(f"{name}: reference {by[0]} {by[1]:g} was cut at {reached:.3g} of {until} s")
    if len(references) == 2:
        remark(f"{name}: the references are {off(*references.values()):.1e} m apart")
    for integrator, accuracies in METHODS:
        for accuracy in accuracies:
            if integrator == "cenic" and accuracy < 2.0 * convex:
                break
            times = []
            for _ in range(3):
                try:
                    end, seconds, reached, until = run(make, integrator, accuracy)
                except RuntimeError as error:
                    remark(f"{name}: {integrator} {accuracy:g} failed: {str(error)[:200]}")
                    break
                times.append(seconds)
                if seconds > 1.0:
                    break
            if not times:
                continue
            reference = references.get(integrator in CONVEX)
            if reached is not None:
                remark(f"{name}: {integrator} {accuracy:g} was cut at {reached:.3g} of {until} s")
            elif reference is None:
                remark(f"{name}: {integrator} {accuracy:g} took {min(times):.1f} s; there is no reference")
            else:
                speed = min(times) / until
                print(f"{name},{integrator},{accuracy:g},{off(end, reference):.3e},{speed:.4g}", flush=True)
            if min(times) > PATIENCE:
                break


if __name__ == "__main__":
    print("scene,integrator,accuracy,error,seconds")
    for name in sys.argv[1:] or SCENES:
        rows(name)
