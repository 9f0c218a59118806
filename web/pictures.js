// Figures of a paper: our curves with their intervals, and what was published. crates/results/src/picture.rs says what
// the fields are.

// The values of a curve where they are known; null in JSON is a missing one.
const known = (values) => values.map((value) => (value == null ? NaN : value));

function pictureCurve(curve) {
	const [y, low, high] = [curve.y, curve.low, curve.high].map(known);
	const look = { colour: lookColour(curve.colour), dash: curve.dashed ? [5, 3] : [], ownDash: true, width: 1.5 };
	const told = (i) => {
		const half = Math.max(high[i] - y[i], y[i] - low[i]);
		return `${curve.label}: ${statText({ mean: y[i], half, from: low[i], to: high[i] }, "")}`;
	};
	const marks = [];
	if (curve.joined) {
		if (!curve.points) marks.push({ kind: "band", x: curve.x, low, high, colour: look.colour });
		const texts = curve.points ? null : curve.x.map((_, i) => told(i));
		marks.push({ kind: "line", x: curve.x, y, texts, ...look });
	}
	if (curve.points) {
		curve.x.forEach((x, i) => {
			if (!Number.isFinite(y[i])) return;
			const reach = { low: low[i], high: high[i] };
			const ink = { symbol: curve.colour, colour: look.colour };
			marks.push({ kind: "interval", x, y: y[i], ...reach, ...ink, text: told(i) });
		});
	}
	return marks;
}

// Ends of an axis: as given, or all values with some air.
function pictureAxis(axis, values) {
	if (axis.names.length > 0) {
		const ticks = axis.names.map((label, at) => ({ at, label }));
		return { min: -0.5, max: axis.names.length - 0.5, ticks, label: axis.label };
	}
	const { min, max, log } = ends(values, { zero: !axis.log && axis.min === 0, log: axis.log });
	return { min: axis.min ?? min, max: axis.max ?? max, log: axis.log, label: axis.label };
}

function picturePanel(panel) {
	const xs = panel.curves.flatMap((curve) => curve.x);
	const ys = panel.curves.flatMap((curve) => [...curve.y, ...curve.low, ...curve.high]).filter((y) => y != null);
	const marks = panel.marks.map((mark) => ({ kind: mark.y == null ? "event" : "level", ...mark }));
	return {
		title: panel.title,
		x: pictureAxis(panel.x, [...xs, ...panel.marks.map(({ x }) => x ?? NaN)]),
		y: pictureAxis(panel.y, [...ys, ...panel.marks.map(({ y }) => y ?? NaN)]),
		marks: [...panel.curves.flatMap(pictureCurve), ...marks],
	};
}

// One entry for each label, in the order in which they first appear.
function pictureLegend(picture) {
	const curves = picture.panels.flatMap((panel) => panel.curves);
	const firsts = unique(curves.map(({ label }) => label)).map((label) => curves.find((one) => one.label === label));
	return firsts.map(({ label, colour, dashed, points }) => ({
		label, colour: lookColour(colour), dash: dashed ? [5, 3] : [], ownDash: true, always: true,
		symbol: points ? colour : null,
	}));
}

const pictureFigure = (picture) => () => ({
	id: picture.id, title: "", note: "mean of the seeds with its 95 % interval", ownLegend: true,
	panels: picture.panels.map(picturePanel), legend: pictureLegend(picture), columns: picture.columns,
	panelWidth: picture.columns > 1 ? 1300 / picture.columns : undefined,
});
