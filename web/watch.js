// What laws declare as worth watching: a chart for each value, of the link or of its flows.

const watchId = ({ kind, role, declared_by, name }) => `watch-${kind}-${role}-${declared_by}-${name}`;

// All values of the page, each once, as the first panel that has it.
const watchedValues = report.panels.flatMap((panel) => panel.watched ?? [])
	.filter((value, k, all) => all.findIndex((other) => watchId(other) === watchId(value)) === k);

// Choices by name, where the value is one of several.
const choicesOf = ({ unit }) => (unit === "bool" ? ["false", "true"] : unit.includes("|") ? unit.split("|") : null);

// The rows of the seeds, or of the seeds and flows, that are shown.
function watchRows(curves, bins_n, k, choices, flows) {
	const table = unpack(curves.values).map((value) => value + curves.base);
	const seeds = choices || flows ? seedRows(curves).slice(0, 1) : seedRows(curves);
	const n = Math.max(1, curves.flows.length);
	const places = flows ? curves.flows.map((_, at) => at).filter((at) => flows.includes(curves.flows[at])) : [0];
	const of = (seed, at) => join(row(table, seed * n + at, bins_n), k, choices ? "last" : "mean");
	return seeds.flatMap((seed) => places.map((at) => ({ y: of(seed, at), flow: curves.flows[at] })));
}

// A choice stands until the next one: each bin has a beginning and an end.
const twice = (values) => Float64Array.from({ length: 2 * values.length }, (_, i) => values[i >> 1]);
const edges = (bin_s, bins_n) => Float64Array.from({ length: 2 * bins_n }, (_, i) => bin_s * ((i + 1) >> 1));

// Each row as a line, of a flow or of a choice.
function watchLines(curves, rows, times, panel, choices) {
	const many = { kind: "line", x: times, colour: lawColour(curves.law), law: curves.law };
	const label = report.laws[curves.law];
	const n = rows.length;
	const alpha = (i) => (n === 1 ? 1 : n > 12 ? 0.4 : 0.85 - (0.5 * i) / n);
	return rows.map(({ y, flow }, i) => {
		const own = flow == null ? {} : ownLook(lawOf(panel, curves), flow);
		const named = flow == null ? {} : { flow: panel.flows[flow], ...own };
		// A law beside another has the colour that it has alone, and another line.
		const mixed = { label: `${own.label} (${label})`, dash: DASHES[2], ownDash: true };
		if (own.label && own.label !== label) Object.assign(named, mixed);
		const look = { dash: lawDash(curves.law), width: n > 12 ? 1 : 1.4, alpha: alpha(i) };
		return { label, ...many, ...look, y: choices ? twice(y) : y, ...named };
	});
}

// Their mean and its band: over seeds, or over the flows of one seed.
function watchMean(curves, rows, times, ofFlows) {
	const folded = fold(rows.map(({ y }) => y), !ofFlows && isInterval(rows.length));
	return rows.length === 0 ? [] : meanAndBand(curves, times, folded, rows.length > 1);
}

const lawOf = (panel, curves) => panel.laws.find(({ law }) => law === curves.law);

function watchFigure(id) {
	const panel = currentPanel();
	const value = panel.watched?.find((one) => watchId(one) === id);
	if (!value) return null;
	const ofFlows = value.kind === "flow";
	const flows = ofFlows ? chosenFlows(panel) : null;
	const [width_s, bins_n] = ofFlows ? [panel.flow_bin_s, panel.flow_bins_n] : [panel.bin_s, panel.bins_n];
	const k = joined(panel, width_s, bins_n);
	const choices = choicesOf(value);
	const shown = value.laws.filter(({ law }) => !state.hidden.has(law));
	const times = choices ? edges(width_s * k, Math.floor(bins_n / k)) : middles(width_s, bins_n, k);
	const rows = shown.map((curves) => watchRows(curves, bins_n, k, choices, flows));
	if (rows.every((own) => own.length === 0)) return null;
	const isMean = !choices && (!ofFlows || flowMode(panel) === "mean");
	const marks = shown.map((curves, i) => (isMean
		? watchMean(curves, rows[i], times, ofFlows)
		: watchLines(curves, rows[i], times, panel, choices)));
	if (isMean && !state.apart) marks.forEach((own, i) => dashIfHiding(own, marks.slice(0, i)));
	const laws = shown.map((curves) => lawOf(panel, curves));
	const spec = { ...watchSpec(value, choices, id), byFlow: ofFlows && !isMean };
	return overTime(panel, spec, laws, marks, [], times, watchNote(value, rows, panel, width_s * k, isMean));
}

const WHOSE = { sender: "sender", router: "router", capacity: "capacity part" };

function watchSpec(value, choices, id) {
	const unit = choices || value.unit === "1" ? "" : value.unit;
	const named = choices && {
		range: { min: -0.15, max: choices.length - 0.85 },
		ticks: choices.map((label, at) => ({ at, label })),
		say: (v) => choices[Math.round(v)] ?? "–",
	};
	return {
		id: slug(id), title: `${value.name} of ${value.declared_by}, ${WHOSE[value.role]}`, short: value.name, unit,
		...named,
	};
}

function watchNote(value, rows, panel, bin_s, isMean) {
	const lines = rows.flat().length;
	const bins = bin_s > panel.sample_s ? `${round(bin_s)} s bins` : `every ${round(bin_s)} s`;
	const seeds = Math.max(...rows.map((own) => own.length));
	const seed = state.seed == null ? value.laws[0].seeds[0] : report.seeds[state.seed];
	const many = plural(lines, "flow");
	const flows = isMean ? `mean of ${many}, band: lowest to highest` : `each of ${many}`;
	const of = value.kind === "flow" ? `${flows}, seed ${seed}` : isMean ? seedsText(seeds) : `seed ${seed}`;
	const unit = choicesOf(value) || value.unit === "1" ? "" : `${value.unit}, `;
	return `${value.meaning}; ${unit}${bins}, ${of}`;
}

const WATCH_FIGURES = Object.fromEntries(watchedValues.map((value) => {
	const id = watchId(value);
	return [id, () => watchFigure(id)];
}));
