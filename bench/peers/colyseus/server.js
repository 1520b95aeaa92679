// A thin room server on Colyseus: what a member says goes to all members of its room.
import fs from "node:fs";
import { createRequire } from "node:module";
import { Room, Server } from "@colyseus/core";
import { WebSocketTransport } from "@colyseus/ws-transport";

class Relay extends Room {
	maxClients = 1000;
	patchRate = null; // there is no state

	onCreate() {
		this.onMessageBytes("m", (_client, bytes) => this.broadcastBytes("m", bytes));
	}
}

const flag = (name) => process.argv[process.argv.indexOf(name) + 1];
const [host, port] = flag("--addr").split(":");
const versionOf = (name) => JSON.parse(fs.readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version;

const transport = new WebSocketTransport({});
const server = new Server({ transport, greet: false, gracefullyShutdown: true });
server.define("relay", Relay);
await server.listen(Number(port), host);
const announced = flag("--announce");
fs.writeFileSync(announced + ".tmp", JSON.stringify({
	ws: `${host}:${transport.server.address().port}`,
	protocol: "colyseus",
	version: `@colyseus/core ${versionOf("@colyseus/core")}, @colyseus/ws-transport ${versionOf("@colyseus/ws-transport")}, ws ${versionOf("ws")}, node ${process.version}`,
}));
fs.renameSync(announced + ".tmp", announced);
