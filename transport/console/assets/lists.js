// lists.js: players, fleets and scripts, queues, placements, events.
import { h, show, number, bytes, duration, time, badge, table } from "./dom.js";
import { get, act, stream, listen } from "./api.js";
import { every } from "./refresh.js";
import { linkTo, playerColumns } from "./gamesessions.js";

const section = (title, ...content) => h("section", { class: "panel" }, h("h2", {}, title), content);

export function connections(body, query, page) {
  const who = h("input", { id: "who", type: "search", value: query.get("player") || "", placeholder: "ann", spellcheck: "false", autocomplete: "off" });
  const sort = h("select", { id: "sort" }, [["queue", "Longest queue"], ["rtt", "Slowest round trip"], ["newest", "Newest"]].map(([v, t]) => h("option", { value: v }, t)));
  const list = h("div", {});
  sort.addEventListener("change", () => timer.now());
  show(body, h("form", { class: "filters", role: "search", onsubmit: (e) => { e.preventDefault(); timer.now(); } },
    h("label", { for: "who" }, "Player id"), who,
    h("label", { for: "sort" }, "First"), sort,
    h("button", { type: "submit" }, "Search")),
  h("p", { class: "hint" }, "Without a player id: those who play now. With one: all player sessions of that player, also those that are over, and why."), list);
  const columns = [...playerColumns.slice(0, 1), ["Game session", (p) => linkTo(p.gameSessionId)], ...playerColumns.slice(1)];
  const load = async () => {
    const player = who.value.trim();
    const found = player ? await get("players", { player }) : await get("connections", { sort: sort.value, limit: 100 });
    const rows = found.players || found.connections;
    show(list, h("p", { class: "count" }, `${number(found.matched)} ${player ? "player sessions" : "players"}${rows.length < found.matched ? `, ${rows.length} shown` : ""}`),
      table("Players", columns, rows, player ? "No player session has this player id." : "Nobody plays at the moment."));
  };
  const timer = every(3000, load, page.problem, list);
  return timer.stop;
}

export function fleets(body, _query, page) {
  const load = async () => {
    const [f, s] = await Promise.all([get("fleets"), get("scripts")]);
    const rows = f.fleets.flatMap((x) => (x.locations.length ? x.locations : [{}]).map((l) => ({ ...x, ...l })));
    show(body,
      section("Fleets", table("Fleets", [
        ["Fleet", (x) => x.id], ["Name", (x) => x.name], ["Status", (x) => badge(x.status)], ["Location", (x) => x.location],
        ["Game sessions", (x) => number(x.gameSessions ?? 0), "number"], ["Processes", (x) => number(x.processes ?? 0), "number"],
        ["Players", (x) => `${number(x.players ?? 0)} / ${number(x.playersMax ?? 0)}`, "number"],
        ["Process groups", (x) => `${x.groupsActive ?? 0} active of ${x.groupsWanted ?? 0} (${x.groupsMin ?? 0} to ${x.groupsMax ?? 0})`],
        ["Runs", (x) => x.launchPath || x.scriptId || "relay"], ["Aliases", (x) => x.aliases.join(", ")], ["Created", (x) => time(x.created)],
      ], rows)),
      section("Scripts", table("Scripts", [
        ["Script", (x) => x.id], ["Name", (x) => x.name], ["Version", (x) => x.version], ["Contents", (x) => number(x.contents), "number"],
        ["Node", (x) => x.nodeVersion], ["Size", (x) => bytes(x.sizeBytes), "number"], ["Created", (x) => time(x.created)],
      ], s.scripts, "No script was uploaded. Fleets of the configuration have their own.")));
  };
  return every(5000, load, page.problem, body).stop;
}

export function queues(body, _query, page) {
  const load = async () => {
    const { queues: all } = await get("queues");
    show(body, table("Queues", [
      ["Queue", (q) => h("a", { href: "#/placements?queue=" + encodeURIComponent(q.name) }, q.name)],
      ["Destinations, in order", (q) => h("ol", { class: "plain" }, q.destinations.map((d) => h("li", { title: d }, d.slice(d.lastIndexOf("/") + 1))))],
      ["Times out after", (q) => duration(q.timeoutSeconds), "number"],
      ["Latency policies", (q) => q.policies.map((p) => `${p.maxMilliseconds} ms${p.seconds ? " for " + duration(p.seconds) : ""}`).join(", then ")],
      ["Allowed locations", (q) => (q.allowedLocations ? q.allowedLocations.join(", ") : "all")],
      ["Priority", (q) => q.priorityOrder.join(", ")],
      ["Created", (q) => time(q.created)],
    ], all, "There is no queue."));
  };
  return every(5000, load, page.problem, body).stop;
}

export function placements(body, query, page) {
  const queue = h("input", { id: "queue", type: "search", value: query.get("queue") || "", spellcheck: "false", autocomplete: "off" });
  const status = h("select", { id: "status" }, ["any", "PENDING", "FULFILLED", "CANCELLED", "TIMED_OUT", "FAILED"].map((s) => h("option", { value: s }, s)));
  const list = h("div", {});
  status.addEventListener("change", () => timer.now());
  show(body, h("form", { class: "filters", role: "search", onsubmit: (e) => { e.preventDefault(); timer.now(); } },
    h("label", { for: "queue" }, "Queue"), queue, h("label", { for: "status" }, "Status"), status, h("button", { type: "submit" }, "Search")), list);
  const cancel = async (id) => {
    if (confirm(`Cancel the placement ${id}?`)) await act("POST", "placement/cancel", { id }).then(timer.now, page.problem);
  };
  const load = async () => {
    const { placements: all } = await get("placements", { queue: queue.value.trim(), status: status.value, limit: 100 });
    show(list, table("Placements, the newest first", [
      ["Placement", (p) => p.id], ["Queue", (p) => p.queue], ["Status", (p) => badge(p.status)],
      ["Why it waits", (p) => p.waits, "wide"],
      ["Players", (p) => `${p.players} / ${p.maxPlayers}`, "number"],
      ["Game session", (p) => (p.gameSessionId ? linkTo(p.gameSessionId) : "")],
      ["Location", (p) => p.location], ["Started", (p) => time(p.started)], ["Ended", (p) => time(p.ended || p.timesOut)],
      ["Action", (p) => (p.status === "PENDING" ? h("button", { type: "button", class: "quiet danger", onclick: () => cancel(p.id), "aria-label": "Cancel placement " + p.id }, "Cancel") : "")],
    ], all, "There is no placement."));
  };
  const timer = every(2000, load, page.problem, list);
  return timer.stop;
}

// about finds words for an event in the fields that the kinds of events have.
function about(detail) {
  const names = ["placementId", "gameSessionId", "gameSessionArn", "playerId", "status", "reason", "statusReason"];
  return names.filter((n) => typeof detail[n] === "string" && detail[n]).map((n) => `${n}: ${detail[n].slice(detail[n].lastIndexOf("/") + 1)}`).join(" · ");
}

export function events(body) {
  const draw = () => {
    show(body,
      h("p", { class: "hint" }, "Events as they happen, the newest first. Those of game sessions and player sessions need events.sse.own: true, which troupe dev has."),
      table("Events", [
        ["Event", (e) => (e.detail && e.detail.type) || e["detail-type"]],
        ["Time", (e) => time(e.time)],
        ["About", (e) => about(e.detail || {}), "wide"],
        ["All", (e) => h("details", {}, h("summary", {}, "JSON"), h("pre", {}, JSON.stringify(e, null, 2)))],
      ], stream.events.slice(0, 100), "Nothing has happened yet."));
  };
  draw();
  return listen((what) => what === "event" && !body.contains(document.activeElement) && !body.querySelector("details[open]") && draw());
}
