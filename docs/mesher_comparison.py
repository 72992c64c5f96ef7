"""Forces on ten bodies pressed onto a plane, in meshes by `isobar mesh` and by fTetWild at half the size.

Run in the repository with `isobar` on the path, or named by ISOBAR, and `pip install pytetwild pyvista numpy`:

    python docs/mesher_comparison.py FOLDER > docs/mesher_comparison.md

FOLDER holds the three links of robots by the names in LINKS; what is made is kept there too. Bodies are in m, forces in N.
"""

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

ISOBAR = os.environ.get("ISOBAR", "isobar")
MODULUS = 1e6  # Pa
SQUARES = 100  # along each side of a patch
# File and factor to metres.
LINKS = {
    "fingertip": ("white_tip.obj", 1.0),
    "finger link": ("f21.obj", 1.0),
    "wrist link": ("wrist3.obj", 1.0),
}
SCENE = """
[materials.soft]
hydroelastic_modulus = {modulus!r}
[[bodies]]
name = "plane"
fixed = true
[[bodies.geometries]]
shape = {{ half_space = {{}} }}
rigid = true
[[bodies]]
name = "body"
translation = [0.0, 0.0, {height!r}]
rotation_matrix = {rotation}
[[bodies.geometries]]
shape = {{ mesh = {{ file = "{file}", split_zero_gradient = true }} }}
material = "soft"
"""


def rotation(x, y, z):
    """About the axes x, y and z in turn, radians."""
    (sx, cx), (sy, cy), (sz, cz) = ((np.sin(angle), np.cos(angle)) for angle in (x, y, z))
    about_x = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    about_y = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    return np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]]) @ about_y @ about_x


def prism(outline, cap, height, rings=None):
    """A prism over a polygon, with the triangles of its cap, and the sides of each ring of its outline."""
    n = len(outline)
    outline = np.asarray(outline, float)
    vertices = np.vstack([np.c_[outline, np.zeros(n)], np.c_[outline, np.full(n, height)]])
    triangles = [[a, c, b] for a, b, c in cap] + [[a + n, b + n, c + n] for a, b, c in cap]
    for ring in rings or [list(range(n))]:
        for a, b in zip(ring, ring[1:] + ring[:1]):
            triangles += [[a, b, b + n], [a, b + n, a + n]]
    return vertices, np.array(triangles)


def read_obj(path, scale=1.0):
    vertices, triangles = [], []
    for words in map(str.split, open(path)):
        if words[:1] == ["v"]:
            vertices.append([float(x) * scale for x in words[1:4]])
        elif words[:1] == ["f"]:
            corners = [int(word.split("/")[0]) for word in words[1:]]
            corners = [i - 1 if i > 0 else len(vertices) + i for i in corners]
            triangles += [[corners[0], *corners[k : k + 2]] for k in range(1, len(corners) - 1)]
    vertices, place = np.unique(np.array(vertices).round(9), axis=0, return_inverse=True)
    triangles = place.reshape(-1)[np.array(triangles)]
    return vertices, triangles[[len(set(triangle)) == 3 for triangle in triangles.tolist()]]


def bodies(folder):
    """The surface of each body, and how it is turned in its file so that no face lies along the lattice."""
    square = [[-1, -1], [1, -1], [1, 1], [-1, 1]]
    circle = [[0.02 * np.cos(a), 0.02 * np.sin(a)] for a in np.arange(48) / 24 * np.pi]
    bracket = [[0, 0], [0.06, 0], [0.06, 0.015], [0.015, 0.015], [0.015, 0.05], [0, 0.05]]
    channel = [[0, 0], [0.05, 0], [0.05, 0.04], [0.038, 0.04], [0.038, 0.012], [0.012, 0.012], [0.012, 0.04], [0, 0.04]]
    channel_cap = [[0, 1, 4], [0, 4, 5], [1, 2, 3], [1, 3, 4], [0, 5, 6], [0, 6, 7]]
    ring = [t for i in range(4) for t in ([i, (i + 1) % 4, 4 + (i + 1) % 4], [i, 4 + (i + 1) % 4, 4 + i])]
    box = prism([[0, 0], [0.06, 0], [0.06, 0.04], [0, 0.04]], [[0, 1, 2], [0, 2, 3]], 0.03)
    made = {
        "box": (box, (0.4, 0.3, 0.2)),
        "bracket": (prism(bracket, [[0, 1, 2], [0, 2, 3], [0, 3, 5], [3, 4, 5]], 0.03), (0.5, -0.3, 0.9)),
        "channel": (prism(channel, channel_cap, 0.03), (0.7, 0.2, -0.4)),
        "wedge of 30°": (prism([[0, 0], [0.06, 0], [0, 0.035]], [[0, 1, 2]], 0.04), (-0.3, 0.6, 0.4)),
        "cylinder": (prism(circle, [[0, i, i + 1] for i in range(1, 47)], 0.05), (0.3, 0.5, 0.0)),
        "frame": (
            prism(np.r_[0.03 * np.array(square), 0.013 * np.array(square)], ring, 0.018, [[0, 1, 2, 3], [7, 6, 5, 4]]),
            (0.2, 0.3, 0.5),
        ),
        "mug": (read_obj(Path(__file__).parent / "../examples/mug/mug.obj"), (0.0, 0.0, 0.0)),
    }
    links = {name: (read_obj(folder / file, scale), (0.0, 0.0, 0.0)) for name, (file, scale) in LINKS.items()}
    return {
        name: (vertices @ rotation(*turned).T, triangles, rotation(*turned).T)
        for name, ((vertices, triangles), turned) in (made | links).items()
    }


def isobar(*arguments):
    return json.loads(subprocess.run([ISOBAR, *map(str, arguments)], check=True, capture_output=True, text=True).stdout)


def write_vtk(path, vertices, tetrahedra):
    with open(path, "w") as file:
        file.write(f"# vtk DataFile Version 3.0\nmesh\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS {len(vertices)} double\n")
        np.savetxt(file, vertices, fmt="%.17g")
        file.write(f"CELLS {len(tetrahedra)} {5 * len(tetrahedra)}\n")
        np.savetxt(file, np.c_[np.full(len(tetrahedra), 4), tetrahedra], fmt="%d")
        file.write(f"CELL_TYPES {len(tetrahedra)}\n" + "10\n" * len(tetrahedra))


def outside(path, vertices, triangles, size):
    """Tetrahedra by fTetWild, made once: it takes minutes for some."""
    if path.exists():
        return
    import pytetwild

    part = size / np.linalg.norm(np.ptp(vertices, axis=0))
    made = pytetwild.tetrahedralize(
        vertices, triangles.astype(np.int32), edge_length_fac=part, epsilon=2e-4, num_threads=1, quiet=True
    )
    corners = made[0][made[1]]
    volumes = np.linalg.det(corners[:, 1:] - corners[:, :1])
    made[1][volumes < 0] = made[1][volumes < 0][:, [0, 1, 3, 2]]
    write_vtk(path, made[0], made[1])


def read_vtk(path):
    words = open(path).read().split()
    points, cells = words.index("POINTS"), words.index("CELLS")
    count, number = int(words[points + 1]), int(words[cells + 1])
    vertices = np.array(words[points + 3 : points + 3 + 3 * count], float).reshape(-1, 3)
    return vertices, np.array(words[cells + 3 : cells + 3 + 5 * number], int).reshape(-1, 5)[:, 1:]


def deepest(path):
    """The largest distance of a vertex from the boundary: where the extent is 1. Nearest points are on triangles."""
    vertices, tetrahedra = read_vtk(path)
    faces = np.sort(np.vstack([np.delete(tetrahedra, k, axis=1) for k in range(4)]), axis=1)
    faces, count = np.unique(faces, axis=0, return_counts=True)
    faces = faces[count == 1]
    corners = vertices[np.unique(faces)]
    inside = vertices[np.setdiff1d(tetrahedra, faces)]
    # No vertex is deeper than its distance to the boundary's vertices.
    bound = np.array([((corners - x) ** 2).sum(1).min() for x in inside]) ** 0.5
    largest = 0.0
    for k in np.argsort(-bound):
        if bound[k] <= largest:
            break
        largest = max(largest, distance(inside[k], *(vertices[faces[:, i]] for i in range(3))))
    return largest


def distance(x, a, b, c):
    """Of points from the nearest of triangles."""
    x = np.asarray(x)[..., None, :]
    normal = np.cross(b - a, c - a)
    area = (normal**2).sum(-1)
    u = (np.cross(b - a, x - a) * normal).sum(-1) / area
    v = (np.cross(x - a, c - a) * normal).sum(-1) / area
    height = np.abs(((x - a) * normal).sum(-1)) / np.sqrt(area)
    nearest = np.where((u >= 0) & (v >= 0) & (u + v <= 1), height, np.inf)
    for start, end in ((a, b), (b, c), (c, a)):
        along = end - start
        part = np.clip(((x - start) * along).sum(-1) / (along**2).sum(-1), 0, 1)[..., None]
        nearest = np.minimum(nearest, np.linalg.norm(x - start - part * along, axis=-1))
    return nearest.min(-1)


def force(path, turned, depth, vertices, modulus):
    height = float(-(vertices @ turned.T)[:, 2].min() - depth)
    scene = path.with_suffix(".toml")
    text = SCENE.format(modulus=float(modulus), height=height, rotation=turned.tolist(), file=path.name)
    scene.write_text(text)
    return abs(isobar("contact", scene, "--json", "--quiet")["pairs"][0]["force_on_a"][2])


def exact(turned, depth, vertices, triangles, deep):
    """The force of the distance to the surface itself, summed over the plane at the middles of squares."""
    a, b, c = ((vertices @ turned.T)[triangles[:, k]] for k in range(3))
    height = min(a[:, 2].min(), b[:, 2].min(), c[:, 2].min()) + depth
    cut = []
    for start, end in ((a, b), (b, c), (c, a)):
        crosses = (start[:, 2] < height) != (end[:, 2] < height)
        part = (height - start[crosses, 2]) / (end[crosses, 2] - start[crosses, 2])
        cut.append((start[crosses] + part[:, None] * (end[crosses] - start[crosses]))[:, :2])
    low, high = np.vstack(cut).min(0), np.vstack(cut).max(0)
    step = (high - low) / SQUARES
    middles = np.arange(SQUARES) + 0.5
    total = 0.0
    for i in middles:
        x = np.c_[np.full(SQUARES, low[0] + step[0] * i), low[1] + step[1] * middles, np.full(SQUARES, height)]
        total += distance(x[is_inside(x, a, b, c)], a, b, c).sum()
    return MODULUS * total / deep * step.prod()


def is_inside(x, a, b, c):
    """By the solid angles of the triangles."""
    a, b, c = (corner - x[:, None] for corner in (a, b, c))
    u, v, w = (np.linalg.norm(corner, axis=-1) for corner in (a, b, c))
    below = u * v * w + (a * b).sum(-1) * w + (b * c).sum(-1) * u + (c * a).sum(-1) * v
    return np.arctan2((a * np.cross(b, c)).sum(-1), below).sum(-1) > np.pi


POSES = {
    "face": rotation(0, 0, 0),
    "side": rotation(np.pi / 2, 0, 0),
    "tilted": rotation(0.06, 0.09, 0),
    "edge": rotation(0.7, 0, 0),
}


def main():
    folder = Path(sys.argv[1])
    meshes, presses, differences = [], [], []
    for name, (vertices, triangles, back) in bodies(folder).items():
        stem = name.replace(" ", "_").replace("°", "")
        surface, here, there = (folder / (stem + ending) for ending in (".obj", "_here.vtk", "_outside.vtk"))
        with open(surface, "w") as file:
            np.savetxt(file, vertices, fmt="v %.17g %.17g %.17g")
            np.savetxt(file, triangles + 1, fmt="f %d %d %d")
        filled = isobar("mesh", surface, "--out", here, "--json", "--quiet")
        outside(there, vertices, triangles, filled["size"] / 2)
        a, b, c = (vertices[triangles[:, k]] for k in range(3))
        area = np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2
        depth = filled["volume"] / area / 2
        deep = [deepest(path) for path in (here, there)]
        meshes.append(
            f"| {name} | {1e3 * filled['size']:.2f} | {filled['tetrahedra']} | {len(read_vtk(there)[1])} "
            f"| {100 * filled['volume_error']:+.2f} | {1e3 * deep[0]:.2f} | {1e3 * deep[1]:.2f} | {1e3 * depth:.2f} |"
        )
        for pose, turned in POSES.items():
            one = force(here, turned @ back, depth, vertices, MODULUS)
            # As stiff by depth as the mesh here.
            other = force(there, turned @ back, depth, vertices, MODULUS * deep[1] / deep[0])
            true = exact(turned @ back, depth, vertices, triangles, deep[0]) if len(triangles) < 500 else None
            differences.append([abs(one / other - 1)] + ([abs(x / true - 1) for x in (one, other)] if true else []))
            beside = f"{true:.4g} | {100 * (one / true - 1):+.1f} | {100 * (other / true - 1):+.1f}" if true else "| |"
            presses.append(f"| {name} | {pose} | {one:.4g} | {other:.4g} | {100 * (one / other - 1):+.1f} | {beside} |")
            print(presses[-1], file=sys.stderr, flush=True)
    print(TEXT.format(version=importlib.metadata.version("pytetwild")))
    print("| body | size, mm | tetrahedra | outside | volume off, % | deepest, mm | outside, mm | pressed, mm |")
    print("|---|" + "---|" * 7 + "\n" + "\n".join(meshes) + "\n")
    print("| body | pose | here, N | outside, N | here off outside, % | exact, N | here off, % | outside off, % |")
    print("|---|" + "---|" * 7 + "\n" + "\n".join(presses) + "\n")
    known = [row for row in differences if len(row) > 1]
    for text, found in (
        ("Here within 3 % of outside", [row[0] for row in differences]),
        ("Here within 3 % of exact", [row[1] for row in known]),
        ("Outside within 3 % of exact", [row[2] for row in known]),
    ):
        print(f"- {text}: {sum(x < 0.03 for x in found)} of {len(found)}.")


TEXT = """# Forces in meshes by isobar and by an outside mesher

Made by `docs/mesher_comparison.py`. Ten bodies are filled by `isobar mesh` at the size that it chooses, and by fTetWild
(pytetwild {version}) at half of it. Each is pressed onto a rigid plane, as deep as a quarter of its mean thickness 2V/A,
in four poses: on a face, on a side, tilted by 3 and 5° from the face, and on an edge, 40° from it.

The pressure is the modulus, 10⁶ Pa, at the deepest vertex. Where the outside mesh has no vertex that is as deep, its body would be
stiffer for that alone. So its modulus is smaller in the same ratio, and both are as stiff by depth.

*Exact* is the force of the distance to the surface itself, where that has few triangles. Meshes take the distance as linear in each
tetrahedron. On a patch that is about as wide as a tetrahedron, as on an edge, that makes any mesh too soft.

The mug is deepest at its handle, 4.90 mm. Here it is too deep where the lattice cuts off the rim of its floor inside, so that all of it is
5 % too soft, which the columns do not show as both are as stiff by depth. The outside mesh has no vertex at the deepest place.
"""

main()
