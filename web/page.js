"use strict";

// The first part of the page's script: what only a page has. The parts that make figures (data.js to pictures.js) know
// no document; `fadelab figure` runs them by themselves, with `report`, `sheet` and `atob` from elsewhere.

const report = JSON.parse(document.getElementById("data").textContent);
const sheet = document.querySelector("style").textContent;

function element(name, attributes = {}, ...children) {
	const made = document.createElement(name);
	for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
	made.append(...children);
	return made;
}

// What the style sheet calls `name` comes to in the page's scheme. A canvas knows no style sheet.
const probe = document.body.appendChild(element("span", { hidden: "" }));
function colour(name) {
	probe.style.color = `var(${name})`;
	return getComputedStyle(probe).color;
}

function withAlpha(rgb, alpha) {
	const [r, g, b] = rgb.match(/[\d.]+/g);
	return `rgba(${r}, ${g}, ${b}, ${alpha})`;
}
