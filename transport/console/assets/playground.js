// playground.js: players in this tab, each with a connection of its own, and the packets that they send and get.
import { h, show, number, duration, badge, last } from "./dom.js";
import { get, act, mayAct } from "./api.js";
import { linkTo } from "./gamesessions.js";
import { Log, watched } from "./packets.js";
import { packetTable } from "./packettable.js";

const playersMax = 8;
const notesMax = 30;

// The players stay while another page is shown, until they leave, the tab is closed or somebody logs out.
const players = [];
const log = new Log();
let made = 0;

export function leaveAll() {
  for (const p of players.splice(0)) p.client?.abort();
  log.clear();
}

addEventListener("beforeunload", (e) => { if (players.some((p) => p.client && !p.over)) e.preventDefault(); });

const clock = () => new Date().toLocaleTimeString("en-GB");

// explain adds to the error of a connection what the browser does not say.
function explain(e, url) {
  if (e.name === "RefusedError") return e.message;
  if (url.includes("[")) return `${e.message}. The policy of this page cannot allow an IPv6 address: set public.ip or public.host of the host to another one.`;
  if (url.startsWith("wss:")) return `${e.message}. The browser may not trust the host's certificate: "troupe tls trust", run with the host's settings, says how to install its authority. Then load this page again.`;
  return e.message + ". The browser must reach the game port as well as this page. If that host has joined the cluster since this page was loaded, load it again.";
}

// choose picks an address of those that the host offers.
function choose(urls, scheme) {
  const found = scheme ? urls.find((u) => u.startsWith(scheme + "://")) : urls.find((u) => location.protocol !== "https:" || u.startsWith("wss://"));
  if (found) return found;
  if (location.protocol === "https:") throw new Error("This page came by https, so the browser connects by wss only, and the host has no wss listener: set wss.addr.");
  throw new Error(`The host has no ${scheme || "WebSocket"} listener.`);
}

async function join({ name, game, fleet, seats, scheme }) {
  if (!game) {
    const created = await act("POST", "game-sessions", { fleet, name: "playground", maxPlayers: seats });
    if (created.status !== "ACTIVE") throw new Error(`The new game session is ${created.status}. ${created.endText || created.statusReason}`.trim());
    game = created.id;
  }
  const seat = await act("POST", "players", { player: name, gameSession: game });
  const url = choose(seat.urls, scheme);
  const { connect } = await import("../client.js");
  const p = { key: ++made, name, game: seat.gameSessionId, url, state: "attached", notes: [], received: 0, sent: 0, reconnects: 0, over: false, changed: () => {} };
  const { Watched, unacknowledged } = watched(log, name, () => p.changed());
  p.unacknowledged = unacknowledged;
  const note = (text) => {
    p.notes.unshift([clock(), text]);
    if (p.notes.length > notesMax) p.notes.pop();
    p.changed();
  };
  try {
    p.client = await connect({
      url, playerSessionId: seat.playerSessionId, WebSocket: Watched, on: {
        message: () => { p.received++; p.changed(); },
        membership: (m) => note(`${m.group === -1 ? "All players" : "Group " + m.group}: ${m.players.length ? "peers " + [...m.players].sort((a, b) => a - b).join(", ") : "nobody"}`),
        detached: (end) => { p.state = "detached"; note(end.error?.name === "DroppedError" ? "Cut: its connection is closed without a leave" : `Away: ${end}`); },
        reconnected: (r) => {
          p.state = "attached";
          p.reconnects++;
          note(`Back after ${duration(r.afterMs / 1000)} as peer ${r.peerId}: ${r.replayed} sent again, ${r.lost ? r.lost + " lost" : "nothing lost"}`);
        },
        gap: (g) => note(`${g.lost} messages to this player are lost`),
      },
    });
  } catch (e) {
    throw new Error(explain(e, url));
  }
  p.client.done.then((end) => {
    [p.state, p.over] = ["ended", true];
    note(end.local ? "Has left" : end.code === 4013 ? "The script crashed: the log of the game session, and the terminal of troupe dev, say where" : `Ended: ${end}`);
  });
  note(`Joined as peer ${p.client.peerId}`);
  players.push(p);
}

function hex(text) {
  const digits = text.replace(/[\s:]|0x/g, "");
  if (!/^([0-9a-f]{2})*$/i.test(digits)) throw new Error("Hex needs two digits for each byte, such as 01 ff.");
  return Uint8Array.from(digits.match(/../g) || [], (d) => parseInt(d, 16));
}

const encode = {
  text: (text) => text,
  json: (text) => JSON.stringify(JSON.parse(text)), // an error names the place
  hex,
};

const option = ([value, text]) => h("option", { value }, text);
const numeric = (attributes) => h("input", { type: "number", step: "1", required: true, ...attributes });

// card draws one player, with what it can do. Its parts are changed in place, so that nobody loses what they type.
function card(p, gone) {
  const id = (name) => `play-${p.key}-${name}`;
  const field = (name, label, input) => h("div", { class: "field" }, h("label", { for: id(name) }, label), input);
  const head = h("span", {});
  const counts = h("p", { class: "note" });
  const notes = h("ul", { class: "said", tabindex: "0", "aria-label": "What has happened to " + p.name });
  const wrong = h("p", { class: "problem", role: "alert", hidden: true });
  const tried = (f) => (e) => {
    e.preventDefault();
    wrong.hidden = true;
    try {
      f();
    } catch (error) {
      wrong.textContent = error.message;
      wrong.hidden = false;
    }
    p.changed();
  };
  const opCode = numeric({ id: id("op"), value: "1" });
  const to = h("select", { id: id("to") }, [["all", "All players"], ["server", "The game"], ["player", "A player"], ["group", "A group"]].map(option));
  const whom = numeric({ id: id("whom"), value: "1", min: "1", "aria-label": "Number of the player or group", hidden: true });
  to.addEventListener("change", () => { whom.hidden = to.value !== "player" && to.value !== "group"; });
  const payload = h("input", { id: id("payload"), value: "hello", autocomplete: "off", spellcheck: "false" });
  const kind = h("select", { id: id("kind") }, [["text", "Text"], ["json", "JSON"], ["hex", "Hex"]].map(option));
  const intent = h("select", { id: id("intent") }, [["reliable", "Reliable"], ["fast", "Fast"]].map(option));
  const group = numeric({ id: id("group"), value: "1", min: "1" });
  const away = h("select", { id: id("away") }, [["0", "back at once"], ["3000", "back after 3 s"], ["10000", "back after 10 s"]].map(option));
  const send = () => {
    const target = { all: { targetGroup: -1 }, server: { targetPlayer: -1 }, player: { targetPlayer: Number(whom.value) }, group: { targetGroup: Number(whom.value) } }[to.value];
    p.client.send({ opCode: Number(opCode.value), ...target, payload: encode[kind.value](payload.value), intent: intent.value });
    p.sent++;
  };
  const groups = (what) => tried(() => p.client[what](Number(group.value)));
  const button = (text, onclick, kind = "quiet") => h("button", { type: "button", class: kind, onclick }, text);
  const live = h("div", { class: "play" },
    h("form", { onsubmit: tried(send) },
      h("div", { class: "line" }, field("op", "Op code", opCode), field("to", "To", h("span", { class: "pair" }, to, whom)), field("intent", "Delivery", intent)),
      h("div", { class: "line" },
        h("div", { class: "field grows" }, h("label", { for: id("payload") }, "Payload"), payload), field("kind", "As", kind), h("button", { type: "submit" }, "Send"))),
    h("div", { class: "line" },
      field("group", "Group", group), button("Join", groups("joinGroup")), button("Leave", groups("leaveGroup")), button("Members", groups("requestMembership")),
      h("span", { class: "grows" }),
      field("away", "Connection", away), button("Cut", tried(() => p.client.outage(Number(away.value))), "danger quiet")));
  const out = button("Leave the game", tried(() => { p.client.close(); }), "danger quiet");
  const remove = button("Remove", () => { players.splice(players.indexOf(p), 1); box.remove(); gone(); });
  const box = h("section", { class: "panel player", "aria-label": "Player " + p.name },
    h("div", { class: "title" }, h("h2", {}, p.name), head, out, remove), counts, wrong, live, notes);
  let drawn = "";
  let said = null;
  let frame = 0;
  const draw = () => {
    frame = 0;
    const state = `${p.state} ${p.client.peerId}`;
    if (state !== drawn) show(head, badge(p.state), " ", `peer ${p.client.peerId} in `, linkTo(p.game), ` by ${p.url.slice(0, p.url.indexOf(":"))}`);
    drawn = state;
    counts.textContent = `${number(p.sent)} sent · ${number(p.received)} received · ${number(p.unacknowledged())} not acknowledged · ${number(p.reconnects)} ${p.reconnects === 1 ? "resume" : "resumes"}`;
    if (said !== p.notes[0]) show(notes, p.notes.map(([at, text]) => h("li", {}, h("span", { class: "none" }, at), " ", text)));
    said = p.notes[0];
    live.hidden = out.hidden = p.over;
    remove.hidden = !p.over;
  };
  p.changed = () => { frame ||= requestAnimationFrame(draw); };
  draw();
  return box;
}

// joining draws the form that adds a player.
function joining(query, added, page) {
  const name = h("input", { id: "play-name", required: true, maxlength: "256", value: `player-${made + 1}`, autocomplete: "off", spellcheck: "false" });
  const game = h("select", { id: "play-game" }, option(["", "A new one"]));
  const fleet = h("select", { id: "play-fleet" });
  const seats = numeric({ id: "play-seats", min: "1", max: "200", value: "8" });
  const scheme = h("select", { id: "play-scheme" }, [["", "As the fleet says"], ["ws", "ws"], ["wss", "wss"]].filter(([s]) => s !== "ws" || location.protocol !== "https:").map(option));
  const fields = [fleet, seats].map((input, i) => h("div", { class: "field" }, h("label", { for: input.id }, ["Fleet", "Seats"][i]), input));
  const wrong = h("p", { class: "problem", role: "alert", hidden: true });
  const submit = h("button", { type: "submit" }, "Join");
  const chosen = () => fields.forEach((f) => { f.hidden = game.value !== ""; });
  game.addEventListener("change", chosen);
  let first = true;
  const list = async () => {
    const free = await get("game-sessions", { filter: "hasAvailablePlayerSessions=true", limit: 100 });
    const choices = free.gameSessions.map((g) => [g.id, `${g.name ? g.name + " · " : ""}${last(g.id).slice(0, 13)} · ${g.players} of ${g.maxPlayers}`]);
    const asked = first ? query.get("game") : ""; // from the page of a game session, also one that is not in the list
    if (asked && !choices.some(([id]) => id === asked)) choices.push([asked, last(asked).slice(0, 13)]);
    const before = asked || (first ? "" : game.value) || players.at(-1)?.game || "";
    first = false;
    show(game, option(["", "A new one"]), choices.map(option));
    if (choices.some(([id]) => id === before)) game.value = before;
    chosen();
  };
  const form = h("form", {
    class: "line", onsubmit: async (e) => {
      e.preventDefault();
      wrong.hidden = true;
      submit.disabled = true;
      try {
        if (players.length >= playersMax) throw new Error(`A tab has at most ${playersMax} players. Remove one.`);
        await join({ name: name.value.trim(), game: game.value, fleet: fleet.value, seats: seats.value, scheme: scheme.value });
        name.value = `player-${made + 1}`;
        added();
      } catch (refused) {
        if (refused.status === 401) page.problem(refused);
        wrong.textContent = refused.message;
        wrong.hidden = false;
      }
      submit.disabled = false;
      await list().catch(() => {});
    },
  },
  h("div", { class: "field" }, h("label", { for: name.id }, "Player id"), name),
  h("div", { class: "field" }, h("label", { for: game.id }, "Game session"), game), fields,
  h("div", { class: "field" }, h("label", { for: scheme.id }, "Connection"), scheme), submit);
  get("fleets").then(({ fleets }) => show(fleet, fleets.map((f) => option([f.id, f.name && f.name !== f.id ? `${f.name} (${f.id})` : f.id])))).then(list).catch(page.problem);
  return h("section", { class: "panel" }, h("h2", {}, "Add a player"), wrong, form);
}

export function playground(body, query, page) {
  if (!mayAct()) {
    show(body, h("p", { class: "empty" }, "The playground takes seats in game sessions, so it needs an access key that may call every operation. Yours may look, and not act."));
    return () => {};
  }
  const cards = h("div", { class: "players" });
  const none = h("p", { class: "empty" }, "Nobody plays in this tab. Add two players to the same game session, have them talk, and cut one's connection.");
  const gone = () => { none.hidden = players.length > 0; };
  const added = () => {
    cards.append(card(players.at(-1), gone));
    gone();
  };
  const packets = packetTable(log);
  show(body,
    h("p", { class: "hint" }, "Players of this tab play in real game sessions, with the client that the host serves at /client.js. They stay while you look at other pages."),
    joining(query, added, page), none, cards, packets.section);
  for (const p of players) cards.append(card(p, gone));
  gone();
  return () => {
    packets.stop();
    for (const p of players) p.changed = () => {};
  };
}

