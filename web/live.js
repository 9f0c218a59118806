// Charts over time: uPlot draws them; they are zoomed together and tell what is under the pointer.

const Y_AXIS_PX = 56;
// A line is pointed at within so many pixels.
const NEAR_PX = 28;
// Beyond so many lines only the one that is pointed at is told.
const TOLD_MAX = 6;
const DIMMED = 0.18;

function drawLive(chart, figure) {
	const width = chart.body.clientWidth;
	const fit = Math.max(1, Math.floor(width / 380));
	// Rows as equal as they can be: four panels stand two by two, not three and one.
	const columns = Math.ceil(figure.panels.length / Math.ceil(figure.panels.length / fit));
	chart.body.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
	chart.body.append(liveLegend(figure.legend));
	const gap = 16;
	const each = Math.floor((width - gap * (columns - 1)) / columns);
	for (const panel of figure.panels) {
		const place = element("div", { class: "plot" });
		if (panel.title) place.append(element("h3", { class: lawClass(panel.law) }, panel.title));
		chart.body.append(place);
		chart.plots.push(livePlot(chart, panel, place, each));
	}
	chart.key = (event) => keyOverTime(chart, event);
	bringForward(chart);
}

// What the buttons of the laws do not say, such as which law's flows share a link: as on paper, above the panels.
function liveLegend(entries) {
	const entry = ({ label, colour: name }) => {
		const swatch = element("i");
		swatch.style.background = `var(${name})`;
		return element("span", {}, swatch, label);
	};
	return element("div", { class: "legend" }, ...entries.filter(({ always }) => always).map(entry));
}

// The series of a panel as uPlot has them. `marks` beside them says what each is.
function seriesOf(panel) {
	const [series, data, bands, marks] = [[{}], [panel.times], [], [null]];
	const add = (mark, values, options) => {
		series.push({ spanGaps: false, points: { show: false }, ...options });
		data.push(values);
		marks.push(mark);
	};
	for (const mark of panel.marks) {
		const ink = mark.colour && colour(mark.colour);
		if (mark.kind === "band") {
			const unseen = { stroke: "transparent", width: 0 };
			bands.push({ series: [series.length, series.length + 1], fill: withAlpha(ink, 0.17) });
			add({ ...mark, edge: true }, mark.high, unseen);
			add({ ...mark, edge: true }, mark.low, unseen);
		} else if (mark.kind === "area") {
			add(mark, mark.y, { stroke: ink, fill: withAlpha(ink, 0.5), width: 1 });
		} else if (mark.kind === "line") {
			const stroke = mark.alpha == null ? ink : withAlpha(ink, mark.alpha);
			add(mark, mark.y, { stroke, width: mark.width ?? 1.8, dash: mark.dash });
		}
	}
	return { series, data, bands, marks };
}

function livePlot(chart, panel, place, width) {
	const { series, data, bands, marks } = seriesOf(panel);
	// The ticks that the file would have, so that both read alike.
	const across = scaleOf(panel.x, Math.floor(width / 90));
	const up = scaleOf(panel.y, Math.floor(panel.livePx / 40));
	const places = ({ ticks }) => () => ticks.map((tick) => tick.at);
	const texts = ({ ticks }, unit = "") => () => ticks.map((tick) => tick.label + unit);
	const options = {
		width,
		height: panel.livePx,
		legend: { show: false },
		padding: [8, 26, 0, 0],
		cursor: {
			y: false,
			sync: { key: "time", scales: ["x", null] },
			drag: { x: true, y: false, setScale: false },
			points: { show: false },
			bind: { dblclick: () => resetZoom },
		},
		scales: {
			x: { time: false, range: () => [panel.x.min, panel.x.max] },
			y: { range: () => [panel.y.min, panel.y.max] },
		},
		axes: [
			liveAxis({ size: 28, splits: places(across), values: texts(across, " s") }),
			liveAxis({ size: axisWidth(up), splits: places(up), values: texts(up) }),
		],
		series,
		bands,
		hooks: {
			drawClear: [(u) => shadeWarmup(u, panel)],
			setSelect: [zoomToSelection],
			setCursor: [(u) => tellLive(chart, u, panel)],
		},
	};
	const plot = new uPlot(options, data, place);
	plot.marks = marks;
	return plot;
}

// Charts stand one below the other, so their axes are alike unless a name needs more.
const axisWidth = ({ ticks }) => Math.max(Y_AXIS_PX, ...ticks.map((tick) => 14 + Math.ceil(textWidth(tick.label, 12))));

function liveAxis(options) {
	const line = { stroke: colour("--grid"), width: 1 };
	const font = "12px system-ui, 'Liberation Sans', sans-serif";
	return { stroke: colour("--quiet"), font, grid: line, ticks: { ...line, size: 4 }, ...options };
}

function shadeWarmup(u, panel) {
	const shade = panel.marks.find((mark) => mark.kind === "shade");
	if (!shade || shade.to <= u.scales.x.min) return;
	const { ctx, bbox } = u;
	const right = Math.min(u.valToPos(shade.to, "x", true), bbox.left + bbox.width);
	ctx.save();
	ctx.fillStyle = colour("--raised");
	ctx.fillRect(bbox.left, bbox.top, right - bbox.left, bbox.height);
	ctx.restore();
}

// -------------------------------------------------------------------------------------------------------- zoom

function zoomToSelection(u) {
	const { left, width } = u.select;
	if (width < 4) return;
	const [from, to] = [u.posToVal(left, "x"), u.posToVal(left + width, "x")];
	// Zooming replaces this plot, which has not let go of the mouse yet.
	setTimeout(() => zoomTo(from, to));
}

function zoomTo(min, max) {
	const { duration_s } = currentPanel();
	const [from, to] = [Math.max(0, min), Math.min(duration_s, max)];
	state.zoom = to - from >= duration_s * 0.999 ? null : [from, to];
	refreshTime();
}

function resetZoom() {
	state.zoom = null;
	refreshTime();
}

function keyOverTime(chart, event) {
	if (event.target !== chart.place) return;
	const plot = chart.plots[0];
	const { min, max } = plot.scales.x;
	const [middle, span] = [plot.cursor.idx == null ? (min + max) / 2 : plot.data[0][plot.cursor.idx], max - min];
	const moves = {
		ArrowRight: () => moveCursor(plot, 1),
		ArrowLeft: () => moveCursor(plot, -1),
		"+": () => zoomTo(middle - span / 4, middle + span / 4),
		"-": () => zoomTo(middle - span, middle + span),
		0: resetZoom,
		Escape: resetZoom,
	};
	if (!moves[event.key]) return;
	event.preventDefault();
	moves[event.key]();
}

function moveCursor(plot, step) {
	const [first, last] = plot.series[0].idxs;
	const from = plot.cursor.idx == null ? (step > 0 ? first - 1 : last + 1) : plot.cursor.idx;
	const at = Math.max(first, Math.min(last, from + step));
	plot.setCursor({ left: plot.valToPos(plot.data[0][at], "x"), top: 0 });
}

// ------------------------------------------------------------------------------------------------------ values

// The line under the pointer, as its place among the series; 0 for none.
function pointedAt(u) {
	const { idx, top, event } = u.cursor;
	if (idx == null || !event || !u.over.matches(":hover")) return 0;
	let [best, far] = [0, NEAR_PX];
	for (let i = 1; i < u.series.length; i++) {
		const value = u.data[i][idx];
		if (u.marks[i].edge || u.marks[i].kind === "area" || !Number.isFinite(value)) continue;
		const off = Math.abs(u.valToPos(value, "y") - top);
		if (off < far) [best, far] = [i, off];
	}
	return best;
}

function tellLive(chart, u, panel) {
	const at = u.cursor.idx;
	const over = at != null && u.cursor.left >= 0;
	if (!u.marks) return;
	const pointed = over ? pointedAt(u) : 0;
	emphasise(u, pointed);
	if (!over) {
		chart.tell(null);
		return;
	}
	if (chart.plots.length > 1 && u !== (chart.plots.find((p) => p.over.matches(":hover")) ?? chart.plots[0])) return;
	const all = panels(chart).flatMap(([plot]) => plot.marks.map((mark, i) => ({ plot, mark, i })));
	const lines = all.filter(({ mark }) => mark && !mark.edge && (mark.kind === "line" || mark.kind === "area"));
	const told = lines.length <= TOLD_MAX ? lines : lines.filter(({ plot, i }) => plot === u && i === pointed);
	const time = `${Number(u.data[0][at].toPrecision(5))} s`;
	const parts = told.map(({ plot, mark, i }) => toldLine(plot, mark, i, at, panel));
	if (told.length === 0) parts.push(toldRange(u, at, panel));
	chart.tell([element("span", { class: "unit" }, time), ...parts]);
}

const panels = (chart) => chart.plots.map((plot, k) => [plot, chart.figure.panels[k]]);

function toldLine(plot, mark, i, at, panel) {
	const say = panel.say;
	const range = mark.low ? ` (${say(mark.low[at])} to ${say(mark.high[at])})` : "";
	const text = `${mark.flow ? `${mark.flow} ` : ""}${say(plot.data[i][at])}${range}`;
	return mark.law == null ? element("span", {}, element("b", {}, mark.label), ` ${text}`) : toldLaw(mark.law, text);
}

function toldRange(u, at, panel) {
	const values = u.data.slice(1).map((row) => row[at]).filter(Number.isFinite);
	if (values.length === 0) return element("span", {}, "–");
	const [low, high] = [Math.min(...values), Math.max(...values)];
	return element("span", {}, `${panel.say(low)} to ${panel.say(high)}; point at a line for its name`);
}

// What is pointed at stands out: a law among laws, a flow among flows.
function emphasise(u, pointed) {
	const mark = u.marks[pointed];
	const alike = (other) => (mark.flow ? other === mark : other.law === mark.law);
	const front = (other) => (pointed === 0 ? state.front == null || other.law === state.front : alike(other));
	let changed = false;
	u.series.forEach((series, i) => {
		if (i === 0) return;
		const alpha = u.marks[i].law == null || front(u.marks[i]) ? 1 : DIMMED;
		changed ||= (series.alpha ?? 1) !== alpha;
		series.alpha = alpha;
	});
	if (changed) u.redraw(false, false);
}

function bringForward(chart) {
	for (const plot of chart.plots) if (plot.marks) emphasise(plot, 0);
}
