// gamesessions.js: the list of game sessions, and one of them.
import { h, show, number, bytes, duration, time, last, badge, table, facts, clip, section, filters, words, choice, count, toPlayer, without } from "./dom.js";
import { get, act, mayAct, ofNodes } from "./api.js";
import { kick, ban } from "./actions.js";
import { ask } from "./dialog.js";
import { every } from "./refresh.js";

export const linkTo = (id, text) => h("a", { href: "#/game-session?id=" + encodeURIComponent(id), title: id }, text || last(id).slice(0, 13));

export function gameSessions(body, query, page) {
  const filter = words("filter", query.get("filter") || "", "gameSessionName = 'lobby' AND playerSessionCount > 0");
  const status = choice("status", query.get("status") || "ACTIVE", [["ACTIVE"], ["ACTIVATING"], ["TERMINATING"], ["TERMINATED"], ["ERROR"], ["any"]]);
  const alias = words("alias", query.get("alias") || "", "alias-dev", 12);
  const place = words("location", query.get("location") || "", "us-east-1", 12);
  const list = h("div", { "aria-live": "off" });
  let trail = []; // next of the pages before this one
  const asked = () => ({ filter: filter.value.trim(), alias: alias.value.trim(), location: place.value.trim(), status: status.value });
  const search = () => { trail = []; page.remember(asked()); timer.now(); };
  status.addEventListener("change", search);
  show(body, filters([["Filter", filter], ["Alias", alias], ["Location", place], ["Status", status]], search),
    h("details", { class: "hint" }, h("summary", {}, "What the filter may say"),
      h("p", {}, "The FilterExpression of SearchGameSessions: comparisons of these with =, <>, <, >, <=, >=, joined with AND:"),
      h("p", {}, ["gameSessionName", "gameSessionId", "gameSessionProperties.KEY", "maximumSessions", "playerSessionCount", "hasAvailablePlayerSessions", "creationTimeMillis"].flatMap((n, i) => [i ? ", " : "", h("code", {}, n)]))), list);
  const load = async () => {
    const found = await get("game-sessions", { ...asked(), next: trail.at(-1), limit: 50 });
    show(list, without(found.silentNodes),
      count(found.matched, "game session", "game sessions", found.gameSessions.length),
      table("Game sessions", [
        ["Game session", (g) => linkTo(g.id)],
        ["Name", (g) => clip(g.name)],
        ["Status", (g) => badge(g.status)],
        ["Players", (g) => `${g.players} / ${g.maxPlayers}`, "number"],
        ["Fleet", (g) => clip(g.fleetId)],
        ["Location", (g) => g.location], ...ofNodes(["Node", (g) => g.node]),
        ["Script", (g) => g.scriptVersion.slice(0, 12)],
        ["Created", (g) => time(g.created)],
        ["Ended", (g) => (g.terminated ? h("span", {}, time(g.terminated), g.endText ? " · " + g.endText : "") : "")],
      ], found.gameSessions, "No game session matches. Your backend creates them, and so do bots: troupe client --bots 4."),
      trail.length || found.next ? h("div", { class: "pager" },
        h("button", { type: "button", disabled: trail.length === 0, onclick: () => { trail.pop(); timer.now(); } }, "Newer"),
        h("button", { type: "button", disabled: !found.next, onclick: () => { trail.push(found.next); timer.now(); } }, "Older")) : null);
  };
  const timer = every(3000, load, page.problem, list);
  return timer.stop;
}

export const playerColumns = [
  ["Player", (p) => (p.playerId ? toPlayer(p.playerId) : p.playerSession)],
  ["State", (p) => badge(p.state)],
  ["Peer", (p) => (p.peer ? String(p.peer) : ""), "number"],
  ["Connection", (p) => (p.transport ? p.transport + (p.fast ? " + fast" : "") + (p.address ? " · " + p.address : "") : "")],
  ["Round trip", (p) => (p.rttSeconds === null ? "" : duration(p.rttSeconds)), "number"],
  ["Waiting", (p) => number(p.waiting), "number"],
  ["Unconfirmed", (p) => number(p.unconfirmed), "number"],
  ["Queue", (p) => h("span", { class: p.slow ? "warn" : null }, bytes(p.queueBytes) + (p.slow ? " slow" : "")), "number"],
  ["Last reason", (p) => (p.reason ? h("span", {}, p.reason + " · ", time(p.reasonAt)) : "")],
];

export function gameSession(body, query, page) {
  const id = query.get("id") || "";
  const top = h("div", {});
  const log = h("pre", { class: "log", tabindex: "0", role: "region", "aria-label": "Last lines of the log" });
  show(body, top, h("section", { class: "panel" }, h("h2", {}, "Log"), log,
    h("p", { class: "note" }, h("a", { href: "admin/v1/game-session/log/file?id=" + encodeURIComponent(id), download: last(id) + ".log" }, "Download the whole log"))));
  page.title(last(id));
  const end = (force) => ask({
    title: "End this game session?", confirm: "End it",
    text: force ? "It ends at once. The game is not asked, and all players are disconnected." : "The game is told, and its players are disconnected.",
    run: async () => { await act("POST", "game-session/terminate", { id, force }); timer.now(); },
  });
  const acts = ["Actions", (p) => (!p.playerId || p.terminated ? "" : h("span", { class: "pair" },
    h("button", { type: "button", class: "danger quiet", "aria-label": "Kick " + p.playerId, onclick: () => kick(p.playerId, id, timer.now) }, "Kick"),
    h("button", { type: "button", class: "danger quiet", "aria-label": "Ban " + p.playerId, onclick: () => ban(p.playerId, timer.now) }, "Ban"))), "acts"];
  const load = async () => {
    const g = await get("game-session", { id });
    const runs = g.status === "ACTIVE" || g.status === "ACTIVATING";
    show(top,
      h("section", { class: "panel" }, facts([
        ["Status", h("span", {}, badge(g.status), g.silent ? " · does not answer: its script runs without end" : "")],
        ["Name", g.name],
        ["Players", `${g.players} / ${g.maxPlayers}`],
        ["Takes players", g.acceptsPlayers ? "yes" : "no"],
        ["Fleet", g.fleetId],
        ["Location", g.location], ...ofNodes(["Node", g.node]),
        ["Address", g.address],
        ["Script", g.scriptVersion],
        ["Creator", g.creatorId],
        ["Created", time(g.created)],
        ...(g.terminated ? [["Ended", h("span", {}, time(g.terminated), g.endText ? " · " + g.endText : "")]] : []),
        ["Properties", Object.entries(g.properties).map(([k, v]) => `${k}=${v}`).join(", ")],
        ["Id", h("code", {}, g.id)],
      ]),
      runs && mayAct() ? h("div", { class: "actions" },
        g.acceptsPlayers ? h("a", { class: "button", href: "#/playground?game=" + encodeURIComponent(id) }, "Play in it") : null,
        h("button", { type: "button", class: "danger quiet", onclick: () => end(false) }, "End it"),
        h("button", { type: "button", class: "danger quiet", onclick: () => end(true) }, "End it by force")) : null),
      section("Players", table("Players", runs && mayAct() ? [...playerColumns, acts] : playerColumns, g.playerList, "Nobody has been here yet.")),
      section("Time line", table("Time line", [
        ["When", (m) => time(m.at)], ["What", (m) => m.kind], ["Player", (m) => (m.playerId ? toPlayer(m.playerId) : "")], ["Peer", (m) => (m.peer ? String(m.peer) : ""), "number"], ["Why", (m) => m.text, "wide"],
      ], g.moments, runs ? "Nobody has come or gone yet." : "The host keeps the time lines of the last 200 game sessions that ended, in memory: a restart of the host drops them.")),
      section("Groups", table("Groups", [
        ["Group", (x) => String(x.id)], ["Players", (x) => number(x.peers.length), "number"], ["Peers", (x) => x.peers.slice(0, 60).join(", ") + (x.peers.length > 60 ? " …" : "")],
      ], g.groups, "There is no group besides that of all players.")));
    const lines = await get("game-session/log", { id }).catch((e) => ({ lines: [e.message] }));
    const text = lines.lines.join("\n") || "The log is empty.";
    if (log.textContent !== text) {
      const below = log.scrollTop + log.clientHeight >= log.scrollHeight - 8;
      log.textContent = text;
      if (below) log.scrollTop = log.scrollHeight;
    }
  };
  const timer = every(2000, load, page.problem, top);
  return timer.stop;
}
