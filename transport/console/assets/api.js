// api.js: calls of /admin/v1/, and the stream of events.

let token = "";
let role = "";
let node = ""; // the node that answers, in a cluster

// ofNodes are columns and facts that only a cluster has.
export const ofNodes = (...all) => (node ? all : []);

// mayAct reports whether the host takes actions from who looks; the host itself decides again at each action.
export const mayAct = () => role === "operator";

export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

async function call(method, path, body) {
  const headers = { "X-CSRF-Token": token };
  if (body) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch("admin/v1/" + path, { method, headers, body: body && JSON.stringify(body), credentials: "same-origin" });
  } catch {
    throw new Refused(0, "Unreachable", "The host does not answer.");
  }
  const data = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(response.status, data.code || "", (data.message || response.statusText) + (data.node && data.node !== node ? ` (says node ${data.node})` : ""));
  return data;
}

const query = (parameters) => {
  const q = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters || {})) if (value !== "" && value !== null && value !== undefined) q.set(key, value);
  return q.size ? "?" + q : "";
};

export const get = (path, parameters) => call("GET", path + query(parameters));
export const act = (method, path, parameters) => call(method, path + query(parameters));

// take does an action whose answer is a file, and gives it to the browser.
export async function take(path, parameters, name) {
  const response = await fetch("admin/v1/" + path + query(parameters), { method: "POST", headers: { "X-CSRF-Token": token }, credentials: "same-origin" }).catch(() => null);
  if (!response) throw new Refused(0, "Unreachable", "The host does not answer.");
  if (!response.ok) {
    const data = await response.json().catch(() => ({}));
    throw new Refused(response.status, data.code || "", data.message || response.statusText);
  }
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

export async function me() {
  const who = await get("me");
  token = who.csrfToken;
  role = who.role;
  node = who.node;
  return who;
}

export async function login(accessKeyId, secret, sessionToken) {
  const who = await call("POST", "login", sessionToken ? { accessKeyId, secret, sessionToken } : { accessKeyId, secret });
  token = who.csrfToken;
  role = who.role;
  node = who.node;
  return who;
}

export const logout = () => call("POST", "logout");

// stream is what the host says by itself: the newest overview, the last overviews for plots, and events.
export const stream = { overview: null, history: [], events: [], connected: false };
const historyMax = 120;
const eventsMax = 200;
const listeners = new Set();
let source = null;

export function listen(f) {
  listeners.add(f);
  return () => listeners.delete(f);
}

const tell = (what) => listeners.forEach((f) => f(what));

export function connect() {
  if (source) return;
  source = new EventSource("admin/v1/events");
  source.addEventListener("open", () => {
    stream.connected = true;
    stream.events = []; // the host sends the newest ones again
    tell("state");
  });
  source.addEventListener("error", () => {
    stream.connected = false;
    tell("state");
    if (source && source.readyState === EventSource.CLOSED) { // refused: try again
      source = null;
      setTimeout(connect, 5000);
    }
  });
  source.addEventListener("overview", (e) => {
    stream.overview = JSON.parse(e.data);
    stream.history.push(stream.overview);
    if (stream.history.length > historyMax) stream.history.shift();
    tell("overview");
  });
  const add = (e) => {
    const event = JSON.parse(e.data);
    if (event.id && stream.events.some((known) => known.id === event.id)) return; // sent twice to those who have just connected
    stream.events.unshift(event);
    if (stream.events.length > eventsMax) stream.events.pop();
    tell("event");
  };
  source.addEventListener("recent", add);
  source.addEventListener("event", add);
}

export function disconnect() {
  if (source) source.close();
  source = null;
  stream.connected = false;
}
