// Shows one isobar run: a film in three dimensions, plots and tables.
// Sections: small helpers, reading the data, geometry, 3-D view, plots,
// tables and messages, controls, start.

// ---------------------------------------------------------------------------
// Small helpers

const element = (id) => document.getElementById(id);

const nextAnimationFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));

function createElement(name, properties = {}, children = []) {
  const created = Object.assign(document.createElement(name), properties);
  created.append(...children);
  return created;
}

/** The last index whose value is at most `wanted` (0 if there is none), in increasing values. */
function indexAtOrBefore(values, wanted) {
  let low = 0;
  let high = values.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle] <= wanted) low = middle;
    else high = middle;
  }
  return low;
}

/** The largest of 1, 2 or 5 times a power of ten that is at most `value`. */
function roundNumberBelow(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [5, 2, 1].find((candidate) => candidate * power <= value * (1 + 1e-9));
  return (factor ?? 1) * power;
}

function formatLength(metres) {
  const tidy = (value) => String(Number(value.toPrecision(3)));
  if (metres >= 1) return `${tidy(metres)} m`;
  return metres >= 0.01 ? `${tidy(metres * 100)} cm` : `${tidy(metres * 1000)} mm`;
}

/** Says on the page, in plain words, what could not be shown. The rest of the page stays. */
function reportProblem(words, cause = words) {
  document.documentElement.dataset.error = cause;
  const problems = element("problems");
  problems.hidden = false;
  problems.append(createElement("p", { textContent: words }));
}

// ---------------------------------------------------------------------------
// Reading the data

const ARRAY_TYPES = { f32: Float32Array, f64: Float64Array, u32: Uint32Array, u16: Uint16Array, u8: Uint8Array };
const HEADER_START = 4;
const ALIGNMENT = 8;

function decodeBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = binary.charCodeAt(index);
  return bytes;
}

async function decompress(bytes) {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser cannot unpack the data of this page (it has no DecompressionStream)");
  }
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

/** The header of the run, with every array description replaced by a view of its numbers. */
function parseRun(buffer) {
  const headerLength = new DataView(buffer).getUint32(0, true);
  const header = new TextDecoder().decode(new Uint8Array(buffer, HEADER_START, headerLength));
  const binaryStart = Math.ceil((HEADER_START + headerLength) / ALIGNMENT) * ALIGNMENT;
  return JSON.parse(header, (key, value) => {
    const isArray = value !== null && typeof value === "object" && "at" in value && "count" in value;
    return isArray ? new ARRAY_TYPES[value.type](buffer, binaryStart + value.at, value.count) : value;
  });
}

async function readRun() {
  const holder = element("run");
  const bytes = decodeBase64(holder.textContent);
  holder.remove(); // the text is large and not needed any more
  return parseRun(await decompress(bytes));
}

// ---------------------------------------------------------------------------
// Geometry

const createPoints = (count) => ({
  x: new Float32Array(count),
  y: new Float32Array(count),
  z: new Float32Array(count),
});

const createCorners = (count) => ({
  i: new Uint32Array(count),
  j: new Uint32Array(count),
  k: new Uint32Array(count),
});

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

/** Metres of arrow for each newton: the largest force of the film spans a fifth of the scene. */
function arrowScale(film) {
  let largest = 0;
  for (const { force } of actingForces(film)) largest = Math.max(largest, Math.hypot(...force));
  return largest > 0 ? (0.2 * largestExtent(film.bounds)) / largest : 0;
}

/** Fixed axis ranges that hold the bodies and all arrows of the film, with a margin. */
function sceneRanges(film, metresPerNewton) {
  const low = [...film.bounds[0]];
  const high = [...film.bounds[1]];
  for (const { point, force } of actingForces(film)) {
    for (let axis = 0; axis < 3; axis += 1) {
      const tip = point[axis] + force[axis] * metresPerNewton;
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

// ---------------------------------------------------------------------------
// 3-D view

const FORCE_COLOR = "#c8321f";
const SEE_THROUGH_OPACITY = 0.35;
const HALF_SPACE_OPACITY = 0.18;
const FIRST_CAMERA = { eye: { x: 1.0, y: -1.5, z: 0.75 }, center: { x: 0, y: 0, z: -0.08 }, up: { x: 0, y: 0, z: 1 } };
const BODY_LIGHTING = { ambient: 0.6, diffuse: 0.55, specular: 0.06, roughness: 0.8, fresnel: 0 };
const FLAT_LIGHTING = { ambient: 1, diffuse: 0, specular: 0, fresnel: 0 };

/** Whether Plotly will be able to draw in three dimensions. */
function hasWebGL() {
  try {
    return document.createElement("canvas").getContext("webgl") !== null;
  } catch {
    return false;
  }
}

class SceneView {
  constructor(film, container) {
    this.film = film;
    this.container = container;
    this.frame = 0;
    this.dataRevision = 0;
    this.metresPerNewton = arrowScale(film);
    this.arrows = new ArrowSurface(film.wrenches.length, 0.045 * largestExtent(film.bounds));
    this.patchSurface = film.patches ? new PatchSurface(film.patches) : null;
    this.shown = { bodies: true, patches: true, forces: true, seeThrough: film.patches !== null, visualParts: false };
    this.hiddenBodies = new Set();
    this.pieces = film.bodies.flatMap(bodyPieces);
    this.patchTrace = this.patchSurface && patchTrace(film.patches);
    this.forceTrace = forceTrace(this.arrows);
    this.traces = [...this.pieces.map((piece) => piece.trace), this.patchTrace, this.forceTrace].filter(Boolean);
    this.layout = sceneLayout(sceneRanges(film, this.metresPerNewton));
    for (const piece of this.pieces) placeVertices(piece.vertices, piece.poses, 0, piece.trace);
  }

  /** Draws a frame; resolves when it is on the screen. */
  async show(frame) {
    this.frame = frame;
    for (const piece of this.pieces) {
      if (!piece.fixed) placeVertices(piece.vertices, piece.poses, frame * 7, piece.trace);
    }
    if (this.patchTrace) Object.assign(this.patchTrace, this.patchSurface.arraysAt(frame));
    this.film.wrenches.forEach((wrench, arrow) => {
      const { point, force } = forceAt(wrench, frame);
      this.arrows.place(arrow, point, force.map((value) => value * this.metresPerNewton));
    });
    this.applyChoices();
    await this.draw();
  }

  applyChoices() {
    for (const { body, kind, hasTwin, trace } of this.pieces) {
      const asked = kind !== "visual" || this.shown.visualParts || !hasTwin;
      trace.visible = asked && this.shown.bodies && !this.hiddenBodies.has(body);
      if (kind !== "half_space") trace.opacity = this.shown.seeThrough ? SEE_THROUGH_OPACITY : 1;
    }
    if (this.patchTrace) this.patchTrace.visible = this.shown.patches;
    this.forceTrace.visible = this.shown.forces && this.metresPerNewton > 0;
  }

  async draw() {
    // The arrays change in place: only a new revision tells Plotly to read them again.
    this.dataRevision += 1;
    this.layout.datarevision = this.dataRevision;
    await Plotly.react(this.container, this.traces, this.layout, { displaylogo: false, responsive: true });
    await nextAnimationFrame();
  }

  resetCamera() {
    return Plotly.relayout(this.container, { "scene.camera": FIRST_CAMERA });
  }
}

/** Up to three pieces of a body, each one trace: its solid, its visual and its half-space parts. */
function bodyPieces(body) {
  const isSolid = ({ kind }) => kind === "rigid" || kind === "compliant";
  const groups = [
    { kind: "solid", parts: body.parts.filter(isSolid) },
    { kind: "visual", parts: body.parts.filter(({ kind }) => kind === "visual") },
    { kind: "half_space", parts: body.parts.filter(({ kind }) => kind === "half_space") },
  ].filter(({ parts }) => parts.length > 0);
  return groups.map(({ kind, parts }) => {
    const { vertices, corners } = mergeParts(parts);
    const trace = bodyTrace(body, kind === "half_space", createPoints(vertices.length / 3), corners);
    return { body: body.name, fixed: body.fixed, poses: body.poses, kind, hasTwin: groups.length > 1, vertices, trace };
  });
}

function bodyTrace({ name, color }, isHalfSpace, points, corners) {
  return {
    type: "mesh3d",
    name,
    color,
    opacity: isHalfSpace ? HALF_SPACE_OPACITY : 1,
    flatshading: true,
    facenormalsepsilon: 0, // or small triangles, of square millimetres, would count as having no side to light
    lighting: isHalfSpace ? FLAT_LIGHTING : BODY_LIGHTING,
    hoverinfo: "skip",
    ...points,
    ...corners,
  };
}

function patchTrace(patches) {
  return {
    type: "mesh3d",
    name: "pressure",
    intensitymode: "vertex",
    colorscale: "Viridis",
    cmin: 0,
    cmax: patches.max_pressure || 1,
    lighting: FLAT_LIGHTING,
    hoverinfo: "skip",
    colorbar: { title: { text: "pressure, Pa", side: "right" }, thickness: 12, len: 0.6, x: 1, xpad: 4, tickformat: "~s", outlinewidth: 0 },
  };
}

function forceTrace(arrows) {
  return {
    type: "mesh3d",
    name: "forces",
    color: FORCE_COLOR,
    flatshading: true,
    facenormalsepsilon: 0,
    lighting: { ...FLAT_LIGHTING, ambient: 0.8, diffuse: 0.3 },
    hoverinfo: "skip",
    ...arrows.points,
    ...arrows.corners,
  };
}

function sceneLayout(ranges) {
  const extents = ranges.map(([low, high]) => high - low);
  // All axes to one scale, and the whole about as large as Plotly's usual unit cube.
  const unit = Math.hypot(...extents) / Math.sqrt(3);
  const axis = (name, index) => ({
    title: { text: `${name}, m`, font: { size: 12 } },
    range: ranges[index],
    autorange: false,
    nticks: Math.max(2, Math.round((6 * extents[index]) / Math.max(...extents))),
    tickfont: { size: 10 },
    gridcolor: "#e3e7ec",
    zerolinecolor: "#c9d0d8",
    showspikes: false,
    showbackground: false,
  });
  return {
    margin: { l: 0, r: 0, t: 0, b: 0 },
    showlegend: false,
    paper_bgcolor: "#ffffff",
    uirevision: "one camera for the whole film",
    scene: {
      xaxis: axis("x", 0),
      yaxis: axis("y", 1),
      zaxis: axis("z", 2),
      aspectmode: "manual",
      aspectratio: { x: extents[0] / unit, y: extents[1] / unit, z: extents[2] / unit },
      camera: FIRST_CAMERA,
      dragmode: "turntable",
      hovermode: false,
    },
  };
}

// ---------------------------------------------------------------------------
// Plots

const COLORS = ["#1f5fa8", "#d1662a", "#3a8f4f", "#a43b6b", "#7a6bb0", "#8a6d3b", "#3a9aa8", "#6b7280"];
const CURSOR_INTERVAL = 100; // ms between moves of the cursors while playing

class PlotColumn {
  constructor(plots, film, container) {
    this.container = container;
    this.showTime = () => {};
    this.time = null;
    this.bodyColors = new Map((film?.bodies ?? []).map((body) => [body.name, body.color]));
    this.wholeRange = timeRange(plots, film);
    this.range = this.wholeRange;
    this.lastCursorMove = 0;
    this.entries = new Map(plots.map((plot) => [this.addPlace(plot), { plot, inView: false, drawing: null }]));
  }

  addPlace(plot) {
    const place = createElement("div", { className: "plot" });
    place.setAttribute("aria-label", plot.title);
    this.container.append(place);
    return place;
  }

  /** Draws the plots in view now, and from then on each of the others once it comes into view. */
  async drawSeen() {
    const observer = new IntersectionObserver((sightings) => {
      for (const { target, isIntersecting } of sightings) this.sight(target, isIntersecting);
    });
    for (const place of this.entries.keys()) {
      const { top, bottom } = place.getBoundingClientRect();
      await this.sight(place, bottom > 0 && top < window.innerHeight);
      observer.observe(place);
    }
  }

  async sight(place, inView) {
    const entry = this.entries.get(place);
    entry.inView = inView;
    if (!inView) return;
    entry.drawing ??= this.drawPlot(place, entry.plot);
    await entry.drawing;
    if (entry.plot.time) this.moveCursor(place);
  }

  async drawPlot(place, plot) {
    const traces = plot.series.flatMap((series, index) => {
      return seriesTraces(series, this.bodyColors.get(series.name) ?? COLORS[index % COLORS.length]);
    });
    const layout = plotLayout(plot, traces);
    if (plot.time) {
      layout.xaxis.range = [...this.range];
      layout.shapes = [{ type: "line", yref: "paper", y0: 0, y1: 1, x0: this.time, x1: this.time,
        visible: this.time !== null, line: { color: "#1c2430", width: 1 } }];
    }
    await Plotly.newPlot(place, traces, layout, {
      displaylogo: false,
      responsive: true,
      doubleClick: "autosize",
      modeBarButtonsToRemove: ["select2d", "lasso2d"],
    });
    if (plot.time) {
      place.on("plotly_relayout", (change) => this.followRange(place, change));
      place.on("plotly_click", ({ points: [point] }) => this.showTime(point.x));
    }
  }

  /** Gives all plots over time the range of the one that was zoomed. */
  followRange(place, change) {
    if (!Object.keys(change).some((key) => key.startsWith("xaxis."))) return;
    const { range, autorange } = place.layout.xaxis;
    const wanted = autorange ? this.wholeRange : range;
    // Our own relayouts report back here as well: they bring nothing new and end the round.
    if (!autorange && wanted.every((value, index) => value === this.range[index])) return;
    this.range = [...wanted];
    for (const [other, { plot, drawing }] of this.entries) {
      if (!plot.time || !drawing) continue;
      drawing.then(() => Plotly.relayout(other, { "xaxis.range": [...this.range], "xaxis.autorange": false }));
    }
  }

  /** Moves the cursors of the plots in view; while playing (not `settled`) only now and then. */
  setTime(time, settled) {
    this.time = time;
    const now = performance.now();
    if (!settled && now - this.lastCursorMove < CURSOR_INTERVAL) return;
    this.lastCursorMove = now;
    for (const [place, { plot, inView, drawing }] of this.entries) {
      if (plot.time && inView && drawing) drawing.then(() => this.moveCursor(place));
    }
  }

  moveCursor(place) {
    if (this.time === null || place.layout.shapes[0].x0 === this.time) return;
    Plotly.relayout(place, { "shapes[0].x0": this.time, "shapes[0].x1": this.time, "shapes[0].visible": true });
  }
}

/** The range of the film, or of all series over time where there is no film. */
function timeRange(plots, film) {
  const times = film ? [film.times] : plots.filter((plot) => plot.time).flatMap((plot) => plot.series.map(({ x }) => x));
  const filled = times.filter((values) => values.length > 0);
  const start = Math.min(...filled.map((values) => values[0]));
  const end = Math.max(...filled.map((values) => values[values.length - 1]));
  return end > start ? [start, end] : [start - 0.5, start + 0.5];
}

/** The traces of one series: its band first, so that the line lies over it. */
function seriesTraces(series, color) {
  const { name, x, y, mode, low, high } = series;
  const isMarkers = mode === "markers";
  const line = { color, width: 1.6, shape: mode === "steps" ? "hv" : "linear" };
  const main = { type: "scatter", name, x, y, line, mode: isMarkers ? "markers" : "lines", legendgroup: name };
  if (isMarkers) main.marker = { color, size: 6 };
  if (!low || !high) return [main];
  if (isMarkers) {
    const array = high.map((value, index) => value - y[index]);
    const arrayminus = low.map((value, index) => y[index] - value);
    return [{ ...main, error_y: { type: "data", symmetric: false, array, arrayminus, color, thickness: 1.2, width: 3 } }];
  }
  const edge = { type: "scatter", x, mode: "lines", line: { ...line, width: 0 }, legendgroup: name, showlegend: false, hoverinfo: "skip" };
  return [{ ...edge, y: low }, { ...edge, y: high, fill: "tonexty", fillcolor: `${color}30` }, main];
}

function plotLayout(plot, traces) {
  const axis = (text) => ({ title: { text, font: { size: 12 }, standoff: 6 }, automargin: true,
    gridcolor: "#e6eaef", zerolinecolor: "#c9d0d8", linecolor: "#9aa4b1", showline: true, ticks: "outside", ticklen: 4, tickcolor: "#9aa4b1" });
  return {
    title: { text: plot.title, font: { size: 14, weight: 600 }, x: 0, xref: "paper", xanchor: "left", y: 1, yref: "container", yanchor: "top", pad: { t: 8 } },
    font: { family: getComputedStyle(document.body).fontFamily, size: 11.5, color: "#1c2430" },
    margin: { l: 60, r: 12, t: 34, b: 60 },
    xaxis: axis(plot.x),
    yaxis: { ...axis(plot.y), type: plot.log_y ? "log" : "linear", exponentformat: "power" },
    showlegend: traces.filter((trace) => trace.showlegend !== false).length > 1,
    legend: { orientation: "h", x: 1, xanchor: "right", y: 1, yanchor: "bottom", font: { size: 11 } },
    hovermode: plot.time ? "x unified" : "closest",
    hoverlabel: { font: { size: 11 } },
  };
}

// ---------------------------------------------------------------------------
// Tables and messages

/** Numbers in a column stand to the right; a dash or nothing at all may stand for one. */
function isNumberColumn(rows, column) {
  const cells = rows.map((row) => (row[column] ?? "").trim()).filter((cell) => cell !== "" && cell !== "-");
  return cells.length > 0 && cells.every((cell) => /^[-+\u2212]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s?%?$|^[-+]?(NaN|inf)$/.test(cell));
}

function createTable({ title, columns, rows }) {
  const classes = columns.map((name, column) => (isNumberColumn(rows, column) ? "number" : ""));
  const cell = (tag, text, column) => createElement(tag, { textContent: text, className: classes[column] ?? "" });
  const head = createElement("tr", {}, columns.map((name, column) => {
    return Object.assign(cell("th", name, column), { scope: "col" });
  }));
  const body = rows.map((row) => createElement("tr", {}, row.map((text, column) => cell("td", text, column))));
  return createElement("table", {}, [
    createElement("caption", { textContent: title }),
    createElement("thead", {}, [head]),
    createElement("tbody", {}, body),
  ]);
}

function showTables(tables) {
  element("tables").hidden = tables.length === 0;
  element("tables").append(...tables.map((table) => createElement("div", { className: "table-frame" }, [createTable(table)])));
}

function showAbout(about) {
  element("about").append(...about.map(([label, value]) => createElement("div", {}, [
    createElement("dt", { textContent: label }),
    createElement("dd", { textContent: value }),
  ])));
}

function showWarnings(warnings) {
  element("warnings").hidden = warnings.length === 0;
  element("warnings").append(createElement("ul", {}, warnings.map((text) => createElement("li", { textContent: text }))));
}

// ---------------------------------------------------------------------------
// Controls

const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2];
const COMFORTABLE_SECONDS = 10;
const HASH_ROUNDING = 1e-6; // s; the address carries the time in whole microseconds

/** Keeps the film's time, and draws the view and the cursors when it changes. */
class Player {
  constructor(film, view, plots) {
    this.film = film;
    this.view = view;
    this.plots = plots;
    this.start = film.times[0];
    this.end = film.times[film.times.length - 1];
    this.time = this.start;
    this.frame = 0;
    this.playing = false;
    this.round = 0;
    this.speed = comfortableSpeed(this.end - this.start);
    this.drawing = null;
    this.isStale = false;
    this.connectControls();
  }

  connectControls() {
    const slider = element("slider");
    slider.min = this.start;
    slider.max = this.end;
    slider.addEventListener("input", () => { this.pause(); this.goTo(Number(slider.value)); });
    slider.addEventListener("change", () => this.writeHash());
    const speed = element("speed");
    speed.append(...SPEEDS.map((value) => new Option(`${value}\u00d7`, value, false, value === this.speed)));
    speed.addEventListener("change", () => { this.speed = Number(speed.value); });
    element("play").addEventListener("click", () => this.togglePlaying());
    element("step-back").addEventListener("click", () => this.step(-1));
    element("step-forward").addEventListener("click", () => this.step(1));
    element("reset-view").addEventListener("click", () => this.view?.resetCamera());
    document.addEventListener("keydown", (event) => this.handleKey(event));
    window.addEventListener("hashchange", () => { this.pause(); this.goTo(this.timeInHash() ?? this.time); });
  }

  handleKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    // Keys that a focused control already answers to are left to it.
    const owner = event.target.closest("button, select, input[type=checkbox]");
    const isArrow = event.key === "ArrowLeft" || event.key === "ArrowRight";
    if (isArrow && owner?.tagName !== "SELECT") this.step(event.key === "ArrowLeft" ? -1 : 1);
    else if (event.key === " " && !owner && !event.repeat) this.togglePlaying();
    else return;
    event.preventDefault();
  }

  goTo(time) {
    this.time = Math.min(Math.max(time, this.start), this.end);
    this.frame = indexAtOrBefore(this.film.times, this.time);
    return this.redraw();
  }

  /** Goes to a time that the user chose. */
  moveTo(time) {
    this.pause();
    this.goTo(time);
    this.writeHash();
  }

  step(frames) {
    const frame = Math.min(Math.max(this.frame + frames, 0), this.film.times.length - 1);
    this.moveTo(this.film.times[frame]);
  }

  /** One redraw at a time: a change during one leads to just one more after it. */
  redraw() {
    this.isStale = true;
    this.drawing ??= this.drawUntilFresh().finally(() => { this.drawing = null; });
    return this.drawing;
  }

  async drawUntilFresh() {
    while (this.isStale) {
      this.isStale = false;
      const { frame, time } = this;
      this.showTimeText();
      this.plots.setTime(time, !this.playing);
      await this.view?.show(frame);
      document.documentElement.dataset.frame = String(frame);
    }
  }

  showTimeText() {
    const text = `t = ${this.time.toFixed(4)} s`;
    element("time").textContent = text;
    element("time").title = `frame ${this.frame + 1} of ${this.film.times.length}`;
    element("slider").value = this.time;
    element("slider").setAttribute("aria-valuetext", text);
  }

  togglePlaying() {
    if (!this.playing) this.play();
    else this.moveTo(this.time);
  }

  async play() {
    this.setPlaying(true);
    this.round += 1;
    const { round } = this;
    if (this.time >= this.end) this.time = this.start;
    let before = await nextAnimationFrame();
    // A pause and another start within one frame must not leave two of these loops.
    while (this.playing && round === this.round) {
      const now = await nextAnimationFrame();
      const time = this.time + ((now - before) / 1000) * this.speed;
      before = now;
      if (this.playing) await this.goTo(time);
      if (this.time >= this.end) this.moveTo(this.end);
    }
  }

  pause() {
    this.setPlaying(false);
  }

  setPlaying(playing) {
    this.playing = playing;
    element("play").textContent = playing ? "Pause" : "Play";
  }

  timeInHash() {
    const match = /^#t=([-+.\deE]+)$/.exec(location.hash);
    const time = match ? Number(match[1]) : NaN;
    return Number.isFinite(time) ? time + HASH_ROUNDING / 2 : null;
  }

  writeHash() {
    try {
      history.replaceState(null, "", `#t=${Number(this.time.toFixed(6))}`);
    } catch {
      // Some browsers refuse this for local files; the address then just stays as it is.
    }
  }
}

/** The speed at which a film of this length is over in about ten seconds. */
function comfortableSpeed(seconds) {
  const mismatch = (speed) => Math.abs(Math.log(seconds / speed / COMFORTABLE_SECONDS));
  return SPEEDS.reduce((best, speed) => (mismatch(speed) < mismatch(best) ? speed : best), 1);
}

function addToggles(view, film, redraw) {
  const hasHiddenVisuals = view.pieces.some((piece) => piece.kind === "visual" && piece.hasTwin);
  const choices = [
    ["bodies", "bodies", film.bodies.length > 0],
    ["seeThrough", "see through bodies", film.bodies.length > 0],
    ["visualParts", "visual parts", hasHiddenVisuals],
    ["patches", "patches", film.patches !== null],
    ["forces", "forces", view.metresPerNewton > 0],
  ];
  for (const [name, label, isUseful] of choices) {
    if (!isUseful) continue;
    const box = createElement("input", { type: "checkbox", checked: view.shown[name] });
    box.addEventListener("change", () => { view.shown[name] = box.checked; redraw(); });
    element("toggles").append(createElement("label", { className: "choice" }, [box, label]));
  }
}

function addLegend(view, film, redraw) {
  for (const { name, color } of film.bodies) {
    const button = createElement("button", { type: "button", textContent: name, });
    button.style.setProperty("--swatch", color);
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => {
      const wasHidden = view.hiddenBodies.delete(name);
      if (!wasHidden) view.hiddenBodies.add(name);
      button.setAttribute("aria-pressed", String(wasHidden));
      redraw();
    });
    element("legend").append(button);
  }
}

function showForceScale(view) {
  if (view.metresPerNewton === 0) return;
  const length = roundNumberBelow(0.2 * largestExtent(view.film.bounds));
  const force = Number((length / view.metresPerNewton).toPrecision(3));
  const bodies = [...new Set(view.film.wrenches.map((wrench) => wrench.a))];
  element("force-scale").hidden = false;
  element("force-scale").textContent = `Force arrow of ${formatLength(length)} = ${force} N, on ${bodies.join(", ")}`;
}

// ---------------------------------------------------------------------------
// Start

/** The 3-D view, or null with a word on the page where the browser cannot draw it. */
function createView(film) {
  if (hasWebGL()) return new SceneView(film, element("scene"));
  const words = "The three-dimensional view needs WebGL, which this browser does not offer. Plots and tables are shown without it.";
  element("scene").append(createElement("p", { className: "scene-message", textContent: words }));
  reportProblem(words, "no WebGL");
  return null;
}

/** Sets up view and controls; resolves when the first frame is drawn. */
function startFilm(film, plots) {
  const view = createView(film);
  const redraw = () => player.redraw();
  if (view) {
    // Before the first frame, since these take room from the view.
    addToggles(view, film, redraw);
    addLegend(view, film, redraw);
    showForceScale(view);
  }
  const player = new Player(film, view, plots);
  plots.showTime = (time) => player.moveTo(time);
  return player.goTo(player.timeInHash() ?? player.start);
}

/** Tells the style sheet what lies above the film, so that its controls are in sight on opening. */
function leaveRoomAboveFilm() {
  element("main").style.setProperty("--above", `${element("main").offsetTop}px`);
}

async function start() {
  element("title").textContent = document.title;
  const run = await readRun();
  const { about = [], warnings = [], film = null, plots = [], tables = [] } = run;
  showAbout(about);
  showWarnings(warnings);
  showTables(tables);
  element("film").hidden = film === null;
  element("plots").hidden = plots.length === 0;
  const hasFigures = plots.length + tables.length > 0;
  leaveRoomAboveFilm();
  element("main").classList.add(film ? "with-film" : "without-film", hasFigures ? "with-figures" : "without-figures");
  const column = new PlotColumn(plots, film, element("plots"));
  if (film) await startFilm(film, column);
  await column.drawSeen();
  await nextAnimationFrame();
  document.documentElement.dataset.frame ??= "0";
  document.documentElement.dataset.ready = "true";
}

window.addEventListener("error", (event) => reportProblem(`Something on this page went wrong: ${event.message}.`, event.message));
window.addEventListener("unhandledrejection", (event) => {
  const message = event.reason?.message ?? String(event.reason);
  reportProblem(`Something on this page went wrong: ${message}.`, message);
});

start();
