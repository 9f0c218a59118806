// What the page is about, unpacked. crates/results/src/report/data.rs and curves/mod.rs say what the fields are.

const COLOURS_N = 8;

function bytesOf(text) {
	return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

// Numbers of {step, q} (u16 multiples of a step); NaN where one is missing. Unpacked once, when first drawn.
const unpacked = new WeakMap();
function unpack(packed) {
	let values = unpacked.get(packed);
	if (!values) {
		const q = new Uint16Array(bytesOf(packed.q).buffer);
		values = Float32Array.from(q, (n) => (n === 65535 ? NaN : n * packed.step));
		unpacked.set(packed, values);
	}
	return values;
}

const floats = (text) => new Float32Array(bytesOf(text).buffer);

// Row `k` of a table with `n` columns.
const row = (values, k, n) => values.subarray(k * n, (k + 1) * n);

for (const group of report.groups) {
	const values = floats(group.rows);
	group.row = (metric) => row(values, metric, group.seeds.length);
	group.value = (metric, seed) => {
		const at = group.seeds.indexOf(seed);
		return at < 0 ? NaN : group.row(metric)[at];
	};
}

// -------------------------------------------------------------------------------------------------- statistics

// Mean, half the 95 % t-interval of the mean and its ends (NaN for equal values), extremes. An interval ends where the
// figure does, as in crates/results/src/interval.rs.
function stat(values, { least = -Infinity, most = Infinity, halfBin = 0 } = {}) {
	const known = [...values].filter((v) => !Number.isNaN(v));
	const n = known.length;
	if (n === 0) return null;
	const mean = known.reduce((sum, v) => sum + v, 0) / n;
	const squares = known.reduce((sum, v) => sum + (v - mean) ** 2, 0);
	const [low, high] = [Math.min(...known), Math.max(...known)];
	const half = low < high ? report.t95[n - 2] * Math.sqrt(squares / (n - 1) / n) + Math.abs(mean) * halfBin : NaN;
	const [from, to] = [Math.max(mean - half, Math.min(least, mean)), Math.min(mean + half, Math.max(most, mean))];
	return { n, mean, half, from, to, low, high, values: known };
}

// Joins each `k` values: their mean, lowest, highest or last; NaN where all are missing.
function join(values, k, how) {
	if (k === 1) return values;
	const joined = new Float32Array(Math.floor(values.length / k));
	for (let i = 0; i < joined.length; i++) {
		let [n, sum, low, high, last] = [0, 0, Infinity, -Infinity, NaN];
		for (let j = i * k; j < (i + 1) * k; j++) {
			const value = values[j];
			if (Number.isNaN(value)) continue;
			n += 1;
			sum += value;
			if (value < low) low = value;
			if (value > high) high = value;
			last = value;
		}
		joined[i] = n === 0 ? NaN : { low, high, last, mean: sum / n }[how];
	}
	return joined;
}

// Over some rows, point by point: the mean and a band, from the lowest to the highest or the 95 % interval of the mean,
// which ends at 0 and at `top`, as far as what is shown does.
function fold(rows, interval, { lows = rows, highs = rows, top = Infinity } = {}) {
	const length = rows[0]?.length ?? 0;
	const [mean, low, high] = [0, 0, 0].map(() => new Float32Array(length).fill(NaN));
	for (let i = 0; i < length; i++) {
		let [n, sum, squares, least, most] = [0, 0, 0, Infinity, -Infinity];
		for (let k = 0; k < rows.length; k++) {
			const value = rows[k][i];
			if (Number.isNaN(value)) continue;
			n += 1;
			sum += value;
			least = Math.min(least, lows[k][i]);
			most = Math.max(most, highs[k][i]);
		}
		if (n === 0) continue;
		mean[i] = sum / n;
		if (!interval) {
			[low[i], high[i]] = [least, most];
		} else if (n > 1) {
			for (const values of rows) squares += Number.isNaN(values[i]) ? 0 : (values[i] - mean[i]) ** 2;
			const half = report.t95[n - 2] * Math.sqrt(squares / (n - 1) / n);
			[low[i], high[i]] = [Math.max(0, mean[i] - half), Math.min(mean[i] + half, Math.max(top, mean[i]))];
		}
	}
	return { mean, low, high };
}

// ------------------------------------------------------------------------------------------------------- words

// Three significant digits, as in the tables.
function digits(value) {
	if (value == null || Number.isNaN(value)) return "–";
	const size = Math.abs(value);
	if (size !== 0 && size < 0.001) return value.toExponential(1).replace("-", "−");
	const decimals = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
	return value.toFixed(decimals).replace("-", "−");
}

const withUnit = (text, unit) => (unit ? `${text} ${unit}` : text);
const axisLabel = (label, unit) => (unit ? `${label} (${unit})` : label);
const plural = (n, one) => `${n} ${one}${n === 1 ? "" : "s"}`;
const unique = (items) => [...new Set(items)];

function slug(text) {
	return text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60);
}

// ----------------------------------------------------------------------------------------------------- colours

// What is on paper has the light colours of the style sheet, written out, since a file knows no style sheet.
const paperInks = new Map([...sheet.matchAll(/(--\w+): light-dark\((#\w+)/g)].map(([, name, light]) => [name, light]));

// A look is a colour, and for each round through the colours another kind of line; which law has which look says
// crates/results/src/contender.rs. A law by itself has its colour on every page, solid; on a further ground, or beside
// itself, the same colour in another line. Two laws that share a link have a colour that is no law's, one pair after
// the other, and another line where those colours are used up.
const DASHES = [[], [8, 4], [2, 2, 2, 5], [10, 2, 2, 2]];
const lookColour = (look) => `--law${look % COLOURS_N}`;
const lookLine = (look) => Math.floor(look / COLOURS_N) % DASHES.length;
const lawColour = (law) => lookColour(report.looks[law]);
const lawClass = (law) => `law${report.looks[law] % COLOURS_N} line${lookLine(report.looks[law])}`;
const lawDash = (law) => DASHES[lookLine(report.looks[law])];
