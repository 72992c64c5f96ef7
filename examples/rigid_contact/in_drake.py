"""Rigid pairs in velocity-level steps, beside Drake's: a table for docs/rigid_contact.md.

    python in_drake.py [ISOBAR] [--scenes FOLDER]

ISOBAR is isobar's command (`isobar` unless it is given). Drake has hydroelastic contact with point contact as its fallback, and the
time steps, the mesh of the ball and the stiction velocity of isobar. The scenes are a gripper with rigid fingers and a soft ball, a
gripper with soft pads and a rigid ball, ten rigid boxes on each other, and a rigid block on a rigid incline. In Drake the boxes are
boxes ("one point" for each pair), or carry small balls in their corners in place of contact between boxes, or are soft. With
`--scenes` isobar's scene files stay in the folder.

Thresholds are where a bisection of gravity along the slip ends, in parts of Coulomb's. Something slips if it still becomes faster from
0.25 to 0.5 s, by more than 0.2 % of what friction can hold. Times are processor time of a step: of Drake's AdvanceTo, and of isobar
the difference of a long and a short run.
"""

import argparse
import csv
import importlib.util
import io
import json
import pathlib
import resource
import subprocess
import tempfile
import time

import numpy as np
from pydrake.all import (AddCompliantHydroelasticProperties, AddContactMaterial, AddMultibodyPlantSceneGraph,
                         AddRigidHydroelasticProperties, Box, CollisionFilterDeclaration, ContactModel, CoulombFriction,
                         DiagramBuilder, DiscreteContactApproximation, FixedOffsetFrame, GeometrySet, HalfSpace,
                         HydroelasticContactRepresentation, PdControllerGains, PiecewisePolynomial, PrismaticJoint,
                         ProximityProperties, RigidTransform, Simulator, SpatialInertia, Sphere, TrajectorySource,
                         UnitInertia, default_model_instance)

# isobar's mesh of a ball. Drake has a package called `drake` too.
PLACE = pathlib.Path(__file__).resolve().parent.parent / "work_precision" / "drake.py"
SPEC = importlib.util.spec_from_file_location("work_precision", PLACE)
WORK_PRECISION = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(WORK_PRECISION)
icosphere = WORK_PRECISION.icosphere

G = 9.81
KINDS = {"lagged": DiscreteContactApproximation.kLagged, "sap": DiscreteContactApproximation.kSap}
FRICTION, DISSIPATION, RELAXATION, MODULUS = 0.5, 2.0, 0.01, 2e5
STICTION_VELOCITY = 1e-3
MOMENTS, GROWTH, TOLERANCE = (0.25, 0.5), 2e-3, 1e-3

# The grippers.
# The mesh of the ball has 320 triangles: those of an icosahedron, divided twice.
RADIUS, RESOLUTION, LEVEL, MASS = 0.035, 0.012, 2, 0.2
# Half of the gap of the fingers at the start, and where they hold the ball.
FINGER, INNER, HELD = (0.02, 0.06, 0.06), 0.037, {"ball": 0.0314, "pads": 0.0329}
STEP, OPEN, END, RISE, HIGH = 2e-3, 0.6, 2.5, 0.1, 20.0
SQUEEZE, LIFT = ([0, OPEN, 0.8, 3], [0, 0, 6, 6]), ([0, 1.0, 1.5, 3], [0, 0, RISE, RISE])
# The boxes.
SIZE, COUNT, STACK_STEP, SOFT_BOX, CORNER = (0.1, 0.08, 0.06), 10, 5e-3, 1e7, 1e-3
BOXES = ("one point", "balls in corners", "soft boxes")


def gripper(soft, gravity, squeeze, lift, lifted):
    """What a gripper consists of, with a soft "ball" or soft "pads"; `lifted` begins in the air with the ball held."""
    return {"soft": soft, "gravity": gravity, "squeeze": squeeze, "lift": lift, "up": HIGH if lifted else 0.0,
            "inner": HELD[soft] if lifted else INNER, "step": STEP}


def boxes(count, gravity, step):
    return {"count": count, "gravity": gravity, "step": step}


# isobar

class Isobar:
    def __init__(self, command, folder):
        self.command, self.folder = command, folder

    def text(self, scene, kind):
        geometry = lambda shape, soft: {"shape": shape, "material": "m", "rigid": not soft}
        bodies = [{"name": "table", "fixed": True, "geometries": [geometry({"half_space": {}}, False)]}]
        result = {
            "gravity": list(scene["gravity"]),
            "materials": {"m": {"hydroelastic_modulus": MODULUS, "dissipation": DISSIPATION,
                                "relaxation_time": RELAXATION, "friction": FRICTION}},
            "solver": {"kind": kind, "time_step": scene["step"]},
            "contact": {"surface": "polygons", "stiction_velocity": STICTION_VELOCITY},
            "bodies": bodies,
        }
        if "count" in scene:
            for i in range(scene["count"]):
                shape = {"box": {"size": list(SIZE)}}
                bodies.append({"name": f"box {i}", "mass": 1.0, "translation": [0, 0, SIZE[2] * (i + 0.5)],
                               "geometries": [geometry(shape, False)]})
            return result
        up, offset = scene["up"], scene["inner"] + FINGER[0] / 2
        ball = {"sphere": {"radius": RADIUS, "resolution": RESOLUTION}}
        bodies.append({"name": "ball", "mass": MASS, "translation": [0, 0, RADIUS + up],
                       "geometries": [geometry(ball, scene["soft"] == "ball")]})
        bodies.append({"name": "palm", "mass": 0.4, "inertia": np.diag([4e-4, 8e-4, 4e-4]).tolist(),
                       "joint": {"name": "lift", "type": "prismatic", "axis": [0, 0, 1], "translation": [0, 0, 0.12],
                                 "position": up, "damping": 5.0}})
        for name, side in (("left", 1), ("right", -1)):
            bodies.append({"name": f"{name} finger", "mass": 0.1,
                           "joint": {"name": name, "type": "prismatic", "parent": "palm", "axis": [side, 0, 0],
                                     "translation": [-side * offset, 0, -0.085], "damping": 2.0},
                           "geometries": [geometry({"box": {"size": list(FINGER)}}, scene["soft"] == "pads")]})
        knots = lambda of: {"times": of[0], "values": of[1], "interpolation": "linear"}
        result["actuators"] = [
            {"name": "lift", "joints": ["lift"], "command": knots(scene["lift"]),
             "drive": {"position": {"stiffness": 8000, "damping": 200}}},
            {"name": "squeeze", "joints": ["left", "right"], "drive": "force", "command": knots(scene["squeeze"])},
        ]
        return result

    def file(self, scene, kind, name):
        path = self.folder / f"{name}_{kind}.json"
        path.write_text(json.dumps(self.text(scene, kind), indent=1) + "\n")
        return path

    def states(self, scene, kind, until, name):
        """Of each step: the last bodies' and joints' values and the forces, by the names of the columns."""
        command = [self.command, "simulate", self.file(scene, kind, name), "--until", str(until), "--quiet", "--out", "-",
                   "--forces"]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(io.StringIO(out))]

    def gripper(self, scene, kind, moments, name):
        rows = self.states(scene, kind, moments[-1], name)
        offset = scene["inner"] + FINGER[0] / 2

        def at(row):
            q, z = (row["left.q"], row["right.q"]), row["ball.pz_m"]
            finger = np.array([row[f"ball-left finger.f{i}_N"] for i in "xyz"])
            return {"height": z, "gap": 2 * (offset - FINGER[0] / 2) - q[0] - q[1], "hand": row["lift.q"],
                    "table": -row["table-ball.fz_N"], "normal": abs(finger[0]), "friction": np.hypot(*finger[1:]),
                    "slip": np.linalg.norm([row["ball.vy_m_s"], row["ball.vz_m_s"] - row["lift.v"]])}

        return [at(rows[round(moment / scene["step"])]) for moment in moments]

    def boxes(self, scene, kind, moments, name, _):
        rows = self.states(scene, kind, moments[-1], name)

        def at(row):
            vector = lambda i, of, unit: np.array([row[f"box {i}.{of}{x}_{unit}"] for x in "xyz"])
            n = range(scene["count"])
            return {"places": [vector(i, "p", "m") for i in n], "table": -row["table-box 0.fz_N"],
                    "speeds": [np.linalg.norm(vector(i, "v", "m_s")) for i in n],
                    "spins": [np.linalg.norm(vector(i, "w", "rad_s")) for i in n]}

        return [at(rows[round(moment / scene["step"])]) for moment in moments]

    def time(self, scene, kind, until, name, _=None):
        path, short = self.file(scene, kind, name), scene["step"]

        def run(until):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([self.command, "simulate", path, "--until", str(until), "--quiet"], capture_output=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

        return (run(until) - run(short)) / (round(until / short) - 1)


# Drake

class Drake:
    def properties(self, modulus):
        """Of a soft body, of a rigid one (0), or of one with point contact alone (None)."""
        p = ProximityProperties()
        if modulus:
            AddCompliantHydroelasticProperties(1.0, modulus, p)
        elif modulus == 0:
            AddRigidHydroelasticProperties(1.0, p)
        AddContactMaterial(dissipation=DISSIPATION, friction=CoulombFriction(FRICTION, FRICTION), properties=p)
        p.AddProperty("material", "relaxation_time", RELAXATION)
        return p

    def build(self, scene, kind, of=""):
        builder = DiagramBuilder()
        plant, graph = AddMultibodyPlantSceneGraph(builder, scene["step"])
        world = plant.world_body()
        table = plant.RegisterCollisionGeometry(world, RigidTransform(), HalfSpace(), "table", self.properties(0))
        plant.mutable_gravity_field().set_gravity_vector(scene["gravity"])
        plant.set_contact_model(ContactModel.kHydroelasticWithFallback)
        plant.set_contact_surface_representation(HydroelasticContactRepresentation.kPolygon)
        plant.set_discrete_contact_approximation(KINDS[kind])
        apart = lambda one, other: graph.collision_filter_manager().Apply(
            CollisionFilterDeclaration().ExcludeBetween(GeometrySet(one), GeometrySet(other)))
        if "count" in scene:
            self.add_boxes(scene, plant, of, apart)
        else:
            self.add_gripper(scene, plant, table, apart)
        plant.Finalize()
        plant.set_stiction_tolerance(STICTION_VELOCITY)
        if "count" not in scene:
            self.connect(scene, builder, plant)
        diagram = builder.Build()
        simulator = Simulator(diagram)
        context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        for i in range(scene.get("count", 0)):
            link = plant.GetBodyByName(f"box {i}")
            plant.SetFreeBodyPose(context, link, RigidTransform([0, 0, SIZE[2] * (i + 0.5)]))
        if "count" not in scene:
            plant.SetFreeBodyPose(context, plant.GetBodyByName("ball"), RigidTransform([0, 0, RADIUS + scene["up"]]))
            plant.GetJointByName("lift").set_translation(context, scene["up"])
        simulator.Initialize()
        return simulator, plant, context

    def add_boxes(self, scene, plant, of, apart):
        inertia = SpatialInertia(1.0, np.zeros(3), UnitInertia.SolidBox(*SIZE))
        hulls = []
        for i in range(scene["count"]):
            link = plant.AddRigidBody(f"box {i}", default_model_instance(), inertia)
            its = self.properties(SOFT_BOX if of == "soft boxes" else 0)
            hulls.append(plant.RegisterCollisionGeometry(link, RigidTransform(), Box(*SIZE), "box", its))
            for k in range(8 if of == "balls in corners" else 0):
                # Not at the edges of the box below, where their normals would be open.
                signs = np.array([1 if k >> axis & 1 else -1 for axis in range(3)])
                at = RigidTransform(signs * (np.array(SIZE) / 2 - [5 * CORNER, 5 * CORNER, CORNER]))
                plant.RegisterCollisionGeometry(link, at, Sphere(CORNER), f"corner {k}", self.properties(None))
        if of == "balls in corners":
            apart(hulls, hulls)

    def add_gripper(self, scene, plant, table, apart):
        hand, fingers = plant.AddModelInstance("hand"), plant.AddModelInstance("fingers")
        ball = plant.AddRigidBody("ball", default_model_instance(),
                                  SpatialInertia(MASS, np.zeros(3), UnitInertia.SolidSphere(RADIUS)))
        mesh = plant.RegisterCollisionGeometry(ball, RigidTransform(), icosphere(RADIUS, LEVEL), "mesh",
                                               self.properties(MODULUS if scene["soft"] == "ball" else 0))
        # As in isobar, a rigid ball has its mesh for soft bodies and is round for rigid ones.
        if scene["soft"] == "pads":
            apart([mesh], [table])
            round_ball = plant.RegisterCollisionGeometry(ball, RigidTransform(), Sphere(RADIUS), "round",
                                                         self.properties(None))
        palm = plant.AddRigidBody("palm", hand, SpatialInertia(0.4, np.zeros(3), UnitInertia(1e-3, 2e-3, 1e-3)))

        def joint(name, parent, child, at, axis, damping):
            frame = plant.AddFrame(FixedOffsetFrame(name + " frame", parent.body_frame(), RigidTransform(at)))
            slide = plant.AddJoint(PrismaticJoint(name, frame, child.body_frame(), axis, damping=damping))
            return plant.AddJointActuator(name, slide)

        lift = joint("lift", plant.world_body(), palm, [0, 0, 0.12], [0, 0, 1], 5.0)
        lift.set_controller_gains(PdControllerGains(p=8000, d=200))
        offset = scene["inner"] + FINGER[0] / 2
        for name, side in (("left", 1), ("right", -1)):
            inertia = SpatialInertia(0.1, np.zeros(3), UnitInertia.SolidBox(*FINGER))
            finger = plant.AddRigidBody(f"{name} finger", fingers, inertia)
            joint(name, palm, finger, [-side * offset, 0, -0.085], [side, 0, 0], 2.0)
            pad = plant.RegisterCollisionGeometry(finger, RigidTransform(), Box(*FINGER), "pad",
                                                  self.properties(MODULUS if scene["soft"] == "pads" else 0))
            if scene["soft"] == "pads":
                apart([round_ball], [pad])

    def connect(self, scene, builder, plant):
        """The commands over time; the velocity that the hand is sent to is 0, as of isobar's position drives."""
        source = lambda times, values: builder.AddSystem(TrajectorySource(PiecewisePolynomial.FirstOrderHold(times, values)))
        squeeze = source(scene["squeeze"][0], np.tile(scene["squeeze"][1], (2, 1)))
        lift = source(scene["lift"][0], np.array([scene["lift"][1], np.zeros(len(scene["lift"][0]))]))
        hand, fingers = plant.GetModelInstanceByName("hand"), plant.GetModelInstanceByName("fingers")
        builder.Connect(squeeze.get_output_port(), plant.get_actuation_input_port(fingers))
        builder.Connect(lift.get_output_port(), plant.get_desired_state_input_port(hand))

    def forces(self, plant, context):
        """The force on the second body of each pair, by the names of both in their order."""
        results = plant.get_contact_results_output_port().Eval(context)
        sums = {}

        def add(a, b, on_b):
            if a > b:
                a, b, on_b = b, a, -on_b
            sums[a, b] = sums.get((a, b), np.zeros(3)) + on_b

        for i in range(results.num_point_pair_contacts()):
            info = results.point_pair_contact_info(i)
            a, b = (plant.get_body(index).name() for index in (info.bodyA_index(), info.bodyB_index()))
            add(a, b, info.contact_force())
        query = plant.get_geometry_query_input_port().Eval(context)
        name = lambda id: plant.GetBodyFromFrameId(query.inspector().GetFrameId(id)).name()
        for i in range(results.num_hydroelastic_contacts()):
            info = results.hydroelastic_contact_info(i)
            surface = info.contact_surface()
            add(name(surface.id_M()), name(surface.id_N()), -info.F_Ac_W().translational())
        return sums

    def gripper(self, scene, kind, moments, _):
        simulator, plant, context = self.build(scene, kind)
        found = []
        for moment in moments:
            simulator.AdvanceTo(moment)
            velocity = plant.EvalBodySpatialVelocityInWorld(context, plant.GetBodyByName("ball")).translational()
            value = lambda joint: plant.GetJointByName(joint).get_translation(context)
            forces = self.forces(plant, context)
            finger = forces.get(("ball", "left finger"), np.zeros(3))
            hand = plant.GetJointByName("lift")
            found.append({
                "height": plant.EvalBodyPoseInWorld(context, plant.GetBodyByName("ball")).translation()[2],
                "gap": 2 * scene["inner"] - value("left") - value("right"), "hand": value("lift"),
                "table": abs(forces.get(("ball", "world"), np.zeros(3))[2]),
                "normal": abs(finger[0]), "friction": np.hypot(*finger[1:]),
                "slip": np.linalg.norm([velocity[1], velocity[2] - hand.get_translation_rate(context)])})
        return found

    def boxes(self, scene, kind, moments, _, of):
        simulator, plant, context = self.build(scene, kind, of)
        links = [plant.GetBodyByName(f"box {i}") for i in range(scene["count"])]
        found = []
        for moment in moments:
            simulator.AdvanceTo(moment)
            velocities = [plant.EvalBodySpatialVelocityInWorld(context, link) for link in links]
            on_floor = self.forces(plant, context).get(("box 0", "world"), np.zeros(3))
            found.append({"places": [plant.EvalBodyPoseInWorld(context, link).translation() for link in links],
                          "speeds": [np.linalg.norm(v.translational()) for v in velocities],
                          "spins": [np.linalg.norm(v.rotational()) for v in velocities], "table": abs(on_floor[2])})
        return found

    def time(self, scene, kind, until, _, of=""):
        simulator, _, _ = self.build(scene, kind, of)
        simulator.AdvanceTo(scene["step"])
        begin = time.process_time()
        simulator.AdvanceTo(until)
        return (time.process_time() - begin) / (round(until / scene["step"]) - 1)


# What is compared

def grows(before, after, friction):
    return after - before > GROWTH * friction * (MOMENTS[1] - MOMENTS[0])


def threshold(slips, low=0.5, high=1.5):
    """The ratio at which something begins to slip."""
    if slips(low):
        return f"below {low}"
    if not slips(high):
        return f"above {high}"
    while high - low > TOLERANCE:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if slips(middle) else (middle, high)
    return f"{0.5 * (low + high):.3f}"


def grip_threshold(program, soft, kind, angle):
    """Of a ball that is held in the air, with gravity along the fingers' faces, in that of friction on both of them."""
    force = 6.0

    def slips(ratio):
        size = ratio * 2 * FRICTION * force / MASS
        gravity = [0.0, size * float(np.sin(angle)), -size * float(np.cos(angle))]
        constant = lambda value: ([0, 3], [value, value])
        scene = gripper(soft, gravity, constant(force), constant(HIGH), lifted=True)
        before, after = program.gripper(scene, kind, MOMENTS, f"slip_{soft}")
        return grows(before["slip"], after["slip"], 2 * FRICTION * force / MASS)

    return threshold(slips)


def incline_threshold(program, kind, angle, of):
    """Of a block, as the tangent of the incline in that of friction."""

    def slips(ratio):
        along = ratio * FRICTION * G
        gravity = [along * float(np.cos(angle)), along * float(np.sin(angle)), -G]
        before, after = program.boxes(boxes(1, gravity, STEP), kind, MOMENTS, "incline", of)
        return grows(before["speeds"][0], after["speeds"][0], FRICTION * G)

    return threshold(slips)


def of_gripper(program, soft, kind):
    scene = gripper(soft, [0, 0, -G], SQUEEZE, LIFT, lifted=False)
    rest, held = program.gripper(scene, kind, (OPEN, END), f"gripper_{soft}")
    yield "on the table: centre of the ball too low by, µm", f"{(RADIUS - rest['height']) * 1e6:.4g}"
    yield "the same: force of the table, N", f"{rest['table']:.4f}"
    yield "held: gap of the fingers, mm", f"{held['gap'] * 1e3:.3f}"
    yield "held: on a finger, N", f"{held['normal']:.4f}, {held['friction']:.4f}"
    yield "held: ball has slipped down by, mm", f"{(rest['height'] - rest['hand'] - held['height'] + held['hand']) * 1e3:.3f}"
    yield "held: slips at, µm/s", f"{held['slip'] * 1e6:.3g}"
    ratios = [grip_threshold(program, soft, kind, angle) for angle in (0.0, 0.8, np.pi / 2)]
    yield "slips from", ", ".join(ratios)
    yield "µs a step", f"{min(program.time(scene, kind, END, f'gripper_{soft}') for _ in range(3)) * 1e6:.0f}"


def of_boxes(program, kind, of=""):
    for step in (STACK_STEP, 1e-3):
        scene = boxes(COUNT, [0, 0, -G], step)
        (last,) = program.boxes(scene, kind, (2.0,), "stack", of)
        places = np.array(last["places"])
        low = SIZE[2] * (np.arange(COUNT) + 0.5) - places[:, 2]
        of_step = f"{step * 1e3:g} ms"
        yield f"{of_step}: lowest, highest box too low by, µm", f"{low[0] * 1e6:.3g}, {low[-1] * 1e6:.3g}"
        aside = np.linalg.norm(places[:, :2], axis=1).max()
        yield f"{of_step}: largest offset to the side, µm", f"{aside * 1e6:.3g}"
        yield f"{of_step}: largest speed", f"{max(last['speeds']):.2g} m/s, {max(last['spins']):.2g} rad/s"
        yield f"{of_step}: force of the floor, N", f"{last['table']:.4f}"
        until = step * (8000 if isinstance(program, Isobar) else 800)
        yield f"{of_step}: µs a step", f"{min(program.time(scene, kind, until, 'stack', of) for _ in range(3)) * 1e6:.0f}"
    ratios = [incline_threshold(program, kind, angle, of) for angle in (0.0, 0.6, 2.1, 4.0)]
    yield "block slips from", ", ".join(ratios)


def table(title, columns):
    print(f"\n| {title} | " + " | ".join(columns) + " |\n|" + "---|" * (1 + len(columns)), flush=True)
    for row in zip(*columns.values()):
        print(f"| {row[0][0]} | " + " | ".join(cell for _, cell in row) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("isobar", nargs="?", default="isobar")
    parser.add_argument("--scenes", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.scenes or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        isobar, drake = Isobar(arguments.isobar, folder), Drake()
        for soft in ("ball", "pads"):
            table(f"gripper, soft {soft}", {f"{name} `{kind}`": list(of_gripper(program, soft, kind)) for kind in KINDS
                                            for name, program in (("isobar", isobar), ("Drake", drake))})
        for kind in KINDS:
            columns = {f"isobar `{kind}`": list(of_boxes(isobar, kind))}
            columns |= {f"Drake, {of}": list(of_boxes(drake, kind, of)) for of in BOXES}
            table("boxes", columns)


if __name__ == "__main__":
    main()
