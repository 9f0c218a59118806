// A chart on the page: a caption with its values and its files, and the drawing, made when it comes into view.

const charts = [];

const inView = new IntersectionObserver(
	(entries) => {
		for (const { target, isIntersecting } of entries) {
			target.chart.visible = isIntersecting;
			target.chart.drawIfNeeded();
		}
	},
	{ rootMargin: "200px" },
);

class Chart {
	// `build` gives the figure as the state says, or null if there is nothing to show; `view` is drawStill or drawLive.
	constructor(root, build, view) {
		Object.assign(this, { build, view, visible: false, stale: true, plots: [] });
		this.title = element("strong");
		this.note = element("span", { class: "unit" });
		this.values = element("span", { class: "values" });
		this.body = element("div", { class: "plots" });
		const caption = element("figcaption", {}, this.title, this.note, this.values, this.saveButtons());
		this.place = element("figure", { tabindex: "0" }, caption, this.body);
		this.place.chart = this;
		this.place.addEventListener("keydown", (event) => this.key?.(event));
		root.append(this.place);
		charts.push(this);
		inView.observe(this.place);
	}

	saveButtons() {
		const button = (label, about, save) => {
			const made = element("button", { type: "button", title: about, "aria-label": about }, label);
			made.addEventListener("click", () => save(this.build()));
			return made;
		};
		return element(
			"span", { class: "save" },
			button("SVG", "Vector drawing for one column of a paper", (figure) => saveSvg(figure, "narrow")),
			button("SVG wide", "Vector drawing for both columns of a paper", (figure) => saveSvg(figure, "wide")),
			button("PNG", "Picture, at twice the size", savePng),
		);
	}

	refresh() {
		this.stale = true;
		this.drawIfNeeded();
	}

	drawIfNeeded() {
		if (!this.stale || !this.visible) return;
		this.stale = false;
		this.clear();
		const figure = this.build();
		this.place.classList.toggle("empty", !figure);
		if (figure) {
			this.figure = figure;
			this.place.id = `chart-${figure.id}`;
			this.place.setAttribute("aria-label", `${figure.title}, ${figure.note}`);
			this.title.textContent = figure.title;
			this.note.textContent = this.note.title = figure.note;
			this.view(this, figure);
			this.body.style.minHeight = "";
		}
		count();
	}

	// Keeps the height, so that nothing below moves while it is drawn anew.
	clear() {
		this.body.style.minHeight = `${this.body.offsetHeight}px`;
		for (const plot of this.plots) plot.destroy();
		this.plots = [];
		this.body.replaceChildren();
		this.tell(null);
	}

	// Says the values under the pointer in the caption; null for none.
	tell(parts) {
		this.place.classList.toggle("told", parts !== null);
		this.values.replaceChildren(...(parts ?? []));
	}
}

const shownMarks = (sum, panel) => sum + panel.marks.filter(({ kind }) => kind !== "shade" && kind !== "rule").length;

// What the tests read: charts and series that are drawn, and when the first was.
function count() {
	const drawn = charts.filter((chart) => !chart.stale && !chart.place.classList.contains("empty"));
	const { dataset } = document.documentElement;
	dataset.charts = drawn.length;
	dataset.series = drawn.reduce((sum, { figure }) => sum + figure.panels.reduce(shownMarks, 0), 0);
	dataset.firstDraw ??= Math.round(performance.now());
}

const SCREEN = { label: 13, tick: 12, line: 1.3, height: 240 };
// Nearest point within so many pixels of the pointer.
const REACH_PX = 40;

function drawStill(chart, figure) {
	const width = chart.body.clientWidth;
	const fit = Math.floor(width / (figure.panelWidth ?? width));
	const columns = Math.max(1, Math.min(figure.panels.length, fit || 1));
	const legend = figure.ownLegend ? figure.legend : [];
	const { text, hits } = drawFigure({ ...figure, columns, legend }, { ...SCREEN, width }, false);
	const ring = tag("circle", { r: 6, class: "ring", visibility: "hidden" });
	chart.body.innerHTML = text.replace(/<\/svg>$/, `${ring}</svg>`);
	listen(chart, hits, chart.body.firstChild);
}

// Tells the point that is nearest to the pointer.
function listen(chart, hits, root) {
	const ring = root.lastChild;
	const show = (hit) => {
		ring.setAttribute("visibility", hit ? "visible" : "hidden");
		if (!hit) return chart.tell(null);
		ring.setAttribute("cx", hit.x);
		ring.setAttribute("cy", hit.y);
		return chart.tell([toldLaw(hit.law, hit.text)]);
	};
	root.addEventListener("pointermove", (event) => show(nearest(hits, event, root)));
	root.addEventListener("pointerleave", () => show(null));
	stepByKeys(chart, hits, show);
}

function nearest(hits, event, root) {
	const { left, top } = root.getBoundingClientRect();
	const far = (hit) => Math.hypot(hit.x - (event.clientX - left), hit.y - (event.clientY - top));
	const best = hits.reduce((a, b) => (a && far(a) <= far(b) ? a : b), null);
	return best && far(best) <= REACH_PX ? best : null;
}

// Left and right walk through the points.
function stepByKeys(chart, hits, show) {
	let at = -1;
	chart.key = (event) => {
		const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
		if (event.target !== chart.place || !step || hits.length === 0) return;
		event.preventDefault();
		at = (at + step + hits.length) % hits.length;
		show(hits[at]);
	};
}

// `name value` in the colour of the law.
function toldLaw(law, text) {
	const attributes = law == null ? {} : { class: lawClass(law) };
	const name = law == null ? [] : [element("b", {}, report.laws[law]), " "];
	return element("span", attributes, ...name, text);
}
