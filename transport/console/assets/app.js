// app.js: the frame of all pages: navigation, login, and which page is shown.
import { h, show } from "./dom.js";
import * as api from "./api.js";
import { overview } from "./overview.js";
import { gameSessions, gameSession } from "./gamesessions.js";
import { players, player, closed, bans } from "./people.js";
import { fleets, scripts, queues, events } from "./lists.js";
import { placements, placement } from "./placements.js";
import { matchmaking, ticket } from "./matchmaking.js";
import { listeners, settings, operate } from "./host.js";
import { nodes } from "./nodes.js";
import { playground, leaveAll } from "./playground.js";

// pages are [path, title, page, heading of the group that it begins].
const pages = [
  ["", "Overview", overview, ""],
  ["game-sessions", "Game sessions", gameSessions, "Games"],
  ["players", "Players", players],
  ["closed", "Closed connections", closed],
  ["bans", "Bans", bans],
  ["events", "Events", events],
  ["playground", "Playground", playground],
  ["placements", "Placements", placements, "Finding a game"],
  ["queues", "Queues", queues],
  ["matchmaking", "Matchmaking", matchmaking],
  ["fleets", "Fleets", fleets, "Hosting"],
  ["scripts", "Scripts", scripts],
  ["nodes", "Nodes", nodes], // only in a cluster
  ["listeners", "Listeners", listeners, "Host"],
  ["settings", "Configuration", settings],
  ["operate", "Operate", operate],
];
// hidden are pages that others lead to: [title, page, the page in the list].
const hidden = {
  "game-session": ["Game session", gameSession, "game-sessions"],
  player: ["Player", player, "players"],
  placement: ["Placement", placement, "placements"],
  ticket: ["Matchmaking ticket", ticket, "matchmaking"],
};

const app = document.getElementById("app");
const main = h("main", { id: "main", tabindex: "-1" });
const state = h("span", { class: "state", role: "status" });
const links = new Map();
const menu = h("button", { type: "button", class: "menu quiet", "aria-expanded": "false", "aria-controls": "pages", onclick: () => opened(!nav.classList.contains("open")) }, "Menu");
const nav = h("nav", { id: "pages", "aria-label": "Pages" });
let leave = () => {};

// route reads #/path?query.
function route() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { path, query: new URLSearchParams(query || "") };
}

// opened shows or hides the list of pages in a narrow window.
function opened(open) {
  nav.classList.toggle("open", open);
  menu.setAttribute("aria-expanded", String(open));
}

// remember puts what a list is filtered by into the address, so that it is there after a reload and in a link.
function remember(path, said) {
  const set = Object.entries(said).filter(([, v]) => v !== "");
  history.replaceState(null, "", "#/" + path + (set.length ? "?" + new URLSearchParams(set) : ""));
}

async function draw() {
  opened(false);
  leave();
  leave = () => {};
  const { path, query } = route();
  const found = pages.find(([p]) => p === path);
  const [title, page] = found ? [found[1], found[2]] : hidden[path] || ["Not found", null];
  document.title = title + " · Troupe";
  for (const [p, link] of links) {
    if (p === (found ? path : hidden[path]?.[2])) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const body = h("div", {});
  show(main, h("h1", {}, title), body);
  if (!page) {
    show(body, h("p", { class: "empty" }, "There is no such page."));
    return;
  }
  leave = page(body, query, { title: (text) => { main.querySelector("h1").textContent = text; }, problem, remember: (said) => remember(path, said) }) || (() => {});
}

// problem shows what the host refused, above the page.
function problem(e) {
  if (e.status === 401) {
    ask();
    return;
  }
  main.querySelector(".problem")?.remove();
  if (e.message) main.querySelector("h1")?.after(h("p", { class: "problem", role: "alert" }, e.message));
}

function frame(who) {
  links.clear();
  show(nav, pages.filter(([path]) => path !== "nodes" || who.node).map(([path, title, , group]) => {
    const link = h("a", { href: "#/" + path }, title);
    links.set(path, link);
    return group ? [h("h2", {}, group), link] : [link];
  }).flat());
  show(app,
    h("header", {},
      h("a", { class: "brand", href: "#/" }, h("img", { src: "console/icon.svg", alt: "", width: "24", height: "24" }), "Troupe"),
      h("div", { class: "who" }, state,
        who.expires ? h("button", { type: "button", class: "quiet", onclick: async () => { await api.logout().catch(() => {}); api.disconnect(); ask(); } }, "Log out") : null,
        menu)),
    nav,
    main,
    h("footer", {}, `Troupe ${who.version} · ${who.node ? `node ${who.node} · ` : ""}${who.name}, ${who.role === "operator" ? "may act" : "may look only"} · `, h("a", { href: "admin/v1/openapi.yaml" }, "API of this console")));
  api.connect();
  draw();
}

function says() {
  const on = api.stream.connected;
  const draining = api.stream.overview?.draining;
  state.className = "state " + (on ? (draining ? "warn" : "good") : "bad");
  const text = on ? (draining ? "Draining" : "Live") : "No connection";
  if (state.textContent !== text) state.textContent = text;
}

function ask() {
  leave();
  leave = () => {};
  api.disconnect();
  leaveAll();
  document.title = "Log in · Troupe";
  const wrong = h("p", { class: "problem", role: "alert", hidden: true });
  const id = h("input", { id: "key", name: "username", autocomplete: "username", required: true, spellcheck: "false" });
  const secret = h("input", { id: "secret", name: "password", type: "password", autocomplete: "current-password", required: true });
  const extra = h("input", { id: "token", name: "token", type: "password", autocomplete: "off" });
  const button = h("button", { type: "submit" }, "Log in");
  const form = h("form", {
    class: "login", onsubmit: async (e) => {
      e.preventDefault();
      button.disabled = true;
      try {
        frame(await api.login(id.value.trim(), secret.value, extra.value));
      } catch (refused) {
        wrong.textContent = refused.message;
        wrong.hidden = false;
      }
      button.disabled = false;
    },
  },
    h("img", { src: "console/icon.svg", alt: "", width: "40", height: "40" }),
    h("h1", {}, "Log in to Troupe"),
    h("p", {}, "With an access key of this host that may call every operation, or, to look only, every one that reads."),
    wrong,
    h("label", { for: "key" }, "Access key id"), id,
    h("label", { for: "secret" }, "Secret"), secret,
    h("details", {}, h("summary", {}, "This key has a session token"), h("label", { for: "token" }, "Session token"), extra),
    button);
  show(app, h("main", { id: "main", tabindex: "-1" }, form));
  id.focus();
}

async function start() {
  try {
    frame(await api.me());
  } catch (e) {
    if (e.status === 401) ask();
    else show(app, h("main", { id: "main", class: "alone" }, h("h1", {}, "Troupe"), h("p", { class: "problem", role: "alert" }, e.message), h("button", { type: "button", onclick: start }, "Try again")));
  }
}

api.listen(says);
addEventListener("hashchange", () => {
  draw();
  main.focus({ preventScroll: true }); // for those who read with a keyboard or a screen reader
  scrollTo(0, 0);
});
document.querySelector(".skip").addEventListener("click", (e) => { // the address is that of the page
  e.preventDefault();
  document.getElementById("main").focus();
});
start();
