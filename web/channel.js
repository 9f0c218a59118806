"use strict";

// Draws packet error over SNR. The data are in the element #data; crates/results/src/channel.rs says what they are.
(() => {
	const COLOURS_N = 8;
	// Below this the curves end: such a packet error is not met in any run.
	const ERROR_MIN = 1e-9;
	const data = JSON.parse(document.getElementById("data").textContent);
	const root = document.getElementById("charts");
	document.getElementById("about").textContent = data.about;

	// A canvas knows no style sheet: what a colour comes to in the page's scheme is asked of an element.
	const probe = document.body.appendChild(document.createElement("span"));
	probe.hidden = true;
	const css = (name) => {
		probe.style.color = `var(${name})`;
		return getComputedStyle(probe).color;
	};
	const labels = [...new Set(data.curves.map((curve) => curve.label))];
	const probability = (value) => (value == null ? "–" : value < 1e-3 ? value.toExponential(2) : value.toFixed(4));
	const decade = (value) => (Number.isInteger(Math.log10(value)) ? value.toExponential(0) : "");
	const snr = { label: "SNR", value: (_, value) => (value == null ? "–" : `${value} dB`) };
	let chart = null;

	function series(curve) {
		const place = labels.indexOf(curve.label);
		// A second round of colours is told apart by finer lines.
		const width = place < COLOURS_N ? 2 : 1;
		return {
			label: `${curve.label}, ${curve.is_ack ? "ACK" : "data"} of ${curve.ip_bytes} B`,
			stroke: css(`--law${place % COLOURS_N}`),
			width,
			dash: curve.is_ack ? [6, 4] : [],
			points: { show: data.snr_db.length === 1 },
			value: (_, value) => probability(value),
		};
	}

	function axis(options) {
		const line = { stroke: css("--grid"), width: 1 };
		const font = "12px system-ui, 'Liberation Sans', sans-serif";
		return { stroke: css("--quiet"), font, labelFont: font, grid: line, ticks: { ...line, size: 4 }, ...options };
	}

	function draw() {
		chart?.destroy();
		const options = {
			width: root.clientWidth,
			height: Math.max(360, Math.min(640, window.innerHeight - 220)),
			padding: [8, 20, 0, 0],
			scales: {
				x: { time: false },
				y: { distr: 3, log: 10, range: [ERROR_MIN, 1] },
			},
			axes: [
				axis({ label: "SNR, dB" }),
				axis({
					label: "packet error",
					size: 64,
					values: (_, splits) => splits.map(decade),
				}),
			],
			series: [snr, ...data.curves.map(series)],
		};
		const lines = data.curves.map((curve) => curve.packet_error.map((v) => (v < ERROR_MIN ? null : v)));
		chart = new uPlot(options, [data.snr_db, ...lines], root);
	}

	draw();
	window.addEventListener("resize", draw);
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
