package main

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync/atomic"

	"troupe/cmd/internal/config"
	"troupe/transport/host"
)

// settings are the flags that configure a host. Each is a pointer to the text for a key; it is nil if the flag is
// absent, so that an absent flag does not override the other sources. Package config parses and checks the values.
type settings struct {
	Config     string                          `placeholder:"FILE" help:"Read settings from this YAML file. Environment variables TROUPE_SECTION_KEY override it, and flags override both."`
	Announce   *string                         `name:"announce" key:"announce" placeholder:"FILE" help:"Write the addresses as JSON to this file once the host has started."`
	APIAddr    *string                         `name:"api-addr" key:"api.addr" placeholder:"HOST:PORT" help:"Service API, health and metrics (api.addr)."`
	WSAddr     *string                         `name:"ws-addr" key:"websocket.addr" placeholder:"HOST:PORT" help:"WebSocket (websocket.addr)."`
	FastAddr   *string                         `name:"fast-addr" key:"fast.addr" placeholder:"HOST:PORT" help:"Fast channel, UDP (fast.addr)."`
	WSSAddr    *string                         `name:"wss-addr" key:"wss.addr" placeholder:"HOST:PORT" help:"WebSocket over TLS (wss.addr)."`
	DTLSAddr   *string                         `name:"dtls-addr" key:"dtls.addr" placeholder:"HOST:PORT" help:"Fast channel, DTLS (dtls.addr)."`
	KCPAddr    *string                         `name:"kcp-addr" key:"kcp.addr" placeholder:"HOST:PORT" help:"KCP inside DTLS (kcp.addr)."`
	PublicHost *string                         `name:"public-host" key:"public.host" placeholder:"NAME" help:"DNS name that players connect to; the certificate is issued for it (public.host)."`
	TLSDir     *string                         `name:"tls-dir" key:"tls.dir" placeholder:"DIR" help:"Directory of the private certificate authority (tls.dir)."`
	Store      *string                         `name:"store" key:"store.path" placeholder:"FILE" help:"Database file that keeps fleets, scripts, game sessions and all other API records across restarts (store.path). To serve without one: --set store.memory=true."`
	LogLevel   *string                         `name:"log-level" key:"log.level" placeholder:"LEVEL" help:"debug, info, warn or error (log.level)."`
	LogFormat  *string                         `name:"log-format" key:"log.format" placeholder:"FORMAT" help:"json or pretty (log.format)."`
	DrainGrace *string                         `name:"drain-grace" key:"drain.grace" placeholder:"DURATION" help:"How long game sessions with players may continue after SIGTERM (drain.grace)."`
	extra      []config.Flag                   // flags of a particular command, treated like Set
	resolved   atomic.Pointer[config.Resolved] // result of the last load
	Set        []string                        `sep:"none" placeholder:"KEY=VALUE" help:"Set any configuration key, for example reconnect.window=10s. May be repeated."`
}

// sources returns the sources of a configuration.
func (s *settings) sources(defaults host.Config) (config.Sources, error) {
	sources := config.Sources{Defaults: defaults, File: s.Config}
	flags := reflect.ValueOf(s).Elem()
	for i := range flags.NumField() {
		tag := flags.Type().Field(i).Tag
		if value := flags.Field(i); tag.Get("key") != "" && !value.IsNil() {
			sources.Flags = append(sources.Flags, config.Flag{Name: "--" + tag.Get("name"), Key: tag.Get("key"), Value: value.Elem().String()})
		}
	}
	for _, set := range s.Set {
		key, value, ok := strings.Cut(set, "=")
		if !ok {
			return sources, fmt.Errorf("--set %s: must be KEY=VALUE", set)
		}
		sources.Flags = append(sources.Flags, config.Flag{Name: "--set", Key: key, Value: value})
	}
	sources.Flags = append(sources.Flags, s.extra...)
	return sources, nil
}

// origin returns where the value of a key comes from.
func (s *settings) origin(key string) string {
	if r := s.resolved.Load(); r != nil {
		return r.Origin(key)
	}
	return "default"
}

// load merges all sources. It logs warnings about them to out.
func (s *settings) load(defaults host.Config, out io.Writer) (host.Config, error) {
	sources, err := s.sources(defaults)
	if err != nil {
		return host.Config{}, err
	}
	var warnings []string
	sources.Files = true
	sources.Warn = func(text string) { warnings = append(warnings, text) }
	r, err := config.Resolve(sources)
	if err != nil {
		return host.Config{}, err
	}
	c, err := r.Config, r.Invalid
	if err == nil {
		s.resolved.Store(r)
	}
	if err == nil && warnings != nil {
		log := newLog(c.Log, out, nil)
		for _, text := range warnings {
			log.Warn().Msg(text)
		}
	}
	return c, err
}
