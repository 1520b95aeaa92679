package config

import (
	"reflect"
	"strings"
	"testing"

	"troupe/transport/host"
)

func TestSinksOfEvents(t *testing.T) {
	c, err := load(t, `
events:
  sinks:
  - name: lobby
    type: webhook-raw
    url: https://lobby.example.com/events
    secretEnv: MY_SECRET
    targets: ["arn:aws:sns:*:*:lobby", "arn:aws:sns:*:*:lobby.fifo"]
  - {name: audit, type: file, path: /var/lib/troupe/events.jsonl, all: true, kinds: [placement, gamesession]}
  sse: {own: true, secretEnv: MY_SECRET}
`, []string{"MY_SECRET=" + someSecret, "TROUPE_EVENTS_SSE_BUFFER=10"})
	if err != nil {
		t.Fatal(err)
	}
	want := host.Events{
		Sinks: []host.EventSink{
			{Name: "lobby", Type: "webhook-raw", URL: "https://lobby.example.com/events", Secret: someSecret, SecretEnv: "MY_SECRET",
				Targets: []string{"arn:aws:sns:*:*:lobby", "arn:aws:sns:*:*:lobby.fifo"}},
			{Name: "audit", Type: "file", Path: "/var/lib/troupe/events.jsonl", All: true, Kinds: []string{"placement", "gamesession"}},
		},
		SSE: host.EventStream{Own: true, Buffer: 10, Secret: someSecret, SecretEnv: "MY_SECRET"},
	}
	if !reflect.DeepEqual(c.Events, want) {
		t.Errorf("got %+v", c.Events)
	}
	for text, want := range map[string]string{
		"sinks: [{name: a, type: webhook-raw, url: 'http://x', all: true, secretEnv: OTHER}]":                "events.sinks[0].secretEnv (file FILE): names a variable that is not set",
		"sinks: [{name: a, type: webhook-raw, url: 'http://x', all: true, secretEnv: TROUPE_X}]":             "must not begin with TROUPE_",
		"sinks: [{name: a, type: webhook-raw, url: 'http://x', all: true, secretEnv: MY_SECRET, secret: x}]": "must have one of",
		"sse: {secretEnv: OTHER}": "events.sse.secretEnv",
	} {
		path := writeFile(t, "events: {"+text+"}\n")
		_, err := Load(Sources{Defaults: host.Defaults(), Environ: []string{"MY_SECRET=" + someSecret}, File: path})
		if want := strings.ReplaceAll(want, "FILE", path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}
