// What bodies stand on, where they are, and the light on them: floors with a grid, axes with numbers, shadows.

const FLOOR_OPACITY = 0.18;
const SHADOW_OPACITY = 0.22;
const LIGHT_DIRECTION = [0.35, -0.5, 1];

/** About as many round steps as asked over a length: 1, 2 or 5 times a power of ten. */
function roundStep(length, count) {
  const power = 10 ** Math.floor(Math.log10(length / count));
  return power * [1, 2, 5, 10].find((factor) => factor * power * count >= length);
}

const within = (value, low, high) => Math.min(Math.max(value, low), high);

const multiplesWithin = (low, high, step) => {
  const first = Math.ceil(low / step - 1e-6);
  return Array.from({ length: Math.max(0, Math.floor(high / step + 1e-6) - first + 1) }, (_, index) => (first + index) * step);
};

/** A square in its plane, with a grid whose lines are so many metres apart and pass the origin of the body that it belongs to. */
function createFloor(vertices, color, step) {
  const geometry = createGeometry(vertices, new Uint32Array([0, 1, 2, 0, 2, 3]));
  geometry.computeVertexNormals();
  // Contact surfaces in the plane are not hidden by it.
  const behind = { side: Three.DoubleSide, depthWrite: false, transparent: true, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 4 };
  const tint = new Three.Mesh(geometry, new Three.MeshBasicMaterial({ ...behind, color, opacity: FLOOR_OPACITY }));
  const shadow = new Three.Mesh(geometry, new Three.ShadowMaterial({ ...behind, opacity: SHADOW_OPACITY }));
  shadow.receiveShadow = true;
  const [corner, next, , last] = [0, 3, 6, 9].map((at) => Array.from(vertices.subarray(at, at + 3)));
  const points = [];
  for (const [end, other] of [[next, last], [last, next]]) {
    const [across, along] = [minus(end, corner), minus(other, corner)];
    const start = dot(corner, unit(across));
    for (const at of multiplesWithin(start, start + Math.hypot(...across), step)) {
      const foot = corner.map((value, k) => value + (at - start) * unit(across)[k]);
      points.push(...foot, ...foot.map((value, k) => value + along[k]));
    }
  }
  const lines = new Three.LineBasicMaterial({ color: paint("--edge"), transparent: true, opacity: 0.5, depthWrite: false });
  const grid = new Three.LineSegments(createGeometry(new Float32Array(points)), lines);
  return new Three.Group().add(tint, shadow, grid);
}

/** The three edges of the box around the scene that have the numbers. */
function createAxes([[left, right], [front, back], [low, high]]) {
  const points = [left, front, low, right, front, low, right, front, low, right, back, low, left, front, low, left, front, high];
  return new Three.LineSegments(createGeometry(new Float32Array(points)), new Three.LineBasicMaterial({ color: paint("--edge") }));
}

/** The floor below a scene that has none. */
function floorBelow([[left, right], [front, back], [low]], step) {
  return createFloor(new Float32Array([left, front, low, right, front, low, right, back, low, left, back, low]), paint("--edge"), step);
}

/** Numbers along three edges of the box around the scene, and the names of its axes with their unit. */
function axisLabels(ranges, step) {
  const [[left, right], [front, back], [low, high]] = ranges;
  const aside = 0.03 * largestExtent([[left, front, low], [right, back, high]]);
  const places = [
    { name: "x", range: ranges[0], at: (x) => [x, front - aside, low] },
    { name: "y", range: ranges[1], at: (y) => [right + aside, y, low] },
    { name: "z", range: ranges[2], at: (z) => [left - aside, front - aside, z] },
  ];
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return places.flatMap(({ name, range, at }) => {
    const marks = multiplesWithin(...range, step).map((value) => ({ at: at(value), text: value.toFixed(digits).replace(/^-(0\.?0*)$/, "$1") }));
    return [{ at: at(range[1] + 1.5 * aside), text: `${name}, m`, isName: true }, ...marks];
  });
}

/** Light from above with shadows of all that lies in the ranges. */
function createLights(ranges) {
  const middle = ranges.map(([low, high]) => (low + high) / 2);
  const radius = 0.5 * Math.hypot(...ranges.map(([low, high]) => high - low));
  const sun = new Three.DirectionalLight("#ffffff", 1.9);
  sun.position.set(...middle.map((value, axis) => value + 3 * radius * unit(LIGHT_DIRECTION)[axis]));
  sun.target.position.set(...middle);
  sun.castShadow = true;
  sun.shadow.mapSize.set(2048, 2048);
  Object.assign(sun.shadow.camera, { left: -radius, right: radius, bottom: -radius, top: radius, near: radius, far: 5 * radius });
  return [sun, sun.target, new Three.AmbientLight("#ffffff", 1.7)];
}

/** Texts at points of space, on a canvas over the view. One that would lie on another is left out. */
class Labels {
  constructor(container) {
    this.canvas = createElement("canvas", { className: "labels" });
    this.context = this.canvas.getContext("2d");
    container.append(this.canvas);
  }

  resize(width, height, ratio) {
    Object.assign(this, { width, height });
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    this.context.scale(ratio, ratio);
  }

  /** Draws labels, the first before the others. */
  draw(camera, labels) {
    const { context, width, height } = this;
    context.clearRect(0, 0, width, height);
    Object.assign(context, { textAlign: "center", textBaseline: "middle", lineJoin: "round", lineWidth: 3, strokeStyle: paint("--paper") });
    const taken = [];
    for (const { at, text, isName, isForce } of labels) {
      const point = new Three.Vector3(...at).project(camera);
      if (point.z > 1) continue;
      context.font = `${isName || isForce ? 12 : 10.5}px system-ui, sans-serif`;
      const reach = context.measureText(text).width / 2 + 2;
      const x = within((0.5 + point.x / 2) * width, reach, width - reach);
      const isFree = (y) => !taken.some((other) => Math.abs(other.x - x) < other.reach + reach && Math.abs(other.y - y) < 13);
      const y = (isForce ? [-10, 12, -24, 26] : [0]).map((shift) => within((0.5 - point.y / 2) * height + shift, 8, height - 8)).find(isFree);
      if (y === undefined) continue;
      taken.push({ x, y, reach });
      context.fillStyle = paint(isForce ? "--force" : isName ? "--ink" : "--quiet");
      context.strokeText(text, x, y);
      context.fillText(text, x, y);
    }
  }
}
