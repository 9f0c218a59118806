// Charts as files that the reader saves.

function offer(name, blob) {
	const link = element("a", { download: name });
	link.href = URL.createObjectURL(blob);
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function saveSvg(figure, form) {
	offer(`${fileName(figure)}.svg`, new Blob([svgText(figure, form)], { type: "image/svg+xml" }));
}

// The wide drawing at twice the pixels of a screen.
async function savePng(figure) {
	const text = svgText(figure, "wide");
	const image = new Image();
	image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
	await image.decode();
	const canvas = element("canvas", { width: image.width * 2, height: image.height * 2 });
	canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
	canvas.toBlob((blob) => offer(`${fileName(figure)}.png`, blob), "image/png");
}

const fileName = (figure) => slug([report.title, figure.id, figure.where ?? ""].join(" "));
