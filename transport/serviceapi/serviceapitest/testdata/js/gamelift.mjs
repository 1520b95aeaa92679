// Plays through the service API with the AWS SDK for JavaScript and prints what
// it saw as one JSON object. Reads from the environment:
//
//   TROUPE_ENDPOINT   base address of the service API (required)
//   TROUPE_FLEET_ID   fleet with an idle server process (required)
//   TROUPE_PROTOCOL   json (default, the SDK's own choice) or cbor
//   TROUPE_REGION     default us-east-1
//   AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY   default: example values
//
// Exits with 1 and a text on stderr if something is not as it should be.
import {
  CreateGameSessionCommand,
  CreatePlayerSessionCommand,
  CreatePlayerSessionsCommand,
  DescribeFleetAttributesCommand,
  DescribeGameSessionsCommand,
  GameLiftClient,
  GameSessionFullException,
  InvalidRequestException,
  ListFleetsCommand,
  NotFoundException,
  SearchGameSessionsCommand,
  paginateDescribePlayerSessions,
} from "@aws-sdk/client-gamelift";
import { AwsSmithyRpcV2CborProtocol } from "@aws-sdk/core/protocols";

const env = process.env;
const protocol = env.TROUPE_PROTOCOL || "json";
const fleetId = env.TROUPE_FLEET_ID;
const activeWithinMs = 15_000;

function fail(text) {
  console.error(text);
  process.exit(1);
}

if (!env.TROUPE_ENDPOINT || !fleetId) fail("TROUPE_ENDPOINT and TROUPE_FLEET_ID are required");

const client = new GameLiftClient({
  endpoint: env.TROUPE_ENDPOINT,
  region: env.TROUPE_REGION || "us-east-1",
  credentials: {
    accessKeyId: env.AWS_ACCESS_KEY_ID || "AKIDEXAMPLE",
    secretAccessKey: env.AWS_SECRET_ACCESS_KEY || "secret",
  },
  ...(protocol === "cbor" ? { protocol: AwsSmithyRpcV2CborProtocol } : {}),
});

async function whenActive(gameSessionId) {
  const until = Date.now() + activeWithinMs;
  for (;;) {
    const { GameSessions } = await client.send(new DescribeGameSessionsCommand({ GameSessionId: gameSessionId }));
    const [found] = GameSessions;
    if (found.Status === "ACTIVE") return found;
    if (found.Status !== "ACTIVATING" || Date.now() > until) fail(`game session is ${found.Status}, want ACTIVE`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

// refusal returns the name of the error class that a command is refused with.
async function refusal(command, expected) {
  try {
    await client.send(command);
  } catch (error) {
    if (!(error instanceof expected)) fail(`want ${expected.name}, got ${error.name}: ${error.message}`);
    if (!error.message) fail(`${error.name} has no message`);
    if (!error.$metadata.requestId) fail(`${error.name} has no request id`);
    return error.name;
  }
  return fail(`want ${expected.name}, got success`);
}

const fleets = await client.send(new ListFleetsCommand({}));
const attributes = await client.send(new DescribeFleetAttributesCommand({ FleetIds: [fleetId] }));

const { GameSession: created } = await client.send(
  new CreateGameSessionCommand({
    FleetId: fleetId,
    MaximumPlayerSessionCount: 4,
    Name: "from JavaScript \u2603",
    GameProperties: [{ Key: "mode", Value: "duel" }],
  }),
);
const gameSessionId = created.GameSessionId;
const active = await whenActive(gameSessionId);

const { PlayerSession: first } = await client.send(
  new CreatePlayerSessionCommand({ GameSessionId: gameSessionId, PlayerId: "js-1", PlayerData: "one" }),
);
const { PlayerSessions: batch } = await client.send(
  new CreatePlayerSessionsCommand({
    GameSessionId: gameSessionId,
    PlayerIds: ["js-2", "js-3"],
    PlayerDataMap: { "js-3": "three" },
  }),
);

let pages = 0;
const described = [];
for await (const page of paginateDescribePlayerSessions({ client, pageSize: 2 }, { GameSessionId: gameSessionId })) {
  pages++;
  described.push(...page.PlayerSessions);
}
const searched = await client.send(new SearchGameSessionsCommand({ FleetId: fleetId }));

console.log(
  JSON.stringify({
    protocol,
    gameSessionId,
    gameSession: {
      status: active.Status,
      fleetArn: active.FleetArn,
      ipAddress: active.IpAddress,
      dnsName: active.DnsName,
      port: active.Port,
      currentSeen: active.CurrentPlayerSessionCount === 0,
    },
    creationTimeMs: created.CreationTime.getTime(),
    playerSessionIds: [first, ...batch].map((p) => p.PlayerSessionId),
    described: described.map((p) => ({ id: p.PlayerSessionId, playerId: p.PlayerId, status: p.Status })),
    pages,
    searched: searched.GameSessions.map((g) => g.GameSessionId),
    fleetIds: fleets.FleetIds,
    fleetStatus: attributes.FleetAttributes[0]?.Status,
    errors: {
      unknownGameSession: await refusal(
        new DescribeGameSessionsCommand({ GameSessionId: gameSessionId.replace(/[^/]+$/, "gsess-unknown") }),
        NotFoundException,
      ),
      full: await refusal(
        new CreatePlayerSessionsCommand({ GameSessionId: gameSessionId, PlayerIds: ["js-4", "js-5"] }),
        GameSessionFullException,
      ),
      noSelector: await refusal(new DescribeGameSessionsCommand({}), InvalidRequestException),
    },
  }),
);
client.destroy();
