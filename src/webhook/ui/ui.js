// SPDX-License-Identifier: Apache-2.0
//
// The dashboard. Reads the cluster's API with the rights of whoever opened the
// page, through whatever the page itself came through; writes nothing. Names
// and sentences of objects are others': they become text, never markup.
//
// "?namespace=NS" shows one namespace, for those who may not list all.
"use strict";

const BUSY_MS = 1000; // between two looks while something moves
const IDLE_MS = 3000;
const DEADLINE_MS = 20000; // of a request
const SAMPLES_MAX = 600; // of a migration's plots
const HISTORY_MAX = 50;
const FINAL = ["Succeeded", "Failed"];

const namespace = new URLSearchParams(location.search).get("namespace");
const root = location.pathname.split("/apis/subresources.kubevirt.io/")[0];
const samples = new Map(); // UID of a migration -> its samples

function make(tag, content, className) {
	const element = document.createElement(tag);

	if (className)
		element.className = className;
	if (content instanceof Node)
		element.append(content);
	else if (content !== undefined && content !== null)
		element.textContent = String(content);
	return element;
}

function bytes(value) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB"];
	let number = value || 0;
	let unit = 0;

	for (; number >= 1024 && unit < units.length - 1; unit++)
		number /= 1024;
	return (unit ? number.toFixed(number < 10 ? 1 : 0) : number) + " " +
		units[unit];
}

function seconds(value) {
	const whole = Math.max(0, Math.round(value));

	if (whole < 60)
		return whole + " s";
	if (whole < 3600)
		return Math.floor(whole / 60) + " min " + whole % 60 + " s";
	return Math.floor(whole / 3600) + " h " + Math.floor(whole / 60) % 60 +
		" min";
}

function ago(time) {
	return time ? seconds((Date.now() - Date.parse(time)) / 1000) + " ago"
		: "";
}

async function list(group, plural, namespaced) {
	const scope = namespaced && namespace
		? "/namespaces/" + encodeURIComponent(namespace) : "";
	const answer = await fetch(root + group + scope + "/" + plural, {
		headers: { Accept: "application/json" },
		signal: AbortSignal.timeout(DEADLINE_MS),
	});

	if (!answer.ok)
		throw new Error(plural + ": " + answer.status + " " +
			answer.statusText);
	return (await answer.json()).items || [];
}

// What may not be read is shown as missing; the rest is shown.
async function read() {
	const wanted = [["/api/v1", "nodes", false],
		["/apis/kubevirt.io/v1", "virtualmachines", true],
		["/apis/kubevirt.io/v1", "virtualmachineinstances", true],
		["/apis/kubevirt.io/v1", "virtualmachineinstancemigrations",
			true]];
	const answers = await Promise.allSettled(
		wanted.map((each) => list(...each)));
	const [nodes, vms, vmis, vmims] = answers.map(
		(answer) => answer.status === "fulfilled" ? answer.value : []);
	const problems = answers.filter((a) => a.status === "rejected")
		.map((a) => a.reason.message);

	return { nodes, vms, vmis, vmims, problems };
}

function keyOf(object, name) {
	return object.metadata.namespace + "/" + (name || object.metadata.name);
}

function condition(object, type) {
	return ((object.status || {}).conditions || [])
		.find((each) => each.type === type);
}

function phaseOf(vmim) {
	return (vmim.status || {}).phase || "Unset";
}

// The machine's state is newer than the migration's copy of it.
function stateOf(vmim, vmi) {
	const own = (vmi && vmi.status || {}).migrationState || {};

	if (own.migrationUid === vmim.metadata.uid)
		return own;
	return (vmim.status || {}).migrationState || {};
}

function fill(id, rows, columns) {
	const body = document.querySelector("#" + id + " tbody");

	if (rows.length === 0) {
		const cell = make("td", "none", "dim");

		cell.colSpan = columns;
		rows = [make("tr", cell)];
	}
	body.replaceChildren(...rows);
}

function row(...cells) {
	const line = document.createElement("tr");

	line.append(...cells);
	return line;
}

function showNodes(world) {
	const active = world.vmims.filter((m) => !FINAL.includes(phaseOf(m)));
	const states = active.map((m) => stateOf(m, world.byKey.get(
		keyOf(m, m.spec.vmiName))));
	const count = (member, node) => states.filter(
		(state) => state[member] === node).length;

	fill("nodes", world.nodes.map((node) => {
		const name = node.metadata.name;
		const ready = (condition(node, "Ready") || {}).status === "True";
		const closed = (node.spec || {}).unschedulable;
		const text = !ready ? "not ready" : closed ? "closed" : "ready";

		return row(make("td", name),
			make("td", text, text === "ready" ? "good" : "bad"),
			make("td", world.vmis.filter((vmi) =>
				(vmi.status || {}).nodeName === name).length, "n"),
			make("td", count("sourceNode", name), "n"),
			make("td", count("targetNode", name), "n"));
	}), 5);
}

function statusClass(status) {
	if (status === "Running")
		return "good";
	if (status === "Migrating" || status === "Starting")
		return "busy";
	return /Error|Fail|Crash/.test(status) ? "bad" : "";
}

function migratable(vmi) {
	const found = vmi && condition(vmi, "LiveMigratable");

	if (!found)
		return make("td", "");
	if (found.status === "True")
		return make("td", "yes", "good");
	return make("td", found.message || found.reason || "no", "bad");
}

function showMachines(world) {
	const owned = new Set(world.vms.map((vm) => keyOf(vm)));
	const all = [...world.vms,
		...world.vmis.filter((vmi) => !owned.has(keyOf(vmi)))];

	fill("machines", all.map((machine) => {
		const vmi = world.byKey.get(keyOf(machine));
		const status = (machine.status || {}).printableStatus ||
			(machine.status || {}).phase || "";
		const spec = (vmi || (machine.spec || {}).template || machine)
			.spec || {};
		const memory = ((spec.domain || {}).memory || {}).guest || "";

		return row(make("td", keyOf(machine)),
			make("td", status, statusClass(status)),
			make("td", (vmi && vmi.status || {}).nodeName || ""),
			make("td", memory, "n"), migratable(vmi));
	}), 5);
}

// When a migration ended. The nodes know it more exactly, if they had it.
function endOf(vmim) {
	const status = vmim.status || {};
	const last = (status.phaseTransitionTimestamps || []).find(
		(each) => each.phase === status.phase) || {};

	return (status.migrationState || {}).endTimestamp ||
		last.phaseTransitionTimestamp ||
		vmim.metadata.creationTimestamp;
}

// Why one failed: a code for `ferryctl explain`, and a sentence.
function whyOf(vmim) {
	const state = (vmim.status || {}).migrationState || {};
	const failure = condition(vmim, "ferry.io/Failure") || {};

	return [state.failureCode || failure.reason,
		state.failureReason || failure.message]
		.filter((part) => part).join(": ");
}

function wayOf(state) {
	return state.sourceNode
		? state.sourceNode + " → " + (state.targetNode || "?") : "";
}

function showHistory(world) {
	const ended = world.vmims.filter((m) => FINAL.includes(phaseOf(m)));

	ended.sort((a, b) => Date.parse(endOf(b)) - Date.parse(endOf(a)));
	fill("history", ended.slice(0, HISTORY_MAX).map((m) => {
		const state = (m.status || {}).migrationState || {};
		const good = phaseOf(m) === "Succeeded";
		const took = state.startTimestamp && state.endTimestamp
			? seconds((Date.parse(state.endTimestamp) -
				Date.parse(state.startTimestamp)) / 1000) : "";
		const known = good && (state.progress || {}).blackoutMs;
		const blackout = known ? known + " ms" : good ? "not known" : "";

		return row(make("td", keyOf(m, m.spec.vmiName)),
			make("td", m.metadata.name),
			make("td", phaseOf(m), good ? "good" : "bad"),
			make("td", wayOf(state)),
			make("td", ago(endOf(m)), "n"), make("td", took, "n"),
			make("td", blackout, "n"), make("td", good ? "" : whyOf(m)));
	}), 8);
}

// QEMU measures it from one round to the next: nobody knows it in the first.
function dirtyRate(progress) {
	return progress.iteration > 1
		? progress.dirtyRateBytesPerSecond || 0 : undefined;
}

function keepSample(uid, progress) {
	const kept = samples.get(uid) || [];
	const last = kept[kept.length - 1];

	if (!progress.bytesTotal) // nothing is known yet
		return kept;
	if (!last || last.processed !== progress.bytesProcessed ||
		last.remaining !== progress.bytesRemaining)
		kept.push({
			time: Date.now(),
			processed: progress.bytesProcessed,
			remaining: progress.bytesRemaining || 0,
			dirty: dirtyRate(progress),
		});
	samples.set(uid, kept.slice(-SAMPLES_MAX));
	return samples.get(uid);
}

function plot(kept, member, caption) {
	const svgNamespace = "http://www.w3.org/2000/svg";
	const svg = document.createElementNS(svgNamespace, "svg");
	const line = document.createElementNS(svgNamespace, "polyline");
	const figure = document.createElement("figure");
	const known = kept.filter((each) => each[member] !== undefined);
	const peak = Math.max(0, ...known.map((each) => each[member]));
	const most = peak || 1;
	const from = kept[0].time;
	const span = Math.max(1, kept[kept.length - 1].time - from);

	svg.setAttribute("viewBox", "0 0 100 100");
	svg.setAttribute("preserveAspectRatio", "none");
	svg.setAttribute("role", "img");
	svg.setAttribute("aria-label", caption);
	line.setAttribute("class", member);
	line.setAttribute("points", known.map((each) =>
		((each.time - from) / span * 100).toFixed(2) + "," +
		(98 - each[member] / most * 96).toFixed(2)).join(" "));
	svg.append(line);
	figure.append(svg, make("figcaption", caption + ", " +
		seconds(span / 1000) + (known.length ? ", at most " +
			bytes(peak) + (member === "dirty" ? "/s" : "")
			: ", not known yet")));
	return figure;
}

function figureText(name, value) {
	const span = make("span", name + " ");

	span.append(make("b", value));
	return span;
}

function showProgress(card, uid, state) {
	const progress = state.progress;
	const bar = document.createElement("progress");
	const figures = make("div", undefined, "figures");
	const plots = make("div", undefined, "plots");
	const kept = keepSample(uid, progress);

	bar.max = 100;
	bar.value = progress.percent || 0;
	figures.append(figureText("copied", (progress.percent || 0) + " %"),
		figureText("remaining", bytes(progress.bytesRemaining)),
		figureText("of", bytes(progress.bytesTotal)),
		figureText("rate", bytes(progress.rateBytesPerSecond) + "/s"),
		figureText("guest writes", dirtyRate(progress) === undefined
			? "not known yet" : bytes(dirtyRate(progress)) + "/s"),
		figureText("round", progress.iteration || 0),
		figureText("mode", state.mode || "PreCopy"));
	if (progress.etaSeconds)
		figures.append(figureText("left", seconds(progress.etaSeconds)));
	if (progress.throttlePercent)
		figures.append(figureText("guest slowed by",
			progress.throttlePercent + " %"));
	if (kept.length)
		plots.append(plot(kept, "remaining", "Memory that remains"),
			plot(kept, "dirty", "What the guest writes"));
	card.append(bar, figures, plots);
}

function showMigration(vmim, vmi) {
	const state = stateOf(vmim, vmi);
	const waiting = condition(vmim, "ferry.io/Waiting");
	const card = make("article", undefined, "migration");
	const way = state.sourceNode ? ": " + wayOf(state) : "";

	card.dataset.name = vmim.metadata.name;
	card.append(make("h3", keyOf(vmim, vmim.spec.vmiName) + way),
		make("p", vmim.metadata.name + ", " + phaseOf(vmim) + ", begun " +
			ago(vmim.metadata.creationTimestamp), "dim"));
	if (state.progress)
		showProgress(card, vmim.metadata.uid, state);
	if (waiting && waiting.status === "True" && waiting.reason !== "Transfer")
		card.append(make("p", "Waits: " + waiting.reason + ". " +
			(waiting.message || ""), "busy"));
	return card;
}

function showRunning(world) {
	const active = world.vmims.filter((m) => !FINAL.includes(phaseOf(m)));
	const uids = new Set(active.map((m) => m.metadata.uid));

	for (const uid of samples.keys())
		if (!uids.has(uid))
			samples.delete(uid);
	active.sort((a, b) => Date.parse(a.metadata.creationTimestamp) -
		Date.parse(b.metadata.creationTimestamp));
	document.getElementById("running").replaceChildren(...(active.length
		? active.map((m) => showMigration(m, world.byKey.get(
			keyOf(m, m.spec.vmiName))))
		: [make("p", "none", "dim")]));
	return active.length;
}

function say(text, bad) {
	const state = document.getElementById("state");

	state.textContent = text;
	state.className = bad ? "bad" : "";
}

async function look() {
	let running = 0;

	try {
		const world = await read();

		world.byKey = new Map(world.vmis.map((vmi) => [keyOf(vmi), vmi]));
		running = showRunning(world);
		showMachines(world);
		showNodes(world);
		showHistory(world);
		say(world.problems.length ? world.problems.join("; ")
			: "as of " + new Date().toLocaleTimeString(),
			world.problems.length !== 0);
	} catch (error) {
		say(error.message, true);
	}
	setTimeout(look, running ? BUSY_MS : IDLE_MS);
}

document.getElementById("scope").textContent = namespace
	? "namespace " + namespace : "all namespaces";
look();
