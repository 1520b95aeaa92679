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

// A game with ticks: what scripts/ticks.js of the suite does on Troupe.
class Ticks extends Room {
	maxClients = 1000;
	patchRate = null;

	onCreate() {
		const entities = [], width = 1000;
		for (let i = 0; i < 8; i++) {
			entities.push({ id: i, x: i * 100, y: i * 50, vx: 40 + i, vy: 30 - i });
		}
		let number = 0;
		this.setSimulationInterval(() => {
			for (const e of entities) {
				e.x += e.vx * tickMs / 1000;
				e.y += e.vy * tickMs / 1000;
				if (e.x < 0 || e.x > width) {
					e.vx = -e.vx;
				}
				if (e.y < 0 || e.y > width) {
					e.vy = -e.vy;
				}
			}
			number++;
			this.broadcastBytes("m", Buffer.from(JSON.stringify({ number, entities })));
		}, tickMs);
		this.onMessageBytes("m", (_client, bytes) => {
			const e = entities[bytes[0] % entities.length];
			[e.vx, e.vy] = [-e.vy, e.vx];
		});
	}
}

const flag = (name) => process.argv[process.argv.indexOf(name) + 1];
const tickMs = 1000 / Number(flag("--ticks"));
const [host, port] = flag("--addr").split(":");
const versionOf = (name) => JSON.parse(fs.readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version;

const transport = new WebSocketTransport({});
const server = new Server({ transport, greet: false, gracefullyShutdown: true });
server.define("relay", process.argv.includes("--ticks") ? Ticks : Relay);
await server.listen(Number(port), host);
const announced = flag("--announce");
fs.writeFileSync(announced + ".tmp", JSON.stringify({
	ws: `${host}:${transport.server.address().port}`,
	protocol: "colyseus",
	version: `@colyseus/core ${versionOf("@colyseus/core")}, @colyseus/ws-transport ${versionOf("@colyseus/ws-transport")}, ws ${versionOf("ws")}, node ${process.version}`,
}));
fs.renameSync(announced + ".tmp", announced);
