// people.js: players who play, one player, connections that have ended, bans.
import { h, show, duration, time, table, facts, clip, section, filters, words, choice, count, toPlayer, without } from "./dom.js";
import { get, mayAct, ofNodes } from "./api.js";
import { every } from "./refresh.js";
import { kick, ban, lift } from "./actions.js";
import { linkTo, playerColumns } from "./gamesessions.js";

const onNode = () => ofNodes(["Node", (x) => x.node]);
const columns = () => [...playerColumns.slice(0, 1), ["Game session", (p) => linkTo(p.gameSessionId)], ...onNode(), ...playerColumns.slice(1)];

export function players(body, query, page) {
  const who = words("who", "", "ann");
  const sort = choice("sort", query.get("sort") || "queue", [["queue", "Longest queue"], ["rtt", "Slowest round trip"], ["newest", "Newest"]]);
  const list = h("div", {});
  const search = () => {
    if (who.value.trim()) location.hash = "#/player?id=" + encodeURIComponent(who.value.trim());
    else timer.now();
  };
  sort.addEventListener("change", () => { page.remember({ sort: sort.value }); timer.now(); });
  show(body, filters([["Player id", who], ["First", sort]], search),
    h("p", { class: "hint" }, "Those who play now. A player id leads to all that is known of that player, also of player sessions that are over, and why."), list);
  const load = async () => {
    const found = await get("connections", { sort: sort.value, limit: 100 });
    show(list, without(found.silentNodes), count(found.matched, "player", "players", found.connections.length),
      found.silent ? h("p", { class: "hint" }, `Without the players of ${found.silent === 1 ? "a game session that does not answer" : found.silent + " game sessions that do not answer"}: a script runs without end there.`) : null, table("Players", columns(), found.connections, "Nobody plays at the moment."));
  };
  const timer = every(3000, load, page.problem, list);
  return timer.stop;
}

const by = { host: "the host", client: "the player", network: "the network" };

const closedColumns = [
  ["When", (x) => time(x.at)],
  ["Player", (x) => (x.playerId ? toPlayer(x.playerId) : h("span", { class: "none" }, "nobody had logged in"))],
  ["Why", (x) => h("span", {}, x.reason, x.detail ? h("span", { class: "none" }, " · " + x.detail) : null), "wide"],
  ["Closed by", (x) => by[x.by] || x.by],
  ["Lasted", (x) => duration(x.lastedSeconds), "number"],
  ["Peer", (x) => (x.peer ? String(x.peer) : ""), "number"],
  ["Connection", (x) => x.transport + " · " + x.address],
];
const closedOn = () => [...closedColumns.slice(0, 2), ...onNode(), ...closedColumns.slice(2)];

export function closed(body, query, page) {
  const who = words("who", query.get("player") || "", "ann");
  const side = choice("by", query.get("by") || "any", [["any", "anybody"], ...Object.entries(by)]);
  const list = h("div", {});
  const search = () => { page.remember({ player: who.value.trim(), by: side.value }); timer.now(); };
  side.addEventListener("change", search);
  show(body, filters([["Player id", who], ["Closed by", side]], search), h("p", { class: "hint" }, "The host remembers the last 1,000 connections that have ended."), list);
  const load = async () => {
    const found = await get("connections/closed", { player: who.value.trim(), by: side.value, limit: 100 });
    show(list, without(found.silentNodes), count(found.matched, "connection", "connections", found.connections.length),
      table("Closed connections", closedOn(), found.connections, who.value.trim() || side.value !== "any" ? "No connection that has ended matches." : "No connection has ended yet."));
  };
  const timer = every(3000, load, page.problem, list);
  return timer.stop;
}

export function player(body, query, page) {
  const id = query.get("id") || "";
  page.title(id);
  const load = async () => {
    const [sessions, ended, all] = await Promise.all([get("players", { player: id, limit: 50 }), get("connections/closed", { player: id, limit: 50 }), get("bans")]);
    const banned = all.bans.find((b) => b.playerId === id);
    const seats = sessions.players.filter((p) => !p.terminated && p.state !== "gone").length;
    show(body, without(ended.silentNodes),
      h("section", { class: "panel" }, facts([
        ["Seats", String(seats)],
        ["Player sessions", String(sessions.matched)],
        ["Banned", banned ? h("span", {}, h("span", { class: "badge bad" }, "banned"), " ends ", time(banned.until)) : "no"],
        ...(banned ? [["Why", banned.reason], ["By", banned.by]] : []),
      ]), mayAct() ? h("div", { class: "actions" },
        seats ? h("button", { type: "button", class: "danger quiet", onclick: () => kick(id, "", timer.now) }, "Kick") : null,
        banned ? h("button", { type: "button", class: "quiet", onclick: () => lift(id, timer.now) }, "Lift the ban") : h("button", { type: "button", class: "danger quiet", onclick: () => ban(id, timer.now) }, "Ban")) : null),
      section("Player sessions, the newest first", table("Player sessions", columns().slice(1), sessions.players, "No player session has this player id.")),
      section("Connections that have ended", table("Closed connections", closedOn().filter(([name]) => name !== "Player"), ended.connections, "None of the last 1,000 connections that ended was this player's.")));
  };
  const timer = every(3000, load, page.problem, body);
  return timer.stop;
}

export function bans(body, _query, page) {
  const list = h("div", {});
  show(body,
    h("p", { class: "hint" }, "A banned player cannot log in, nor resume. The bans are stored, and hold after a restart of the host."),
    mayAct() ? h("div", { class: "actions above" }, h("button", { type: "button", class: "danger quiet", onclick: () => ban("", timer.now) }, "Ban a player")) : null, list);
  const load = async () => {
    const all = (await get("bans")).bans;
    const columns = [["Player", (b) => toPlayer(b.playerId)], ["Ends", (b) => time(b.until)], ["Why", (b) => b.reason, "wide"], ["By", (b) => clip(b.by)]];
    if (mayAct()) columns.push(["Action", (b) => h("button", { type: "button", class: "quiet", "aria-label": "Lift the ban of " + b.playerId, onclick: () => lift(b.playerId, timer.now) }, "Lift"), "acts"]);
    show(list, table("Bans", columns, all, "Nobody is banned."));
  };
  const timer = every(5000, load, page.problem, list);
  return timer.stop;
}
