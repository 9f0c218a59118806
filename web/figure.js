// A figure is a plain object: {id, title, note, panels, legend, columns}. Panels are {title, under, x, y, marks,
// height}; axes are as scale.js has them; marks.js says what marks there are. From it come the drawing on the screen
// (still.js, live.js) and the files: a vector drawing for a paper and a picture of it. Vectors are text: who draws
// needs no document, so the command draws what the page does.

const PAPER_FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif";
// In points (1/72 inch): the columns of the usual two-column formats, with lettering that stays readable in them.
const PAPER = {
	narrow: { width: 240, label: 8, tick: 7, line: 0.7, height: 132 },
	wide: { width: 504, label: 8.5, tick: 7.5, line: 0.8, height: 150 },
};
const POINTS_PER_MM = 72 / 25.4;
// The name of the vectors' language, in parts: a page that asks nobody for anything spells no address.
const SVG_SPACE = ["http:", "", "www.w3.org", "2000", "svg"].join("/");

// Advances of Helvetica from space to tilde, in thousandths of its size: those of Arial, Liberation Sans and Arimo too.
// Where none of them is installed a viewer takes another font, so there is room for one as wide as DejaVu Sans.
const ADVANCES = [
	278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556,
	556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778,
	722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278,
	278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
	556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];
const ADVANCE_OTHER = 584;
const WIDER = 1.14;
const advance = (letter) => ADVANCES[letter.codePointAt(0) - 32] ?? ADVANCE_OTHER;
const textWidth = (text, size) => [...text].reduce((sum, letter) => sum + advance(letter), 0) * (size / 1000) * WIDER;

// Where legend entries go: rows from left to right.
function legendPlaces(entries, style, width) {
	const places = [];
	let [x, line] = [0, 0];
	for (const entry of entries) {
		const wide = 20 + textWidth(entry.label, style.label) + 12;
		if (x > 0 && x + wide > width) [x, line] = [0, line + 1];
		places.push({ entry, x, line });
		x += wide;
	}
	return { places, height: entries.length ? (line + 1) * style.label * 1.6 + 2 : 0 };
}

function drawLegend(pen, entries, left, width) {
	const { style } = pen;
	const { places, height } = legendPlaces(entries, style, width);
	for (const { entry, x, line } of places) {
		const y = pen.top + (line + 0.5) * style.label * 1.6;
		pen.swatch(left + x, y, entry);
		pen.text(left + x + 20, y + style.label * 0.35, entry.label, { size: style.label });
	}
	return height;
}

// On paper no control says which point, link or seed is shown.
const noteWithPlace = ({ where, note }) => (where ? `${where}; ${note}` : note);

// Draws the figure as one SVG of `style.width`. `onPaper`: light colours on white, no names of the style sheet.
function drawFigure(figure, style, onPaper) {
	const columns = Math.max(1, Math.min(figure.columns ?? 1, figure.panels.length));
	const gap = style.label * 1.2;
	const panelWidth = (style.width - gap * (columns - 1)) / columns;
	const pen = new Pen(style, onPaper, figure.id);
	pen.top = 2;
	const left = Math.max(...figure.panels.map((panel) => leftMargin(panel, style)));
	if (figure.legend?.length > 1 || figure.legend?.some((entry) => entry.always)) {
		pen.top += drawLegend(pen, figure.legend, left, style.width - left);
	}
	for (let first = 0; first < figure.panels.length; first += columns) {
		const line = figure.panels.slice(first, first + columns);
		const heights = line.map((panel, k) => {
			const margin = Math.max(...line.map((other) => leftMargin(other, style)));
			const box = { x: k * (panelWidth + gap), y: pen.top, width: panelWidth, left: columns > 1 ? margin : left };
			return drawPanel(pen, panel, box);
		});
		pen.top += Math.max(...heights) + (first + columns < figure.panels.length ? gap * 0.7 : 0);
	}
	const height = Math.ceil(pen.top + 2);
	const millimetres = (points) => `${(points / POINTS_PER_MM).toFixed(2)}mm`;
	const size = onPaper
		? { xmlns: SVG_SPACE, width: millimetres(style.width), height: millimetres(height) }
		: { width: style.width, height };
	const white = tag("rect", { width: style.width, height, fill: "white" });
	const told = [tag("title", {}, escaped(figure.title)), tag("desc", {}, escaped(noteWithPlace(figure)))];
	const ground = onPaper ? [...told, white] : [];
	const about = { ...size, viewBox: `0 0 ${style.width} ${height}`, role: "img", "aria-label": figure.title };
	const text = tag("svg", { ...about, "font-family": PAPER_FONT }, ...ground, ...pen.drawn);
	return { text, hits: pen.hits, height };
}

const axisMost = (length, style, upright) => Math.max(2, Math.floor(length / (style.tick * (upright ? 2.6 : 4))));

function leftMargin(panel, style) {
	const { ticks } = scaleOf(panel.y, axisMost(panel.height ?? style.height, style, true));
	const widest = Math.max(0, ...ticks.map((tick) => textWidth(tick.label, style.tick)));
	return Math.ceil(widest + style.tick * 0.9 + (panel.y.label ? style.label * 1.5 : 0));
}

// One panel into `box`; gives its height.
function drawPanel(pen, panel, box) {
	const { style } = pen;
	const under = linesWithin(panel.under ?? [], style.tick, box.width - box.left);
	const titled = (panel.title ? style.label * 1.6 : style.tick * 0.5) + under.length * style.tick * 1.3;
	const right = style.tick * (panel.x.ticks ? 0.6 : 1.7);
	const plot = {
		left: box.x + box.left,
		top: box.y + titled,
		width: Math.max(10, box.width - box.left - right),
		height: panel.height ?? style.height,
	};
	const x = scaleOf(panel.x, axisMost(plot.width, style, false));
	const y = scaleOf(panel.y, axisMost(plot.height, style, true));
	const place = {
		x: (value) => plot.left + x.at(value) * plot.width,
		y: (value) => plot.top + (1 - y.at(value)) * plot.height,
		plot,
	};
	if (panel.title) pen.text(plot.left, box.y + style.label, panel.title, { size: style.label, weight: 600 });
	under.forEach((line, k) => {
		const y = box.y + style.label + (k + 1) * style.tick * 1.3;
		pen.text(plot.left, y, line, { size: style.tick, ink: "--quiet" });
	});
	if (!panel.isPlain) drawGrid(pen, place, x, y);
	pen.clip(plot);
	for (const mark of panel.marks) MARKS[mark.kind]?.(pen, mark, place);
	pen.unclip();
	return titled + plot.height + drawAxes(pen, panel, place, x, y, box);
}

// Texts in lines of at most `width`, broken between words.
function linesWithin(texts, size, width) {
	return texts.flatMap((text) => text.split(" ").reduce((lines, word) => {
		const longer = lines.length > 0 ? `${lines.at(-1)} ${word}` : word;
		if (lines.length === 0 || textWidth(longer, size) > width) return [...lines, word];
		return [...lines.slice(0, -1), longer];
	}, []));
}

function drawGrid(pen, { plot, x: toX, y: toY }, x, y) {
	for (const { at } of x.ticks) pen.line(toX(at), plot.top, toX(at), plot.top + plot.height, "--grid", 0.8);
	for (const { at } of y.ticks) pen.line(plot.left, toY(at), plot.left + plot.width, toY(at), "--grid", 0.8);
}

// Ticks and labels; gives the height below the plot.
function drawAxes(pen, panel, { plot, x: toX, y: toY }, x, y, box) {
	const { style } = pen;
	const bottom = plot.top + plot.height;
	pen.line(plot.left, bottom, plot.left + plot.width, bottom, "--quiet");
	pen.line(plot.left, plot.top, plot.left, bottom, "--quiet");
	const turned = x.ticks.length > 1 && crowded(x.ticks, toX, style);
	const fewer = turned && !panel.x.ticks ? x.ticks.filter((_, k) => k % 2 === 0) : x.ticks;
	const slanted = turned && Boolean(panel.x.ticks);
	for (const { at, label } of fewer) {
		pen.line(toX(at), bottom, toX(at), bottom + 3, "--quiet");
		const anchor = slanted ? "end" : "middle";
		const turn = slanted ? -35 : 0;
		pen.text(toX(at), bottom + style.tick * 1.35 + 1, label, { size: style.tick, anchor, turn, ink: "--quiet" });
	}
	for (const { at, label } of y.ticks) {
		const centre = toY(at) + style.tick * 0.35;
		pen.text(plot.left - style.tick * 0.5, centre, label, { size: style.tick, anchor: "end", ink: "--quiet" });
	}
	let below = style.tick * 1.9;
	if (slanted) below += 0.57 * Math.max(...x.ticks.map((tick) => textWidth(tick.label, style.tick)));
	for (const line of linesWithin([panel.x.label ?? ""], style.label, box.width)) {
		const middle = Math.min(plot.left + plot.width / 2, box.x + box.width - textWidth(line, style.label) / 2);
		pen.text(middle, bottom + below + style.label * 0.6, line, { size: style.label, anchor: "middle" });
		below += style.label * 1.1;
	}
	if (panel.y.label) {
		const middle = plot.top + plot.height / 2;
		pen.text(box.x + style.label * 0.95, middle, panel.y.label, { size: style.label, anchor: "middle", turn: -90 });
	}
	return below;
}

// Whether labels of the lower axis would run into each other.
function crowded(ticks, toX, style) {
	const wide = ticks.map((tick) => textWidth(tick.label, style.tick) + style.tick * 0.5);
	return ticks.some((tick, k) => k > 0 && toX(tick.at) - toX(ticks[k - 1].at) < (wide[k] + wide[k - 1]) / 2);
}

// ------------------------------------------------------------------------------------------------------- paper

// `form` is a width by name, or in millimetres: lettering is that of one column until both would fit.
function paperStyle(form) {
	if (PAPER[form]) return PAPER[form];
	const width = form * POINTS_PER_MM;
	return { ...(width < PAPER.wide.width * 0.75 ? PAPER.narrow : PAPER.wide), width };
}

function svgText(figure, form) {
	const style = paperStyle(form);
	const { text } = drawFigure(forPaper(figure, style), style, true);
	return `<?xml version="1.0" encoding="UTF-8"?>\n${text}\n`;
}

// A narrow column has room for one panel beside the other only where they are small.
function forPaper(figure, style) {
	const isNarrow = style.label === PAPER.narrow.label;
	const columns = isNarrow ? (figure.columnsNarrow ?? 1) : Math.min(figure.columnsWide ?? 3, figure.columns ?? 1);
	return { ...figure, columns };
}
