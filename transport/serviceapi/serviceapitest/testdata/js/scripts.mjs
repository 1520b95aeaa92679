// Takes a script through its life with the AWS SDK for JavaScript and prints what
// it saw as one JSON object. Reads from the environment what gamelift.mjs reads,
// without the fleet, and TROUPE_ZIP: the archive in base64.
import {
  CreateFleetCommand,
  CreateScriptCommand,
  DeleteFleetCommand,
  DeleteScriptCommand,
  DescribeFleetEventsCommand,
  DescribeRuntimeConfigurationCommand,
  DescribeScriptCommand,
  GameLiftClient,
  paginateListScripts,
  UpdateRuntimeConfigurationCommand,
  UpdateScriptCommand,
} from "@aws-sdk/client-gamelift";
import { AwsSmithyRpcV2CborProtocol } from "@aws-sdk/core/protocols";

const env = process.env;
const client = new GameLiftClient({
  endpoint: env.TROUPE_ENDPOINT,
  region: env.TROUPE_REGION || "us-east-1",
  credentials: {
    accessKeyId: env.AWS_ACCESS_KEY_ID || "AKIDEXAMPLE",
    secretAccessKey: env.AWS_SECRET_ACCESS_KEY || "secret",
  },
  ...(env.TROUPE_PROTOCOL === "cbor" ? { protocol: AwsSmithyRpcV2CborProtocol } : {}),
});
const ZipFile = Buffer.from(env.TROUPE_ZIP, "base64");

const { Script } = await client.send(new CreateScriptCommand({ Name: "from JavaScript", Version: "1", ZipFile, NodeJsVersion: "24.x" }));
const { ScriptId } = Script;
const updated = await client.send(new UpdateScriptCommand({ ScriptId, Version: "2", ZipFile }));
const described = await client.send(new DescribeScriptCommand({ ScriptId: Script.ScriptArn }));
const listed = [];
for await (const page of paginateListScripts({ client }, {})) listed.push(...page.Scripts.map((s) => s.ScriptId));

const processes = (n) => ({ ServerProcesses: [{ LaunchPath: "/local/game/main.js", ConcurrentExecutions: n }] });
const { FleetAttributes, LocationStates } = await client.send(
  new CreateFleetCommand({ Name: "js", ScriptId, EC2InstanceType: "c5.large", RuntimeConfiguration: processes(1) }),
);
const { FleetId } = FleetAttributes;
await client.send(new UpdateRuntimeConfigurationCommand({ FleetId, RuntimeConfiguration: processes(3) }));
const { RuntimeConfiguration } = await client.send(new DescribeRuntimeConfigurationCommand({ FleetId }));
const { Events } = await client.send(new DescribeFleetEventsCommand({ FleetId, StartTime: new Date(0) }));
await client.send(new DeleteFleetCommand({ FleetId }));
const errors = {};
try {
  await client.send(new DeleteFleetCommand({ FleetId }));
} catch (e) {
  errors.deletedTwice = e.name;
}
await client.send(new DeleteScriptCommand({ ScriptId }));
try {
  await client.send(new DescribeScriptCommand({ ScriptId }));
} catch (e) {
  errors.unknownScript = e.name;
}

console.log(
  JSON.stringify({
    scriptId: ScriptId,
    size: Script.SizeOnDisk,
    nodeVersion: Script.NodeJsVersion,
    versions: [Script.Version, updated.Script.Version, described.Script.Version],
    listed,
    fleetId: FleetId,
    fleetStatus: FleetAttributes.Status,
    locations: LocationStates.map((l) => l.Location),
    concurrent: RuntimeConfiguration.ServerProcesses[0].ConcurrentExecutions,
    events: Events.map((e) => e.EventCode),
    eventTimes: Events.every((e) => e.EventTime instanceof Date && e.Count >= 1),
    errors,
  }),
);
