// Bodies, contact surfaces and arrows as meshes.

const createPoints = (count) => ({ x: new Float32Array(count), y: new Float32Array(count), z: new Float32Array(count) });

const createCorners = (count) => ({ i: new Uint32Array(count), j: new Uint32Array(count), k: new Uint32Array(count) });

/** Puts vertices of a body's frame into the world: rotated by the pose's quaternion, then shifted. */
function placeVertices(vertices, poses, start, points) {
  const [px, py, pz, w, a, b, c] = poses.slice(start, start + 7);
  const xx = 1 - 2 * (b * b + c * c), xy = 2 * (a * b - w * c), xz = 2 * (a * c + w * b);
  const yx = 2 * (a * b + w * c), yy = 1 - 2 * (a * a + c * c), yz = 2 * (b * c - w * a);
  const zx = 2 * (a * c - w * b), zy = 2 * (b * c + w * a), zz = 1 - 2 * (a * a + b * b);
  for (let vertex = 0, from = 0; vertex < points.x.length; vertex += 1, from += 3) {
    const x = vertices[from], y = vertices[from + 1], z = vertices[from + 2];
    points.x[vertex] = px + xx * x + xy * y + xz * z;
    points.y[vertex] = py + yx * x + yy * y + yz * z;
    points.z[vertex] = pz + zx * x + zy * y + zz * z;
  }
}

/** Merges parts of one body into one set of vertices and triangles, so that one trace draws them. */
function mergeParts(parts) {
  const sum = (count) => parts.reduce((total, part) => total + count(part), 0);
  const vertices = new Float32Array(sum((part) => part.vertices.length));
  const corners = createCorners(sum((part) => part.triangles.length / 3));
  let vertexStart = 0;
  let triangle = 0;
  for (const part of parts) {
    vertices.set(part.vertices, vertexStart * 3);
    for (let index = 0; index < part.triangles.length; index += 3, triangle += 1) {
      corners.i[triangle] = vertexStart + part.triangles[index];
      corners.j[triangle] = vertexStart + part.triangles[index + 1];
      corners.k[triangle] = vertexStart + part.triangles[index + 2];
    }
    vertexStart += part.vertices.length / 3;
  }
  return { vertices, corners };
}

/** Contact surfaces of one frame at a time, as triangles in buffers that fit the largest frame. */
class PatchSurface {
  constructor(patches) {
    this.patches = patches;
    const frames = patches.first_polygon.length - 1;
    this.firstVertex = new Uint32Array(frames + 1);
    let mostVertices = 0;
    let mostTriangles = 0;
    for (let frame = 0; frame < frames; frame += 1) {
      const lengths = patches.lengths.subarray(patches.first_polygon[frame], patches.first_polygon[frame + 1]);
      const vertexCount = lengths.reduce((total, length) => total + length, 0);
      this.firstVertex[frame + 1] = this.firstVertex[frame] + vertexCount;
      mostVertices = Math.max(mostVertices, vertexCount);
      mostTriangles = Math.max(mostTriangles, vertexCount - 2 * lengths.length);
    }
    // Room for one triangle at least: a frame without contact shows one of no
    // size, since Plotly would take a mesh without triangles for a point cloud.
    this.points = createPoints(Math.max(mostVertices, 1));
    this.pressures = new Float32Array(Math.max(mostVertices, 1));
    this.corners = createCorners(Math.max(mostTriangles, 1));
  }

  /** The arrays that draw the surfaces of a film frame, for a mesh3d trace. */
  arraysAt(filmFrame) {
    const lastFrame = this.firstVertex.length - 2;
    const frame = Math.min(Math.floor(filmFrame / this.patches.every), lastFrame);
    const vertexCount = this.readVertices(frame);
    const triangleCount = this.readTriangles(frame);
    const arrays = { intensity: this.pressures.subarray(0, vertexCount) };
    for (const axis of ["x", "y", "z"]) arrays[axis] = this.points[axis].subarray(0, vertexCount);
    for (const corner of ["i", "j", "k"]) arrays[corner] = this.corners[corner].subarray(0, triangleCount);
    return arrays;
  }

  readVertices(frame) {
    const { vertices, pressures, bounds: [low, high], max_pressure: maxPressure } = this.patches;
    const step = low.map((value, axis) => (high[axis] - value) / 65535);
    const first = this.firstVertex[frame];
    const count = this.firstVertex[frame + 1] - first;
    for (let vertex = 0, from = first * 3; vertex < count; vertex += 1, from += 3) {
      this.points.x[vertex] = low[0] + step[0] * vertices[from];
      this.points.y[vertex] = low[1] + step[1] * vertices[from + 1];
      this.points.z[vertex] = low[2] + step[2] * vertices[from + 2];
      this.pressures[vertex] = (pressures[first + vertex] / 65535) * maxPressure;
    }
    return Math.max(count, 1);
  }

  readTriangles(frame) {
    const { lengths, first_polygon: firstPolygon } = this.patches;
    const { i, j, k } = this.corners;
    let triangle = 0;
    let first = 0;
    for (let polygon = firstPolygon[frame]; polygon < firstPolygon[frame + 1]; polygon += 1) {
      for (let corner = 2; corner < lengths[polygon]; corner += 1, triangle += 1) {
        i[triangle] = first;
        j[triangle] = first + corner - 1;
        k[triangle] = first + corner;
      }
      first += lengths[polygon];
    }
    if (triangle > 0) return triangle;
    i[0] = j[0] = k[0] = 0;
    return 1;
  }
}

const ARROW_SIDES = 12;
const ARROW_RINGS = 4; // tail, end of the shaft, foot of the head, tip

/** Arrows as surfaces of revolution: all have the same triangles, only the vertices move. */
class ArrowSurface {
  constructor(arrowCount, headLength) {
    this.headLength = headLength;
    this.points = createPoints(arrowCount * ARROW_RINGS * ARROW_SIDES);
    this.corners = createCorners(arrowCount * (ARROW_RINGS - 1) * ARROW_SIDES * 2);
    let triangle = 0;
    const addTriangle = (...vertices) => {
      [this.corners.i[triangle], this.corners.j[triangle], this.corners.k[triangle]] = vertices;
      triangle += 1;
    };
    for (let ring = 0; ring < arrowCount * ARROW_RINGS; ring += 1) {
      if (ring % ARROW_RINGS === ARROW_RINGS - 1) continue; // an arrow ends at its tip
      for (let side = 0; side < ARROW_SIDES; side += 1) {
        const here = ring * ARROW_SIDES + side;
        const beside = ring * ARROW_SIDES + ((side + 1) % ARROW_SIDES);
        addTriangle(here, beside, here + ARROW_SIDES);
        addTriangle(beside, beside + ARROW_SIDES, here + ARROW_SIDES);
      }
    }
  }

  /** Sets one arrow from its tail and its vector; one without a length or a place vanishes. */
  place(arrow, tail, vector) {
    const length = Math.hypot(...vector);
    const shown = length > 0 && tail.every(Number.isFinite);
    // A short arrow is thinner too, so that its head never is longer than itself.
    const head = Math.min(this.headLength, length / 2);
    const rings = [[0, head * 0.12], [length - head, head * 0.12], [length - head, head * 0.35], [length, 0]];
    const direction = vector.map((value) => value / length);
    const [first, second] = perpendiculars(direction);
    let vertex = arrow * ARROW_RINGS * ARROW_SIDES;
    for (const [along, radius] of rings) {
      for (let side = 0; side < ARROW_SIDES; side += 1, vertex += 1) {
        const angle = (2 * Math.PI * side) / ARROW_SIDES;
        const across = radius * Math.cos(angle);
        const aside = radius * Math.sin(angle);
        ["x", "y", "z"].forEach((name, axis) => {
          const offset = along * direction[axis] + across * first[axis] + aside * second[axis];
          this.points[name][vertex] = shown ? tail[axis] + offset : 0;
        });
      }
    }
  }
}

/** Two unit vectors at right angles to a unit vector and to each other. */
function perpendiculars([x, y, z]) {
  // Crossing with the axis that is farthest from the vector keeps the lengths well away from zero.
  const raw = Math.abs(z) < 0.9 ? [y, -x, 0] : [0, z, -y];
  const length = Math.hypot(...raw);
  const [a, b, c] = raw.map((value) => value / length);
  return [[a, b, c], [y * c - z * b, z * a - x * c, x * b - y * a]];
}

/** The force of a wrench at a frame and the point where it acts (not a number without contact). */
function forceAt(wrench, frame) {
  const read = (values) => Array.from(values.subarray(frame * 3, frame * 3 + 3));
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
 * What all views of a page have in common. A fifth of the scene is a force, and the end of the colours a pressure,
 * that is exceeded in a tenth of the frames in contact alone: what lasts is seen, and an impact goes beyond it.
 */
function commonScales(films) {
  const size = 0.2 * Math.max(...films.map(({ bounds }) => largestExtent(bounds)));
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

function largestExtent([low, high]) {
  return Math.max(...low.map((value, axis) => high[axis] - value)) || 1;
}
