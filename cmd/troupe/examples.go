package main

import (
	"strings"

	"github.com/alecthomas/kong"
)

// newParser returns the parser of the command line. Help and completion are made of its model.
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
		if lines := examples[strings.TrimPrefix(leaf.FullPath(), "troupe ")]; lines != "" {
			title := "Example"
			if strings.Contains(lines, "\n") {
				title = "Examples"
			}
			leaf.Detail = strings.TrimSpace(leaf.Detail+"\n\n"+title+":\n\n    ") + "\n\n    " + strings.ReplaceAll(lines, "\n", "\n    ")
		}
	}
	return parser, nil
}

// examples are those of commands whose Help has none, by their path.
var examples = map[string]string{
	"dev":      "troupe dev\ntroupe dev docs/scripts/examples/relay/relay.js",
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
	"tls trust":   "troupe tls trust", "tls rotate": "troupe tls rotate",

	"admin keys list":        "troupe admin keys --config troupe.yaml",
	"admin keys new":         "troupe admin keys new",
	"admin matchmaking list": "troupe admin matchmaking",
	"admin matchmaking why":  "troupe admin matchmaking why ticket-1",
	"admin drain":            "troupe admin drain --grace 20m\ntroupe admin drain --show\ntroupe admin drain --cancel",

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
