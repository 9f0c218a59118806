// Opens a page in a browser and checks what crates/results/tests/browser.rs asks for:
//   node drive.mjs BROWSER PAGE CHECK
// Status 0 when the check holds; otherwise the reason is on the error stream. The page must not complain meanwhile.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

import { checks } from "./checks.mjs";

const [browserPath, file, name] = process.argv.slice(2);
const place = fs.mkdtempSync(path.join(os.tmpdir(), "fadelab-page-"));
const browser = await puppeteer.launch({
	executablePath: browserPath,
	userDataDir: path.join(place, "profile"),
	args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});
try {
	const page = await browser.newPage();
	const complaints = [];
	page.on("console", (message) => complaints.push(message.text()));
	page.on("pageerror", (error) => complaints.push(error.message));
	page.on("request", (request) => {
		if (!/^(file|data|blob):/.test(request.url())) complaints.push(`asks for ${request.url()}`);
	});
	const downloads = path.join(place, "downloads");
	const session = await browser.target().createCDPSession();
	await session.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: downloads });
	await page.setViewport({ width: 1280, height: 6000 });
	await page.goto(pathToFileURL(file).href);
	await page.waitForFunction("document.documentElement.dataset.charts");
	await checks[name]({ page, downloads });
	assert.deepEqual(complaints, []);
} catch (error) {
	process.stderr.write(`${error.stack}\n`);
	process.exitCode = 1;
} finally {
	await browser.close();
	fs.rmSync(place, { recursive: true, force: true });
}
