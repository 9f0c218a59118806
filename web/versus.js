// What laws do to each other: a matrix for each quantity, with a row per law and a column per law that it was beside,
// and over a sweep a line for each law beside another. crates/results/src/report/versus.rs says what the fields are.

function pointName(point) {
	const named = report.keys.map(({ short, values }, k) => {
		const place = report.places[point][k];
		return place == null ? "" : `${short} = ${values[place]}`;
	});
	return named.filter(Boolean).join(", ");
}

// In a cell, whose letters shrink to its width, a star stands on the shorter line.
function cellLines(text) {
	const starred = text.replace(/^(.*) (±.*) \*$/, "$1* $2");
	return starred.replace(" ±", "\n±").replace(" (", "\n(").replace("; ", ";\n").split("\n");
}

// `under`: what tells the panel from others of the same title.
function versusPanel({ label, rows, beside, looks, cells }, under) {
	const told = [label, ...under].join(", ");
	const marks = cells.flatMap((line, k) => line.flatMap((cell, x) => (cell ? [{
		kind: "cell", x, y: rows.length - 1 - k, colour: lookColour(looks[k]), shade: cell.shade, strong: cell.strong,
		lines: cellLines(cell.text),
		text: `${told}: ${rows[k]} beside ${beside[x]}: ${cell.text}`,
	}] : [])));
	const ticks = (names, at) => names.map((name, k) => ({ at: at(k), label: name }));
	return {
		title: label, under, marks, height: 34 * rows.length, isPlain: true,
		x: { min: -0.5, max: beside.length - 0.5, ticks: ticks(beside, (k) => k), label: "beside" },
		y: { min: -0.5, max: rows.length - 0.5, ticks: ticks(rows, (k) => rows.length - 1 - k) },
	};
}

// What a reader cannot know from the title of a panel.
const VERSUS_ABOUT = {
	harm: "harm: what the other law takes of what it has alone, * more than it takes from itself",
	convergence_s: "fair: both within 25 % of their fair shares for 5 s, median of the runs (least..most; in how many, "
		+ "where not in all)",
};

// A row of panels for each side, where they differ, and on paper for each point that is asked for.
function versusFigure() {
	const points = state.points.length > 0 ? state.points : [state.point];
	// On paper a figure may be of one quantity alone.
	const name = isOfPairs(state.metric) ? report.pair_metrics[state.metric - report.metrics.length].name : null;
	const ofName = report.versus.filter((panel) => !name || panel.name === name);
	const here = ofName.filter(({ link, point }) => link === state.link && points.includes(point));
	if (here.length === 0) return null;
	const abouts = unique(here.map(({ about }) => about));
	const side = ({ about }) => (abouts.length > 1 ? about.replace(/^[, ]+/, "") : "");
	const under = (panel) => [points.length > 1 ? pointName(panel.point) : "", side(panel)].filter(Boolean);
	const columns = unique(here.map(({ label }) => label)).length;
	return {
		id: "versus", title: "Beside each other", where: points.length > 1 ? "" : whereText(),
		note: [
			`of the law in the row${abouts.length > 1 ? "" : abouts[0]}`,
			...unique(here.map((panel) => panel.name)).map((one) => VERSUS_ABOUT[one]).filter(Boolean),
			here.some((panel) => panel.name !== "convergence_s") ? `± and (..): ${intervalText()}` : "",
		].filter(Boolean).join("; "),
		panels: here.map((panel) => versusPanel(panel, under(panel))), legend: [],
		columns, columnsWide: columns, columnsNarrow: 2, panelWidth: 290,
	};
}

// ---------------------------------------------------------------------------------------------------- the sweep

// Metrics of pairs stand behind those of runs.
const isOfPairs = (metric) => metric >= report.metrics.length;
const pairMetrics = () => (report.pairs.length > 0 ? report.pair_metrics : []);

// The colour is that of the law, the symbol says beside which one it is; on paper lines have the dashes of the colour.
const pairLook = ({ look, nth }) => ({
	colour: lookColour(look), symbol: nth, dash: DASHES[nth % DASHES.length], isOfScreen: true,
});

function pairMarks(pairs, points, { x, beside }, [nth, of], look) {
	const place = state.metric - report.metrics.length;
	const { label, unit, factor } = report.pair_metrics[place];
	const means = points.flatMap(({ place: values, point }) => {
		const pair = pairs.find((one) => one.point === point);
		const figure = pair?.figures[place];
		if (!figure || (state.logY && figure.mean <= 0)) return [];
		const [mean, half, from, to] = [figure.mean, figure.half, figure.low, figure.high]
			.map((value) => (value ?? NaN) * factor);
		const value = report.keys[state.axis].values[values[state.axis]];
		const told = statText({ mean, half, from, to }, unit);
		const text = `${pair.label}: ${label} ${told} at ${value}, ${plural(figure.n, "seed")}`;
		const at = x(values[state.axis]) + beside * (nth - (of - 1) / 2);
		return [{ kind: "interval", x: at, y: mean, low: from, high: to, text, ...look }];
	});
	return joinedMeans(means, look);
}

function pairSweepFigure() {
	if (state.difference) return null;
	const place = state.metric - report.metrics.length;
	const { name, label, unit, about, most } = report.pair_metrics[place];
	const isShown = (pair) => pair.link === state.link && !pair.laws.some((law) => state.hidden.has(law));
	const here = report.pairs.filter((pair) => pair.figures[place] && isShown(pair));
	const lines = unique(here.map((pair) => pair.label)).map((one) => here.filter((pair) => pair.label === one));
	lines.sort(([a], [b]) => a.look - b.look || a.nth - b.nth);
	const sides = unique(here.map((pair) => pair.side));
	const ofSide = (pairs, side) => pairs.filter((pair) => pair.side === side);
	// A harm that is negative is a gain; a share is never negative.
	const least = name.startsWith("harm") ? -Infinity : 0;
	return overSweep({
		what: label, unit, note: `${about}; ${intervalText()}`,
		rules: name === "harm_beyond_itself" ? [{ kind: "rule", y: 0 }] : [],
		marks: (points, scale, side) => lines.flatMap((pairs, k) => (
			pairMarks(ofSide(pairs, side), points, scale, [k, lines.length], pairLook(pairs[0])))),
		sides,
		range: (reach) => ends(reach, { log: state.logY, zero: !state.logY, least, most: most ?? Infinity }),
		legend: lines.map(([pair]) => ({ label: pair.label, ...pairLook(pair), always: true })), ownLegend: true,
	});
}
