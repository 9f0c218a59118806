"use strict";

// Draws the curves of report.html. The data are in the element #data; crates/results/src/curves.rs says what they are.
(() => {
	const COLOURS_N = 8;
	const Y_AXIS_PX = 56;
	const data = JSON.parse(document.getElementById("data").textContent);
	const root = document.getElementById("charts");
	const ALL_SEEDS = "all";
	const state = { point: "", link: "", seed: ALL_SEEDS, hidden: new Set() };
	let charts = [];
	let zoom = null;

	const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
	const colour = (law) => css(`--law${law % COLOURS_N}`);
	const dash = (law) => (law < COLOURS_N ? [] : [8, 4]);
	const unique = (items) => [...new Set(items)];

	function element(name, attributes = {}, ...children) {
		const made = document.createElement(name);
		for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
		made.append(...children);
		return made;
	}

	// Three significant digits, as in the tables.
	function digits(value) {
		if (value == null) return "–";
		const size = Math.abs(value);
		return value.toFixed(size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
	}

	// ---------------------------------------------------------------------------------------------- what is shown

	function panel() {
		return data.panels.find((p) => p.point === state.point && p.link === state.link) ?? data.panels[0];
	}

	function seeds() {
		return unique(panel().laws.flatMap((law) => law.windows.map((w) => String(w.seed))));
	}

	function select(label, values, current, pick) {
		const options = values.map((value) => element("option", { value }, String(value)));
		const made = element("select", { "aria-label": label }, ...options);
		made.value = current;
		made.addEventListener("change", () => pick(made.value));
		return element("label", {}, label, made);
	}

	function lawButton(name, law) {
		const pressed = () => String(!state.hidden.has(law));
		const made = element("button", { type: "button", class: `law${law % COLOURS_N}`, "aria-pressed": pressed() });
		made.append(element("i"), name);
		made.addEventListener("click", () => {
			if (!state.hidden.delete(law)) state.hidden.add(law);
			made.setAttribute("aria-pressed", pressed());
			draw();
		});
		return made;
	}

	function controls() {
		const bar = document.getElementById("controls");
		const points = unique(data.panels.map((p) => p.point));
		const links = unique(data.panels.map((p) => p.link));
		bar.replaceChildren(...data.laws.map(lawButton));
		if (points.length > 1) bar.append(select("at", points, state.point, (v) => show({ point: v })));
		if (links.length > 1) bar.append(select("link", links, state.link, (v) => show({ link: v })));
		if (seeds().length > 1) {
			bar.append(select("seed", [ALL_SEEDS, ...seeds()], state.seed, (seed) => show({ seed })));
		}
		bar.append(element("span", { class: "hint" }, "drag to zoom · double-click to reset"));
	}

	function show(change) {
		Object.assign(state, change);
		if (!seeds().includes(state.seed)) state.seed = ALL_SEEDS;
		controls();
		draw();
	}

	// ------------------------------------------------------------------------------------------------- one chart

	// Keeps all time axes together.
	function zoomTo(min, max) {
		zoom = [min, max];
		for (const chart of charts) chart.setScale("x", { min, max });
	}

	function resetZoom() {
		zoomTo(0, panel().duration_s);
		zoom = null;
	}

	function shadeWarmup(chart) {
		const end = panel().warmup_s;
		if (end <= chart.scales.x.min) return;
		const { ctx, bbox } = chart;
		const right = Math.min(chart.valToPos(end, "x", true), bbox.left + bbox.width);
		ctx.save();
		ctx.fillStyle = css("--raised");
		ctx.fillRect(bbox.left, bbox.top, right - bbox.left, bbox.height);
		ctx.restore();
	}

	function axis(options) {
		const line = { stroke: css("--grid"), width: 1 };
		const font = "12px system-ui, 'Liberation Sans', sans-serif";
		return { stroke: css("--quiet"), font, grid: line, ticks: { ...line, size: 4 }, ...options };
	}

	// spec: title, unit, height, x, series [{label, law, values, low, high, options}] and bands as uPlot has them;
	// also timed (labels on the time axis), top (upper end of the y axis), percent or whole (how values read).
	function chart(spec) {
		const values = element("span", { class: "values" });
		const caption = element(
			"figcaption", {}, element("strong", {}, spec.title), element("span", { class: "unit" }, spec.unit), values
		);
		const place = element("figure", {}, caption);
		root.append(place);
		const shown = spec.percent ? (v) => `${digits(v * 100)} %` : spec.whole ? String : digits;
		const timeLabel = (t) => (spec.timed ? `${t} s` : "");
		const valueLabel = (v) => (spec.percent ? Math.round(v * 100) : v);
		const options = {
			width: root.clientWidth,
			height: spec.height + (spec.timed ? 26 : 0),
			legend: { show: false },
			padding: [8, 26, spec.timed ? 0 : 6, 0],
			cursor: {
				y: false,
				sync: { key: "time", scales: ["x", null] },
				drag: { x: true, y: false, setScale: false },
				points: { size: 6 },
				bind: { dblclick: () => resetZoom },
			},
			scales: {
				x: { time: false },
				y: { range: (_, low, high) => [0, spec.top ?? Math.max(high ?? 0, 1e-9) * 1.05] },
			},
			axes: [
				axis({ size: spec.timed ? 30 : 0, values: (_, ticks) => ticks.map(timeLabel) }),
				axis({ size: Y_AXIS_PX, space: 32, values: (_, ticks) => ticks.map(valueLabel) }),
			],
			series: [{}, ...spec.series.map((s) => ({ spanGaps: false, points: { show: false }, ...s.options }))],
			bands: spec.bands ?? [],
			hooks: {
				drawClear: [shadeWarmup],
				setSelect: [(u) => {
					if (u.select.width < 4) return;
					zoomTo(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
					u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
				}],
				setCursor: [(u) => tellValues(u, spec, values, shown)],
			},
		};
		const made = new uPlot(options, [spec.x, ...spec.series.map((s) => s.values)], place);
		charts.push(made);
		return made;
	}

	function tellValues(u, spec, values, shown) {
		const at = u.cursor.idx;
		const over = at != null && u.cursor.left >= 0;
		values.parentElement.classList.toggle("told", over);
		if (!over) {
			values.replaceChildren();
			return;
		}
		const told = spec.series.filter((s) => s.label).map((s) => {
			const range = s.low ? ` (${shown(s.low[at])} to ${shown(s.high[at])})` : "";
			const name = s.law == null ? {} : { class: `law${s.law % COLOURS_N}` };
			return element("span", name, element("b", {}, s.label), ` ${shown(s.values[at])}${range}`);
		});
		values.replaceChildren(element("span", { class: "unit" }, `${Number(spec.x[at].toPrecision(4))} s`), ...told);
	}

	// ------------------------------------------------------------------------------------------------ all charts

	// Where the chosen seed stands among those of a law; -1 for the mean of all.
	const seedAt = (law) => law.windows.findIndex((w) => String(w.seed) === state.seed);

	// A law's mean over the seeds with a band from the lowest to the highest of them, or the chosen seed by itself.
	function bandSeries(laws, pick) {
		const series = [];
		const bands = [];
		const banded = (law) => seedAt(law) < 0 && pick(law).low.length > 0;
		for (const law of laws.filter(banded)) {
			const at = series.length + 1;
			series.push({ values: pick(law).high, options: { stroke: "transparent", width: 0 } });
			series.push({ values: pick(law).low, options: { stroke: "transparent", width: 0 } });
			bands.push({ series: [at, at + 1], fill: `${colour(law.law)}2b` });
		}
		for (const law of laws) {
			const { mean, low, high, seeds: single } = pick(law);
			const range = banded(law) ? { low, high } : {};
			const options = { stroke: colour(law.law), width: 2, dash: dash(law.law) };
			const values = single[seedAt(law)] ?? mean;
			series.push({ label: data.laws[law.law], law: law.law, values, options, ...range });
		}
		return { series, bands };
	}

	function drawUsed(p, laws, seedsText) {
		const { series, bands } = bandSeries(laws, (law) => law.used);
		const bins = `${p.bin_s} s bins, ${seedsText}`;
		if (p.capacity_mbps) {
			const fill = css("--capacity");
			const options = { stroke: fill, fill: `${fill}80` };
			series.unshift({ label: "capacity", values: p.capacity_mbps, options });
			for (const band of bands) band.series = band.series.map((at) => at + 1);
			chart({
				title: "Throughput and capacity", unit: `Mbit/s on the air, ${bins}`,
				height: 260, x: p.time_s, timed: true, series, bands,
			});
		} else {
			chart({
				title: "Utilisation", unit: `% of what the link can carry, ${bins}`,
				height: 260, x: p.time_s, timed: true, percent: true, top: 1.02, series, bands,
			});
		}
	}

	function drawWindows(p, laws) {
		const shown = laws.map((law) => ({ law, windows: law.windows[Math.max(0, seedAt(law))] }));
		const present = shown.filter(({ windows }) => windows);
		const largest = ({ windows }) => Math.max(...windows.cwnd_pkts.flat());
		const top = 1.05 * Math.max(1, ...present.map(largest));
		const n = p.window_flows.length;
		const which = n < p.flows_n ? `${n} of ${p.flows_n} flows` : `${n} ${n === 1 ? "flow" : "flows"}`;
		present.forEach(({ law, windows }, place) => {
			const series = windows.cwnd_pkts.map((values, flow) => {
				const alpha = Math.round(255 - (150 * flow) / Math.max(1, n - 1)).toString(16);
				const options = { stroke: colour(law.law) + alpha, width: 1.25 };
				return { label: p.window_flows[flow], law: law.law, values, options };
			});
			chart({
				title: `Windows of ${data.laws[law.law]}`, unit: `pkt, ${which}, seed ${windows.seed}`,
				height: 130, x: p.window_time_s, whole: true, top, series, timed: place + 1 === present.length,
			});
		});
	}

	function draw() {
		for (const made of charts) made.destroy();
		charts = [];
		root.replaceChildren();
		const p = panel();
		const laws = p.laws.filter((law) => !state.hidden.has(law.law));
		const all = data.seeds_n > 1 ? `mean of ${data.seeds_n} seeds, band lowest to highest` : "1 seed";
		const seedsText = state.seed === ALL_SEEDS ? all : `seed ${state.seed}`;
		drawUsed(p, laws, seedsText);
		const queue = bandSeries(laws, (law) => law.queue_pkts);
		chart({ title: "Queue", unit: "pkt waiting", height: 150, x: p.time_s, ...queue });
		const rtt = bandSeries(laws, (law) => law.rtt_ms);
		chart({ title: "RTT", unit: "ms", height: 150, x: p.time_s, ...rtt });
		drawWindows(p, laws);
		const [min, max] = zoom ?? [0, p.duration_s];
		for (const made of charts) made.setScale("x", { min, max });
		document.documentElement.dataset.charts = charts.length;
		document.documentElement.dataset.series = charts.reduce((sum, made) => sum + made.series.length - 1, 0);
	}

	if (data.panels.length === 0) {
		root.append(element("p", { class: "note" }, "No time series was recorded, so there are no curves."));
		document.documentElement.dataset.charts = 0;
		return;
	}
	state.point = data.panels[0].point;
	state.link = data.panels[0].link;
	show({});
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
	new ResizeObserver(() => {
		for (const made of charts) made.setSize({ width: root.clientWidth, height: made.height });
	}).observe(root);
})();
