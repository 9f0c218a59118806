// How things spread: the flows' shares, and the distributions of completion times and round trips.

// Goodput of each flow, a mean over seeds with its interval; beside it the equal share.
function sharesFigure() {
	const panel = currentPanel();
	const laws = panel ? shownLaws(panel) : [];
	const n = panel?.flows.length ?? 0;
	if (n < 2 || laws.length === 0 || panel.is_crowd) return null;
	const marks = [];
	const wide = Math.min(0.7, 0.2 * laws.length);
	laws.forEach((law, nth) => {
		const table = unpack(law.share_mbps);
		const seeds = seedRows(law);
		panel.flows.forEach((flow, k) => {
			const s = stat(seeds.map((seed) => table[seed * n + k]), { least: 0 });
			if (!s) return;
			const x = k + (laws.length > 1 ? wide * (nth / (laws.length - 1) - 0.5) : 0);
			marks.push({
				kind: "interval", x, y: s.mean, low: s.from, high: s.to, symbol: law.law,
				law: law.law, colour: lawColour(law.law), text: `${flow}: ${statText(s, "Mbit/s")}`,
				...(laws.length > 1 ? {} : ownLook(law, k)),
			});
		});
	});
	const reach = marks.flatMap((mark) => [mark.y, mark.high]);
	const ticks = n <= 12 ? panel.flows.map((label, at) => ({ at, label })) : null;
	const numbers = linearTicks(0, n - 1, 12).map((at) => ({ at, label: String(at) }));
	const legend = laws.length > 1 ? lawEntries(laws)
		: [...lawEntries(laws.filter((law) => !law.senders)), ...senderEntries(laws, true)];
	const jain = laws.map(jainText).filter(Boolean);
	const fair = jain.length > 0 ? `Jain's index ${jain.join(", ")}; ` : "";
	return {
		id: "shares", title: "Shares of the flows", where: whereText(), columns: 1,
		note: `${fair}payload in the measured interval, ${spreadSeeds()}`,
		panels: [{
			x: { min: -0.6, max: n - 0.4, ticks: ticks ?? numbers, label: ticks ? "" : "Flow" },
			y: { ...ends(reach, { zero: true }), label: "Goodput (Mbit/s)" }, marks,
		}],
		// Points of a mixture alone have the looks of its laws; among others, which have these, its own.
		legend: legend.filter(firstOfItsLabel),
	};
}

const firstOfItsLabel = (entry, place, all) => all.findIndex(({ label }) => label === entry.label) === place;

const spreadSeeds = () => (state.seed == null ? intervalText() : `seed ${report.seeds[state.seed]}`);

const lawEntries = (laws) =>
	laws.map(({ law }) => ({ label: report.laws[law], colour: lawColour(law), symbol: law, dash: lawDash(law) }));

function jainText({ law }) {
	const group = groupAt(state.point, law);
	const values = group ? valuesOf(group, metricPlace("jain")) : [];
	const s = stat(state.seed == null ? values : values.filter((_, k) => group.seeds[k] === state.seed));
	return s && `${report.laws[law]} ${s.mean.toFixed(3)}`;
}

const QUARTERS = [0, 25, 50, 75, 100].map((at) => ({ at, label: String(at) }));

// The shares at which quantiles are told, in per cent: hundredths, and more near the upper end.
const SHARES = [
	...Array.from({ length: 100 }, (_, k) => k),
	...Array.from({ length: 9 }, (_, k) => (991 + k) / 10),
	...Array.from({ length: 10 }, (_, k) => (9991 + k) / 100),
];

// The distributions of a law: `field` is one of all its flows, or one for each group of them.
function spreadsOf(curves, field, severalLaws) {
	const { law } = curves;
	return [curves[field] ?? []].flat().map(({ group, look, n, at }) => {
		const name = group ? `${group[1]} (${group[0]})` : report.laws[law];
		const label = group && severalLaws ? `${report.laws[law]}: ${name}` : name;
		return { law, label, n, at, look: group ? look : report.looks[law] };
	});
}

// A distribution function per law, or group of flows, from its quantiles. Lines of one colour differ in their dashes.
function quantileFigure({ id, title, field, label, unit, what, zero = false }) {
	const panel = currentPanel();
	const laws = panel ? shownLaws(panel) : [];
	const spreads = laws.flatMap((law) => spreadsOf(law, field, laws.length > 1));
	if (spreads.length === 0) return null;
	const looks = spreads.map(({ look }, k) => {
		const before = spreads.slice(0, k).filter((other) => look % COLOURS_N === other.look % COLOURS_N).length;
		const round = Math.floor(before / DASHES.length);
		const dash = DASHES[before % DASHES.length];
		return { colour: lookColour(look), dash, ownDash: true, width: Math.max(0.6, 1.6 - 0.5 * round) };
	});
	const marks = spreads.map((spread, k) => {
		const x = floats(spread.at);
		const y = Float64Array.from(SHARES);
		const told = (value, i) => `${spread.label}: ${SHARES[i]} % at most ${withUnit(digits(value), unit)}`;
		const texts = Array.from(x, told);
		return { kind: "line", x, y, texts, ...looks[k] };
	});
	const reach = marks.flatMap((mark) => [...mark.x]);
	const known = reach.filter((value) => value > 0);
	// Times that reach over more than a decade and a half are told apart on a logarithmic axis only.
	const log = known.length === reach.length && Math.max(...known) / Math.min(...known) > 30;
	const counts = spreads.map((spread) => `${spread.n} ${spread.label}`).join(", ");
	return {
		id, title, note: `share that is at most so long; ${what}: ${counts}`, columns: 1,
		where: whereText(),
		panels: [{
			x: { ...ends(reach, { log, air: 0.03, zero: zero && !log }), label: axisLabel(label, unit) },
			y: { min: 0, max: 100, label: "Share (%)", ticks: QUARTERS },
			marks,
		}],
		legend: spreads.map((spread, k) => ({ label: spread.label, ...looks[k], symbol: null })),
		ownLegend: spreads.some(({ law, label }) => label !== report.laws[law]),
	};
}

// Completion times of transfers by their size: a dot for each, or for some of many, and for each class of sizes the
// median with the range of the middle 80 %.
function sizesFigure() {
	const panel = currentPanel();
	const laws = panel ? shownLaws(panel).filter((law) => law.transfers) : [];
	if (laws.length === 0) return null;
	const kB = (bytes) => bytes / 1000;
	const reach = [[], []];
	const dots = [];
	const classes = [];
	laws.forEach(({ law, transfers }, nth) => {
		const ink = { colour: lawColour(law), law };
		const [sizes, times] = [floats(transfers.bytes), floats(transfers.time_s)];
		sizes.forEach((bytes, i) => dots.push({ kind: "dot", x: kB(bytes), y: times[i], ...ink, faint: true }));
		reach[0].push(...Array.from(sizes, kB));
		reach[1].push(...times);
		// Side by side, as laws have the same sizes.
		const beside = 1.04 ** (nth - (laws.length - 1) / 2);
		const line = transfers.classes.map((one) => ({
			kind: "interval", x: kB(one.bytes) * beside, y: one.p50_s, low: one.p10_s, high: one.p90_s, symbol: law,
			...ink,
			text: `${digits(kB(one.bytes))} kB: median ${digits(one.p50_s)} s, 10 to 90 %: ${digits(one.p10_s)} to `
				+ `${digits(one.p90_s)} s, ${plural(one.n, "transfer")}`,
		}));
		const [x, y] = [line.map((one) => one.x), line.map((one) => one.y)];
		classes.push({ kind: "line", x, y, width: 1.2, dash: lawDash(law), ...ink }, ...line);
	});
	const counts = laws.map(({ law, transfers }) => `${transfers.n} ${report.laws[law]}`).join(", ");
	const thinned = laws.some(({ transfers }) => floats(transfers.bytes).length < transfers.n);
	return {
		id: "completion-by-size", title: "Completion time by size", columns: 1,
		note: `median with the middle 80 % of each class of sizes${thinned ? ", dots: some of the transfers" : ""}; `
			+ `transfers that ended, all seeds: ${counts}`,
		where: report.points.length > 1 ? report.points[state.point] : "",
		panels: [{
			x: { ...ends(reach[0], { log: true, air: 0.03 }), label: "Size (kB)" },
			y: { ...ends(reach[1], { log: true, air: 0.03 }), label: "Completion time (s)" },
			marks: [...dots, ...classes],
		}],
		legend: lawEntries(laws),
	};
}

const SPREAD_FIGURES = {
	shares: sharesFigure,
	"completion-by-size": sizesFigure,
	"completion-times": () => quantileFigure({
		id: "completion-times", title: "Completion times", field: "completion_s", label: "Completion time", unit: "s",
		what: "transfers that ended, all seeds",
	}),
	"rtt-distribution": () => quantileFigure({
		id: "rtt-distribution", title: "Distribution of round trips", field: "rtt_spread_ms", label: "RTT", unit: "ms",
		what: "RTT samples of all seeds",
	}),
	"wait-distribution": () => quantileFigure({
		id: "wait-distribution", title: "Distribution of queueing delays", field: "wait_spread_ms",
		label: "Queueing delay", unit: "ms", zero: true,
		what: "packets that left the queue, all seeds; of a group its data",
	}),
};
