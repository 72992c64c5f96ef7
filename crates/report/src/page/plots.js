// The plots, with their common time axis and cursor.

const IS_DARK = window.matchMedia("(prefers-color-scheme: dark)").matches;
const COLORS = IS_DARK
  ? ["#6aa9ee", "#f0925a", "#6cc483", "#e07aa8", "#ab9ee0", "#c7a66b", "#6ccbd8", "#a3acb9"]
  : ["#1f5fa8", "#d1662a", "#3a8f4f", "#a43b6b", "#7a6bb0", "#8a6d3b", "#3a9aa8", "#6b7280"];
const LEFT_MARGIN = 74; // of a plot, px

class PlotColumn {
  constructor(plots, film, container) {
    this.container = container;
    this.time = null;
    this.bodyColors = new Map((film?.bodies ?? []).map((body) => [body.name, body.color]));
    this.wholeRange = timeRange(plots, film);
    this.range = this.wholeRange;
    this.entries = new Map(plots.map((plot) => [this.addPlace(plot), { plot, inView: false, drawing: null }]));
  }

  addPlace(plot) {
    const place = createElement("div", { className: "plot" });
    place.setAttribute("role", "figure");
    place.setAttribute("aria-label", plot.title.replaceAll("<br>", " "));
    const note = plot.note ? [createElement("p", { className: "plot-note", textContent: plot.note })] : [];
    this.container.append(createElement("div", {}, [place, ...note]));
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
    const dashes = dashesOf(plot.series);
    const traces = plot.series.flatMap((series, index) => {
      const color = this.bodyColors.get(series.name) ?? COLORS[(series.color ?? index) % COLORS.length];
      return seriesTraces(series, color, dashes[index]);
    });
    // A long title goes on in a second line where the plot is narrow.
    const isLong = place.clientWidth - LEFT_MARGIN < 9 * plot.title.length;
    const layout = plotLayout(isLong ? { ...plot, title: plot.title.replace(", ", ",<br>") } : plot, traces);
    if (plot.time) layout.xaxis.range = [...this.range];
    await Plotly.newPlot(place, traces, layout, {
      displaylogo: false,
      responsive: true,
      // It would lie over the title of a narrow plot.
      displayModeBar: place.clientWidth < 500 ? false : "hover",
      doubleClick: "autosize",
      modeBarButtonsToRemove: ["select2d", "lasso2d"],
    });
    if (plot.time) {
      place.append(createElement("div", { className: "cursor", hidden: true }));
      place.on("plotly_afterplot", () => this.moveCursor(place));
      place.on("plotly_relayout", (change) => this.followRange(place, change));
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

  /** Moves the cursors of the plots in view. */
  setTime(time) {
    this.time = time;
    for (const [place, { plot, inView }] of this.entries) {
      if (plot.time && inView) this.moveCursor(place);
    }
  }

  /** The cursor is an element of its own: moving a shape of Plotly's draws the whole plot anew. */
  moveCursor(place) {
    const cursor = place.querySelector(".cursor");
    if (this.time === null || cursor === null) return;
    const [start, end] = place.layout.xaxis.range;
    const part = (this.time - start) / (end - start);
    cursor.hidden = part < 0 || part > 1;
    const whole = place.getBoundingClientRect();
    const area = place.querySelector(".nsewdrag").getBoundingClientRect(); // the area within the axes
    const left = area.left - whole.left + part * area.width;
    cursor.style.transform = `translate(${left}px, ${area.top - whole.top}px)`;
    cursor.style.height = `${area.height}px`;
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
function seriesTraces(series, color, dash) {
  const { name, x, y, mode, low, high } = series;
  const isMarkers = mode === "markers";
  const line = { color, dash, width: 1.6, shape: mode === "steps" ? "hv" : "linear" };
  const main = { type: "scatter", name, x, y, line, mode: isMarkers ? "markers" : "lines", legendgroup: name };
  if (isMarkers) main.marker = { color, size: 6 };
  if (!low || !high) return [main];
  if (isMarkers) {
    const array = high.map((value, index) => value - y[index]);
    const arrayminus = low.map((value, index) => y[index] - value);
    return [{ ...main, error_y: { type: "data", symmetric: false, array, arrayminus, color, thickness: 1.2, width: 3 } }];
  }
  const edge = { ...main, line: { ...line, width: 0 }, showlegend: false, hoverinfo: "skip" };
  return [{ ...edge, y: low }, { ...edge, y: high, fill: "tonexty", fillcolor: `${color}30` }, main];
}

/** Solid lines, but where one lies on an earlier one, of which it leaves parts to be seen. */
function dashesOf(all) {
  let low = Infinity;
  let high = -Infinity;
  for (const { y } of all) {
    for (const value of y) [low, high] = [Math.min(low, value || 0), Math.max(high, value || 0)];
  }
  const areClose = (a, b) => !(Math.abs(a - b) > 0.01 * (high - low));
  const covers = (a, b) => a.mode === b.mode && a.y.length === b.y.length && a.y.every((value, k) => areClose(value, b.y[k]));
  return all.map((series, index) => {
    const count = all.slice(0, index).filter((earlier) => covers(earlier, series)).length;
    return ["solid", "6px,6px", "2px,6px"][Math.min(count, 2)];
  });
}

function plotLayout(plot, traces) {
  const more = 18 * (plot.title.split("<br>").length - 1); // height of the title's further lines
  const hasLegend = traces.filter((trace) => trace.showlegend !== false).length > 1;
  const axis = (text) => ({
    title: { text, font: { size: 12 }, standoff: 6 },
    automargin: true,
    gridcolor: paint("--grid"),
    zerolinecolor: paint("--line"),
    linecolor: paint("--edge"),
    tickcolor: paint("--edge"),
    showline: true,
    ticks: "outside",
    ticklen: 4,
  });
  return {
    title: {
      text: plot.title,
      font: { size: 14, weight: 600 },
      x: 0,
      xref: "paper",
      xanchor: "left",
      y: 1,
      yanchor: "top",
      pad: { t: 8 + more },
    },
    font: { family: getComputedStyle(document.body).fontFamily, size: 11.5, color: paint("--ink") },
    paper_bgcolor: "transparent",
    plot_bgcolor: "transparent",
    margin: { l: LEFT_MARGIN, r: 24, t: 34 + 2 * more, b: 60 },
    xaxis: { ...axis(plot.x), ...(plot.log_x ? { type: "log", exponentformat: "e" } : {}) },
    yaxis: { ...axis(plot.y), type: plot.log_y ? "log" : "linear", exponentformat: "e" },
    showlegend: hasLegend,
    // Below the plot, where it has all of the width and no title.
    legend: { orientation: "h", x: 0, xanchor: "left", y: -0.28, yanchor: "top", font: { size: 11 } },
    hovermode: plot.time ? "x unified" : "closest",
    hoverlabel: { font: { size: 11 }, bgcolor: paint("--paper"), bordercolor: paint("--line") },
    modebar: { bgcolor: "transparent" },
  };
}
