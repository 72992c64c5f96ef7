// Tables and messages, and how the page starts.

/** Tables with more rows are opened where one asks for them. */
const MOST_ROWS = 60;
const MOST_WARNINGS = window.innerWidth < 560 ? 1 : 3;
const NUMBER = /^[-+\u2212]?((\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s?%?|NaN|inf)$/;

/** Numbers in a column stand to the right; a dash or nothing at all may stand for one. */
function isNumberColumn(rows, column) {
  const cells = rows.map((row) => (row[column] ?? "").trim()).filter((cell) => cell !== "" && cell !== "-");
  return cells.length > 0 && cells.every((cell) => NUMBER.test(cell));
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

/** Tables of results stand above all else, the others below the plots. */
function showTables(tables) {
  const inFrame = (table) => {
    const frame = createElement("div", { className: "table-frame" }, [createTable(table)]);
    if (isResult(table) || table.rows.length <= MOST_ROWS) return frame;
    const summary = createElement("summary", { textContent: `${table.title}: ${table.rows.length} rows` });
    return createElement("details", {}, [summary, frame]);
  };
  for (const [place, shown] of [["results", tables.filter(isResult)], ["tables", tables.filter((t) => !isResult(t))]]) {
    element(place).hidden = shown.length === 0;
    element(place).append(...shown.map(inFrame));
  }
}

const isResult = (table) => table.is_result;

function showAbout(about) {
  element("about").append(...about.map(([label, value]) => createElement("div", {}, [
    createElement("dt", { textContent: label }),
    createElement("dd", { textContent: value }),
  ])));
}

/** The first warnings, and the others where one asks for them: what the page is of comes first. */
function showWarnings(warnings) {
  const list = (texts) => createElement("ul", {}, texts.map((text) => createElement("li", { textContent: text })));
  const others = warnings.slice(MOST_WARNINGS);
  element("warnings").hidden = warnings.length === 0;
  element("warnings").append(list(warnings.slice(0, MOST_WARNINGS)));
  if (others.length === 0) return;
  const summary = createElement("summary", { textContent: `${others.length} more` });
  element("warnings").append(createElement("details", { ontoggle: leaveRoomAboveFilm }, [summary, list(others)]));
}

/** The three-dimensional views; none, with a word on the page, where the browser cannot draw them. */
function createViews(films, scales) {
  const renderers = films.map(createRenderer);
  if (renderers.includes(null)) {
    element("film").classList.add("without-view");
    reportProblem("The three-dimensional view needs WebGL, which this browser does not offer. All else is shown.", "no WebGL");
    return [];
  }
  // All places before the first view, since they share the width.
  const places = films.map((film) => {
    const scene = createElement("div", { className: "scene" });
    scene.setAttribute("role", "figure");
    scene.setAttribute("aria-label", `Three-dimensional view: ${film.name}`);
    const name = films.length > 1 ? [createElement("p", { className: "view-name", textContent: film.name })] : [];
    element("views").append(createElement("div", { className: "named-view" }, [...name, scene]));
    return scene;
  });
  const cameras = keptCameras();
  const views = films.map((film, index) => new SceneView(film, places[index], renderers[index], scales, cameras[index]));
  // Films side by side are seen from the same place.
  for (const view of views) {
    view.onTurn = ({ cameraPlace }) => views.filter((other) => other !== view).forEach((other) => other.follow(cameraPlace));
  }
  return views;
}

/** Sets up views and controls; gives the views when the first frame is drawn. The first film has the plots. */
async function startFilms(films, plots) {
  await runLibrary("three");
  Three.ColorManagement.enabled = false; // colours are those of the style sheet
  for (const film of films) {
    if (!film.patches?.max_pressure) film.patches = null; // no contact in the whole film
  }
  const views = createViews(films, commonScales(films));
  if (views.length > 0) {
    // Before the first frame, since these take room from the views.
    addToggles(views, films[0]);
    addLegend(views, films[0]);
    showForceScale(views[0]);
  }
  const planes = films[0].patches && new PatchPlanes(films[0], element("patches"));
  const figures = [planes, new FieldSlice(films[0], element("slice"), planes, plots.entries.size === 0)].filter(Boolean);
  await new Player(films, views, plots, figures).open();
  return views;
}

/** Tells the style sheet what lies above the film, so that its controls are in sight on opening. */
function leaveRoomAboveFilm() {
  element("main").style.setProperty("--above", `${element("main").offsetTop}px`);
}

/**
 * Loads the page anew when a script beside it says another version, and shows it from where it was seen. A script, since
 * a page may not read the files beside it otherwise.
 */
function watchVersion([version, script], views) {
  window.isobarVersion = (newest) => {
    if (newest === version) return;
    keepCameras(views);
    location.reload();
  };
  setInterval(() => {
    const tag = createElement("script", { src: `${script}?${Date.now()}` });
    tag.onload = tag.onerror = () => tag.remove();
    document.head.append(tag);
  }, 500);
}

async function start() {
  element("title").textContent = document.title;
  const { about = [], warnings = [], films = [], plots = [], tables = [], version = null } = await readRun();
  showAbout(about);
  showWarnings(warnings);
  showTables(tables);
  element("film").hidden = films.length === 0;
  element("plots").hidden = plots.length === 0;
  const hasFields = films[0]?.bodies.some(({ parts }) => parts.some(({ field }) => field));
  const hasFigures = plots.length + tables.length > 0 || films[0]?.patches?.max_pressure > 0 || hasFields;
  leaveRoomAboveFilm();
  element("main").classList.add(films.length > 0 ? "with-film" : "without-film", hasFigures ? "with-figures" : "without-figures");
  const column = new PlotColumn(plots, films[0] ?? null, element("plots"));
  const views = films.length > 0 ? await startFilms(films, column) : [];
  if (version) watchVersion(version, views);
  if (plots.length > 0) await runLibrary("plotly");
  await column.drawSeen();
  await nextAnimationFrame();
  document.documentElement.dataset.frame ??= "0";
  document.documentElement.dataset.ready = "true";
}

const reportError = (message) => reportProblem(`Something on this page went wrong: ${message}.`, message);
window.addEventListener("error", (event) => reportError(event.message));
// What is drawn has the colours that it was begun with.
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => location.reload());
window.addEventListener("unhandledrejection", ({ reason }) => reportError(reason?.message ?? String(reason)));

start();
