// packettable.js: the newest packets, live. Rows are added and marked in place: a packet costs one row, however many are shown.
import { h, show, number } from "./dom.js";
import { packetsMax } from "./packets.js";

const peer = (n) => (n === -1 ? "server" : n > 0 ? "peer " + n : "–");
const target = (p) => (p.targetPlayer ? peer(p.targetPlayer) : p.targetGroup === -1 ? "all players" : p.targetGroup > 0 ? "group " + p.targetGroup : "–");
const clock = (at) => at.toLocaleTimeString("en-GB") + "." + String(at.getMilliseconds()).padStart(3, "0");
const textMax = 256;
const hexMax = 48;

// content shows a payload as text, as JSON is, or else as hex. Of a long one it has the beginning.
function content(p) {
  const payload = p.payload.subarray(0, textMax);
  if (!payload.length) return "";
  const more = (n) => (p.payloadSize > n ? " …" : "");
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(payload, { stream: p.payloadSize > textMax });
    if (!/[\x00-\x08\x0e-\x1f\x7f]/.test(text)) return text + more(textMax);
  } catch {
    // no text
  }
  return [...payload.subarray(0, hexMax)].map((b) => b.toString(16).padStart(2, "0")).join(" ") + more(hexMax);
}

const columns = [["Time"], ["Player"], ["Way"], ["Op code"], ["From, to"], ["Bytes", "number"], ["Number", "number"], ["Acknowledged"], ["Content", "wide"]];

// draw returns the row of a packet, and what marks it as acknowledged.
function draw(e) {
  if (e.event) {
    return { row: h("tr", { class: "event" }, h("td", {}, clock(e.at)), h("td", {}, e.player), h("td", { colspan: String(columns.length - 2) }, e.event)), mark: () => {} };
  }
  const acked = h("td", {});
  const mark = () => {
    if (!e.number) acked.textContent = "–";
    else show(acked, e.acked ? h("span", { class: "good" }, "yes") : h("span", { class: "none" }, "waits"));
  };
  mark();
  const row = h("tr", { class: e.control ? "control" : null },
    h("td", {}, clock(e.at)), h("td", {}, e.player), h("td", {}, h("span", { class: "badge " + (e.way === "out" ? "busy" : "") }, e.way)),
    h("td", {}, e.name ? `${e.opCode} ${e.name}` : String(e.opCode)), h("td", {}, peer(e.sender), " → ", target(e)),
    h("td", { class: "number" }, number(e.size)), h("td", { class: "number" }, e.number ? String(e.number) : "–", e.again ? h("span", { class: "badge warn" }, "again") : null),
    acked, h("td", { class: "wide" }, e.about || h("code", {}, content(e)), e.ack ? h("span", { class: "none" }, ` acks up to ${e.ack}`) : null));
  return { row, mark };
}

export function packetTable(log) {
  const rows = h("tbody", {});
  const all = h("input", { id: "packets-all", type: "checkbox" });
  const hold = h("input", { id: "packets-hold", type: "checkbox" });
  const player = h("select", { id: "packets-player" }, h("option", { value: "" }, "all"));
  const way = h("select", { id: "packets-way" }, [["", "both"], ["out", "out"], ["in", "in"]].map(([value, text]) => h("option", { value }, text)));
  const opCode = h("input", { id: "packets-op", type: "number", step: "1", placeholder: "any" });
  const names = new Set();
  const wanted = (e) => (!player.value || e.player === player.value) && (!way.value || e.way === way.value) && (opCode.value === "" || e.opCode === Number(opCode.value));
  const table = h("table", { class: "packets" },
    h("caption", {}, "Packets, the newest first"), h("thead", {}, h("tr", {}, columns.map(([title, kind]) => h("th", { scope: "col", class: kind }, title)))), rows);
  const list = h("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Packets" }, table);
  const empty = h("p", { class: "empty" }, "No packet has been sent or received in this tab.");
  let shown = []; // {entry, row, mark}, the oldest first
  let newest = 0;
  let frame = 0;
  const paint = () => {
    frame = 0;
    if (hold.checked) return;
    const oldest = log.entries[0]?.serial ?? Infinity;
    shown = shown.filter((s) => {
      if (s.entry.serial >= oldest) return true;
      s.row.remove();
      return false;
    });
    const fresh = log.entries.filter((e) => e.serial > newest).map((entry) => ({ entry, ...draw(entry) }));
    newest = log.last;
    for (const { entry, row } of fresh) {
      row.hidden = !wanted(entry);
      if (names.has(entry.player)) continue;
      names.add(entry.player);
      player.append(h("option", { value: entry.player }, entry.player));
    }
    rows.prepend(...fresh.map((s) => s.row).reverse());
    shown.push(...fresh);
    for (const s of shown) {
      if (!s.entry.acked || s.done) continue;
      s.mark();
      s.done = true;
    }
    empty.hidden = shown.length > 0;
    list.hidden = shown.length === 0;
  };
  const soon = () => { frame ||= requestAnimationFrame(paint); };
  log.changed = soon;
  all.addEventListener("change", () => table.classList.toggle("all", all.checked));
  hold.addEventListener("change", soon);
  for (const field of [player, way, opCode]) {
    field.addEventListener("input", () => { for (const s of shown) s.row.hidden = !wanted(s.entry); });
  }
  paint();
  return {
    section: h("section", { class: "panel" },
      h("div", { class: "title" }, h("h2", {}, "Packets"), h("span", { class: "none grows" }, `the newest ${packetsMax}`),
        h("label", {}, all, " Pings and acks too"), h("label", {}, hold, " Hold"),
        h("button", { type: "button", class: "quiet", onclick: () => log.clear() }, "Clear")),
      h("div", { class: "filters packets-of" }, [["Player", player], ["Way", way], ["Op code", opCode]].map(([label, field]) => h("span", { class: "field" }, h("label", { for: field.id }, label), field))),
      empty, list),
    stop: () => {
      log.changed = () => {};
      cancelAnimationFrame(frame);
    },
  };
}
