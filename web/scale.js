// Axes: where values lie between two ends, and which of them are written beside.

// The mean of a step of 1, 2 or 5 times a power of ten that gives at most `most` steps over `span`.
function niceStep(span, most) {
	const rough = span / Math.max(1, most);
	const decade = 10 ** Math.floor(Math.log10(rough));
	return [1, 2, 5, 10].map((n) => n * decade).find((step) => step >= rough * 0.999999);
}

function linearTicks(min, max, most) {
	if (!(max > min)) return [min];
	const step = niceStep(max - min, most);
	const ticks = [];
	for (let k = Math.ceil(min / step - 1e-9); k * step <= max + step * 1e-9; k++) ticks.push(k * step);
	return ticks;
}

// An axis with fewer says too little of what lies between.
const TICKS_MIN = 3;

// The widest steps that give at least three ticks.
function enoughTicks(min, max, most) {
	if (!(max > min)) return [min];
	for (let n = Math.max(most, TICKS_MIN); ; n += 1) {
		const ticks = linearTicks(min, max, n);
		if (ticks.length >= TICKS_MIN) return ticks;
	}
}

// Powers of ten, or 1, 2, 5 times them where there are few, or equal steps where those are few.
function logTicks(min, max) {
	const [from, to] = [Math.floor(Math.log10(min)), Math.ceil(Math.log10(max))];
	const within = (steps) => {
		const ticks = [];
		for (let power = from; power <= to; power++) {
			for (const step of steps) {
				const at = step * 10 ** power;
				if (at >= min * 0.999 && at <= max * 1.001) ticks.push(at);
			}
		}
		return ticks;
	};
	const decades = within([1]);
	const found = [decades, within([1, 2, 5])].find((ticks) => ticks.length >= TICKS_MIN);
	return found ?? enoughTicks(min, max, TICKS_MIN);
}

// As many decimals as tell neighbouring ticks apart.
function tickText(value, ticks) {
	const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : Math.abs(value) || 1;
	const size = Math.max(...ticks.map(Math.abs));
	if (size >= 1e6 || (size > 0 && size < 1e-3)) {
		const [mantissa, power] = value.toExponential(1).split("e");
		return value === 0 ? "0" : `${Number(mantissa)}e${Number(power)}`.replaceAll("-", "−");
	}
	const decimals = Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9)));
	const close = Math.abs(step * 10 ** decimals - Math.round(step * 10 ** decimals)) > 1e-6 ? 1 : 0;
	return value.toFixed(decimals + close).replace("-", "−");
}

// axis: {min, max, log, ticks: [{at, label}], label}. Gives `at`, which maps a value to 0..1, and the ticks.
function scaleOf(axis, most) {
	const through = axis.log ? (v) => Math.log10(Math.max(v, 1e-300)) : (v) => v;
	const [from, to] = [through(axis.min), through(axis.max)];
	const at = (value) => (through(value) - from) / (to - from || 1);
	if (axis.ticks) return { at, ticks: axis.ticks };
	const ticks = axis.log ? logTicks(axis.min, axis.max) : enoughTicks(axis.min, axis.max, most);
	const label = (value) => (axis.log ? String(Number(value.toPrecision(3))) : tickText(value, ticks));
	return { at, ticks: ticks.map((value) => ({ at: value, label: label(value) })) };
}

// Ends of an axis that has all of `values` on it with some air, and 0 if `zero`; never beyond `least` and `most`, which
// are what can be: a share is at most 1.
function ends(values, { least = -Infinity, most = Infinity, ...how } = {}) {
	const { min, max, log } = airyEnds(values, how);
	const [from, to] = [Math.max(min, log ? 0 : least), Math.min(max, most)];
	return from < to && (!log || from > 0) ? { min: from, max: to, log } : { min, max, log };
}

function airyEnds(values, { zero = false, log = false, air = 0.06 }) {
	const known = values.filter((v) => Number.isFinite(v) && (!log || v > 0));
	if (known.length === 0) return { min: log ? 1 : 0, max: log ? 10 : 1, log };
	let [min, max] = [Math.min(...known), Math.max(...known)];
	if (log) {
		const wide = (max / min) ** air;
		return max > min ? { min: min / wide, max: max * wide, log } : { min: min / 2, max: max * 2, log };
	}
	if (zero) [min, max] = [Math.min(0, min), Math.max(0, max)];
	const wide = (max - min || Math.abs(max) || 1) * air;
	return { min: min === 0 && zero ? 0 : min - wide, max: max === 0 && zero ? 0 : max + wide, log };
}
