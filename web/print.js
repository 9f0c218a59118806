// Printing: each chart as the vectors of its file, whether it was in view before or not, and all that is folded open.

const opened = [];

function beforePrint() {
	for (const folded of document.querySelectorAll("details:not([open])")) {
		folded.open = true;
		opened.push(folded);
	}
	for (const chart of charts) {
		const figure = chart.build();
		chart.place.classList.toggle("empty", !figure);
		if (!figure) continue;
		chart.title.textContent = figure.title;
		chart.note.textContent = noteWithPlace(figure);
		const style = chart.place.closest(".pairs") ? PAPER.narrow : PAPER.wide;
		const drawn = element("div", { class: "printed" });
		drawn.innerHTML = drawFigure(forPaper(figure, style), style, true).text;
		chart.place.append(drawn);
	}
}

function afterPrint() {
	for (const drawn of document.querySelectorAll(".printed")) drawn.remove();
	for (const folded of opened.splice(0)) folded.open = false;
}

window.addEventListener("beforeprint", beforePrint);
window.addEventListener("afterprint", afterPrint);
