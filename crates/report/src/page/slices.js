// A slice through pressure fields: what a plane cuts of their tetrahedra, coloured by pressure.

const SLICE_SIZE = [420, 320]; // px
const CONTACT_LINE_COLOR = "#e5352b";

/** A plane through a body of one's choice, with what it cuts of the others near it. */
class FieldSlice {
  constructor(film, section, planes, isOpen) {
    section.open = isOpen;
    this.planes = planes;
    this.frame = 0;
    const bodies = film.bodies.map((body) => ({ ...body, fields: body.parts.flatMap(({ field }) => field ?? []) }));
    this.bodies = bodies.filter(({ fields }) => fields.length > 0);
    section.hidden = this.bodies.length === 0;
    if (section.hidden) return;
    for (const body of this.bodies) body.reach = greatest(body.fields, ({ vertices }) => farthest(vertices));
    const moving = Math.max(0, this.bodies.findIndex(({ fixed }) => !fixed));
    this.body = createElement("select", {}, this.bodies.map(({ name }, index) => new Option(name, index, false, index === moving)));
    const axes = ["world", "body"].flatMap((of) => ["x", "y", "z"].map((axis) => `${axis} of the ${of}`));
    this.axis = createElement("select", {}, axes.map((name, index) => new Option(name, index, false, index === 1)));
    this.offset = createElement("input", { type: "range", min: 0, max: 1, step: "any", value: 0.5, className: "slider" });
    this.offset.ariaLabel = "Where the plane cuts the body";
    for (const control of [this.body, this.axis, this.offset]) control.addEventListener("input", () => this.draw());
    const ratio = window.devicePixelRatio || 1;
    this.canvas = createElement("canvas", { className: "slice", width: SLICE_SIZE[0] * ratio, height: SLICE_SIZE[1] * ratio });
    this.canvas.setAttribute("role", "img");
    this.context = this.canvas.getContext("2d");
    this.context.scale(ratio, ratio);
    this.legend = createElement("div");
    this.caption = createElement("figcaption");
    const choice = (text, control) => createElement("label", { className: "choice" }, [text, control]);
    section.append(createElement("figure", {}, [
      createElement("div", { className: "controls" }, [choice("Body", this.body), choice("Across", this.axis), this.offset]),
      this.canvas, this.legend, this.caption,
    ]));
    new IntersectionObserver(([{ isIntersecting }]) => {
      this.inView = isIntersecting;
      this.draw();
    }).observe(this.canvas);
  }

  show(frame) {
    this.frame = frame;
    if (this.inView) this.draw();
  }

  /** The axes of the slice in the world, across and along it, and the point that offsets are measured from. */
  axes(chosen) {
    const axis = this.axis.value % 3;
    const rows = [axis, ...[0, 1, 2].filter((other) => other !== axis)];
    if (this.axis.value < 3) return { directions: rows.map((row) => [0, 1, 2].map((k) => Number(k === row))), origin: [0, 0, 0] };
    const { position, rotation } = poseAt(chosen, this.frame);
    return { directions: rows.map((row) => rotation.map((line) => line[row])), origin: position };
  }

  draw() {
    const chosen = this.bodies[this.body.value];
    const { directions, origin } = this.axes(chosen);
    const own = placeFields(chosen, this.frame, directions, origin);
    const [low, high] = extents(own.map(({ places }) => places));
    const offset = low[0] + this.offset.value * (high[0] - low[0]);
    const most = greatest(chosen.fields, ({ pressures }) => greatest(pressures, (pressure) => pressure));
    const scale = 0.84 * Math.min(SLICE_SIZE[0] / (high[1] - low[1]), SLICE_SIZE[1] / (high[2] - low[2]));
    const place = ([x, y]) => [SLICE_SIZE[0] / 2 + scale * (x - (low[1] + high[1]) / 2), SLICE_SIZE[1] / 2 - scale * (y - (low[2] + high[2]) / 2)];
    const { context } = this;
    context.clearRect(0, 0, ...SLICE_SIZE);
    const draw = (fields, color) => {
      const cut = fields.flatMap((field) => cutField(field, offset));
      for (const polygon of cut) fillPolygon(context, polygon.map(({ at, pressure }) => ({ at: place(at), pressure })), most, color);
      return cut;
    };
    context.globalAlpha = 0.5;
    for (const body of this.bodies) {
      const { position } = poseAt(body, this.frame);
      if (body === chosen || Math.abs(dot(directions[0], minus(position, origin)) - offset) > body.reach) continue;
      draw(placeFields(body, this.frame, directions, origin), body.color);
    }
    context.globalAlpha = 1;
    const cut = draw(own, chosen.color);
    this.drawContact(chosen.name, directions, origin, offset, place);
    drawLengthScale(context, scale, SLICE_SIZE);
    this.legend.replaceChildren(colorBar(most));
    const peak = greatest(cut, (polygon) => greatest(polygon, ({ pressure }) => pressure));
    const all = own.reduce((sum, { tetrahedra }) => sum + tetrahedra.length / 4, 0);
    const [name, of] = this.axis.selectedOptions[0].text.split(" of the ");
    this.caption.textContent = `${chosen.name}, plane at ${name} = ${Number(offset.toPrecision(3))} m of the ${of}: pressure to ${formatPressure(peak)} `
      + `of ${formatPressure(most)} in the body, ${cut.length} of ${all} tetrahedra cut${this.planes ? "; red: contact surfaces" : ""}`;
    this.canvas.setAttribute("aria-label", this.caption.textContent);
  }

  /** Where the plane cuts the contact surfaces of the body: both pressures are equal there. */
  drawContact(name, directions, origin, offset, place) {
    if (!this.planes) return;
    const { context } = this;
    Object.assign(context, { strokeStyle: CONTACT_LINE_COLOR, lineWidth: 2.5 });
    context.beginPath();
    const { pairs } = this.planes;
    const own = pairs.flatMap((pair, index) => (pair.includes(name) ? [index] : []));
    for (const { corners } of this.planes.polygonsAt(this.frame, new Set(own))) {
      const points = corners.map((corner) => directions.map((direction) => dot(direction, minus(corner, origin))));
      const ends = points.flatMap((point, index) => between(point, points[(index + 1) % points.length], offset));
      if (ends.length < 2) continue;
      context.moveTo(...place(ends[0]));
      context.lineTo(...place(ends[1]));
    }
    context.stroke();
    context.lineWidth = 1;
  }
}

/** Where a line between points crosses the plane, along the plane; nothing where it does not. */
function between(from, to, offset) {
  const [before, after] = [from[0] - offset, to[0] - offset];
  if (before < 0 === after < 0) return [];
  const part = before / (before - after);
  return [[1, 2].map((k) => from[k] + part * (to[k] - from[k]))];
}

function poseAt({ fixed, poses }, frame) {
  const [x, y, z, w, a, b, c] = poses.subarray(fixed ? 0 : frame * 7);
  return {
    position: [x, y, z],
    rotation: [
      [1 - 2 * (b * b + c * c), 2 * (a * b - w * c), 2 * (a * c + w * b)],
      [2 * (a * b + w * c), 1 - 2 * (a * a + c * c), 2 * (b * c - w * a)],
      [2 * (a * c - w * b), 2 * (b * c + w * a), 1 - 2 * (a * a + b * b)],
    ],
  };
}

/** The fields of a body with the coordinates of their vertices across and along a slice. */
function placeFields(body, frame, directions, origin) {
  const { position, rotation } = poseAt(body, frame);
  const rows = directions.map((direction) => [0, 1, 2].map((k) => direction.reduce((sum, value, row) => sum + value * rotation[row][k], 0)));
  const shifts = directions.map((direction) => dot(direction, minus(position, origin)));
  return body.fields.map((field) => {
    const { vertices } = field;
    const places = new Float32Array(vertices.length);
    for (let at = 0; at < vertices.length; at += 3) {
      for (let k = 0; k < 3; k += 1) {
        const [x, y, z] = rows[k];
        places[at + k] = shifts[k] + x * vertices[at] + y * vertices[at + 1] + z * vertices[at + 2];
      }
    }
    return { ...field, places };
  });
}

/** How far from the origin the farthest vertex is. */
function farthest(vertices) {
  let square = 0;
  for (let at = 0; at < vertices.length; at += 3) square = Math.max(square, vertices[at] ** 2 + vertices[at + 1] ** 2 + vertices[at + 2] ** 2);
  return Math.sqrt(square);
}

/** What the plane cuts of the tetrahedra of a field: polygons with the pressure at their corners. */
function cutField({ places, tetrahedra, pressures }, offset) {
  const polygons = [];
  const crossing = (a, b) => {
    const part = (offset - places[3 * a]) / (places[3 * b] - places[3 * a]);
    const mixed = (from, to) => from + part * (to - from);
    return { at: [1, 2].map((k) => mixed(places[3 * a + k], places[3 * b + k])), pressure: mixed(pressures[a], pressures[b]) };
  };
  for (let at = 0; at < tetrahedra.length; at += 4) {
    const [below, above] = [[], []];
    for (let corner = at; corner < at + 4; corner += 1) {
      (places[3 * tetrahedra[corner]] < offset ? below : above).push(tetrahedra[corner]);
    }
    if (below.length === 0 || above.length === 0) continue;
    const [few, many] = below.length <= above.length ? [below, above] : [above, below];
    const pairs = few.length === 1 ? many.map((other) => [few[0], other]) : [[0, 0], [0, 1], [1, 1], [1, 0]].map(([i, j]) => [few[i], many[j]]);
    polygons.push(pairs.map(([a, b]) => crossing(a, b)));
  }
  return polygons;
}

/** Fills a polygon, over which the pressure is linear, and draws its edges. */
function fillPolygon(context, points, most, edgeColor) {
  const [{ at: [x, y], pressure }, ...rest] = points;
  // The gradient from the two corners that span the most.
  let [area, gx, gy] = [0, 0, 0];
  for (let index = 1; index < rest.length; index += 1) {
    const [{ at: [ax, ay], pressure: a }, { at: [bx, by], pressure: b }] = [rest[index - 1], rest[index]];
    const [dax, day, dbx, dby] = [ax - x, ay - y, bx - x, by - y];
    const twice = dax * dby - day * dbx;
    if (Math.abs(twice) <= Math.abs(area)) continue;
    area = twice;
    gx = ((a - pressure) * dby - (b - pressure) * day) / twice;
    gy = ((b - pressure) * dax - (a - pressure) * dbx) / twice;
  }
  const perPixel = Math.hypot(gx, gy);
  const spread = greatest(points, (point) => Math.abs(point.pressure - pressure));
  context.fillStyle = cssViridis(pressure / most);
  // A sliver, or as good as one colour.
  if (spread > most / 128 && perPixel > 0 && perPixel < most) {
    const along = (value) => [x + (gx / perPixel) * ((value - pressure) / perPixel), y + (gy / perPixel) * ((value - pressure) / perPixel)];
    const colors = context.createLinearGradient(...along(0), ...along(most));
    VIRIDIS.forEach((color, index) => colors.addColorStop(index / (VIRIDIS.length - 1), color));
    context.fillStyle = colors;
  }
  context.beginPath();
  for (const { at } of points) context.lineTo(...at);
  context.closePath();
  context.fill();
  context.strokeStyle = `${edgeColor}80`;
  context.lineWidth = 0.6;
  context.stroke();
}
