// What is shown: by the reader's choice on the page, by options of the command on paper.

const state = {
	point: 0,
	// Of laws beside each other several points are shown at once, on paper.
	points: [],
	link: report.bottleneck ?? report.panels[0]?.link ?? report.groups[0]?.link ?? "",
	seed: null,
	hidden: new Set(),
	front: null,
	apart: false,
	interval: false,
	// null: as lines, but of a crowd of transfers not at all.
	flows: null,
	picked: new Set(),
	zoom: null,
	metric: 0,
	base: 0,
	axis: Math.max(0, report.keys.findIndex((key) => key.numbers)),
	difference: false,
	logX: false,
	logY: false,
};
