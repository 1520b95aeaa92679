package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"troupe/transport/host"
)

func TestTryNext(t *testing.T) {
	cfg := host.Defaults()
	got := tryNext("troupe", &cfg, host.Announcement{APIURL: defaultEndpoint}, false)
	want := []string{
		"troupe client --bots 4", "troupe client",
		"aws gamelift describe-game-sessions --fleet-id fleet-dev --endpoint-url http://127.0.0.1:8080 --region us-east-1 --no-sign-request",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	cfg.Fleets[0].ID, cfg.Fleets[0].Certificates, cfg.API.TLS = "fleet-a", "GENERATED", true
	got = tryNext("/opt/troupe", &cfg, host.Announcement{APIURL: "https://127.0.0.1:1", CA: "/some where/cert.pem"}, false)
	want = []string{
		"/opt/troupe client --fleet fleet-a --endpoint https://127.0.0.1:1 --transport wss --ca '/some where/cert.pem' --bots 4",
		"/opt/troupe client --fleet fleet-a --endpoint https://127.0.0.1:1 --transport wss --ca '/some where/cert.pem'",
		"aws gamelift describe-game-sessions --fleet-id fleet-a --endpoint-url https://127.0.0.1:1 --region us-east-1 --no-sign-request --ca-bundle '/some where/cert.pem'",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestWelcomeShowsWhatIsOff(t *testing.T) {
	cfg := host.Defaults()
	for wss, want := range map[string]string{"": "secured: WebSocket            off\n", "127.0.0.1:1": "secured: WebSocket            wss://127.0.0.1:1\n"} {
		var out strings.Builder
		if welcome(&out, &cfg, host.Announcement{WSS: wss}, "", "", ""); !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, &out)
		}
	}
}

// If the host has a private authority, the text explains how to trust it.
func TestWelcomeTellsHowToTrust(t *testing.T) {
	cfg := host.Defaults()
	for ca, want := range map[string]bool{"": false, "/tls/ca/cert.pem": true} {
		var out strings.Builder
		if welcome(&out, &cfg, host.Announcement{CA: ca}, "", "", ""); strings.Contains(out.String(), "troupe tls trust") != want {
			t.Errorf("%q: %s", ca, &out)
		}
	}
}

func TestInvocation(t *testing.T) {
	own, other := filepath.Join(t.TempDir(), "it's", "troupe"), filepath.Join(t.TempDir(), "troupe")
	for _, name := range []string{own, other} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for found, want := range map[string]string{own: "troupe", other: quoted(own), "": quoted(own)} {
		got := invocationOf(own, func(string) (string, error) {
			if found == "" {
				return "", errors.New("not on the path")
			}
			return found, nil
		})
		if got != want {
			t.Errorf("found %q: %s, want %s", found, got, want)
		}
	}
}
