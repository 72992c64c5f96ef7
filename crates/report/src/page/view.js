// The three-dimensional view.

const SEE_THROUGH_OPACITY = 0.35;
const SHARP_EDGE = 30; // degrees between triangles
const MOST_NUMBERS = 12; // of forces at a time
const CAMERA_DIRECTION = [1.2, -1.82, 0.98];
const FIELD_OF_VIEW = 30; // degrees
const GRID_LINES = 6; // about, along the longest side of what is seen

/** What draws a view; null where the browser cannot draw in three dimensions. */
function createRenderer() {
  try {
    const renderer = new Three.WebGLRenderer({ antialias: true, alpha: true });
    renderer.debug.checkShaderErrors = false; // it would wait for the graphics card
    renderer.outputColorSpace = Three.LinearSRGBColorSpace;
    Object.assign(renderer.shadowMap, { enabled: true, type: Three.PCFShadowMap, autoUpdate: false });
    return renderer;
  } catch {
    return null;
  }
}

class SceneView {
  constructor(film, container, renderer, { metresPerNewton, longest, pressure }, camera) {
    Object.assign(this, { film, container, renderer, metresPerNewton, longest, frame: -1, onTurn: () => {} });
    this.shown = { bodies: true, edges: true, patches: true, forces: true, seeThrough: film.patches !== null, visualParts: true, axes: true };
    this.hiddenBodies = new Set();
    this.ranges = sceneRanges(film, metresPerNewton, longest);
    const step = roundStep(Math.max(...this.ranges.map(([low, high]) => high - low)), GRID_LINES);
    this.marks = axisLabels(this.ranges, step);
    this.scene = new Three.Scene().add(...createLights(this.ranges));
    this.bodies = film.bodies.map((body) => ({ ...body, group: new Three.Group(), pieces: bodyPieces(body, step) }));
    for (const { group, pieces } of this.bodies) this.scene.add(group.add(...pieces.map(({ object }) => object)));
    const hasFloor = this.bodies.some(({ pieces }) => pieces.some(({ kind }) => kind === "half_space"));
    this.axes = new Three.Group().add(createAxes(this.ranges), ...(hasFloor ? [] : [floorBelow(this.ranges, step)]));
    this.scene.add(this.axes);
    this.patchSurface = film.patches && new PatchSurface(film.patches, pressure);
    if (film.patches) this.scene.add(this.patchSurface.mesh);
    const red = new Three.MeshLambertMaterial({ color: paint("--force") });
    const shapes = arrowShapes();
    this.arrows = film.wrenches.map(() => new Arrow(0.15 * longest, shapes, red));
    this.forces = new Three.Group();
    for (const { group } of this.arrows) this.forces.add(group);
    this.scene.add(this.forces);
    this.createCanvas();
    this.createCamera(camera);
    if (film.patches) container.append(colorBar(pressure));
    this.applyChoices();
  }

  createCanvas() {
    this.place = createElement("div", { className: "space" }, [this.renderer.domElement]);
    this.labels = new Labels(this.place);
    this.container.append(this.place);
    new ResizeObserver(() => { this.resize(); this.render(); }).observe(this.place);
  }

  createCamera(kept) {
    const size = largestExtent([0, 1].map((end) => this.ranges.map((range) => range[end])));
    this.camera = new Three.PerspectiveCamera(FIELD_OF_VIEW, 1, 0.01 * size, 100 * size);
    this.camera.up.set(0, 0, 1);
    this.controls = new Three.OrbitControls(this.camera, this.renderer.domElement);
    this.controls.zoomToCursor = true;
    this.resize();
    if (kept) this.setCamera(kept);
    else this.resetCamera();
    this.controls.addEventListener("change", () => { this.render(); this.onTurn(this); });
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.place;
    if (width === this.labels.width && height === this.labels.height) return;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.renderer.setPixelRatio(ratio);
    this.renderer.setSize(width, height, false);
    this.labels.resize(width, height, ratio);
    this.camera.aspect = width / Math.max(height, 1);
    this.camera.updateProjectionMatrix();
  }

  /** Draws a frame. */
  show(frame) {
    if (frame === this.frame) return;
    this.frame = frame;
    for (const { fixed, poses, group } of this.bodies) {
      const [x, y, z, w, a, b, c] = poses.subarray(fixed ? 0 : frame * 7);
      group.position.set(x, y, z);
      group.quaternion.set(a, b, c, w);
    }
    this.patchSurface?.show(frame);
    this.numbers = [];
    this.film.wrenches.forEach((wrench, index) => {
      const { point, force } = forceAt(wrench, frame);
      const arrow = this.arrows[index];
      arrow.place(point, arrowOf(force, this));
      if (arrow.group.visible) this.numbers.push({ at: arrow.tip, size: Math.hypot(...force), isForce: true });
    });
    this.numbers.sort((a, b) => b.size - a.size).splice(MOST_NUMBERS);
    for (const number of this.numbers) number.text = `${Number(number.size.toPrecision(3))} N`;
    this.renderer.shadowMap.needsUpdate = true;
    this.render();
  }

  applyChoices() {
    const { shown } = this;
    for (const { name, pieces } of this.bodies) {
      for (const { kind, hasTwin, object, body, edges } of pieces) {
        const asked = !hasTwin || (kind === "visual") === shown.visualParts;
        object.visible = asked && shown.bodies && !this.hiddenBodies.has(name);
        if (kind === "half_space") continue;
        const opacity = shown.seeThrough ? SEE_THROUGH_OPACITY : 1;
        Object.assign(body.material, { opacity, transparent: shown.seeThrough, depthWrite: !shown.seeThrough, needsUpdate: true });
        body.receiveShadow = !shown.seeThrough; // in sight from both sides, it would look dirty
        edges.visible = shown.edges;
      }
    }
    if (this.patchSurface) this.patchSurface.mesh.visible = shown.patches;
    this.forces.visible = shown.forces && this.metresPerNewton > 0;
    this.axes.visible = shown.axes;
    this.renderer.shadowMap.needsUpdate = true;
    this.render();
  }

  render() {
    if (this.frame < 0) return;
    this.renderer.render(this.scene, this.camera);
    this.labels.draw(this.camera, [...(this.forces.visible ? this.numbers : []), ...(this.shown.axes ? this.marks : [])]);
  }

  /** Where it is seen from, and what it turns about. */
  get cameraPlace() {
    return [this.camera.position.toArray(), this.controls.target.toArray()];
  }

  setCamera([position, target]) {
    this.camera.position.set(...position);
    this.controls.target.set(...target);
    this.controls.update();
  }

  /** Goes to where another view is seen from. */
  follow(place) {
    const { onTurn } = this;
    this.onTurn = () => {};
    this.setCamera(place);
    this.onTurn = onTurn;
  }

  /** As near as all of the ranges are still seen. */
  resetCamera() {
    const away = unit(CAMERA_DIRECTION);
    const across = unit(cross([0, 0, 1], away));
    const up = cross(away, across);
    const middle = this.ranges.map(([low, high]) => (low + high) / 2);
    const high = Math.tan((FIELD_OF_VIEW * Math.PI) / 360);
    const distance = greatest([0, 1, 2, 3, 4, 5, 6, 7], (corner) => {
      const at = minus(this.ranges.map((range, axis) => range[(corner >> axis) & 1]), middle);
      return dot(at, away) + 1.08 * Math.max(Math.abs(dot(at, across)) / (high * this.camera.aspect), Math.abs(dot(at, up)) / high);
    });
    this.setCamera([middle.map((value, axis) => value + distance * away[axis]), middle]);
  }
}

/** Up to three pieces of a body: its solid, its visual and its half-space parts. */
function bodyPieces(body, step) {
  const isSolid = ({ kind }) => kind === "rigid" || kind === "compliant";
  const [solid, visual, floors] = [isSolid, ({ kind }) => kind === "visual", ({ kind }) => kind === "half_space"].map((is) => body.parts.filter(is));
  const hasTwin = solid.length > 0 && visual.length > 0;
  const pieces = [["solid", solid], ["visual", visual]].filter(([, parts]) => parts.length > 0);
  return [
    ...pieces.map(([kind, parts]) => ({ kind, hasTwin, ...createSolid(mergeParts(parts), body.color) })),
    ...floors.map(({ vertices }) => ({ kind: "half_space", hasTwin: false, object: createFloor(vertices, body.color, step) })),
  ];
}

/** A surface with its sharp edges. */
function createSolid(geometry, color) {
  // Its own edges lie before it. Surfaces that are only drawn may be open. Shadows of back sides do not mottle the front.
  const sides = { side: Three.DoubleSide, shadowSide: Three.BackSide };
  const material = { ...sides, color, flatShading: true, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1 };
  const body = new Three.Mesh(geometry, new Three.MeshLambertMaterial(material));
  body.castShadow = true;
  const line = new Three.LineBasicMaterial({ color: paint("--ink"), transparent: true, opacity: 0.45 });
  const edges = new Three.LineSegments(new Three.EdgesGeometry(geometry, SHARP_EDGE), line);
  return { object: new Three.Group().add(body, edges), body, edges };
}

/** What the colours of contact surfaces mean. */
function colorBar(pressure) {
  const step = roundStep(pressure, 5);
  const marks = multiplesWithin(0, pressure, step).map((value) => {
    const mark = createElement("span", { textContent: formatPressure(value) });
    mark.style.left = `${(100 * value) / pressure}%`;
    return mark;
  });
  const bar = createElement("div", { className: "color-bar" }, [createElement("b", { textContent: "pressure" }), ...marks]);
  bar.style.setProperty("--colors", VIRIDIS.join(","));
  return bar;
}

function formatPressure(value) {
  const rounded = Number(value.toPrecision(3));
  const [unit, name] = [[1e9, "GPa"], [1e6, "MPa"], [1e3, "kPa"]].find(([size]) => rounded >= size) ?? [1, "Pa"];
  return `${Number((rounded / unit).toPrecision(3))} ${name}`;
}

const CAMERAS = "isobar cameras";

/** Keeps where the views are seen from until the page is loaded anew. */
function keepCameras(views) {
  try {
    sessionStorage.setItem(CAMERAS, JSON.stringify(views.map((view) => view.cameraPlace)));
  } catch {
    // Some browsers keep nothing for local files.
  }
}

/** Where the views were seen from before the page was loaded anew; once. */
function keptCameras() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(CAMERAS)) ?? [];
    sessionStorage.removeItem(CAMERAS);
    return kept;
  } catch {
    return [];
  }
}
