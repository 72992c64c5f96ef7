// Contact surfaces, each in its own plane: pressure, and along the surface traction and slip.

const PLANE_SIZE = 260; // px
const MOST_ARROWS = 60; // of a kind in one plane
const LONGEST_ARROW = 30; // px
const TRACTION_COLOR = "#c8321f";
const SLIP_COLOR = "#ffffff";

/** A plane for each pair of bodies whose surface is seen in some frame; drawn where the pair touches. */
class PatchPlanes {
  constructor(film, section) {
    const { patches } = film;
    this.patches = patches;
    this.pairs = film.pairs;
    this.firstVertex = firstVertices(patches);
    const [low, high] = patches.bounds;
    this.step = low.map((value, axis) => (high[axis] - value) / 65535);
    this.planes = new Map();
    const counts = new Map();
    for (const pair of patches.pairs) counts.set(pair, (counts.get(pair) ?? 0) + 1);
    // What is seen most comes first.
    for (const pair of [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a))) {
      // The traction on the body whose force is drawn.
      const [a, b] = film.pairs[pair];
      const isOnA = film.wrenches.some((wrench) => wrench.a === a && wrench.b === b);
      this.planes.set(pair, new PatchPlane(isOnA ? [a, b, 1] : [b, a, -1], section));
    }
    section.hidden = this.planes.size === 0;
    this.pressure = lasting(largestPressures(patches));
    // Of many pairs few are seen at a time, and only these are drawn.
    const observer = new IntersectionObserver((sightings) => {
      for (const { target, isIntersecting } of sightings) target.inView = isIntersecting;
      this.show(this.frame);
    });
    for (const { canvas } of this.planes.values()) observer.observe(canvas);
  }

  show(filmFrame) {
    this.frame = filmFrame;
    const shown = new Set([...this.planes].filter(([, { canvas }]) => canvas.inView).map(([pair]) => pair));
    if (shown.size === 0) return;
    const polygons = new Map();
    for (const polygon of this.polygonsAt(filmFrame, shown)) {
      if (!polygons.has(polygon.pair)) polygons.set(polygon.pair, []);
      polygons.get(polygon.pair).push(polygon);
    }
    for (const pair of shown) this.planes.get(pair).draw(polygons.get(pair) ?? [], this.pressure);
  }

  /** The polygons of these pairs at a frame of the film. */
  *polygonsAt(filmFrame, shown) {
    const frame = patchFrame(this.patches, filmFrame);
    const { first_polygon: first, lengths, vertices, pressures, max_pressure: most, bounds: [low], pairs, tractions, slips } = this.patches;
    let vertex = this.firstVertex[frame];
    const vector = ({ largest, parts }, index) => [0, 1, 2].map((k) => (largest[frame] * parts[3 * index + k]) / 127);
    for (let index = first[frame]; index < first[frame + 1]; index += 1) {
      if (!shown.has(pairs[index])) {
        vertex += lengths[index];
        continue;
      }
      const corners = [];
      let pressure = 0;
      for (const end = vertex + lengths[index]; vertex < end; vertex += 1) {
        corners.push([0, 1, 2].map((k) => low[k] + this.step[k] * vertices[3 * vertex + k]));
        pressure += (pressures[vertex] / 65535) * most / lengths[index];
      }
      yield { pair: pairs[index], corners, pressure, traction: vector(tractions, index), slip: vector(slips, index) };
    }
  }
}

/** A surface seen along its normal, at a scale that only shrinks, so that it is seen to grow. */
class PatchPlane {
  constructor([on, from, sign], section) {
    this.canvas = createElement("canvas", { className: "patch" });
    this.caption = createElement("figcaption");
    Object.assign(this, { on, from, sign, radius: 0 });
    this.describe("…");
    section.append(createElement("figure", { className: "patch-figure" }, [this.canvas, this.caption]));
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = this.canvas.height = PLANE_SIZE * ratio;
    this.canvas.setAttribute("role", "img");
    this.context = this.canvas.getContext("2d");
    this.context.scale(ratio, ratio);
  }

  draw(polygons, mostPressure) {
    const { context } = this;
    context.clearRect(0, 0, PLANE_SIZE, PLANE_SIZE);
    if (polygons.length === 0) {
      this.describe("no contact");
      return;
    }
    const plane = planeOf(polygons);
    const flat = polygons.map((polygon) => ({ ...polygon, corners: polygon.corners.map(plane.project) }));
    const radius = greatest(flat, ({ corners }) => greatest(corners, (corner) => Math.hypot(...corner)));
    this.radius = Math.max(this.radius, radius);
    const scale = (0.46 * PLANE_SIZE) / (this.radius || 1);
    const place = ([x, y]) => [PLANE_SIZE / 2 + scale * x, PLANE_SIZE / 2 - scale * y];
    for (const { corners, pressure } of flat) {
      context.fillStyle = context.strokeStyle = cssViridis(pressure / mostPressure);
      context.beginPath();
      for (const corner of corners) context.lineTo(...place(corner));
      context.closePath();
      context.fill();
      context.stroke(); // no gaps between neighbours
    }
    const every = Math.ceil(flat.length / MOST_ARROWS);
    const longest = (kind) => greatest(polygons, (polygon) => Math.hypot(...polygon[kind]));
    for (const [kind, color] of [["slip", SLIP_COLOR], ["traction", TRACTION_COLOR]]) {
      const scale = (this.sign * LONGEST_ARROW) / longest(kind);
      if (!Number.isFinite(scale)) continue;
      for (let index = 0; index < flat.length; index += every) {
        const { corners, [kind]: vector } = flat[index];
        const middle = [0, 1].map((k) => corners.reduce((sum, corner) => sum + corner[k], 0) / corners.length);
        const [x, y] = plane.along(vector).map((value) => scale * value);
        drawArrow(context, place(middle), [x, -y], color);
      }
    }
    drawLengthScale(context, scale, [PLANE_SIZE, PLANE_SIZE]);
    const peak = greatest(polygons, ({ pressure }) => pressure);
    const rounded = (value) => Number(value.toPrecision(3));
    const [pressure, traction] = [peak, longest("traction")].map(formatPressure);
    this.describe(`pressure to ${pressure}, traction along it to ${traction} (red), slip of ${this.on} to ${rounded(longest("slip"))} m/s (white)`);
  }

  describe(text) {
    this.caption.textContent = `${this.from} on ${this.on}: ${text}`;
    this.canvas.setAttribute("aria-label", this.caption.textContent);
  }
}

/** A line with its length, in the corner of a canvas of this width and height. */
function drawLengthScale(context, pixelsPerMetre, [width, height]) {
  const length = Number(((0.25 * width) / pixelsPerMetre).toPrecision(1));
  context.fillStyle = paint("--ink");
  context.fillRect(6, height - 6, length * pixelsPerMetre, 2);
  context.font = "11px sans-serif";
  context.fillText(formatLength(length), 6, height - 10);
}

/** The mean plane of polygons: how points and vectors lie in it, and the middle of the surface. */
function planeOf(polygons) {
  let normal = [0, 0, 0];
  let middle = [0, 0, 0];
  let weight = 0;
  for (const { corners } of polygons) {
    const [first] = corners;
    for (let index = 2; index < corners.length; index += 1) {
      const twice = cross(minus(corners[index - 1], first), minus(corners[index], first));
      // Polygons of one surface are turned alike.
      normal = normal.map((value, k) => value + twice[k]);
    }
    const size = Math.hypot(...cross(minus(corners[1], first), minus(corners[corners.length - 1], first))) + Number.MIN_VALUE;
    const center = [0, 1, 2].map((k) => corners.reduce((sum, corner) => sum + corner[k], 0) / corners.length);
    middle = middle.map((value, k) => value + size * center[k]);
    weight += size;
  }
  middle = middle.map((value) => value / weight);
  const length = Math.hypot(...normal);
  normal = length > 0 ? normal.map((value) => value / length) : [0, 0, 1];
  // Seen from above where it lies, and with the vertical upright where it stands.
  if (normal[2] < -0.5) normal = normal.map((value) => -value);
  const upright = Math.abs(normal[2]) < 0.5;
  const reference = upright ? [0, 0, 1] : [0, 1, 0];
  const across = unit(cross(reference, normal));
  const up = cross(normal, across);
  const along = (vector) => [dot(vector, across), dot(vector, up)];
  return { along, project: (point) => along(minus(point, middle)) };
}

function drawArrow(context, [x, y], [dx, dy], color) {
  const length = Math.hypot(dx, dy);
  if (length < 1) return;
  const head = Math.min(5, length / 2);
  const [ux, uy] = [dx / length, dy / length];
  context.strokeStyle = context.fillStyle = color;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + dx, y + dy);
  context.lineTo(x + dx - head * (ux + 0.5 * uy), y + dy - head * (uy - 0.5 * ux));
  context.moveTo(x + dx, y + dy);
  context.lineTo(x + dx - head * (ux - 0.5 * uy), y + dy - head * (uy + 0.5 * ux));
  context.stroke();
}
