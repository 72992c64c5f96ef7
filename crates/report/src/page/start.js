// Tables and messages, and how the page starts.

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

function showTables(tables) {
  element("tables").hidden = tables.length === 0;
  const inFrame = (table) => createElement("div", { className: "table-frame" }, [createTable(table)]);
  element("tables").append(...tables.map(inFrame));
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

/** The 3-D view, or null with a word on the page where the browser cannot draw it. */
function createView(film) {
  if (hasWebGL()) return new SceneView(film, element("scene"));
  element("film").classList.add("without-view");
  reportProblem("The three-dimensional view needs WebGL, which this browser does not offer. All else is shown.", "no WebGL");
  return null;
}

/** Sets up view and controls; resolves when the first frame is drawn. */
function startFilm(film, plots) {
  film.wrenches ??= [];
  if (!film.patches?.max_pressure) film.patches = null; // no contact in the whole film
  const view = createView(film);
  const redraw = () => player.redraw();
  if (view) {
    // Before the first frame, since these take room from the view.
    addToggles(view, film, redraw);
    addLegend(view, film, redraw);
    showForceScale(view);
  }
  const player = new Player(film, view, plots);
  return player.goTo(player.timeInHash() ?? player.start);
}

/** Tells the style sheet what lies above the film, so that its controls are in sight on opening. */
function leaveRoomAboveFilm() {
  element("main").style.setProperty("--above", `${element("main").offsetTop}px`);
}

async function start() {
  element("title").textContent = document.title;
  const { about = [], warnings = [], film = null, plots = [], tables = [] } = await readRun();
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

const reportError = (message) => reportProblem(`Something on this page went wrong: ${message}.`, message);
window.addEventListener("error", (event) => reportError(event.message));
window.addEventListener("unhandledrejection", ({ reason }) => reportError(reason?.message ?? String(reason)));

start();
