// Puts the charts on the page.

(() => {
	const at = (id) => document.getElementById(id);
	const still = (id, figures) => Object.values(figures).map((build) => new Chart(at(id), build, drawStill));
	const live = (id, figures) => Object.values(figures).map((build) => new Chart(at(id), build, drawLive));

	themeButton();
	fillControls();
	pictureCharts = report.pictures.flatMap((picture, place) => still(`picture-${place}`, [pictureFigure(picture)]));
	const versus = report.versus.length > 0 ? still("versus-charts", [versusFigure]) : [];
	const sweep = report.points.length > 1 ? still("sweep-charts", [sweepFigure]) : [];
	const compared = report.laws.length > 1 ? [intervalsFigure, differencesFigure] : [intervalsFigure];
	const spread = report.panels.length > 0 ? SPREAD_FIGURES : [];
	otherCharts = [...versus, ...sweep, ...still("compare-charts", compared), ...still("spread-charts", spread)];
	timeCharts = report.panels.length > 0 ? live("time-charts", TIME_FIGURES) : [];
	if (report.panels.length === 0) {
		const note = "No time series was recorded, so there are no curves.";
		at("time-charts").append(element("p", { class: "note" }, note));
		document.documentElement.dataset.charts = 0;
	}
	timeCharts.push(...live("watch-charts", WATCH_FIGURES));
	let width = at("time-charts").clientWidth;
	new ResizeObserver(() => {
		if (at("time-charts").clientWidth === width) return;
		width = at("time-charts").clientWidth;
		refreshAll();
	}).observe(at("time-charts"));
})();
