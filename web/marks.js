// What panels are made of, drawn as vectors:
//   line {x, y, colour, width, dash, alpha, label}   band {x, low, high, colour}    area {x, y, colour}
//   steps: a line that stays until the next x         rule {x | y, label}            shade {to}
//   interval {x, y, low, high, colour, symbol, across, text}: a mean with its interval, `across` the x axis
//   dot {x, y, colour, text, faint}: one value           level {y, from, to, label}: a published value
//   event {x, label}: an upright line                   cell {x, y, colour, shade, lines, strong, text}: of a matrix

// An element as text. Attributes that are absent are left out.
const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text) => String(text).replace(/[&<>"]/g, (letter) => ESCAPES[letter]);
function tag(name, attributes = {}, ...children) {
	const pairs = Object.entries(attributes).filter(([, value]) => value != null);
	const written = pairs.map(([key, value]) => ` ${key}="${escaped(value)}"`).join("");
	return children.length === 0 ? `<${name}${written}/>` : `<${name}${written}>${children.join("")}</${name}>`;
}

// On paper, where colours may be printed in grey, a law is known by its dashes too.
const PAPER_DASHES = [[], [4, 1.6], [1.2, 1.4], [6, 1.5, 1.2, 1.5], [2.4, 1.2], [7, 2.5], [3, 1, 1, 1, 1, 1], [1, 3]];

// Writes marks into an SVG. Colours are names of the style sheet; on paper they are written out.
class Pen {
	constructor(style, onPaper, name) {
		Object.assign(this, { style, onPaper, name, hits: [], drawn: [], clips: 0 });
	}

	ink(name) {
		return this.onPaper ? paperInks.get(name) : `var(${name})`;
	}

	// `content` is text that is escaped already.
	add(name, { stroke, fill, ...rest }, ...content) {
		const paint = { stroke: stroke ? this.ink(stroke) : "none", fill: fill ? this.ink(fill) : "none" };
		// A name of the style sheet is understood in a style, not in an attribute.
		const look = this.onPaper ? paint : { style: `stroke: ${paint.stroke}; fill: ${paint.fill}` };
		this.drawn.push(tag(name, { ...rest, ...look }, ...content));
	}

	dashes({ dash, isOfScreen, ownDash, colour }) {
		const look = /^--law(\d)$/.exec(colour ?? "")?.[1];
		const given = isOfScreen && this.onPaper ? [] : (dash ?? []);
		const own = this.onPaper && !ownDash && given.length === 0 && look ? PAPER_DASHES[look] : given;
		return own.length > 0 ? { "stroke-dasharray": own.join(" ") } : {};
	}

	text(x, y, text, { size, anchor = "start", turn = 0, weight = 400, ink = "--ink" }) {
		const at = { x: round(x), y: round(y), "font-size": size, "text-anchor": anchor, fill: ink };
		if (weight !== 400) at["font-weight"] = weight;
		if (turn) at.transform = `rotate(${turn} ${round(x)} ${round(y)})`;
		this.add("text", at, escaped(text));
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
		this.line(x, y, x + 15, y, entry.colour, width, this.dashes(entry));
		if (entry.symbol != null) drawSymbol(this, x + 7.5, y, entry.symbol, entry.colour);
	}

	clip(plot) {
		this.clips += 1;
		const id = `clip-${this.name}-${this.clips}`;
		// Points at the very edge keep their whole symbol.
		const room = 4;
		const box = { x: round(plot.left - room), y: round(plot.top - room), width: round(plot.width + 2 * room) };
		const rect = tag("rect", { ...box, height: round(plot.height + 2 * room) });
		this.drawn.push(tag("clipPath", { id }, rect), `<g clip-path="url(#${id})">`);
	}

	unclip() {
		this.drawn.push("</g>");
	}

	hit(x, y, text, law) {
		if (text) this.hits.push({ x, y, text, law });
	}
}

const round = (value) => Math.round(value * 100) / 100;

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
	const { top, height } = place.plot;
	// An interval may reach beyond what can be, such as 100 %; its picture ends with the axis.
	const y = (value) => round(Math.min(top + height, Math.max(top, place.y(value))));
	const close = () => {
		if (there.length > 1) {
			const up = there.map((i) => `${round(place.x(xs[i]))} ${y(highs[i])}`);
			const back = there.reverse().map((i) => `${round(place.x(xs[i]))} ${y(lows[i])}`);
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
		const look = { stroke: mark.colour, "stroke-width": width, ...pen.dashes(mark), ...alpha };
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
		const { left, top, width: wide, height } = place.plot;
		// Where an interval ends beyond the axis it has no cap.
		const [from, to] = mark.across ? [left, left + wide] : [top, top + height];
		const ends = [mark.low, mark.high].map(mark.across ? place.x : place.y);
		if (Number.isFinite(mark.low)) {
			const [start, end] = ends.map((at) => Math.min(to, Math.max(from, at)));
			if (mark.across) pen.line(start, y, end, y, mark.colour, width);
			else pen.line(x, start, x, end, mark.colour, width);
			for (const at of ends.filter((one) => one >= from - 0.5 && one <= to + 0.5)) {
				if (mark.across) pen.line(at, y - cap, at, y + cap, mark.colour, width);
				else pen.line(x - cap, at, x + cap, at, mark.colour, width);
			}
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

	cell(pen, mark, { x, y }) {
		const [left, right, top, bottom] = [x(mark.x - 0.5), x(mark.x + 0.5), y(mark.y + 0.5), y(mark.y - 0.5)];
		const box = { x: round(left), y: round(top), width: round(right - left), height: round(bottom - top) };
		pen.add("rect", { ...box, fill: mark.colour, "fill-opacity": round(0.55 * mark.shade) });
		const { tick } = pen.style;
		// Letters that are strong are wider.
		const widest = Math.max(...mark.lines.map((line) => textWidth(line, tick))) * (mark.strong ? 1.12 : 1);
		const [across, down] = [(tick * (right - left) * 0.92) / widest, (bottom - top) / mark.lines.length / 1.15];
		const size = round(Math.min(tick, across, down));
		const middle = (top + bottom) / 2 - (mark.lines.length - 1) * size * 0.6 + size * 0.35;
		mark.lines.forEach((line, k) => {
			const weight = mark.strong ? 600 : 400;
			pen.text((left + right) / 2, middle + k * size * 1.2, line, { size, anchor: "middle", weight });
		});
		pen.hit((left + right) / 2, (top + bottom) / 2, mark.text);
	},

	dot(pen, mark, place) {
		const [cx, cy] = [round(place.x(mark.x)), round(place.y(mark.y))];
		const r = pen.style.tick * (mark.faint ? 0.12 : 0.2);
		pen.add("circle", { cx, cy, r, fill: mark.colour, "fill-opacity": 0.35 });
		pen.hit(cx, cy, mark.text, mark.law);
	},
};
