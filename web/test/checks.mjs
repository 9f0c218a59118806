// What the page must do. The pages are made by crates/results/tests/browser.rs, which says what is in them.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";

const DRAWN_MS = 10_000;

const text = (page, selector) => page.$eval(selector, (found) => found.textContent);
const figures = (page) => page.$$eval("figure:not(.empty)", (found) =>
	found.filter((figure) => figure.checkVisibility()).map((figure) => figure.id));
const drawn = (page) => page.evaluate(() => ({ ...document.documentElement.dataset }));

// Waits for the next picture, and for what it made stale.
const settle = (page) => page.evaluate(() => new Promise((done) => setTimeout(done, 100)));

// The button of a law, by its place among them.
const lawButton = async (page, place) => (await page.$$("button.law"))[place];

async function choose(page, label, value) {
	await page.select(`select[aria-label="${label}"]`, value);
	await settle(page);
}

// The series of a chart over time: law, flow, whether anything of it is on the canvas in its own colour.
const series = (page, id) =>
	page.evaluate((wanted) => {
		const chart = timeCharts.find((one) => one.figure?.id === wanted && !one.place.classList.contains("empty"));
		const marks = chart ? chart.figure.panels.flatMap((panel) => panel.marks) : [];
		return marks.filter((m) => m.kind === "line").map((m) => ({ law: m.law, flow: m.flow, y: Array.from(m.y) }));
	}, id);

const timeAxis = (page) => page.evaluate(() => timeCharts[0].plots[0].scales.x);

// Where in a chart a share of its width and height lies on the screen.
async function within(page, id, across, down) {
	const over = await page.$(`#chart-${id} .u-over`);
	const box = await over.boundingBox();
	return [box.x + across * box.width, box.y + down * box.height];
}

async function drag(page, id, from, to) {
	await page.mouse.move(...(await within(page, id, from, 0.5)));
	await page.mouse.down();
	await page.mouse.move(...(await within(page, id, (from + to) / 2, 0.5)), { steps: 4 });
	await page.mouse.move(...(await within(page, id, to, 0.5)));
	await page.mouse.up();
	await settle(page);
}

// The browser reserves the name with an empty file, and puts the whole one in its place.
async function download(page, downloads, selector, name) {
	await page.click(selector);
	const file = path.join(downloads, name);
	const isThere = () => fs.statSync(file, { throwIfNoEntry: false })?.size > 0;
	for (const end = Date.now() + DRAWN_MS; !isThere(); await settle(page)) {
		const there = fs.existsSync(downloads) ? fs.readdirSync(downloads) : [];
		assert.ok(Date.now() < end, `${name} does not come; there are ${there}`);
	}
	return fs.readFileSync(file);
}

export const checks = {
	// Two laws, three seeds, two flows: every figure, and a mean with its band for each law.
	async series({ page }) {
		assert.deepEqual(await figures(page), [
			"chart-utilisation", "chart-queue", "chart-rtt", "chart-cwnd", "chart-goodput", "chart-flow-rtt",
			"chart-metrics", "chart-difference-to-steady", "chart-shares", "chart-completion-by-size",
			"chart-completion-times", "chart-rtt-distribution", "chart-wait-distribution",
		]);
		assert.equal((await drawn(page)).charts, "13");
		assert.equal((await series(page, "utilisation")).length, 2);
		assert.equal((await series(page, "cwnd")).length, 4);
		const bands = await page.evaluate(() => timeCharts[0].plots[0].bands.length);
		assert.equal(bands, 2);
	},

	// `swinging` sends half of what it could in every other ten seconds, in every seed alike.
	async values({ page }) {
		await page.mouse.move(...(await within(page, "utilisation", 15.5 / 60, 0.5)));
		await settle(page);
		assert.equal(await text(page, "#chart-utilisation .values"), [
			"15.5 s", "steady 89.0 % (88.0 % to 90.0 %)", "swinging 50.0 % (50.0 % to 50.0 %)",
		].join(""));
		assert.match(await text(page, "#chart-queue .values"), /^15\.5 ssteady 10\.0 pkt/);
		await page.mouse.move(5, 5);
		await settle(page);
		assert.equal(await text(page, "#chart-utilisation .values"), "");
	},

	// A hidden law is in no figure; shown again it is back.
	async laws({ page }) {
		await (await lawButton(page, 1)).click();
		await settle(page);
		assert.deepEqual((await series(page, "queue")).map((s) => s.law), [0]);
		assert.ok(!(await text(page, "#chart-metrics")).includes("swinging"));
		await (await lawButton(page, 1)).click();
		await settle(page);
		assert.deepEqual((await series(page, "queue")).map((s) => s.law), [0, 1]);
	},

	// Pointing at the button of a law dims the others everywhere.
	async front({ page }) {
		const alphas = () => page.evaluate(() => {
			const [plot] = timeCharts[0].plots;
			return plot.marks.map((mark, i) => mark && [mark.law, plot.series[i].alpha]).filter(Boolean);
		});
		await (await lawButton(page, 0)).hover();
		for (const [law, alpha] of await alphas()) assert.equal(alpha === 1, law === 0);
		await page.mouse.move(5, 5);
		for (const [, alpha] of await alphas()) assert.equal(alpha, 1);
	},

	// Dragging zooms every time axis to what was dragged over; a double click and a key go back.
	async zoom({ page }) {
		await drag(page, "queue", 0.25, 0.5);
		const { min, max } = await timeAxis(page);
		assert.ok(Math.abs(min - 15) < 1 && Math.abs(max - 30) < 1, `${min} to ${max}`);
		await page.mouse.click(...(await within(page, "rtt", 0.5, 0.5)), { count: 2 });
		await settle(page);
		assert.deepEqual([(await timeAxis(page)).min, (await timeAxis(page)).max], [0, 60]);
		await page.focus("#chart-queue");
		await page.keyboard.press("+");
		await settle(page);
		assert.deepEqual([(await timeAxis(page)).min, (await timeAxis(page)).max], [15, 45]);
		await page.keyboard.press("0");
		await settle(page);
		assert.equal((await timeAxis(page)).max, 60);
	},

	// Without a mouse: the arrows read the charts over time and the others.
	async keys({ page }) {
		await page.focus("#chart-utilisation");
		await page.keyboard.press("ArrowRight");
		await page.keyboard.press("ArrowRight");
		await settle(page);
		assert.match(await text(page, "#chart-utilisation .values"), /^1\.5 ssteady 90\.0 %|^1\.5 ssteady 89\.0 %/);
		await page.focus("#chart-metrics");
		await page.keyboard.press("ArrowRight");
		assert.match(await text(page, "#chart-metrics .values"), /steady Utilisation: /);
	},

	// Flows as lines, their mean, and some of them.
	async flows({ page }) {
		assert.deepEqual((await series(page, "goodput")).map((s) => s.flow), ["down.0", "down.1", "down.0", "down.1"]);
		await choose(page, "flows", "mean");
		const means = await series(page, "goodput");
		assert.deepEqual(means.map((s) => s.flow), [undefined, undefined]);
		// 675 + 225, 667 + 222 and 660 + 220 packets a second of 960 bytes by six rows of seed and flow: 3.41632 Mbit/s.
		assert.ok(Math.abs(means[0].y[20] - 3.41632) < 0.0001, String(means[0].y[20]));
		await choose(page, "flows", "some");
		await page.click(".menu summary");
		await page.click(".menu input");
		await settle(page);
		assert.deepEqual((await series(page, "goodput")).map((s) => s.flow), ["down.1", "down.1"]);
		assert.match(await text(page, ".menu summary"), /1 of 2/);
	},

	// One seed by itself has no band; laws side by side have a chart each.
	async seeds({ page }) {
		await choose(page, "seed", "2");
		assert.equal((await series(page, "utilisation"))[0].y[20].toFixed(2), "0.88");
		assert.equal(await page.evaluate(() => timeCharts[0].plots[0].bands.length), 0);
		await choose(page, "laws", "true");
		assert.equal((await page.$$("#chart-utilisation canvas")).length, 2);
	},

	// The mean and interval that the script computes are those of the table.
	async statistics({ page }) {
		const cells = await page.$$eval("table.figures tbody tr", (rows) => rows.map((row) => row.cells[2].textContent));
		const told = await page.evaluate(() => report.groups.map((group) => {
			const s = stat(valuesOf(group, 0, null));
			return [s.mean, s.half];
		}));
		assert.equal(cells.length, told.length);
		cells.forEach((cell, k) => {
			const [mean, half] = cell.split(" ± ").map(Number);
			assert.ok(Math.abs(mean - told[k][0]) < 0.051, `${cell}: ${told[k]}`);
			assert.equal(half === undefined, !Number.isFinite(told[k][1]), `${cell}: ${told[k]}`);
			assert.ok(half === undefined || Math.abs(half - told[k][1]) < 0.051, `${cell}: ${told[k]}`);
		});
	},

	// A vector drawing sized for a column, on white, with labels and legend; a picture of twice the size.
	async files({ page, downloads }) {
		const save = (id, n) => `#chart-${id} .save button:nth-child(${n})`;
		const svg = String(await download(page, downloads, save("utilisation", 1), "two-laws-one-link-utilisation.svg"));
		assert.match(svg, /^<\?xml[^]*<svg[^>]* width="84\.67mm"/);
		for (const part of ["Utilisation (%)", "Time (s)", "steady", "swinging", 'fill="white"', "<path"]) {
			assert.ok(svg.includes(part), part);
		}
		for (const part of ["var(", "NaN", "undefined", "<image", "light-dark"]) assert.ok(!svg.includes(part), part);
		const wellFormed = (source) => page.evaluate((markup) =>
			!new DOMParser().parseFromString(markup, "image/svg+xml").querySelector("parsererror"), source);
		assert.ok(await wellFormed(svg));
		const png = await download(page, downloads, save("metrics", 3), "two-laws-one-link-metrics.png");
		assert.equal(png.toString("latin1", 1, 4), "PNG");
		assert.ok(png.readUInt32BE(16) > 1300, String(png.readUInt32BE(16)));
		for (const form of ["narrow", "wide"]) {
			const all = await page.evaluate((f) => charts.map((c) => c.build()).filter(Boolean).map((x) => svgText(x, f)), form);
			assert.equal(all.length, 14);
			for (const one of all) assert.ok(!/NaN|undefined|var\(/.test(one) && (await wellFormed(one)), one.slice(0, 300));
		}
	},

	// The button switches, the system's choice is the default, and a file for paper is light in both.
	async theme({ page }) {
		const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
		await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
		// The page hears of the system's choice in a turn of its own.
		await page.waitForFunction("document.getElementById('theme').textContent === 'light'");
		await settle(page);
		const dark = await ground();
		assert.equal(await text(page, "#theme"), "light");
		const paper = () => page.evaluate(() => svgText(timeCharts[0].build(), "narrow").replaceAll(/clip\d+/g, ""));
		const onDark = await paper();
		await page.click("#theme");
		await settle(page);
		assert.notEqual(await ground(), dark);
		assert.equal(await ground(), "rgb(255, 255, 255)");
		assert.equal(await paper(), onDark);
		const ink = await page.evaluate(() => {
			document.body.style.color = "var(--quiet)";
			const parts = getComputedStyle(document.body).color.match(/\d+/g);
			return `#${parts.map((part) => Number(part).toString(16).padStart(2, "0")).join("")}`;
		});
		assert.ok(onDark.includes(ink), `a file has the ink of the light page, ${ink}`);
	},

	// A trace, one law, one seed: the capacity behind the throughput, no bands, no choices that are none.
	async trace({ page }) {
		const marks = await page.evaluate(() => timeCharts[0].figure.panels[0].marks.map((mark) => mark.kind));
		assert.deepEqual(marks, ["shade", "area", "line"]);
		await page.mouse.move(...(await within(page, "throughput", 0.5, 0.5)));
		await settle(page);
		assert.match(await text(page, "#chart-throughput .values"), /capacity 8\.00 Mbit\/ssteady 7\.20 Mbit\/s$/);
		assert.equal((await page.$$("#controls select")).length, 0);
		assert.equal(await page.$('select[aria-label="band"]'), null);
	},

	// A sweep over a number: the axis has the numbers, each law a line through its means, and a difference is a difference.
	async sweep({ page }) {
		const seen = () => page.evaluate(() => {
			const [panel] = otherCharts[0].figure.panels;
			const lines = panel.marks.filter((mark) => mark.kind === "line");
			const intervals = panel.marks.filter((mark) => mark.kind === "interval").length;
			return { lines: lines.map((line) => [line.law, line.x, line.y.map((v) => v.toFixed(1))]), intervals };
		});
		assert.deepEqual(await seen(), {
			lines: [[0, [5, 10, 20], ["49.0", "59.0", "69.0"]], [1, [5, 10, 20], ["40.0", "40.0", "40.0"]]], intervals: 6,
		});
		assert.match(await text(page, "#sweep-charts svg"), /snr \(dB\)/);
		await choose(page, "show", "true");
		assert.deepEqual((await seen()).lines, [[1, [5, 10, 20], ["-9.0", "-19.0", "-29.0"]]]);
		await choose(page, "show", "false");
		await choose(page, "at", "2");
		assert.equal((await series(page, "utilisation"))[0].y[20].toFixed(2), "0.69");
	},

	// Reno and CUBIC alone, beside themselves and beside each other, at two buffers; the harms are those of versus.rs.
	async pairs({ page }) {
		const looks = await page.$$eval("button.law i", (swatches) => swatches.map((one) => {
			const { backgroundColor, backgroundImage } = getComputedStyle(one);
			return `${backgroundColor} ${backgroundImage}`;
		}));
		assert.equal(new Set(looks).size, 5, String(looks));
		const ofPairs = await page.$$eval("select[aria-label=metric] option", (options) =>
			options.filter(({ label }) => label.startsWith("beside: ")).map(({ label, value }) => [label.slice(8), value]));
		assert.deepEqual(ofPairs.map(([label]) => label), [
			"Share", "Harm", "Harm to round trips", "Harm beyond itself",
		]);
		await choose(page, "metric", ofPairs[1][1]);
		const marks = await page.evaluate(() => otherCharts[1].figure.panels[0].marks);
		const told = marks.filter(({ kind }) => kind === "interval").map(({ text, y }) => [text.split(":")[0], y.toFixed(1)]);
		const each = [
			["reno beside reno", "33.3"], ["reno beside cubic", "5.0"], ["cubic beside reno", "68.3"],
			["cubic beside cubic", "46.7"],
		];
		const inOrder = (pairs) => pairs.map(String).sort();
		assert.deepEqual(inOrder(told), inOrder([...each, ...each]));
		const lines = marks.filter(({ kind }) => kind === "line").map(({ colour, dash }) => `${colour} ${dash}`);
		assert.equal(new Set(lines).size, 4, String(lines));
		await (await lawButton(page, 2)).click();
		await settle(page);
		assert.equal(await page.evaluate(() => otherCharts[1].figure.legend.length), 2);
		const cut = () => page.$$eval(".wide", (boxes) => boxes.map((one) => one.scrollWidth - one.clientWidth));
		await page.setViewport({ width: 1400, height: 900 });
		assert.deepEqual(await cut(), [0, 0]);
		await page.setViewport({ width: 696, height: 900 });
		await page.emulateMediaType("print");
		assert.deepEqual(await cut(), [0, 0], "on A4");
	},

	// The largest page that is promised: it draws what is in view first, and every figure when it is scrolled to.
	async large({ page }) {
		await page.setViewport({ width: 1280, height: 900 });
		await page.reload();
		await page.waitForFunction("document.documentElement.dataset.firstDraw");
		assert.ok(Number((await drawn(page)).charts) < 6, "all was drawn at once");
		await page.setViewport({ width: 1280, height: 6000 });
		await settle(page);
		assert.equal((await series(page, "cwnd")).length, 150);
		await choose(page, "seed", "29");
		assert.equal((await series(page, "cwnd")).length, 150);
		process.stdout.write(`first chart after ${(await drawn(page)).firstDraw} ms\n`);
	},

	// No series was recorded: the tables and the comparison are there, and no empty chart.
	async bare({ page }) {
		assert.match(await text(page, "#time-charts"), /No time series was recorded/);
		assert.deepEqual(await figures(page), ["chart-metrics", "chart-difference-to-steady"]);
	},

	// A figure of a paper: two points with symbols and one interval, a gap between them, a level that begins at 10 s.
	async pictures({ page, downloads }) {
		const svg = "#chart-fig1 .plots svg";
		const labels = await page.$$eval(`${svg} text`, (found) => found.map((one) => one.textContent));
		for (const wanted of ["ours", "over one link", "published 2 to 1", "it begins", "Time (s)"]) {
			assert.ok(labels.includes(wanted), `${wanted} is not among ${labels}`);
		}
		const { marks, x } = await page.evaluate(() => pictureCharts[0].figure.panels[0]);
		assert.deepEqual(marks.map(({ kind }) => kind), ["line", "interval", "interval", "level", "event"]);
		assert.ok(x.min < 0 && x.max > 20, `${x.min} to ${x.max}`);
		const ends = await page.evaluate(() => {
			const place = document.querySelector("#chart-fig1 .plots svg");
			const dashed = [...place.querySelectorAll("line[stroke-dasharray='5 3']")].map((line) => line.x1.baseVal.value);
			const upright = place.querySelector("line[stroke-dasharray='3 2']").x1.baseVal.value;
			return { dashed, upright };
		});
		assert.deepEqual(ends.dashed, [ends.upright]);
		await page.focus("#chart-fig1");
		await page.keyboard.press("ArrowRight");
		assert.match(await text(page, "#chart-fig1 .values"), /ours: 0\.300 ± 0\.050/);
		const ink = () => page.$eval(`${svg} text`, (one) => getComputedStyle(one).fill);
		const before = await ink();
		await page.click("#theme");
		await settle(page);
		assert.notEqual(await ink(), before);
		const file = await download(page, downloads, "#chart-fig1 .save button", "two-laws-one-link-fig1.svg");
		assert.match(file.toString(), /published 2 to 1/);
	},

	// Printed: every chart that is not empty as vectors, folded boxes open, no control; afterwards the page as it was.
	async print({ page }) {
		await page.setViewport({ width: 1280, height: 400 });
		await page.reload();
		await page.waitForFunction("document.documentElement.dataset.firstDraw");
		assert.ok(Number((await drawn(page)).charts) < 6, "all was in view, so nothing is shown by this");
		await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
		await page.emulateMediaType("print");
		const seen = () => page.evaluate(() => {
			const shown = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
			return {
				drawings: shown(".printed svg").length, controls: shown(".controls, .save, #theme, canvas").length,
				folded: document.querySelectorAll("details:not([open])").length,
				cut: shown(".wide, figure, .printed, pre").filter((one) => one.scrollWidth > one.clientWidth + 1).length,
			};
		});
		assert.deepEqual(await seen(), { drawings: 14, controls: 0, folded: 0, cut: 0 });
		await page.emulateMediaType("screen");
		await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
		assert.equal((await page.$$(".printed")).length, 0);
		assert.ok((await page.$$("details:not([open])")).length > 0);
	},

	// Two laws with values to watch, three seeds, two flows: xcp's F is from -29 to 30, vcp's code goes up each 20 s.
	async watched({ page }) {
		const before = await figures(page);
		assert.ok(before.every((id) => !id.startsWith("chart-watch-")), String(before));
		await page.$eval("#watch", (folded) => (folded.open = true));
		await settle(page);
		const after = (await figures(page)).filter((id) => id.startsWith("chart-watch-"));
		const declared = await page.evaluate(() => report.panels[0].watched.map(({ declared_by }) => declared_by));
		assert.ok(declared.includes("vcp") && declared.includes("xcp"));
		assert.equal(after.length, declared.length);
		assert.match(await text(page, "#watch summary"), new RegExp(`laws: ${declared.length}$`));
		const of = (id) => page.evaluate((wanted) => {
			const chart = timeCharts.find(({ figure }) => figure?.id === wanted);
			const [panel] = chart.figure.panels;
			const lines = panel.marks.filter(({ kind }) => kind === "line");
			return {
				kinds: panel.marks.map(({ kind }) => kind), min: panel.y.min, max: panel.y.max, note: chart.figure.note,
				ticks: (panel.y.ticks ?? []).map(({ label }) => label), x: Array.from(lines[0].x),
				ys: lines.map(({ y }) => Array.from(y)), said: panel.say(lines[0].y[45]),
			};
		}, id);
		const load = await of("watch-link-router-vcp-load-factor");
		assert.deepEqual(load.kinds, ["shade", "band", "line"]);
		assert.match(load.note, /^rho, .*mean of 3 seeds/);
		const aggregate = await of("watch-link-router-xcp-aggregate-bps");
		assert.ok(aggregate.min < -29 && aggregate.max > 30 && aggregate.ys[0][0] < -28.9);
		assert.match(aggregate.note, /B\/s/);
		const code = await of("watch-link-router-vcp-code");
		assert.deepEqual([code.ticks, code.said], [["none", "low", "high", "overload"], "high"]);
		assert.deepEqual([code.x.slice(0, 4), code.ys[0].slice(36, 40).map(Math.round)], [[0, 1, 1, 2], [1, 1, 2, 2]]);
		const window = await of("watch-flow-sender-vcp-window");
		assert.deepEqual(window.ys.map((y) => Math.round(y[0])), [2, 102]);
		await (await lawButton(page, 0)).click();
		await settle(page);
		const left = (await figures(page)).filter((id) => id.startsWith("chart-watch-"));
		assert.equal(left.length, declared.filter((law) => law === "xcp").length);
	},

	// Three ticks at least, none beyond what can be, on the screen and in files.
	async axes({ page }) {
		const found = await page.evaluate(() => {
			const most = { "%": 100, index: 1 };
			return charts.map((chart) => chart.build()).filter(Boolean).flatMap(({ id, panels: all }) => all.flatMap((panel) =>
				[panel.x, panel.y].map((axis) => {
					const unit = /\(%\)$/.test(axis.label) ? "%" : /index$/.test(axis.label) ? "index" : null;
					const top = axis.ticks?.at(-1)?.label === "100" ? axis.max * 100 : axis.max;
					const { ticks } = scaleOf(axis, 2);
					const beyond = unit && !id.startsWith("difference") && (id === "utilisation" ? top : axis.max) > most[unit];
					return { id, label: axis.label ?? "", ticks: axis.ticks ? 3 : ticks.length, beyond };
				})));
		});
		assert.ok(found.length > 20);
		assert.deepEqual(found.filter(({ ticks, beyond }) => ticks < 3 || beyond), []);
		const onScreen = await page.evaluate(() => timeCharts.flatMap(({ plots }) => plots.map((plot) =>
			plot.axes.map((axis) => axis._splits.length))));
		assert.ok(onScreen.length >= 6 && onScreen.flat().every((n) => n >= 3), String(onScreen));
	},

	// Throws on purpose: a complaint of the page must fail a check.
	async complaint({ page }) {
		await page.evaluate(() => setTimeout(() => { throw new Error("a complaint of the page"); }));
		await settle(page);
	},
};
