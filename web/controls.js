// The controls with which the reader chooses.

let timeCharts = [];
let otherCharts = [];
let pictureCharts = [];
const refreshTime = () => timeCharts.forEach((chart) => chart.refresh());
const refreshAll = () => [...pictureCharts, ...timeCharts, ...otherCharts].forEach((chart) => chart.refresh());

function show(change) {
	Object.assign(state, change);
	fillControls();
	refreshAll();
}

// options: [[value, label], ...]; values are compared as text.
function select(label, options, current, pick) {
	const made = element("select", { "aria-label": label });
	for (const [value, text] of options) made.append(element("option", { value: String(value) }, text));
	made.value = String(current);
	made.addEventListener("change", () => pick(options.find(([value]) => String(value) === made.value)[0]));
	return element("label", {}, label, made);
}

function check(label, on, pick) {
	const box = element("input", { type: "checkbox" });
	box.checked = on;
	box.addEventListener("change", () => pick(box.checked));
	return element("label", { class: "check" }, box, label);
}

// Shows or hides a law; pointing at it brings it to the front.
function lawButton(name, law) {
	const pressed = String(!state.hidden.has(law));
	const made = element("button", { type: "button", class: `law ${lawClass(law)}`, "aria-pressed": pressed });
	made.append(element("i"), name);
	made.addEventListener("click", () => {
		if (!state.hidden.delete(law)) state.hidden.add(law);
		made.setAttribute("aria-pressed", String(!state.hidden.has(law)));
		refreshAll();
	});
	const front = (which) => () => {
		state.front = which;
		for (const chart of timeCharts) bringForward(chart);
	};
	for (const event of ["pointerenter", "focus"]) made.addEventListener(event, front(law));
	for (const event of ["pointerleave", "blur"]) made.addEventListener(event, front(null));
	return made;
}

// --------------------------------------------------------------------------------------------------- all charts

function fillControls() {
	const bar = document.getElementById("controls");
	if (bar.childElementCount === 0) bar.append(element("span", { class: "laws" }, ...report.laws.map(lawButton)));
	while (bar.childElementCount > 1) bar.lastElementChild.remove();
	const links = unique(report.groups.map((g) => g.link));
	const numbered = (items) => items.map((item, k) => [k, item]);
	if (report.points.length > 1) {
		bar.append(select("at", numbered(report.points), state.point, (point) => show({ point, zoom: null })));
	}
	if (links.length > 1) {
		const pick = (link) => show({ link, picked: new Set() });
		bar.append(select("link", links.map((link) => [link, link]), state.link, pick));
	}
	if (report.seeds.length > 1) {
		const seeds = [[null, "all"], ...numbered(report.seeds)];
		bar.append(select("seed", seeds, state.seed, (seed) => show({ seed })));
	}
	fillTimeControls();
	fillCompareControls();
	fillSweepControls();
}

function fillTimeControls() {
	const bar = document.getElementById("time-controls");
	const panel = currentPanel();
	bar.replaceChildren();
	if (!panel) return;
	if (report.laws.length > 1) {
		const layout = [[false, "in one chart"], [true, "side by side"]];
		bar.append(select("laws", layout, state.apart, (apart) => show({ apart })));
	}
	if (report.seeds.length > 1 && state.seed == null) {
		const bands = [[false, "lowest to highest"], [true, "95 % interval of the mean"]];
		bar.append(select("band", bands, state.interval, (interval) => show({ interval })));
	}
	if (panel.flows.length > 1) {
		const modes = [["all", "each as a line"], ["mean", "their mean"], ["some", "some of them"]];
		if (panel.is_crowd) modes.unshift(["none", "not shown"]);
		bar.append(select("flows", modes, flowMode(panel), pickFlowMode));
		if (flowMode(panel) === "some") bar.append(flowMenu(panel));
	}
	const reset = element("button", { type: "button", id: "reset" }, "reset zoom");
	reset.addEventListener("click", resetZoom);
	bar.append(reset, element("span", { class: "hint" }, "drag to zoom · double-click or 0 to reset · ← → to read"));
}

function pickFlowMode(flows) {
	if (flows === "some" && state.picked.size === 0) state.picked = new Set(currentPanel().flows.slice(0, 3));
	show({ flows });
}

// A box for each flow; the list stays open while flows are picked.
function flowMenu(panel) {
	const text = () => `${state.picked.size} of ${panel.flows.length}`;
	const menu = element("details", { class: "menu" }, element("summary", {}, text()));
	const pick = (flow) => (on) => {
		if (on) state.picked.add(flow);
		else state.picked.delete(flow);
		menu.firstElementChild.textContent = text();
		refreshTime();
	};
	menu.append(element("div", {}, ...panel.flows.map((flow) => check(flow, state.picked.has(flow), pick(flow)))));
	return menu;
}

// ------------------------------------------------------------------------------------------- comparison and sweep

const lawOptions = () => report.laws.map((law, k) => [k, law]);

function fillCompareControls() {
	const bar = document.getElementById("compare-controls");
	bar.replaceChildren();
	if (report.laws.length > 1) bar.append(select("compared with", lawOptions(), state.base, (base) => show({ base })));
}

function fillSweepControls() {
	const bar = document.getElementById("sweep-controls");
	bar.replaceChildren();
	if (report.points.length < 2) return;
	const known = (_, metric) => report.groups.some((g) => g.row(metric).some((v) => !Number.isNaN(v)));
	const metrics = report.metrics.map((metric, k) => [k, metric.label]).filter(([k]) => known(null, k));
	const ofPairs = pairMetrics().map((metric, k) => [k + report.metrics.length, `beside: ${metric.label}`]);
	const pick = (metric) => show({ metric, difference: state.difference && !isOfPairs(metric) });
	bar.append(select("metric", [...metrics, ...ofPairs], state.metric, pick));
	if (report.keys.length > 1) {
		bar.append(select("over", report.keys.map((key, k) => [k, key.key]), state.axis, (axis) => show({ axis })));
	}
	if (report.laws.length > 1 && !isOfPairs(state.metric)) {
		const ways = [[false, "each law"], [true, "difference to"]];
		bar.append(select("show", ways, state.difference, (difference) => show({ difference })));
		if (state.difference) bar.append(select("law", lawOptions(), state.base, (base) => show({ base })));
	}
	const { numbers } = report.keys[state.axis];
	if (numbers?.every((v) => v > 0)) bar.append(check("log x", state.logX, (logX) => show({ logX })));
	if (!state.difference) bar.append(check("log y", state.logY, (logY) => show({ logY })));
}

// ------------------------------------------------------------------------------------------------------ light, dark

function themeButton() {
	const root = document.documentElement;
	const button = document.getElementById("theme");
	const dark = () => (root.dataset.theme ?? (systemDark.matches ? "dark" : "light")) === "dark";
	const name = () => (button.textContent = dark() ? "light" : "dark");
	const systemDark = matchMedia("(prefers-color-scheme: dark)");
	button.addEventListener("click", () => {
		root.dataset.theme = dark() ? "light" : "dark";
		name();
		refreshTime();
	});
	systemDark.addEventListener("change", () => {
		name();
		refreshTime();
	});
	name();
}
