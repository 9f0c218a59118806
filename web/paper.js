// Figures by name: what `fadelab figure` asks for. crates/results/src/report/paper.rs says what a request is.

const SERIES = "a time series of the links (run.record)";
const FLOWS = "a time series (run.record) of two flows or more with a law";

const NAMED_FIGURES = [
	...report.pictures.map((picture) => ({
		name: picture.id, about: picture.title, build: pictureFigure(picture), needs: "",
	})),
	{
		name: "versus", about: "shares, harm and time to a fair share of laws beside each other", build: versusFigure,
		needs: "laws beside each other and alone ([versus])",
	},
	{
		name: "sweep", about: "a metric over a swept key; harm and share too where laws are beside each other",
		build: sweepFigure, needs: "a sweep over two values or more",
	},
	{ name: "utilisation", about: "of the link over time; throughput on a trace", needs: SERIES },
	{ name: "queue", about: "packets waiting over time", needs: SERIES },
	{ name: "rtt", about: "mean round-trip time over time", needs: SERIES },
	{ name: "cwnd", about: "congestion window of each flow", needs: FLOWS },
	{ name: "goodput", about: "goodput of each flow over time", needs: FLOWS },
	{ name: "flow-rtt", about: "round trips of each flow over time", needs: FLOWS },
	{ name: "metrics", about: "laws side by side in metrics", build: intervalsFigure, needs: "a finished run" },
	{
		name: "differences", about: "laws minus one law, seed by seed", build: differencesFigure,
		needs: "two laws or more",
	},
	{ name: "shares", about: "goodput of each flow", needs: FLOWS },
	{ name: "completion-by-size", about: "completion times of transfers", needs: "transfers of several sizes" },
	{ name: "completion-times", about: "their distribution function", needs: "transfers that ended" },
	{ name: "rtt-distribution", about: "distribution function of round trips, by group of flows", needs: SERIES },
	{
		name: "wait-distribution", about: "distribution function of queueing delays, by group of flows",
		needs: `${SERIES} in the simulator`,
	},
	...watchedValues.map((value) => ({
		name: slug(watchId(value)), about: value.meaning, needs: SERIES, build: WATCH_FIGURES[watchId(value)],
	})),
];

const SERIES_FIGURES = { ...TIME_FIGURES, ...SPREAD_FIGURES };

function builtOrNull({ name, build }) {
	if (build) return build();
	return report.panels.length > 0 ? SERIES_FIGURES[name]() : null;
}

// {name, about, needs, there} of each figure.
function figureList() {
	return NAMED_FIGURES.map((named) => {
		const { name, about, needs } = named;
		return { name, about, needs, there: builtOrNull(named) != null };
	});
}

// What no request says is as it was at first, whatever was drawn before.
const stateAtFirst = { ...state };

function figureAsked(request) {
	Object.assign(state, stateAtFirst, { interval: true }, request.state);
	const named = NAMED_FIGURES.find(({ name }) => name === request.name);
	state.hidden = new Set(request.hidden);
	const figure = builtOrNull(named);
	if (!figure) return null;
	const point = report.points.length > 1 ? report.points[state.point] : "";
	const at = point && (figure.where ?? "").includes(point) ? point : "";
	return { svg: svgText(figure, request.width), note: figure.note, title: figure.title, at };
}
