package main

import (
	"strings"

	"github.com/alecthomas/kong"
)

// newParser returns the parser of the command line. Help and completion use its model.
func newParser(s streams, options ...kong.Option) (*kong.Kong, error) {
	parser, err := kong.New(&commands{}, append([]kong.Option{
		kong.Name("troupe"),
		kong.Description("A self-hosted game host, compatible with Amazon GameLift Realtime."),
		kong.Writers(s.out, s.err),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Bind(s),
	}, options...)...)
	if err != nil {
		return nil, err
	}
	for _, leaf := range parser.Model.Leaves(true) {
		about, lines, found := strings.Cut(details[strings.TrimPrefix(leaf.FullPath(), "troupe ")], "\n\n")
		if !found {
			about, lines = "", about
		}
		title := "Example"
		if strings.Contains(lines, "\n") {
			title = "Examples"
		}
		leaf.Detail = strings.TrimSpace(about + "\n\n" + title + ":\n\n    " + strings.ReplaceAll(lines, "\n", "\n    "))
	}
	return parser, nil
}

// details holds the additional help of each command by its path: optional text and an empty line, followed by examples.
var details = map[string]string{
	"dev":      "troupe dev\ntroupe dev docs/scripts/examples/relay/relay.js\ntroupe dev ./my-server -- -port={port}",
	"serve":    "troupe serve --config troupe.yaml --announce addresses.json",
	"new game": "troupe new game my-game\ntroupe new game --ts my-game",
	"health":   "troupe health\ntroupe health --config troupe.yaml\ntroupe health --ready --endpoint http://127.0.0.1:8080",
	"client":   "troupe client\ntroupe client --bots 4 --duration 10s",

	"config check":  "troupe config check troupe.yaml",
	"config print":  "troupe config print --config troupe.yaml\ntroupe config print --defaults",
	"config schema": "troupe config schema > troupe.schema.json",

	"logs":   "troupe logs\ntroupe logs arn:aws:gamelift:us-east-1::gamesession/fleet-dev/lobby",
	"backup": "troupe backup --store /var/lib/troupe/store.db backup.db", "restore": "troupe restore --store /var/lib/troupe/store.db backup.db",
	"store check": "troupe store check --store /var/lib/troupe/store.db",
	"etcd member": "A member that is alone, and one of three:\n\ntroupe etcd --name a --dir /var/lib/troupe/etcd\n" +
		"troupe etcd --name a --dir /var/lib/troupe/etcd --listen https://10.0.0.1:2379 --peer a=https://10.0.0.1:2380 --peer b=https://10.0.0.2:2380 " +
		"--peer c=https://10.0.0.3:2380 --ca ca.pem --cert a.pem --key a.key",
	"etcd snapshot": "troupe etcd snapshot etcd.snapshot --endpoint http://127.0.0.1:2379",
	"etcd restore":  "troupe etcd restore etcd.snapshot --name a --dir /var/lib/troupe/etcd",
	"tls trust":     "troupe tls trust", "tls rotate": "troupe tls rotate",

	"admin cluster init":     "troupe admin cluster init keys --cluster prod",
	"admin cluster cert":     "troupe admin cluster cert keys node-1\ntroupe admin cluster cert keys etcd-a --host 10.0.0.1",
	"admin keys list":        "troupe admin keys --config troupe.yaml",
	"admin keys new":         "troupe admin keys new",
	"admin matchmaking list": "troupe admin matchmaking",
	"admin matchmaking why":  "troupe admin matchmaking why ticket-1",
	"admin sessions": "troupe admin sessions --fleet fleet-dev --status ACTIVE\ntroupe admin sessions --filter \"hasAvailablePlayerSessions=true\"\n" +
		"troupe admin sessions --endpoint https://games.example.com:8443 --json",
	"admin players": "troupe admin players --player ann\ntroupe admin players --player-session psess-1c8fb791",
	"admin connections": "Who is slow, and why was ann thrown out:\n\n" +
		"troupe admin connections --sort rtt --limit 10\ntroupe admin connections --closed --player ann",
	"admin placements list": "What waits and why, and one placement:\n\ntroupe admin placements --status PENDING\ntroupe admin placements my-placement",
	"admin placements why":  "troupe admin placements why my-placement",
	"admin queues":          "troupe admin queues queue-dev",
	"admin fleets":          "troupe admin fleets",
	"admin scripts":         "troupe admin scripts --json\ntroupe admin scripts --running",
	"admin aliases":         "troupe admin aliases",
	"admin compute env":     "troupe admin compute env",
	"admin locations":       "troupe admin locations",
	"admin events":          "One event per line, as JSON, the oldest first.\n\ntroupe admin events --follow",
	"admin kick":            "The player session ends; the player may come back with another one.\n\ntroupe admin kick ann --reason rude",
	"admin ban": "A ban refuses logins of a player id, and lasts over restarts of the host.\n\n" +
		"troupe admin ban ann --for 24h --reason rude\ntroupe admin ban\ntroupe admin ban ann --lift",
	"admin terminate": "troupe admin terminate arn:aws:gamelift:us-east-1::gamesession/fleet-dev/lobby --force",
	"admin log-level": "The level is in force until the next reload or start.\n\ntroupe admin log-level debug",
	"admin profile":   "troupe admin profile --seconds 30 -o cpu.pprof\ngo tool pprof -http : cpu.pprof",
	"top": "Keys: r, w, t and p sort by rate, queue, round trip and players; tab shows both lists, game sessions or players; " +
		"space looks at once; q ends it.\n\n" +
		"troupe top\ntroupe top --sort rtt --endpoint https://games.example.com:8443\ntroupe top --once --sort queue --limit 10",
	"admin drain":  "troupe admin drain --grace 20m\ntroupe admin drain --show\ntroupe admin drain --cancel\ntroupe admin drain host-b",
	"admin nodes":  "troupe admin nodes\ntroupe admin nodes --json",
	"admin forget": "If the node still runs, its players lose their games.\n\ntroupe admin forget host-b",

	"bench run":      "troupe bench relay-25x8 --report out",
	"bench list":     "troupe bench list",
	"bench report":   "troupe bench report result.json",
	"faults run":     "troupe faults run train",
	"faults list":    "troupe faults list",
	"faults replay":  "troupe faults replay recording.json",
	"faults proxy":   "troupe faults proxy train",
	"match validate": "troupe match validate ruleset.json",
	"match simulate": "troupe match simulate ruleset.json --players players.json\ntroupe match simulate ruleset.json --generate 1000",
	"version":        "troupe version",
	"completion":     "troupe completion bash",
	"licenses":       "troupe licenses",
}
