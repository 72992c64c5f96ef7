// Bodies, contact surfaces and arrows as meshes, and the scales of what is drawn.

const greatest = (list, of) => list.reduce((most, item) => Math.max(most, of(item)), 0);
const minus = (a, b) => a.map((value, k) => value - b[k]);
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = ([a, b, c], [x, y, z]) => [b * z - c * y, c * x - a * z, a * y - b * x];

function unit(vector) {
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/** Merges parts of one body into one set of vertices and triangles, so that they are drawn at once. */
function mergeParts(parts) {
  const sum = (count) => parts.reduce((total, part) => total + count(part), 0);
  const vertices = new Float32Array(sum((part) => part.vertices.length));
  const triangles = new Uint32Array(sum((part) => part.triangles.length));
  let vertex = 0;
  let corner = 0;
  for (const part of parts) {
    vertices.set(part.vertices, vertex * 3);
    for (const index of part.triangles) triangles[corner++] = vertex + index;
    vertex += part.vertices.length / 3;
  }
  return createGeometry(vertices, triangles);
}

function createGeometry(vertices, triangles = null) {
  const geometry = new Three.BufferGeometry();
  geometry.setAttribute("position", new Three.BufferAttribute(vertices, 3));
  if (triangles) geometry.setIndex(new Three.BufferAttribute(triangles, 1));
  return geometry;
}

/** The first vertex of each frame of contact surfaces, and their number in all. */
function firstVertices({ first_polygon: first, lengths }) {
  const sums = new Uint32Array(first.length);
  for (let frame = 1; frame < first.length; frame += 1) {
    sums[frame] = sums[frame - 1];
    for (let polygon = first[frame - 1]; polygon < first[frame]; polygon += 1) sums[frame] += lengths[polygon];
  }
  return sums;
}

/** The frame of contact surfaces that belongs to a frame of the film. */
const patchFrame = ({ every, first_polygon: first }, filmFrame) => Math.min(Math.floor(filmFrame / every), first.length - 2);

/** Contact surfaces of one frame at a time, coloured by pressure, in buffers that fit the largest frame. */
class PatchSurface {
  constructor(patches, pressure) {
    this.patches = patches;
    this.firstVertex = firstVertices(patches);
    this.colors = Array.from({ length: 256 }, (_, index) => {
      return viridis(((index + 0.5) / 256) * (patches.max_pressure / pressure));
    });
    const most = this.firstVertex.reduce((most, first, frame, all) => Math.max(most, first - (all[frame - 1] ?? 0)), 0);
    this.geometry = createGeometry(new Float32Array(3 * most), new Uint32Array(3 * most));
    this.geometry.setAttribute("color", new Three.BufferAttribute(new Uint8Array(3 * most), 3, true));
    const material = new Three.MeshBasicMaterial({ vertexColors: true, side: Three.DoubleSide });
    this.mesh = new Three.Mesh(this.geometry, material);
    this.mesh.frustumCulled = false; // it moves
  }

  show(filmFrame) {
    const frame = patchFrame(this.patches, filmFrame);
    const { position, color } = this.geometry.attributes;
    this.readVertices(frame, position.array, color.array);
    this.geometry.setDrawRange(0, this.readTriangles(frame, this.geometry.index.array));
    position.needsUpdate = color.needsUpdate = this.geometry.index.needsUpdate = true;
  }

  readVertices(frame, positions, colors) {
    const { vertices, pressures, bounds: [low, high] } = this.patches;
    const step = low.map((value, axis) => (high[axis] - value) / 65535);
    const first = this.firstVertex[frame];
    for (let vertex = first, to = 0; vertex < this.firstVertex[frame + 1]; vertex += 1) {
      const color = this.colors[pressures[vertex] >> 8];
      for (let axis = 0; axis < 3; axis += 1, to += 1) {
        positions[to] = low[axis] + step[axis] * vertices[3 * vertex + axis];
        colors[to] = color[axis];
      }
    }
  }

  /** The polygons as triangles; gives the number of their corners. */
  readTriangles(frame, corners) {
    const { lengths, first_polygon: firstPolygon } = this.patches;
    let count = 0;
    let first = 0;
    for (let polygon = firstPolygon[frame]; polygon < firstPolygon[frame + 1]; polygon += 1) {
      for (let corner = 2; corner < lengths[polygon]; corner += 1) {
        corners[count++] = first;
        corners[count++] = first + corner - 1;
        corners[count++] = first + corner;
      }
      first += lengths[polygon];
    }
    return count;
  }
}

/** What arrows are made of: a shaft and a head, both of length 1 along y until they are placed. */
function arrowShapes() {
  const shapes = [new Three.CylinderGeometry(0.12, 0.12, 1, 12), new Three.ConeGeometry(0.35, 1, 16)];
  return shapes.map((shape) => shape.translate(0, 0.5, 0));
}

/** An arrow of a force. */
class Arrow {
  constructor(headLength, shapes, material) {
    this.headLength = headLength;
    [this.shaft, this.head] = shapes.map((shape) => new Three.Mesh(shape, material));
    this.group = new Three.Group().add(this.shaft, this.head);
    this.tip = new Three.Vector3();
  }

  /** Sets it from its tail and its vector; without a length or a place it vanishes. */
  place(tail, vector) {
    const length = Math.hypot(...vector);
    this.group.visible = length > 0 && tail.every(Number.isFinite);
    if (!this.group.visible) return;
    // A short arrow is thinner too, so that its head never is longer than itself.
    const head = Math.min(this.headLength, length / 2);
    this.shaft.scale.set(head, length - head, head);
    this.head.scale.setScalar(head);
    this.head.position.y = length - head;
    this.group.position.set(...tail);
    this.group.quaternion.setFromUnitVectors(new Three.Vector3(0, 1, 0), new Three.Vector3(...vector).divideScalar(length));
    this.tip.set(...vector).add(this.group.position);
  }
}

/** The force of a wrench at a frame and the point where it acts (not a number without contact). */
function forceAt(wrench, frame) {
  const read = (values) => [values[3 * frame], values[3 * frame + 1], values[3 * frame + 2]];
  return { point: read(wrench.point), force: read(wrench.force_on_a) };
}

/** All forces of a film that act somewhere. */
function* actingForces(film) {
  for (const wrench of film.wrenches) {
    for (let frame = 0; frame < film.times.length; frame += 1) {
      const acting = forceAt(wrench, frame);
      if (acting.point.every(Number.isFinite)) yield acting;
    }
  }
}

/**
 * What all views of a page have in common. A fifth of the scene, or twice the largest body where that is less, is a force,
 * and the end of the colours a pressure, that is exceeded in a tenth of the frames in contact alone: what lasts is seen, and
 * an impact goes beyond it.
 */
function commonScales(films) {
  const bodies = films.flatMap((film) => film.bodies.filter(({ fixed }) => !fixed));
  const body = greatest(bodies, ({ parts }) => largestExtent(extents(parts.map(({ vertices }) => vertices))));
  const size = Math.min(0.2 * Math.max(...films.map(({ bounds }) => largestExtent(bounds))), 2 * body || Infinity);
  const force = lasting(films.flatMap((film) => frameMaxima(film, largestForce)));
  const pressure = lasting(films.filter(({ patches }) => patches).flatMap(({ patches }) => largestPressures(patches)));
  return { metresPerNewton: force > 0 ? size / force : 0, longest: 1.5 * size, pressure };
}

/** The value that nine tenths of the positive values do not exceed; 0 without any. */
function lasting(values) {
  const sorted = values.filter((value) => value > 0).sort((a, b) => a - b);
  return sorted.length > 0 ? sorted[Math.ceil(0.9 * sorted.length) - 1] : 0;
}

const frameMaxima = (film, largest) => Array.from(film.times, (_, frame) => largest(film, frame));

function largestForce(film, frame) {
  const acting = film.wrenches.map((wrench) => forceAt(wrench, frame)).filter(({ point }) => point.every(Number.isFinite));
  return Math.max(0, ...acting.map(({ force }) => Math.hypot(...force)));
}

/** The largest pressure of each frame that has contact surfaces. */
function largestPressures({ lengths, first_polygon: firstPolygon, pressures, max_pressure: maxPressure }) {
  const largest = [];
  let vertex = 0;
  for (let frame = 0; frame + 1 < firstPolygon.length; frame += 1) {
    let most = 0;
    for (let polygon = firstPolygon[frame]; polygon < firstPolygon[frame + 1]; polygon += 1) {
      for (const end = vertex + lengths[polygon]; vertex < end; vertex += 1) most = Math.max(most, pressures[vertex]);
    }
    largest.push((most / 65535) * maxPressure);
  }
  return largest;
}

/** The time of the first frame with half of the force that lasts; the first of all without one. */
function firstContact(film) {
  const wanted = 0.5 * lasting(frameMaxima(film, largestForce));
  const frame = wanted > 0 ? film.times.findIndex((_, index) => largestForce(film, index) >= wanted) : 0;
  return film.times[Math.max(frame, 0)];
}

/** The arrow of a force, m; one that would be too long is cut. */
function arrowOf(force, { metresPerNewton, longest }) {
  const length = metresPerNewton * Math.hypot(...force);
  const scale = metresPerNewton * Math.min(1, longest / length || 0);
  return force.map((value) => value * scale);
}

/** Fixed axis ranges that hold the bodies and all arrows of the film, with a margin. */
function sceneRanges(film, metresPerNewton, longest) {
  const low = [...film.bounds[0]];
  const high = [...film.bounds[1]];
  for (const { point, force } of actingForces(film)) {
    const arrow = arrowOf(force, { metresPerNewton, longest });
    for (let axis = 0; axis < 3; axis += 1) {
      const tip = point[axis] + arrow[axis];
      low[axis] = Math.min(low[axis], tip);
      high[axis] = Math.max(high[axis], tip);
    }
  }
  const largest = largestExtent([low, high]);
  return low.map((value, axis) => {
    // A flat scene still gets some depth: axes of no extent cannot be drawn.
    const padding = Math.max(0.05 * largest, (0.2 * largest - (high[axis] - value)) / 2);
    return [value - padding, high[axis] + padding];
  });
}

/** Opposite corners of the box around points, whose coordinates follow each other. */
function extents(all) {
  const [low, high] = [[Infinity, Infinity, Infinity], [-Infinity, -Infinity, -Infinity]];
  for (const points of all) {
    points.forEach((value, at) => {
      low[at % 3] = Math.min(low[at % 3], value);
      high[at % 3] = Math.max(high[at % 3], value);
    });
  }
  return [low, high];
}

function largestExtent([low, high]) {
  return Math.max(...low.map((value, axis) => high[axis] - value)) || 1;
}
