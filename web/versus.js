// What laws do to each other: a matrix for each quantity, with a row per law and a column per law that it was beside.
// crates/results/src/report/versus.rs says what the fields are.

function versusPanel({ label, rows, beside, looks, cells }) {
	const marks = cells.flatMap((line, k) => line.flatMap((cell, x) => (cell ? [{
		kind: "cell", x, y: rows.length - 1 - k, colour: lookColour(looks[k]), shade: cell.shade, strong: cell.strong,
		lines: cell.text.replace(" ±", "\n±").replace(" (", "\n(").split("\n"),
		text: `${label}: ${rows[k]} beside ${beside[x]}: ${cell.text}`,
	}] : [])));
	const ticks = (names, at) => names.map((name, k) => ({ at: at(k), label: name }));
	return {
		title: label, marks, height: 34 * rows.length, isPlain: true,
		x: { min: -0.5, max: beside.length - 0.5, ticks: ticks(beside, (k) => k), label: "beside" },
		y: { min: -0.5, max: rows.length - 0.5, ticks: ticks(rows, (k) => rows.length - 1 - k) },
	};
}

function versusFigure() {
	const here = report.versus.filter(({ link, point }) => link === state.link && point === state.point);
	if (here.length === 0) return null;
	return {
		id: "versus", title: "Beside each other", where: whereText(),
		note: `of the law in the row${here[0].about}; harm: what the other law takes of what it has alone, `
			+ `* more than it takes from itself; fair: within 25 % of the fair share for 5 s; ${intervalText()}`,
		panels: here.map(versusPanel), legend: [], columns: 4, columnsWide: 4, columnsNarrow: 2, panelWidth: 290,
	};
}
