// Laws compared: each metric with its interval over seeds, differences seed by seed, and a metric over the sweep.

const groupAt = (point, law) =>
	report.groups.find((g) => g.point === point && g.law === law && g.link === state.link);

const lawPlaces = () => report.laws.map((_, law) => law).filter((law) => !state.hidden.has(law));

// Values of a metric, or the differences to the base law under the same seeds; scaled to the unit that is shown.
function valuesOf(group, metric, base) {
	const { factor } = report.metrics[metric];
	const minus = (value, k) => value - (base ? base.value(metric, group.seeds[k]) : 0);
	return group ? Array.from(group.row(metric), (value, k) => minus(value, k) * factor) : [];
}

function statText(s, unit, signed = false) {
	const sign = signed && s.mean > 0 ? "+" : "";
	// The ends of one that is not cut are as far apart as they were before they were rounded.
	const isCut = s.to - s.from < 2 * s.half * (1 - 1e-6);
	const interval = isCut ? ` (${digits(s.from)}..${digits(s.to)})` : ` ± ${digits(s.half)}`;
	return withUnit(`${sign}${digits(s.mean)}${Number.isNaN(s.half) ? "" : interval}`, unit);
}

// Figures are never negative, and a share or an index never more than all; how they differ has no such end.
const bounds = (metric) => {
	const { most, half_bin: halfBin } = report.metrics[metric];
	return { least: 0, most: most ?? Infinity, halfBin };
};
const differenceUnit = (unit) => (unit === "%" ? "points" : unit);
const seedsN = () => report.seeds.length;
function intervalText() {
	if (seedsN() === 1) return "1 seed, no interval";
	return report.alike ? "all seeds gave the same result, no interval" : "mean with its 95 % interval";
}

// ------------------------------------------------------------------------------------- one point, all metrics

// A panel per metric, a row per law. `base`: differences to that law.
function metricPanel(metric, laws, base) {
	const { label, unit, about } = report.metrics[metric];
	const subtract = base == null ? null : groupAt(state.point, base);
	const rows = laws.filter((law) => law !== base).flatMap((law) => {
		const group = groupAt(state.point, law);
		const s = group && stat(valuesOf(group, metric, subtract), subtract ? {} : bounds(metric));
		return s ? [{ law, group, s }] : [];
	});
	if (rows.length === 0 || rows.every(({ s }) => s.low === 0 && s.high === 0)) return null;
	const n = rows.length;
	const shownUnit = base == null ? unit : differenceUnit(unit);
	const marks = base == null ? [] : [{ kind: "rule", x: 0 }];
	rows.forEach(({ law, group, s }, k) => {
		const y = n - 1 - k;
		const ink = { colour: lawColour(law), law };
		if (s.n > 1) {
			s.values.forEach((x, i) => marks.push({
				kind: "dot", x, y: y - 0.24, ...ink,
				text: `${label}: ${withUnit(digits(x), shownUnit)} with seed ${report.seeds[group.seeds[i]]}`,
			}));
		}
		const text = `${label}: ${statText(s, shownUnit, base != null)}, ${plural(s.n, "seed")}`;
		const ends = { low: s.from, high: s.to, across: true };
		marks.push({ kind: "interval", x: s.mean, y, ...ends, symbol: law, ...ink, text });
	});
	const reach = rows.flatMap(({ s }) => [s.low, s.high, s.from, s.to]);
	const range = base == null ? ends(reach, bounds(metric)) : ends([...reach, 0]);
	const ticks = rows.map(({ law }, k) => ({ at: n - 1 - k, label: report.laws[law] }));
	return {
		x: { ...range, label: axisLabel(label, shownUnit) },
		y: { min: -0.6, max: n - 0.5, ticks },
		height: 12 + n * 20, marks, about,
	};
}

const METRICS_SHOWN = [
	"utilisation", "goodput_bps", "jain", "queue_wait_ms_mean", "rtt_ms_mean", "drop_rate", "retransmit_rate",
	"timeouts", "completion_s_mean",
];
const metricPlace = (name) => report.metrics.findIndex((metric) => metric.name === name);

function metricsFigure(id, title, note, base) {
	const panels = METRICS_SHOWN.map((name) => metricPanel(metricPlace(name), lawPlaces(), base)).filter(Boolean);
	if (panels.length === 0) return null;
	const layout = { columns: 3, columnsNarrow: 2, panelWidth: 330 };
	return { id, title, note, where: whereText(), panels, legend: [], ...layout };
}

function intervalsFigure() {
	const dots = seedsN() > 1 ? ", a dot per seed" : "";
	return metricsFigure("metrics", "Laws side by side", `${intervalText()}${dots}`, null);
}

function differencesFigure() {
	if (report.laws.length < 2) return null;
	const note = `difference to ${report.laws[state.base]} under the same seed, on the same channel; ${intervalText()}`;
	const name = report.laws[state.base];
	return metricsFigure(`difference-to-${slug(name)}`, `Compared with ${name}`, note, state.base);
}

// ---------------------------------------------------------------------------------------------------- the sweep

// The points in lines along the chosen key: one panel for each combination of values of the others.
function sweepPanels() {
	const at = state.axis;
	const others = (place) => place.filter((_, k) => k !== at).join("/");
	const combinations = unique(report.places.map(others));
	return combinations.map((combination) => {
		const all = report.places.map((place, point) => ({ place, point }));
		const points = all.filter(({ place }) => others(place) === combination);
		const named = report.keys.flatMap((key, k) => {
			const value = points[0].place[k];
			return k === at || value == null ? [] : [`${key.short} = ${key.values[value]}`];
		});
		return { title: named.join(", "), points: points.filter((p) => p.place[at] != null) };
	}).filter((panel) => panel.points.length > 0);
}

function sweepAxis(key) {
	if (!key.numbers) {
		const ticks = key.values.map((label, at) => ({ at, label }));
		const axis = { min: -0.5, max: key.values.length - 0.5, ticks, label: key.short };
		return { x: (place) => place, axis, beside: 0.09 };
	}
	const label = axisLabel(key.short, key.unit);
	const log = state.logX && key.numbers.every((value) => value > 0);
	const axis = { ...ends(key.numbers, { log, air: 0.04 }), label };
	return { x: (place) => key.numbers[place], axis, beside: 0 };
}

// A law's line over the swept values, with the interval at each.
function sweepMarks(law, nth, laws, points, { x, beside }) {
	const metric = state.metric;
	const { unit, label } = report.metrics[metric];
	const shownUnit = state.difference ? differenceUnit(unit) : unit;
	const ink = { colour: lawColour(law), law };
	const means = [];
	for (const { place, point } of points) {
		const group = groupAt(point, law);
		const base = state.difference ? groupAt(point, state.base) : null;
		const s = group && stat(valuesOf(group, metric, base), base ? {} : bounds(metric));
		if (!s) continue;
		const value = report.keys[state.axis].values[place[state.axis]];
		const text = `${label} ${statText(s, shownUnit, state.difference)} at ${value}, ${plural(s.n, "seed")}`;
		const at = x(place[state.axis]) + beside * (nth - (laws - 1) / 2);
		means.push({ kind: "interval", x: at, y: s.mean, low: s.from, high: s.to, symbol: law, ...ink, text });
	}
	return joinedMeans(means, { ...ink, dash: lawDash(law) });
}

// The means with a line through them, where the swept values are numbers.
function joinedMeans(means, look) {
	means.sort((a, b) => a.x - b.x);
	const line = { kind: "line", x: means.map(({ x }) => x), y: means.map(({ y }) => y), width: 1.1, ...look };
	return report.keys[state.axis].numbers ? [line, ...means] : means;
}

// A figure over the sweep: `marks(points, scale, side)` are those of a panel, of which there is one for each of
// `sides`, `range` the ends of an axis that reaches all.
function overSweep({ what, unit, marks, range, rules, sides = [""], ...rest }) {
	const { key, short } = report.keys[state.axis];
	const scale = sweepAxis(report.keys[state.axis]);
	const drawn = sweepPanels().flatMap(({ title, points }) => sides.map((side) => (
		{ title: [title, side].filter(Boolean).join(", "), marks: marks(points, scale, side) })));
	const means = drawn.flatMap((panel) => panel.marks.filter((mark) => mark.kind === "interval"));
	if (means.length === 0) return null;
	const y = { ...range(means.flatMap((mark) => [mark.y, mark.low, mark.high])), label: axisLabel(what, unit) };
	return {
		id: `${slug(what)}-over-${slug(key)}`, title: `${what} over ${short}`,
		where: unique(report.groups.map((g) => g.link)).length > 1 ? state.link : "",
		panels: drawn.map((panel) => ({ title: panel.title, x: scale.axis, y, marks: [...rules, ...panel.marks] })),
		columns: 3, columnsNarrow: 1, panelWidth: 400, ...rest,
	};
}

function sweepFigure() {
	if (report.points.length < 2) return null;
	if (isOfPairs(state.metric)) return pairSweepFigure();
	const laws = lawPlaces().filter((law) => !state.difference || law !== state.base);
	const { label, unit, about } = report.metrics[state.metric];
	const log = state.logY && !state.difference;
	const bounded = { log, zero: !log, ...bounds(state.metric) };
	const figure = overSweep({
		what: state.difference ? `${label} minus ${report.laws[state.base]}` : label,
		unit: state.difference ? differenceUnit(unit) : unit,
		note: `${about}; ${intervalText()}`, rules: state.difference ? [{ kind: "rule", y: 0 }] : [],
		marks: (points, scale) => laws.flatMap((law, nth) => sweepMarks(law, nth, laws.length, points, scale)),
		range: (reach) => (state.difference ? ends([...reach, 0]) : ends(reach, bounded)),
		legend: lawEntries(laws.map((law) => ({ law }))),
	});
	const id = `${slug(label)}-over-${slug(report.keys[state.axis].key)}`;
	return figure && { ...figure, id: state.difference ? `difference-${id}` : id };
}
