// What happens over time: utilisation, queue, round trip, and of the flows windows, goodput and round trips.

// Bins that are shown at a time; where a curve has more they are joined.
const BINS_SHOWN = 160;
const LIVE_PX = { first: 280, other: 190 };

function currentPanel() {
	const { panels } = report;
	const here = panels.find((p) => p.point === state.point && p.link === state.link);
	return here ?? panels.find((p) => p.link === state.link) ?? panels[0];
}

const shownLaws = (panel) => panel.laws.filter((law) => !state.hidden.has(law.law));
const timeSpan = (panel) => state.zoom ?? [0, panel.duration_s];

// How many bins become one, so that what is in view has at most BINS_SHOWN.
function joined(panel, bin_s, bins_n) {
	const [from, to] = timeSpan(panel);
	const seen = Math.min(bins_n, (to - from) / bin_s);
	for (let decade = 1; ; decade *= 10) {
		for (const step of [1, 2, 5]) {
			if (seen / (step * decade) <= BINS_SHOWN) return step * decade;
		}
	}
}

function middles(bin_s, bins_n, k) {
	return Float64Array.from({ length: Math.floor(bins_n / k) }, (_, i) => (i + 0.5) * bin_s * k);
}

// ------------------------------------------------------------------------------------------------ curves of links

// The seeds of a law that are shown, as places among its own.
function seedRows(law, n = law.seeds.length) {
	if (state.seed == null) return [...Array(n).keys()];
	const at = law.seeds.indexOf(report.seeds[state.seed]);
	return at >= 0 && at < n ? [at] : [];
}

function linkRows(law, field, panel, k) {
	const table = unpack(law[field]);
	return seedRows(law).map((seed) => join(row(table, seed, panel.bins_n), k, "mean"));
}

// A mean line, and under it a band if there is more than one row.
function meanAndBand(law, times, folded, several) {
	const ink = lawColour(law.law);
	const label = report.laws[law.law];
	const range = several ? { low: folded.low, high: folded.high } : {};
	const line = { kind: "line", x: times, y: folded.mean, colour: ink, dash: lawDash(law.law) };
	const marks = several ? [{ kind: "band", x: times, ...range, colour: ink, law: law.law }] : [];
	return [...marks, { ...line, width: 1.8, law: law.law, label, ...range }];
}

// Of two seeds an interval of the mean is nine times as wide on either side as they are apart: it says nothing, and
// reaches beyond what can be.
const INTERVAL_SEEDS_MIN = 3;
const isInterval = (n) => state.interval && n >= INTERVAL_SEEDS_MIN;
const bandText = (n) => (isInterval(n) ? "band: 95 % interval of the mean" : "band: lowest to highest");

function seedsText(n) {
	if (state.seed != null) return `seed ${report.seeds[state.seed]}`;
	return n > 1 ? `mean of ${n} seeds, ${bandText(n)}` : "1 seed";
}

// A line that runs along one below it would hide it: dashes let that one show, if it has none yet.
function dashIfHiding(own, below) {
	const line = own.at(-1);
	if (line.dash.length > 0) return;
	const size = line.y.reduce((most, v) => (v > most ? v : most), 0);
	const runsAlong = (other) => {
		let [known, close] = [0, 0];
		line.y.forEach((value, i) => {
			if (Number.isNaN(value) || Number.isNaN(other[i])) return;
			known += 1;
			if (Math.abs(value - other[i]) < 0.015 * size) close += 1;
		});
		return close > 0.6 * known;
	};
	if (below.some((marks) => runsAlong(marks.at(-1).y))) Object.assign(line, { dash: [7, 7], isOfScreen: true });
}

// spec: id, title, unit, field, percent, top, auto (the axis need not begin at 0).
function linkFigure(spec) {
	const panel = currentPanel();
	const k = joined(panel, panel.bin_s, panel.bins_n);
	const times = middles(panel.bin_s, panel.bins_n, k);
	const laws = shownLaws(panel);
	const marks = laws.map((law) => {
		const rows = linkRows(law, spec.field, panel, k);
		return meanAndBand(law, times, fold(rows, isInterval(rows.length), { top: spec.top }), rows.length > 1);
	});
	const behind = spec.capacity ? [spec.capacity(panel, times, k)] : [];
	const bins = `${round(panel.bin_s * k)} s bins`;
	const seeds = Math.max(1, ...laws.map((law) => law.seeds.length));
	if (!state.apart) marks.forEach((own, i) => dashIfHiding(own, marks.slice(0, i)));
	const note = `${spec.unit} ${spec.about ?? ""}, ${bins}, ${seedsText(seeds)}`;
	return overTime(panel, spec, laws, marks, behind, times, note.replace(" ,", ","));
}

function usedFigure() {
	const panel = currentPanel();
	if (!panel.capacity_mbps) {
		const of = { id: "utilisation", title: "Utilisation", unit: "%", about: "of what the link can carry" };
		return linkFigure({ ...of, field: "used", percent: true, top: 1, livePx: LIVE_PX.first });
	}
	const capacity = (_, times, k) => ({
		kind: "area", x: times, y: join(unpack(panel.capacity_mbps), k, "mean"),
		colour: "--capacity", label: "capacity",
	});
	const of = { id: "throughput", title: "Throughput", unit: "Mbit/s", about: "on the air, before the capacity" };
	return linkFigure({ ...of, field: "used", capacity, livePx: LIVE_PX.first });
}

// ------------------------------------------------------------------------------------------------ curves of flows

// A thousand short transfers are no thousand lines: spread.js draws their times by size.
const flowMode = (panel) => state.flows ?? (panel.is_crowd ? "none" : "all");

// The flows that are chosen, as places among those of the panel.
function chosenFlows(panel) {
	const all = panel.flows.map((_, k) => k);
	if (flowMode(panel) === "none") return [];
	return flowMode(panel) === "some" ? all.filter((k) => state.picked.has(panel.flows[k])) : all;
}

function flowRows(law, packed, panel, k, seeds, how, flows = chosenFlows(panel)) {
	const table = unpack(packed);
	const at = (seed, flow) => row(table, seed * panel.flows.length + flow, panel.flow_bins_n);
	return seeds.flatMap((seed) => flows.map((flow) => join(at(seed, flow), k, how)));
}

// Where several laws share the links, a flow has the look of its sender's law.
function ownLook(law, flow) {
	const sender = law.senders?.[law.flow_senders[flow]];
	return sender ? { colour: lookColour(sender.look), symbol: sender.look, label: sender.law } : {};
}

const senderEntries = (laws, symbols = false) => {
	const senders = laws.flatMap((law) => law.senders ?? []);
	const first = (sender, place) => senders.findIndex((other) => other.law === sender.law) === place;
	const entry = ({ law, look }) => {
		const symbol = symbols ? look : null;
		return { label: law, colour: lookColour(look), symbol, always: true };
	};
	return senders.filter(first).map(entry);
};

// Each flow as a line, with its lowest and highest values in the words under the pointer.
function flowLines(law, spec, panel, k, times) {
	const seeds = seedRows(law, law.flow_seeds_n).slice(0, 1);
	const rows = flowRows(law, law[spec.field], panel, k, seeds, "mean");
	const range = law[`${spec.field}_range`];
	const [lows, highs] = range
		? [flowRows(law, range[0], panel, k, seeds, "low"), flowRows(law, range[1], panel, k, seeds, "high")]
		: [[], []];
	const flows = chosenFlows(panel);
	const n = flows.length;
	const many = { colour: lawColour(law.law), width: n > 12 ? 1 : 1.3, law: law.law };
	const lines = rows.map((y, i) => ({
		kind: "line", x: times, y, low: lows[i], high: highs[i], ...many, flow: panel.flows[flows[i]],
		alpha: n === 1 ? 1 : n > 12 ? 0.4 : 0.85 - (0.5 * i) / n, label: report.laws[law.law],
		...ownLook(law, flows[i]),
	}));
	const bands = lines.filter((line) => line.low && n <= 3).map((line) => ({ ...line, kind: "band" }));
	return [...bands, ...lines];
}

// The mean of the chosen flows; where several laws share the links, of those of each law.
function flowMean(law, spec, panel, k, times) {
	const chosen = chosenFlows(panel);
	const bySender = (law.senders ?? [null]).map((_, sender) => chosen.filter((flow) => (
		!law.senders || law.flow_senders[flow] === sender)));
	return bySender.filter((flows) => flows.length > 0).flatMap((flows) => meanOf(law, spec, panel, k, times, flows));
}

function meanOf(law, spec, panel, k, times, flows) {
	const seeds = seedRows(law, law.flow_seeds_n);
	const rowsOf = (packed, how) => flowRows(law, packed, panel, k, seeds, how, flows);
	const rows = rowsOf(law[spec.field], "mean");
	if (rows.length === 0) return [];
	const range = law[`${spec.field}_range`];
	const [lows, highs] = range ? [rowsOf(range[0], "low"), rowsOf(range[1], "high")] : [rows, rows];
	// The interval is over seeds: flows of one run are not independent of each other.
	const n = rows.length / seeds.length;
	const perSeed = () => seeds.map((_, s) => fold(rows.slice(s * n, (s + 1) * n), false).mean);
	const isOfSeeds = isInterval(seeds.length);
	const folded = isOfSeeds ? fold(perSeed(), true) : fold(rows, false, { lows, highs });
	const look = ownLook(law, flows[0]);
	return meanAndBand(law, times, folded, rows.length > 1).map((mark) => ({ ...mark, ...look }));
}

function flowFigure(spec) {
	const panel = currentPanel();
	const chosen = chosenFlows(panel).length;
	const laws = shownLaws(panel);
	if (chosen === 0) return null;
	const k = joined(panel, panel.flow_bin_s, panel.flow_bins_n);
	const times = middles(panel.flow_bin_s, panel.flow_bins_n, k);
	const lines = flowMode(panel) !== "mean";
	const marks = laws.map((law) => (lines ? flowLines : flowMean)(law, spec, panel, k, times));
	const first = laws[0];
	const seeds = first ? seedRows(first, first.flow_seeds_n) : [];
	const seedText = first && seeds.length ? `seed ${first.seeds[seeds[0]]}` : "this seed has no curves of flows";
	const which = chosen < panel.flows_n ? `${chosen} of ${plural(panel.flows_n, "flow")}` : plural(chosen, "flow");
	const bin_s = panel.flow_bin_s * k;
	const bins = bin_s > panel.sample_s ? `${round(bin_s)} s bins` : `every ${round(bin_s)} s`;
	const over = seeds.length > 1 ? ` and ${seeds.length} seeds` : `, ${seedText}`;
	const each = laws.some((law) => law.senders) ? ", by law," : "";
	const mean = `mean of ${which}${each}${over}, ${bandText(seeds.length)}`;
	const note = `${spec.unit}, ${bins}, ${lines ? `each of ${which}, ${seedText}` : mean}`;
	return overTime(panel, { ...spec, apart: lines && chosen > 1, byFlow: true }, laws, marks, [], times, note);
}

// ------------------------------------------------------------------------------------------------------- figures

function rangeOf(spec, marks, [from, to], times) {
	if (spec.range) return spec.range;
	if (spec.top) return { min: 0, max: spec.top };
	let [low, high] = [Infinity, 0];
	for (const mark of marks) {
		// The range of a single flow is told, not drawn.
		const told = mark.flow && mark.kind === "line";
		for (const values of told ? [mark.y] : [mark.low ?? mark.y, mark.high ?? mark.y]) {
			for (let i = 0; i < values.length; i++) {
				if (times[i] < from || times[i] > to || Number.isNaN(values[i])) continue;
				low = Math.min(low, values[i]);
				high = Math.max(high, values[i]);
			}
		}
	}
	if (low < 0) return ends([low, high], { zero: true });
	if (high === 0) return { min: 0, max: 1 };
	const floor = spec.auto && low > 0.5 * high ? Math.max(0, low - 0.15 * (high - low || high)) : 0;
	return { min: floor, max: high + 0.05 * (high - floor) };
}

// What is drawn, each label once: laws that share the links have lines of their own in those of a run.
function lineEntries(marks) {
	const lines = marks.filter(({ kind }) => kind === "line");
	const firsts = unique(lines.map(({ label }) => label)).map((label) => lines.find((line) => line.label === label));
	const entry = ({ label, colour, dash, ownDash }) => ({ label, colour, dash: dash ?? [], ownDash, always: true });
	return firsts.map(entry);
}

// One panel with all laws, or one per law: `marks[i]` are those of `laws[i]`.
function overTime(panel, spec, laws, marks, behind, times, note) {
	if (laws.length === 0) return null;
	const span = timeSpan(panel);
	const range = rangeOf(spec, [...behind, ...marks.flat()], span, times);
	const factor = spec.percent ? 100 : 1;
	const x = { min: span[0], max: span[1], label: "Time (s)" };
	const shade = panel.warmup_s > 0 ? [{ kind: "shade", to: panel.warmup_s }] : [];
	const one = (own, law) => ({
		title: law == null ? "" : report.laws[law], law, times, x,
		y: { ...range, label: axisLabel(spec.short ?? spec.title, spec.unit), ...ownTicks(spec) },
		marks: [...shade, ...behind, ...own],
		livePx: spec.livePx ?? LIVE_PX.other,
		say: spec.say ?? ((v) => withUnit(digits(v * factor), spec.unit)),
	});
	const apart = (state.apart || spec.apart) && (laws.length > 1 || spec.apart);
	const entries = laws.map(({ law }) => ({ label: report.laws[law], colour: lawColour(law), dash: lawDash(law) }));
	const drawn = marks.filter((_, i) => !apart || laws[i].senders).flat();
	const own = spec.byFlow && laws.some((law) => law.senders) ? lineEntries(drawn) : null;
	const area = behind.map((mark) => ({ label: mark.label, colour: mark.colour, area: true, always: true }));
	return {
		id: spec.id, title: spec.title, note, where: whereText(),
		panels: apart ? laws.map((law, i) => one(marks[i], law.law)) : [one(marks.flat(), null)],
		columns: apart ? 3 : 1,
		legend: [...area, ...(own ?? (apart ? [] : entries))],
	};
}

// Ticks in percent, or of names.
const FIFTHS = [0, 20, 40, 60, 80, 100].map((percent) => ({ at: percent / 100, label: String(percent) }));
const ownTicks = (spec) => (spec.ticks ? { ticks: spec.ticks } : spec.percent ? { ticks: FIFTHS } : {});

// Point, link and seed for the name of a file, where there is a choice.
function whereText() {
	const many = (items) => items.length > 1;
	return [
		many(report.points) ? report.points[state.point] : "",
		many(unique(report.panels.map((p) => p.link))) ? state.link : "",
		state.seed == null ? "" : `seed ${report.seeds[state.seed]}`,
	].filter(Boolean).join(" ");
}

const FLOW_FIGURES = {
	cwnd: { title: "Congestion windows", short: "cwnd", unit: "pkt", field: "cwnd_pkts" },
	goodput: { title: "Goodput of the flows", short: "Goodput", unit: "Mbit/s", field: "goodput_mbps" },
	"flow-rtt": { title: "Round trips of the flows", short: "RTT", unit: "ms", field: "flow_rtt_ms", auto: true },
};

const TIME_FIGURES = {
	utilisation: usedFigure,
	queue: () => linkFigure({ id: "queue", title: "Queue", unit: "pkt", about: "waiting", field: "queue_pkts" }),
	rtt: () => linkFigure({
		id: "rtt", title: "Round-trip time", short: "RTT", unit: "ms", field: "rtt_ms", auto: true,
	}),
};
for (const [id, spec] of Object.entries(FLOW_FIGURES)) TIME_FIGURES[id] = () => flowFigure({ id, ...spec });
