"""The scenes of `cargo run --release --example plain_scenes -- N SEED --scenes` in Drake, by the same criteria.

    python in_drake.py < scenes.jsonl

Those with boxes, cylinders and convex bodies on rigid floors and soft boxes, without skirts, bristles and pressure laws:
what Drake has.
"""

import collections
import json
import sys

import numpy as np
from pydrake.all import (AddCompliantHydroelasticProperties, AddContactMaterial, AddMultibodyPlantSceneGraph,
                         AddRigidHydroelasticProperties, Box, CalcSpatialInertia, ContactModel, Convex,
                         CoulombFriction, Cylinder, DiagramBuilder, DiscreteContactApproximation, HalfSpace,
                         HydroelasticContactRepresentation, ProximityProperties, RigidTransform, RollPitchYaw,
                         Simulator)

# Newer versions have no TAMSI.
KINDS = {name: getattr(DiscreteContactApproximation, of)
         for name, of in [("sap", "kSap"), ("lagged", "kLagged"), ("similar", "kSimilar"), ("tamsi", "kTamsi")]
         if hasattr(DiscreteContactApproximation, of)}
SURFACES = {"triangles": HydroelasticContactRepresentation.kTriangle,
            "polygons": HydroelasticContactRepresentation.kPolygon}
# As in main.rs.
GAIN, SPEED, DECAY, BEFORE, AT_REST, END = 0.01, 1e-4, 0.9, 0.4, 0.7, 1.0


def shape(of):
    """The shape and the length that Drake's meshes are made with; None where Drake has none."""
    if "box" in of:
        return Box(*of["box"]["size"]), max(of["box"]["size"])
    if "cylinder" in of:
        c = of["cylinder"]
        return Cylinder(c["radius"], c["length"]), c["resolution"]
    if "convex" in of:
        points = np.array(of["convex"]["points"]).T
        return Convex(points=points, label="convex"), 1.0
    if "half_space" in of:
        return HalfSpace(), 1.0
    return None


def properties(scene, geometry, resolution):
    m = scene["materials"][geometry["material"]]
    p = ProximityProperties()
    if geometry.get("rigid"):
        AddRigidHydroelasticProperties(resolution, p)
    else:
        AddCompliantHydroelasticProperties(resolution, m["hydroelastic_modulus"], p)
    friction = CoulombFriction(m["friction"], m["friction"])
    AddContactMaterial(dissipation=m["dissipation"], friction=friction, properties=p)
    p.AddProperty("material", "relaxation_time", m["relaxation_time"])
    return p


def build(scene):
    """The plant, its context, a simulator, and the free bodies with their masses and tables."""
    dt = scene["solver"]["time_step"]
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, dt)
    bodies = []
    for body in scene["bodies"]:
        geometry = body["geometries"][0]
        its_shape, resolution = shape(geometry["shape"])
        p = properties(scene, geometry, resolution)
        if body.get("fixed"):
            pose = RigidTransform(geometry.get("translation", [0, 0, 0]))
            plant.RegisterCollisionGeometry(plant.world_body(), pose, its_shape, body["name"], p)
            continue
        inertia = CalcSpatialInertia(its_shape, body["density"])
        link = plant.AddRigidBody(body["name"], inertia)
        plant.RegisterCollisionGeometry(link, RigidTransform(), its_shape, body["name"], p)
        bodies.append((link, inertia.get_mass(), body))
    plant.set_contact_model(ContactModel.kHydroelastic)
    plant.set_contact_surface_representation(SURFACES[scene["contact"]["surface"]])
    plant.set_discrete_contact_approximation(KINDS[scene["solver"]["kind"]])
    plant.Finalize()
    diagram = builder.Build()
    simulator = Simulator(diagram)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    for link, _, body in bodies:
        plant.SetFreeBodyPose(context, link, RigidTransform(RollPitchYaw(body["rpy"]), body["translation"]))
    return plant, context, simulator, bodies


def run(plain):
    scene = plain["scene"]
    if "bristle_length" in scene["contact"] or "skirt" in scene["contact"] or scene["solver"]["kind"] not in KINDS:
        return None
    geometries = [g for body in scene["bodies"] for g in body["geometries"]]
    if any(shape(g["shape"]) is None or "pressure_law" in g for g in geometries):
        return None
    # Drake has no contact of a soft half-space with a soft body.
    if any("half_space" in g["shape"] and not g.get("rigid") for g in geometries):
        return None
    dt = scene["solver"]["time_step"]
    plant, context, simulator, bodies = build(scene)
    weight = 9.81 * sum(mass for _, mass, _ in bodies)
    unit = weight * max(plain["drop"], 0.05 * plain["size"])
    energy = lambda: plant.CalcPotentialEnergy(context) + plant.CalcKineticEnergy(context)
    simulator.Initialize()
    start, gain, speed, before = energy(), 0.0, 0.0, 0.0
    for k in range(1, round(END / dt) + 1):
        simulator.AdvanceTo(k * dt)
        gain = max(gain, (energy() - start) / unit)
        if plain["rests"] and k * dt > BEFORE:
            v = max(np.linalg.norm(plant.EvalBodySpatialVelocityInWorld(context, link).translational())
                    for link, _, _ in bodies)
            if k * dt > AT_REST:
                speed = max(speed, v)
            else:
                before = max(before, v)
    return gain > GAIN or speed > max(SPEED, DECAY * before), gain


def main():
    table = collections.defaultdict(lambda: [0, 0, 0.0])
    for line in sys.stdin:
        plain = json.loads(line)
        try:
            outcome = run(plain)
        except RuntimeError as error:
            outcome = (True, float("inf"))
            print(plain["scene"]["solver"], str(error)[:120], file=sys.stderr)
        if outcome is None:
            continue
        row = table[plain["scene"]["solver"]["kind"]]
        row[0] += outcome[0]
        row[1] += 1
        row[2] = max(row[2], outcome[1])
    print("| kind | faults | of | largest gain, drops |\n|---|---|---|---|")
    for kind, (faults, of, gain) in sorted(table.items()):
        print(f"| {kind} | {faults} | {of} | {gain:.2g} |")


if __name__ == "__main__":
    main()
