"""A film (SVG) of a box in isobar and in Drake, side by side, from a scene and isobar's motion of it.

    isobar simulate scene.json --until 1 --out motion.csv
    python film.py scene.json motion.csv film.svg
"""

import csv
import itertools
import json
import sys

import numpy as np
from pydrake.all import Quaternion, RotationMatrix
from scipy.spatial import ConvexHull

import in_drake

SLOWER = 4.0
WIDTH, HEIGHT, FRAMES = 640, 420, 100


def silhouettes(size, poses):
    """The outlines of a box, seen along y, at poses (rotation, position)."""
    corners = np.array(list(itertools.product(*[(-0.5 * s, 0.5 * s) for s in size])))
    for rotation, position in poses:
        seen = (corners @ rotation.T + position)[:, [0, 2]]
        outline = seen[ConvexHull(seen).vertices]
        # As many points in each frame.
        yield np.vstack([outline, np.repeat(outline[-1:], 8 - len(outline), axis=0)])


def main(scene_file, motion_file, film_file):
    scene = json.load(open(scene_file))
    box = next(b for b in scene["bodies"] if not b.get("fixed"))
    size, name = box["geometries"][0]["shape"]["box"]["size"], box["name"]
    rows = list(csv.DictReader(open(motion_file)))
    rows = rows[:: max(1, len(rows) // FRAMES)]
    of_row = lambda row, keys: [float(row[f"{name}.{key}"]) for key in keys]
    ours = [(RotationMatrix(Quaternion(np.array(q) / np.linalg.norm(q))).matrix(),
             np.array(of_row(row, ["px_m", "py_m", "pz_m"])))
            for row in rows for q in [of_row(row, ["qw", "qx", "qy", "qz"])]]
    times = [float(row["t_s"]) for row in rows]
    plant, context, simulator, bodies = in_drake.build(scene)
    simulator.Initialize()
    theirs = []
    for time in times:
        simulator.AdvanceTo(time)
        pose = plant.EvalBodyPoseInWorld(context, bodies[0][0])
        theirs.append((pose.rotation().matrix(), pose.translation()))
    tops = [max(position[2] for _, position in poses) for poses in (ours, theirs)]
    scale = min(0.8 * HEIGHT / (max(tops) + 0.6 * max(size)), 0.3 * WIDTH / max(size))
    floor, seconds = HEIGHT - 40, SLOWER * times[-1]
    print(f'heights reached: isobar {tops[0]:.4f} m, Drake {tops[1]:.4f} m')
    with open(film_file, "w") as out:
        out.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">\n'
                  f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>\n'
                  f'<path d="M0 {floor}H{WIDTH}" stroke="#555" stroke-width="2"/>\n')
        for k, (label, poses, color) in enumerate([("isobar", ours, "#2a7ab0"), ("Drake 1.58", theirs, "#c05030")]):
            middle = (0.25 + 0.5 * k) * WIDTH
            start = poses[0][1]
            frames = [" ".join(f"{middle + scale * (x - start[0]):.1f},{floor - scale * z:.1f}" for x, z in outline)
                      for outline in silhouettes(size, poses)]
            values = ";".join(frames)
            out.write(f'<polygon points="{frames[-1]}" fill="{color}" fill-opacity="0.75" stroke="{color}">\n'
                      f'<animate attributeName="points" dur="{seconds:.1f}s" repeatCount="indefinite" '
                      f'values="{values}"/></polygon>\n'
                      f'<text x="{middle}" y="{HEIGHT - 14}" text-anchor="middle" font-size="16">{label}</text>\n')
        out.write("</svg>\n")


main(*sys.argv[1:])
