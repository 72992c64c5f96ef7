// The three-dimensional view.

const FORCE_COLOR = "#c8321f";
const SEE_THROUGH_OPACITY = 0.35;
const HALF_SPACE_OPACITY = 0.18;
const FIRST_CAMERA = { eye: { x: 1.2, y: -1.82, z: 0.88 }, center: { x: 0, y: 0, z: -0.1 }, up: { x: 0, y: 0, z: 1 } };
// The epsilon: by default, triangles of square millimetres count as too small to be lit.
const BODY_LIGHTING = { ambient: 0.55, diffuse: 0.6, specular: 0.05, roughness: 0.8, fresnel: 0, facenormalsepsilon: 0 };
const LIGHT_POSITION = { x: 40000, y: -60000, z: 100000 };
const WHEEL_PAUSE = 900; // ms without a turn of the wheel until the film goes on
const SCENE_OPTIONS = { displaylogo: false, responsive: true, plotGlPixelRatio: window.devicePixelRatio };
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
  constructor(film, container, { metresPerNewton, longest, pressure }, camera) {
    this.film = film;
    this.container = container;
    this.dataRevision = 0;
    this.heldUntil = 0;
    this.metresPerNewton = metresPerNewton;
    this.longest = longest;
    this.arrows = new ArrowSurface(film.wrenches.length, 0.045 * largestExtent(film.bounds));
    this.patchSurface = film.patches ? new PatchSurface(film.patches) : null;
    this.shown = { bodies: true, patches: true, forces: true, seeThrough: film.patches !== null, visualParts: true };
    this.hiddenBodies = new Set();
    this.pieces = film.bodies.flatMap(bodyPieces);
    this.patchTrace = this.patchSurface && patchTrace(pressure);
    this.forceTrace = forceTrace(this.arrows);
    this.traces = [...this.pieces.map((piece) => piece.trace), this.patchTrace, this.forceTrace].filter(Boolean);
    this.layout = sceneLayout(sceneRanges(film, metresPerNewton, longest), camera ?? firstCamera(container));
    for (const piece of this.pieces) placeVertices(piece.vertices, piece.poses, 0, piece.trace);
    this.waitForCamera();
  }

  /** Draws a frame; resolves when it is on the screen. */
  async show(frame) {
    for (const piece of this.pieces) {
      if (!piece.fixed) placeVertices(piece.vertices, piece.poses, frame * 7, piece.trace);
    }
    if (this.patchTrace) Object.assign(this.patchTrace, this.patchSurface.arraysAt(frame));
    this.film.wrenches.forEach((wrench, arrow) => {
      const { point, force } = forceAt(wrench, frame);
      this.arrows.place(arrow, point, arrowOf(force, this));
    });
    this.applyChoices();
    await this.draw();
  }

  applyChoices() {
    for (const { body, kind, hasTwin, trace } of this.pieces) {
      const asked = !hasTwin || (kind === "visual") === this.shown.visualParts;
      trace.visible = asked && this.shown.bodies && !this.hiddenBodies.has(body);
      if (kind !== "half_space") trace.opacity = this.shown.seeThrough ? SEE_THROUGH_OPACITY : 1;
    }
    if (this.patchTrace) this.patchTrace.visible = this.shown.patches;
    this.forceTrace.visible = this.shown.forces && this.metresPerNewton > 0;
  }

  async draw() {
    // A redraw returns to the layout's camera, which lags behind the one that
    // the user has set; Plotly tells that one only through its inner scene.
    const { drawnScene } = this;
    if (drawnScene) this.layout.scene.camera = drawnScene.getCamera();
    // The arrays change in place: only a new revision tells Plotly to read them again.
    this.dataRevision += 1;
    this.layout.datarevision = this.dataRevision;
    await Plotly.react(this.container, this.traces, this.layout, SCENE_OPTIONS);
    skipPicking(this.drawnScene.glplot);
    await nextAnimationFrame();
  }

  /** Plotly's own scene, which it does not hand out; none before the first frame. */
  get drawnScene() {
    return this.container._fullLayout?.scene?._scene;
  }

  /** Whether the user is turning or zooming the view: see waitForCamera. */
  get isHeld() {
    return performance.now() < this.heldUntil;
  }

  /** Plotly ignores the mouse for half a second after a redraw, so a playing film has to wait for it. */
  waitForCamera() {
    const hold = (milliseconds) => { this.heldUntil = performance.now() + milliseconds; };
    this.container.addEventListener("pointerdown", () => hold(Infinity));
    window.addEventListener("pointerup", () => hold(0));
    window.addEventListener("pointercancel", () => hold(0));
    this.container.addEventListener("wheel", () => hold(WHEEL_PAUSE), { capture: true, passive: true });
  }

  resetCamera() {
    return Plotly.relayout(this.container, { "scene.camera": firstCamera(this.container) });
  }
}

/**
 * Nothing is picked with the mouse here. By default Plotly draws everything a second time for that, and
 * waits until the graphics card has done so.
 */
function skipPicking(glplot) {
  const pickable = glplot.objects.filter((object) => object.pickSlots > 0);
  if (pickable.length === 0) return;
  for (const object of pickable) object.pickSlots = 0;
  // Only when an object comes does Plotly look again at what can be picked.
  const last = glplot.objects.at(-1);
  glplot.remove(last);
  glplot.add(last);
}

/** Up to three pieces of a body, each one trace: its solid, its visual and its half-space parts. */
function bodyPieces(body) {
  const isSolid = ({ kind }) => kind === "rigid" || kind === "compliant";
  const groups = [
    { kind: "solid", parts: body.parts.filter(isSolid) },
    { kind: "visual", parts: body.parts.filter(({ kind }) => kind === "visual") },
    { kind: "half_space", parts: body.parts.filter(({ kind }) => kind === "half_space") },
  ].filter(({ parts }) => parts.length > 0);
  const kinds = new Set(groups.map(({ kind }) => kind));
  const hasTwin = (kind) => kind !== "half_space" && kinds.has("solid") && kinds.has("visual");
  return groups.map(({ kind, parts }) => {
    const { vertices, corners } = mergeParts(parts);
    const trace = bodyTrace(body, kind === "half_space", createPoints(vertices.length / 3), corners);
    return { body: body.name, fixed: body.fixed, poses: body.poses, kind, hasTwin: hasTwin(kind), vertices, trace };
  });
}

function bodyTrace({ name, color }, isHalfSpace, points, corners) {
  return {
    type: "mesh3d",
    name,
    color,
    opacity: isHalfSpace ? HALF_SPACE_OPACITY : 1,
    flatshading: true,
    lighting: isHalfSpace ? FLAT_LIGHTING : BODY_LIGHTING,
    lightposition: LIGHT_POSITION,
    hoverinfo: "skip",
    ...points,
    ...corners,
  };
}

function patchTrace(pressure) {
  return {
    type: "mesh3d",
    name: "pressure",
    intensitymode: "vertex",
    colorscale: "Viridis",
    cmin: 0,
    cmax: pressure,
    lighting: FLAT_LIGHTING,
    hoverinfo: "skip",
    colorbar: {
      title: { text: "pressure, Pa", side: "top" },
      orientation: "h",
      tickfont: { color: paint("--ink") },
      tickformat: "~s",
      thickness: 10,
      len: 0.7,
      y: 0.02,
      ypad: 0,
      yanchor: "bottom",
      outlinewidth: 0,
    },
  };
}

function forceTrace(arrows) {
  return {
    type: "mesh3d",
    name: "forces",
    color: FORCE_COLOR,
    flatshading: true,
    lighting: { ...BODY_LIGHTING, ambient: 0.75 },
    lightposition: LIGHT_POSITION,
    hoverinfo: "skip",
    ...arrows.points,
    ...arrows.corners,
  };
}

const CAMERAS = "isobar cameras";

/** Keeps where the views are seen from until the page is loaded anew. */
function keepCameras(views) {
  try {
    sessionStorage.setItem(CAMERAS, JSON.stringify(views.map((view) => view.drawnScene?.getCamera() ?? null)));
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

/** From farther away where the view is higher than wide. */
function firstCamera({ clientWidth, clientHeight }) {
  const camera = structuredClone(FIRST_CAMERA); // Plotly writes into it
  const farther = Math.min(2, Math.max(1, clientHeight / clientWidth || 1));
  for (const axis of ["x", "y", "z"]) camera.eye[axis] *= farther;
  return camera;
}

function sceneLayout(ranges, camera) {
  const extents = ranges.map(([low, high]) => high - low);
  // All axes to one scale, and the whole about as large as Plotly's usual unit cube.
  const unit = Math.hypot(...extents) / Math.sqrt(3);
  const axis = (name, index) => ({
    title: { text: `${name}, m`, font: { size: 12 } },
    range: ranges[index],
    autorange: false,
    nticks: Math.max(2, Math.round((6 * extents[index]) / Math.max(...extents))),
    tickfont: { size: 10 },
    gridcolor: paint("--grid"),
    zerolinecolor: paint("--line"),
    showspikes: false,
    showbackground: false,
  });
  return {
    margin: { l: 0, r: 0, t: 0, b: 0 },
    showlegend: false,
    paper_bgcolor: paint("--paper"),
    font: { color: paint("--ink") },
    scene: {
      xaxis: axis("x", 0),
      yaxis: axis("y", 1),
      zaxis: axis("z", 2),
      aspectmode: "manual",
      aspectratio: { x: extents[0] / unit, y: extents[1] / unit, z: extents[2] / unit },
      camera,
      dragmode: "turntable",
      hovermode: false,
    },
  };
}
