// lists.js: fleets, scripts, queues, events.
import { h, show, number, bytes, duration, time, last, badge, table, clip, section, filters, words, toPlayer, without } from "./dom.js";
import { get, stream, listen } from "./api.js";
import { every } from "./refresh.js";
import { linkTo } from "./gamesessions.js";

const failures = ["FLEET_VALIDATION_LAUNCH_PATH_NOT_FOUND", "FLEET_VALIDATION_EXECUTABLE_RUNTIME_FAILURE", "SERVER_PROCESS_CRASHED", "GAME_SESSION_ACTIVATION_TIMEOUT"];
const fleetsAsked = 20;

// happened reads what happened to fleets lately, the newest first. It asks for the first fleets only, as the page is loaded often.
async function happened(fleets) {
  const all = await Promise.all(fleets.slice(0, fleetsAsked).map(async (f) => (await get("fleet/events", { id: f.id, limit: 50 }).catch(() => ({ events: [] }))).events.map((e) => ({ ...e, fleet: f }))));
  return all.flat().sort((a, b) => b.at.localeCompare(a.at)); // those of one moment keep their order
}

const eventColumns = [
  ["Last time", (e) => time(e.at)],
  ["Fleet", (e) => clip(e.fleet.name || e.fleet.id)],
  ["What", (e) => h("span", { class: "badge " + (failures.includes(e.code) ? "bad" : "") }, e.code.replace(/^FLEET_VALIDATION_/, "").replaceAll("_", " ").toLowerCase())],
  ["Times", (e) => (e.count > 100 ? "over 100" : number(e.count)), "number"],
  ["Says", (e) => e.message, "wide"],
];

export function fleets(body, _query, page) {
  const load = async () => {
    const [f, a, l] = await Promise.all([get("fleets"), get("aliases"), get("locations")]);
    const rows = f.fleets.flatMap((x) => (x.locations.length ? x.locations : [{}]).map((at) => ({ ...x, ...at })));
    const events = await happened(f.fleets);
    show(body,
      section("Fleets and their capacity", table("Fleets", [
        ["Fleet", (x) => clip(x.id, 40)], ["Name", (x) => clip(x.name)], ["Status", (x) => badge(x.status)], ["Location", (x) => x.location],
        ["Game sessions", (x) => number(x.gameSessions ?? 0), "number"], ["Processes", (x) => number(x.processes ?? 0), "number"],
        ["Players", (x) => `${number(x.players ?? 0)} / ${number(x.playersMax ?? 0)}`, "number"],
        ["Process groups", (x) => `${x.groupsActive ?? 0} of ${x.groupsWanted ?? 0}, at most ${x.groupsMax ?? 0}`],
        ["Runs", (x) => clip(x.launchPath || x.scriptId || x.buildId || "relay")], ["Created", (x) => time(x.created)],
      ], rows, "There is no fleet. The configuration names some, or CreateFleet makes one.")),
      section("Aliases", table("Aliases", [
        ["Alias", (x) => clip(x.id, 40)], ["Name", (x) => clip(x.name)], ["Leads to", (x) => (x.fleetId ? clip(x.fleetId, 40) : h("span", { class: "warn" }, "nothing: " + x.message))], ["Updated", (x) => time(x.updated)],
      ], a.aliases, "There is no alias.")),
      section("Locations", table("Locations", [
        ["Location", (x) => x.name], ["Made by the API", (x) => (x.custom ? "yes" : "no")], ["Game sessions at most", (x) => (x.gameSessionsMax ? number(x.gameSessionsMax) : "no bound"), "number"], ["Cost", (x) => String(x.cost), "number"],
      ], l.locations, "There is no location.")),
      section("What happened to fleets", table("What happened to fleets", eventColumns, events.slice(0, 50), "Nothing has happened yet.")));
  };
  return every(5000, load, page.problem, body).stop;
}

export function scripts(body, _query, page) {
  const load = async () => {
    const [f, s, o] = await Promise.all([get("fleets"), get("scripts"), get("overview")]);
    const errors = (await happened(f.fleets)).filter((e) => failures.includes(e.code));
    const run = (id) => f.fleets.filter((x) => x.scriptId === id).map((x) => x.name || x.id).join(", ");
    show(body, without(s.silentNodes),
      section("Uploaded scripts", table("Scripts", [
        ["Script", (x) => clip(x.id, 44)], ["Name", (x) => clip(x.name)], ["Version", (x) => clip(x.version)], ["Uploads", (x) => number(x.contents), "number"],
        ["Run by", (x) => clip(run(x.id))], ["Node", (x) => x.nodeVersion], ["Size", (x) => bytes(x.sizeBytes), "number"], ["Created", (x) => time(x.created)],
      ], s.scripts, "No script was uploaded. Fleets of the configuration have scripts of their own, below.")),
      section("Scripts of the configuration", table("Scripts of the configuration", [
        ["Fleet", (x) => clip(x.name || x.id)], ["Script", (x) => clip(x.launchPath || "relay: messages pass between players", 60)],
      ], f.fleets.filter((x) => !x.scriptId && !x.buildId), "Every fleet runs an uploaded script.")),
      section("Versions that run", table("Versions that run", [
        ["Fleet", (x) => clip(x.fleetId, 40)], ["Version", (x) => clip(x.scriptVersion || "no script")], ["Game sessions", (x) => number(x.gameSessions), "number"],
        ["Players", (x) => number(x.players), "number"], ["Newest game session", (x) => time(x.newest)],
      ], s.running, "No game session is ACTIVE. After an update, those that run go on with the version that they began with.")),
      section("Errors", h("p", { class: o.totals.scriptErrors ? "warn" : "hint" }, `${number(o.totals.scriptErrors)} errors of scripts since the start of the host. The log of a game session has their texts.`),
        table("Errors", eventColumns, errors.slice(0, 50), "No version failed to load, and no game session crashed.")));
  };
  return every(5000, load, page.problem, body).stop;
}

export function queues(body, _query, page) {
  const load = async () => {
    const { queues: all } = await get("queues");
    show(body, table("Queues", [
      ["Queue", (q) => h("a", { href: "#/placements?queue=" + encodeURIComponent(q.name) }, clip(q.name))],
      ["Destinations, in order", (q) => h("ol", { class: "plain" }, q.destinations.map((d) => h("li", { title: d }, last(d))))],
      ["Times out after", (q) => duration(q.timeoutSeconds), "number"],
      ["Latency policies", (q) => q.policies.map((p) => `${p.maxMilliseconds} ms${p.seconds ? " for " + duration(p.seconds) : ""}`).join(", then ")],
      ["Allowed locations", (q) => (q.allowedLocations ? q.allowedLocations.join(", ") : "all")],
      ["Priority", (q) => q.priorityOrder.join(", ")],
      ["Created", (q) => time(q.created)],
    ], all, "There is no queue. CreateGameSessionQueue makes one, or the configuration names it."));
  };
  return every(5000, load, page.problem, body).stop;
}

// about finds words for an event in the fields that the kinds of events have.
function about(detail) {
  const game = detail.gameSessionArn || detail.gameSessionId;
  const parts = [
    typeof game === "string" && game ? linkTo(game) : null,
    typeof detail.playerId === "string" && detail.playerId ? toPlayer(detail.playerId) : null,
    ...["placementId", "matchId", "action", "target", "by", "result", "status", "reason", "statusReason", "message"].map((n) => (typeof detail[n] === "string" && detail[n] ? `${n}: ${last(detail[n])}` : null)),
  ];
  return parts.filter(Boolean).flatMap((part, i) => (i ? [" · ", part] : [part]));
}

export function events(body, query, page) {
  const filter = words("about", query.get("about") || "", "FULFILLED, ann, operator…");
  const list = h("div", {});
  const search = () => { page.remember({ about: filter.value.trim() }); draw(); };
  filter.addEventListener("input", search);
  const draw = () => {
    const text = filter.value.trim().toLowerCase();
    const found = stream.events.filter((e) => !text || JSON.stringify(e).toLowerCase().includes(text));
    show(list, table("Events", [
      ["Event", (e) => (e.detail && e.detail.type) || e["detail-type"]],
      ["Time", (e) => time(e.time)],
      ["About", (e) => h("div", {}, about(e.detail || {}), h("details", {}, h("summary", {}, "JSON"), h("pre", {}, JSON.stringify(e, null, 2)))), "wide"],
    ], found.slice(0, 100), text ? "No event that is kept matches." : "Nothing has happened yet."));
  };
  show(body, filters([["Contains", filter]], search),
    h("p", { class: "hint" }, "Events as they happen, the newest first. Those of game sessions and player sessions are here with events.sse.own: true, which troupe dev sets."), list);
  draw();
  return listen((what) => what === "event" && !list.contains(document.activeElement) && !list.querySelector("details[open]") && draw());
}
