"""What public meshes and robots load as: the tables of public_models.md.

    python docs/public_models.py isobar out.md --meshes 240 drake=FOLDER robosuite=FOLDER …

Each folder is one row. Needs numpy, trimesh, networkx, scipy and manifold3d, of which none is isobar's.
The volume of a closed surface is by the divergence theorem, and of several pieces that of their union.
"""

import argparse
import hashlib
import json
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import manifold3d
import numpy as np
import trimesh

SURFACES = {".obj", ".stl", ".ply"}
# What closed surfaces may differ in volume.
TOLERANCE = 0.02
LIMIT = 120


def isobar(command, *arguments):
    """The JSON that a command printed, and what it told."""
    try:
        found = subprocess.run([command, *arguments, "--json"], capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return None, f"took longer than {LIMIT} s"
    if found.returncode < 0 or "panicked" in found.stderr:
        return None, f"CRASH: {found.stderr}"
    try:
        return json.loads(found.stdout), found.stderr
    except json.JSONDecodeError:
        return None, found.stderr.strip()


def manifold(mesh):
    return manifold3d.Manifold(
        manifold3d.Mesh(np.asarray(mesh.vertices, dtype=np.float32), np.asarray(mesh.faces, dtype=np.uint32))
    )


def volume(path):
    """The volume that a closed surface encloses, m³; none of one that is open."""
    mesh = trimesh.load(path, force="mesh", process=True, merge_norm=True, merge_tex=True)
    if not (len(mesh.faces) and mesh.is_watertight and mesh.is_winding_consistent):
        return None
    pieces = mesh.split(only_watertight=True)
    if len(pieces) < 2:
        return abs(mesh.volume)
    solids = [piece for piece in pieces if piece.volume > 0]
    hollows = [piece for piece in pieces if piece.volume < 0]
    if not solids:
        solids, hollows = hollows, solids
        [piece.invert() for piece in solids]
    else:
        [piece.invert() for piece in hollows]
    whole = manifold3d.Manifold.batch_boolean([manifold(p) for p in solids], manifold3d.OpType.Add)
    for hollow in hollows:
        whole = whole - manifold(hollow)
    return whole.volume()


def sample(folders, count):
    """Surfaces of all folders by turns, evenly from each, no content twice."""
    seen, lists = set(), {}
    for name, folder in folders.items():
        own = []
        for path in sorted(p for p in folder.rglob("*") if p.suffix.lower() in SURFACES and p.is_file()):
            digest = hashlib.sha256(path.read_bytes()).digest()
            if digest not in seen:
                seen.add(digest)
                own.append(path)
        lists[name] = own
    share = {name: 0 for name in lists}
    while sum(share.values()) < min(count, sum(map(len, lists.values()))):
        for name, own in lists.items():
            share[name] += share[name] < len(own) and sum(share.values()) < count
    return {name: [own[i * len(own) // n] for i in range(n)] for (name, own), n in zip(lists.items(), share.values())}


def meshes(command, chosen):
    rows, notes, all_errors, counts, opened = [], [], [], Counter(), {}
    for name, paths in chosen.items():
        own, errors = Counter(), []
        for path in paths:
            try:
                expected = volume(path)
            except Exception as error:
                expected = None
                notes.append(f"`{path.name}` of {name}: trimesh cannot read it ({error}).")
            body, told = isobar(command, "mesh", str(path))
            kind = "closed" if expected is not None else "open"
            own[kind] += 1
            if body is None:
                own[kind, "refused"] += 1
                if kind == "closed":
                    notes.append(f"{name}, `{path.name}`, {kind}: {clean(told)}")
                else:
                    opened.setdefault(alike(told), []).append(f"{name}, `{path.name}`, {kind}: {clean(told)}")
                continue
            own[kind, "body"] += 1
            if kind == "closed":
                error = body["volume"] * (1 + body["volume_error"]) / expected - 1
                errors.append(abs(error))
                if abs(error) > TOLERANCE:
                    own["off"] += 1
                    notes.append(
                        f"{name}, `{path.name}`: volume {100 * error:+.2f} % off {expected:.4e} m³; told: {clean(told) or 'nothing'}"
                    )
            print(name, path.name, kind, body["volume_error"], flush=True)
        worst = f"{100 * max(errors):.2f} %" if errors else "–"
        rows.append(
            f"| {name} | {own['closed']} | {own['closed', 'body']} | {own['off']} | {worst} | {own['closed', 'refused']} "
            f"| {own['open']} | {own['open', 'body']} | {own['open', 'refused']} |"
        )
        counts += own
        all_errors += errors
    total = f"| **all** | {counts['closed']} | {counts['closed', 'body']} | {counts['off']} | {100 * max(all_errors):.2f} % " \
            f"| {counts['closed', 'refused']} | {counts['open']} | {counts['open', 'body']} | {counts['open', 'refused']} |"
    notes += [f"{all_of[0]} (and {len(all_of) - 1} like this)" for all_of in opened.values()]
    good = (counts["closed", "body"] - counts["off"]) / counts["closed"]
    head = [
        "| from | closed | bodies | more than 2 % off | worst volume | refused | open | filled | refused |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    return [*head, *rows, total, "", f"{100 * good:.1f} % of the closed ones are bodies with a volume within 2 %.", "",
            *[f"- {note}" for note in notes], ""]


def clean(text):
    """A message without the folders of its files."""
    text = text.strip().removeprefix("isobar: ").splitlines()
    return re.sub(r"\S*/([^/\s]+)", r"\1", text[0]) if text else ""


def alike(text):
    """What messages of the same kind have in common."""
    return re.sub(r"`[^`]*`|\"[^\"]*\"|[-\d.e]+", "…", clean(text).split(": ", 1)[-1])[:60]


def step(command, path, packages):
    """What keeps a scene of the robot alone from a step; none where it makes one."""
    with tempfile.TemporaryDirectory() as folder:
        scene = Path(folder) / "scene.toml"
        robot = f"[[robots]]\nurdf = {json.dumps(str(path.resolve()))}\npackages = {json.dumps(packages)}\n"
        scene.write_text(robot + '[solver]\nkind = "lagged"\ntime_step = 1e-3\n')
        arguments = [command, "simulate", str(scene), "--until", "1e-3", "--out", f"{folder}/motion.csv"]
        found = subprocess.run(arguments, capture_output=True, text=True, timeout=LIMIT)
    lines = [line for line in found.stderr.splitlines() if line.startswith("isobar: ")]
    return (lines or [found.stderr])[-1] if found.returncode else None


def robots(command, folders):
    rows, refused = [], {}
    for name, folder in folders.items():
        packages = sorted({str(p.parent.parent) for p in folder.rglob("package.xml")})
        arguments = [a for p in packages for a in ("--package-path", p)]
        own = Counter()
        found, told = [], ""
        files = [p for p in folder.rglob("*") if p.suffix in {".urdf", ".sdf", ".xml"} and is_robot(p)]
        for path in sorted(files):
            report, told = isobar(command, "check", str(path), *arguments)
            if report and report[0]["good"]:
                own["robots"] += report[0].get("joints", 0) > 0
                problem = step(command, path, packages)
                own["moved"] += problem is None
                if problem is not None:
                    refused.setdefault((name, alike(problem)), []).append(clean(problem))
            found += report if report is not None else [{"file": str(path), "good": False, "error": told, "warnings": []}]
        for report in found:
            kind = Path(report["file"]).suffix[1:].replace("xml", "mjcf")
            own[kind, report["good"]] += 1
            own["told"] += bool(report["good"] and report["warnings"])
            if not report["good"]:
                refused.setdefault((name, alike(report["error"])), []).append(clean(report["error"]))
        cells = " | ".join(f"{own[k, True]} of {own[k, True] + own[k, False]}" for k in ("urdf", "sdf", "mjcf"))
        rows.append(f"| {name} | {cells} | {own['robots']} | {own['moved']} | {own['told']} |")
        print(rows[-1], flush=True)
    messages = [f"| {name} | {len(all_of)} | {all_of[0].replace('|', chr(92) + '|')} |"
                for (name, _), all_of in sorted(refused.items(), key=lambda kv: (kv[0][0], -len(kv[1])))]
    return ["| from | URDF | SDF | MJCF | have joints | make a step | load with warnings |", "|---|---|---|---|---|---|---|", *rows, "",
            "| from | files | one of the messages |", "|---|---|---|", *messages]


def is_robot(path):
    """Whether it is a whole robot, not a part that others include or XML of something else."""
    if path.suffix != ".xml":
        return True
    text = path.read_text(errors="ignore")
    return "<mujoco>" in text or "<mujoco " in text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("isobar")
    parser.add_argument("out", type=Path)
    parser.add_argument("--meshes", type=int, default=240)
    parser.add_argument("--robots", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("folders", nargs="+")
    given = parser.parse_args()
    folders = {name: Path(folder) for name, folder in (each.split("=", 1) for each in given.folders)}
    lines = ["## Meshes", "", *meshes(given.isobar, sample(folders, given.meshes))] if given.meshes else []
    if given.robots:
        lines += ["## Robots", "", *robots(given.isobar, folders)]
    given.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
