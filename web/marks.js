// What panels are made of, drawn as vectors:
//   line {x, y, colour, width, dash, alpha, label}   band {x, low, high, colour}    area {x, y, colour}
//   steps: a line that stays until the next x         rule {x | y, label}            shade {to}
//   interval {x, y, low, high, colour, symbol, across, text}: a mean with its interval, `across` the x axis
//   dot {x, y, colour, text}: a single value          level {y, from, to, label}: a published value
//   event {x, label}: an upright line

// Writes marks into an SVG. Colours are names of the style sheet; on paper they are written out.
class Pen {
	constructor(root, style, onPaper) {
		Object.assign(this, { root, style, onPaper, hits: [], into: root });
	}

	ink(name) {
		return this.onPaper ? colour(name, true) : `var(${name})`;
	}

	add(name, attributes, ...children) {
		const { stroke, fill, ...rest } = attributes;
		const made = vector(name, rest, ...children);
		// A name of the style sheet is understood in a style, not in an attribute.
		const paint = (key, value) => (this.onPaper ? made.setAttribute(key, value) : (made.style[key] = value));
		paint("stroke", stroke ? this.ink(stroke) : "none");
		paint("fill", fill ? this.ink(fill) : "none");
		this.into.append(made);
		return made;
	}

	text(x, y, text, { size, anchor = "start", turn = 0, weight = 400, ink = "--ink" }) {
		const at = { x: round(x), y: round(y), "font-size": size, "text-anchor": anchor, fill: ink };
		if (weight !== 400) at["font-weight"] = weight;
		if (turn) at.transform = `rotate(${turn} ${round(x)} ${round(y)})`;
		this.add("text", at, text);
	}

	line(x1, y1, x2, y2, stroke, width = 0.5, more = {}) {
		const ends = { x1: round(x1), y1: round(y1), x2: round(x2), y2: round(y2) };
		this.add("line", { ...ends, stroke, "stroke-width": width, ...more });
	}

	path(d, attributes) {
		if (d) this.add("path", { d, "stroke-linejoin": "round", ...attributes });
	}

	swatch(x, y, entry) {
		const width = this.style.line * 1.6;
		if (entry.area) {
			this.add("rect", { x, y: y - 4, width: 15, height: 8, fill: entry.colour, "fill-opacity": 0.6 });
			return;
		}
		this.line(x, y, x + 15, y, entry.colour, width, dashes(entry.dash));
		if (entry.symbol != null) drawSymbol(this, x + 7.5, y, entry.symbol, entry.colour);
	}

	clip(plot) {
		Pen.clips = (Pen.clips ?? 0) + 1;
		const id = `clip${Pen.clips}`;
		// Points at the very edge keep their whole symbol.
		const room = 4;
		const box = { x: plot.left - room, y: plot.top - room, width: plot.width + 2 * room };
		const rect = vector("rect", { ...box, height: plot.height + 2 * room });
		this.into = vector("g", { "clip-path": `url(#${id})` });
		this.root.append(vector("clipPath", { id }, rect), this.into);
	}

	unclip() {
		this.into = this.root;
	}

	hit(x, y, text, law) {
		if (text) this.hits.push({ x, y, text, law });
	}
}

const round = (value) => Math.round(value * 100) / 100;
const dashes = (dash) => (dash?.length ? { "stroke-dasharray": dash.join(" ") } : {});

// A path through the points, with gaps where a value is missing.
function trace(xs, ys, place) {
	let d = "";
	let drawing = false;
	for (let i = 0; i < xs.length; i++) {
		if (!Number.isFinite(ys[i]) || !Number.isFinite(xs[i])) {
			drawing = false;
			continue;
		}
		d += `${drawing ? "L" : "M"}${round(place.x(xs[i]))} ${round(place.y(ys[i]))}`;
		drawing = true;
	}
	return d;
}

// Closed outlines between two curves, one for each stretch without gaps.
function between(xs, lows, highs, place) {
	let d = "";
	let there = [];
	const close = () => {
		if (there.length > 1) {
			const up = there.map((i) => `${round(place.x(xs[i]))} ${round(place.y(highs[i]))}`);
			const back = there.reverse().map((i) => `${round(place.x(xs[i]))} ${round(place.y(lows[i]))}`);
			d += `M${up.join("L")}L${back.join("L")}Z`;
		}
		there = [];
	};
	for (let i = 0; i < xs.length; i++) {
		if (Number.isFinite(lows[i]) && Number.isFinite(highs[i])) there.push(i);
		else close();
	}
	close();
	return d;
}

const SYMBOLS = [
	(r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`,
	(r) => `M${-r * 0.9} ${-r * 0.9}h${r * 1.8}v${r * 1.8}h${-r * 1.8}Z`,
	(r) => `M0 ${-r * 1.15}L${r * 1.1} ${r * 0.8}H${-r * 1.1}Z`,
	(r) => `M0 ${-r * 1.25}L${r * 1.1} 0L0 ${r * 1.25}L${-r * 1.1} 0Z`,
	(r) => `M0 ${r * 1.15}L${r * 1.1} ${-r * 0.8}H${-r * 1.1}Z`,
];

function drawSymbol(pen, x, y, symbol, fill) {
	const d = SYMBOLS[symbol % SYMBOLS.length](pen.style.tick * 0.36);
	pen.path(d, { fill, transform: `translate(${round(x)} ${round(y)})` });
}

const MARKS = {
	line(pen, mark, place) {
		const width = (mark.width ?? 1.5) * pen.style.line;
		const alpha = mark.alpha == null ? {} : { "stroke-opacity": mark.alpha };
		const look = { stroke: mark.colour, "stroke-width": width, ...dashes(mark.dash), ...alpha };
		pen.path(trace(mark.x, mark.y, place), look);
		mark.texts?.forEach((text, i) => pen.hit(place.x(mark.x[i]), place.y(mark.y[i]), text, mark.law));
	},

	band(pen, mark, place) {
		pen.path(between(mark.x, mark.low, mark.high, place), { fill: mark.colour, "fill-opacity": 0.17 });
	},

	area(pen, mark, place) {
		const floor = mark.y.map(() => 0);
		pen.path(between(mark.x, floor, mark.y, place), { fill: mark.colour, "fill-opacity": 0.6 });
	},

	rule(pen, { x, y, label }, place) {
		const { left, top, width, height } = place.plot;
		const look = { "stroke-dasharray": "3 2" };
		if (x != null) pen.line(place.x(x), top, place.x(x), top + height, "--quiet", 0.8, look);
		if (y != null) pen.line(left, place.y(y), left + width, place.y(y), "--quiet", 0.8, look);
		if (label) {
			const { tick } = pen.style;
			pen.text(left + width - 2, place.y(y) - 3, label, { size: tick, anchor: "end", ink: "--quiet" });
		}
	},

	shade(pen, { to }, { x, plot }) {
		const width = Math.min(x(to), plot.left + plot.width) - plot.left;
		if (width <= 0) return;
		const box = { x: plot.left, y: plot.top, width: round(width), height: plot.height };
		pen.add("rect", { ...box, fill: "--raised" });
	},

	interval(pen, mark, place) {
		const [x, y] = [place.x(mark.x), place.y(mark.y)];
		const cap = pen.style.tick * 0.32;
		const width = 1.1 * pen.style.line;
		if (Number.isFinite(mark.low) && mark.across) {
			const [from, to] = [place.x(mark.low), place.x(mark.high)];
			pen.line(from, y, to, y, mark.colour, width);
			for (const end of [from, to]) pen.line(end, y - cap, end, y + cap, mark.colour, width);
		} else if (Number.isFinite(mark.low)) {
			const [from, to] = [place.y(mark.low), place.y(mark.high)];
			pen.line(x, from, x, to, mark.colour, width);
			for (const end of [from, to]) pen.line(x - cap, end, x + cap, end, mark.colour, width);
		}
		drawSymbol(pen, x, y, mark.symbol ?? 0, mark.colour);
		pen.hit(x, y, mark.text, mark.law);
	},

	level(pen, { y, from, to, label }, place) {
		const { left, width } = place.plot;
		const { tick, line } = pen.style;
		const [x1, x2] = [from == null ? left : place.x(from), to == null ? left + width : place.x(to)];
		pen.line(x1, place.y(y), x2, place.y(y), "--ink", 0.9 * line, { "stroke-dasharray": "5 3" });
		pen.text(x1 + 3, place.y(y) - 3, label, { size: tick * 0.92 });
	},

	event(pen, { x, label }, place) {
		const { top, height } = place.plot;
		const { tick } = pen.style;
		pen.line(place.x(x), top, place.x(x), top + height, "--quiet", 0.8, { "stroke-dasharray": "3 2" });
		pen.text(place.x(x) + 3, top + tick, label, { size: tick * 0.92, ink: "--quiet" });
	},

	dot(pen, mark, place) {
		const [cx, cy] = [round(place.x(mark.x)), round(place.y(mark.y))];
		pen.add("circle", { cx, cy, r: pen.style.tick * 0.2, fill: mark.colour, "fill-opacity": 0.35 });
		pen.hit(cx, cy, mark.text, mark.law);
	},
};
