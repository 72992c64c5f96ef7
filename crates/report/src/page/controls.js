// What plays, steps and chooses.

const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2];
const COMFORTABLE_SECONDS = 10;
const MOST_NAMES = 4;
const HASH_ROUNDING = 1e-6; // s; the address carries the time in whole microseconds

/** Keeps the time of the films, and draws the views and the cursors when it changes. */
class Player {
  constructor(films, views, plots, figures) {
    this.film = films[0];
    this.views = views;
    this.plots = plots;
    this.figures = figures;
    this.start = this.film.times[0];
    this.end = Math.max(...films.map(({ times }) => times[times.length - 1]));
    this.hasMoved = false;
    this.time = this.start;
    this.frame = 0;
    this.playing = false;
    this.round = 0;
    this.speed = comfortableSpeed(this.end - this.start);
    this.drawing = null;
    this.connectControls();
  }

  connectControls() {
    element("playback").hidden = this.end === this.start;
    const slider = element("slider");
    slider.min = this.start;
    slider.max = this.end;
    slider.addEventListener("input", () => { this.hasMoved = true; this.setPlaying(false); this.goTo(Number(slider.value)); });
    slider.addEventListener("change", () => this.writeHash());
    const speed = element("speed");
    speed.append(...SPEEDS.map((value) => new Option(`${value}\u00d7`, value, false, value === this.speed)));
    speed.addEventListener("change", () => { this.speed = Number(speed.value); });
    element("play").addEventListener("click", () => this.togglePlaying());
    element("step-back").addEventListener("click", () => this.step(-1));
    element("step-forward").addEventListener("click", () => this.step(1));
    element("reset-view").addEventListener("click", () => this.views.forEach((view) => view.resetCamera()));
    document.addEventListener("keydown", (event) => this.handleKey(event));
    window.addEventListener("hashchange", () => { this.setPlaying(false); this.goTo(this.timeInHash() ?? this.time); });
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

  /** Opens at the time in the address, or where bodies first touch. */
  open() {
    const asked = this.timeInHash();
    this.hasMoved = asked !== null;
    return this.goTo(asked ?? firstContact(this.film));
  }

  goTo(time) {
    this.time = Math.min(Math.max(time, this.start), this.end);
    this.frame = indexAtOrBefore(this.film.times, this.time);
    return this.redraw();
  }

  /** Goes to a time that the user chose. */
  moveTo(time) {
    this.hasMoved = true;
    this.setPlaying(false);
    this.goTo(time);
    this.writeHash();
  }

  step(frames) {
    const frame = Math.min(Math.max(this.frame + frames, 0), this.film.times.length - 1);
    this.moveTo(this.film.times[frame]);
  }

  /** Draws before the screen shows the next picture, once for all changes until then. */
  redraw() {
    this.drawing ??= nextAnimationFrame().then(() => this.draw());
    return this.drawing;
  }

  draw() {
    const { frame, time } = this;
    this.drawing = null;
    this.showTimeText();
    this.plots.setTime(time);
    for (const view of this.views) view.show(indexAtOrBefore(view.film.times, time));
    if (document.documentElement.dataset.frame === String(frame)) return;
    showForces(this.film, frame);
    this.figures.forEach((figure) => figure.show(frame));
    document.documentElement.dataset.frame = String(frame);
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
    if (this.time >= this.end || !this.hasMoved) this.time = this.start;
    this.hasMoved = true;
    let before = await nextAnimationFrame();
    // A pause and another start within one frame must not leave two of these loops.
    while (this.playing && round === this.round) {
      const now = await nextAnimationFrame();
      const time = this.time + ((now - before) / 1000) * this.speed;
      before = now;
      if (this.playing) this.goTo(time);
      if (this.time >= this.end) this.moveTo(this.end);
    }
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

function addToggles(views, film) {
  const [view] = views;
  const hasTwins = view.bodies.some(({ pieces }) => pieces.some((piece) => piece.hasTwin));
  const choices = [
    ["bodies", "bodies", film.bodies.length > 0],
    ["edges", "edges", film.bodies.length > 0],
    ["seeThrough", "see through bodies", film.bodies.length > 0],
    ["visualParts", "visual meshes", hasTwins],
    ["patches", "patches", film.patches !== null],
    ["forces", "forces", view.metresPerNewton > 0],
    ["axes", "axes", true],
  ];
  for (const [name, label, isUseful] of choices) {
    if (!isUseful) continue;
    const box = createElement("input", { type: "checkbox", checked: view.shown[name] });
    box.addEventListener("change", () => views.forEach((view) => { view.shown[name] = box.checked; view.applyChoices(); }));
    element("toggles").append(createElement("label", { className: "choice" }, [box, label]));
  }
}

function addLegend(views, film) {
  for (const { name, color } of film.bodies) {
    const button = createElement("button", { type: "button", textContent: name });
    button.style.setProperty("--swatch", color);
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => {
      const wasHidden = views[0].hiddenBodies.has(name);
      views.forEach(({ hiddenBodies }) => (wasHidden ? hiddenBodies.delete(name) : hiddenBodies.add(name)));
      button.setAttribute("aria-pressed", String(wasHidden));
      views.forEach((view) => view.applyChoices());
    });
    element("legend").append(button);
  }
}

/** The forces at a frame in numbers, beside their arrows. */
function showForces(film, frame) {
  const shown = film.wrenches.flatMap((wrench) => {
    const { point, force } = forceAt(wrench, frame);
    return point.every(Number.isFinite) ? [`${wrench.b} on ${wrench.a} ${Number(Math.hypot(...force).toPrecision(3))} N`] : [];
  });
  element("forces-now").hidden = film.wrenches.length === 0;
  element("forces-now").textContent = shown.length > 0 ? `Forces: ${shown.join(", ")}` : "Forces: none";
}

function showForceScale(view) {
  if (view.metresPerNewton === 0) return;
  const length = Number((view.longest / 1.5).toPrecision(1));
  const force = Number((length / view.metresPerNewton).toPrecision(3));
  const bodies = [...new Set(view.film.wrenches.map((wrench) => wrench.a))];
  element("force-scale").hidden = false;
  element("force-scale").textContent = `Force arrow of ${formatLength(length)} = ${force} N${bodies.length <= MOST_NAMES ? `, on ${bodies.join(", ")}` : ""}`;
}
