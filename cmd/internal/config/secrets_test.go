package config

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"troupe/transport/host"
)

const someSecret = "canary-secret-of-a-key"

func TestAccessKeysOfAllSources(t *testing.T) {
	secretFile := writeFile(t, someSecret+"\n")
	c, err := load(t, "api:\n  keys:\n  - {id: KEY1, secret: "+someSecret+", allow: ['gamelift:Describe*', 'gamelift:ListFleets']}\n"+
		"  - {id: KEY2, secretEnv: MY_SECRET, rate: -1}\n  - {id: KEY3, secretFile: "+secretFile+", burst: 7}\n", []string{"MY_SECRET=" + someSecret})
	if err != nil {
		t.Fatal(err)
	}
	want := []host.APIKey{
		{ID: "KEY1", Secret: someSecret, Allow: []string{"gamelift:Describe*", "gamelift:ListFleets"}},
		{ID: "KEY2", Secret: someSecret, SecretEnv: "MY_SECRET", Rate: -1},
		{ID: "KEY3", SecretFile: secretFile, Burst: 7},
	}
	if !reflect.DeepEqual(c.API.Keys, want) {
		t.Errorf("got %+v", c.API.Keys)
	}
}

func TestMistakesOfAccessKeys(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no secret":          {"api: {keys: [{id: KEY1}]}\n", "api.keys[0] (file FILE): must have one of secret, secretFile and secretEnv"},
		"two secrets":        {"api: {keys: [{id: KEY1, secretEnv: MY_SECRET, secret: " + someSecret + "}]}\n", "must have one of"},
		"two places":         {"api: {keys: [{id: KEY1, secretFile: /x, secret: " + someSecret + "}]}\n", "must have one of"},
		"not set":            {"api: {keys: [{id: KEY1, secretEnv: OTHER}]}\n", "api.keys[0].secretEnv (file FILE): names a variable that is not set"},
		"a setting":          {"api: {keys: [{id: KEY1, secretEnv: TROUPE_SECRET}]}\n", "must not begin with TROUPE_"},
		"twice":              {"api: {keys: [{id: KEY1, secretEnv: MY_SECRET}, {id: KEY1, secretEnv: MY_SECRET}]}\n", "api.keys[1].id (file FILE): is there twice"},
		"short":              {"api: {keys: [{id: KEY1, secret: canary}]}\n", "at least 16 characters"},
		"a number":           {"api: {keys: [{id: KEY1, secret: 4815162342481516}]}\n", "api.keys[0].secret (file FILE): must be text"},
		"no operation":       {"api: {keys: [{id: KEY1, secretEnv: MY_SECRET, allow: ['gamelift:Nothing']}]}\n", "is no operation"},
		"allow is no list":   {"api: {keys: [{id: KEY1, secretEnv: MY_SECRET, allow: 'gamelift:*'}]}\n", "api.keys[0].allow (file FILE): must be a list"},
		"allow has a number": {"api: {keys: [{id: KEY1, secretEnv: MY_SECRET, allow: [1]}]}\n", "api.keys[0].allow[0] (file FILE): must be text"},
		"sigv4 without keys": {"api: {auth: sigv4}\n", "api.keys"},
		"auth":               {"api: {auth: maybe}\n", "api.auth (file FILE): must be sigv4, none or empty"},
		"players, no keys":   {"websocket: {addr: '0.0.0.0:1900'}\n", "api.keys: must be set, as websocket.addr is not on loopback"},
		"off loopback":       {"api: {addr: '0.0.0.0:8080'}\n", "must be a loopback address: requests are not authenticated"},
		"off loopback, none": {"api: {addr: '0.0.0.0:8080', auth: none, tls: true}\n", "must be a loopback address: requests are not authenticated"},
		"not encrypted":      {"api: {addr: '0.0.0.0:8080', keys: [{id: KEY1, secretEnv: MY_SECRET}]}\n", "must be a loopback address without TLS"},
		"rate":               {"api: {rate: -1}\n", "api.rate (file FILE): must not be negative"},
		"skew":               {"api: {skew: 0s}\n", "api.skew (file FILE): must be 1s to 24h"},
	} {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, c.text)
			_, err := Load(Sources{Defaults: host.Defaults(), Environ: []string{"MY_SECRET=" + someSecret}, File: path})
			if err == nil {
				t.Fatal("no error")
			}
			if want := strings.ReplaceAll(c.want, "FILE", path); !strings.Contains(err.Error(), want) {
				t.Errorf("error does not say %q:\n%v", want, err)
			}
			if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "4815162342") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
	for name, text := range map[string]string{
		"players, said": "websocket: {addr: '0.0.0.0:1900'}\napi: {auth: none}\n",
		"insecure":      "api: {addr: '0.0.0.0:8080', insecure: true, keys: [{id: KEY1, secretEnv: MY_SECRET}]}\n",
		"tls":           "api: {addr: '0.0.0.0:8080', tls: true, keys: [{id: KEY1, secretEnv: MY_SECRET}]}\n",
	} {
		if _, err := load(t, text, []string{"MY_SECRET=" + someSecret}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFileWithSecretsIsTheOwnersAlone(t *testing.T) {
	path := writeFile(t, "api: {keys: [{id: KEY1, secret: "+someSecret+"}]}\n")
	s := Sources{Defaults: host.Defaults(), Environ: []string{}, File: path}
	if _, err := Load(s); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(s); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("got %v", err)
	}
}
