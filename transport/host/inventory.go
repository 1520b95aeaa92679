package host

import (
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"troupe/messages/counters"
	"troupe/transport/console"
)

// Settings returns the configuration in force, without secrets.
func (h operations) Settings() []console.Setting {
	h.reloads.mu.Lock()
	c, levelBy := h.reloads.config, h.reloads.levelBy
	h.reloads.mu.Unlock()
	var all []console.Setting
	keys := Reloadable()
	each(reflect.ValueOf(c), "", func(key string, v reflect.Value) {
		s := console.Setting{Key: key, Value: shownValue(key, v), Origin: "not known", Reload: slices.Contains(keys, key)}
		if h.origin != nil {
			s.Origin = h.origin(key)
		}
		if key == "log.level" && levelBy != "" {
			s.Origin = "operator " + levelBy + ", until the next reload"
		}
		all = append(all, s)
	})
	return all
}

// each calls f with every key of a configuration. A list is one value: each does not descend into it.
func each(v reflect.Value, path string, f func(key string, v reflect.Value)) {
	for i := range v.NumField() {
		key, field := path+v.Type().Field(i).Tag.Get("config"), v.Field(i)
		if field.Kind() == reflect.Struct {
			each(field, key+".", f)
			continue
		}
		f(key, field)
	}
}

const hiddenValue = "(set, and not shown)"

// shownValue formats a value as text. A list of sections is JSON with the key names of the configuration.
func shownValue(key string, v reflect.Value) string {
	plain := plainValue(key, v)
	if text, ok := plain.(string); ok {
		return text
	}
	text, err := json.Marshal(plain)
	if err != nil {
		return "(cannot be shown)"
	}
	return string(text)
}

// plainValue returns a value without its secrets, in a form that encoding/json accepts.
func plainValue(key string, v reflect.Value) any {
	name := key[strings.LastIndexByte(key, '.')+1:]
	switch {
	case (name == "secret" || name == "sessionToken") && !v.IsZero():
		return hiddenValue
	case v.Type() == reflect.TypeFor[time.Duration]():
		return time.Duration(v.Int()).String()
	case name == "url" && v.Kind() == reflect.String:
		return withoutQuery(v.String())
	case v.Kind() == reflect.Slice:
		all := make([]any, v.Len())
		for i := range all {
			all[i] = plainValue(key, v.Index(i))
		}
		return all
	case v.Kind() == reflect.Struct:
		all := make(map[string]any)
		for i := range v.NumField() {
			if f, name := v.Field(i), v.Type().Field(i).Tag.Get("config"); !f.IsZero() {
				all[name] = plainValue(key+"."+name, f)
			}
		}
		return all
	}
	return v.Interface()
}

// withoutQuery hides the parts of a URL that may be secret.
func withoutQuery(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return hiddenValue
	}
	if u.RawQuery != "" {
		u.RawQuery = "hidden"
	}
	return u.Redacted()
}

// Listeners returns the sockets of the host. Before all of them are open, it returns nil.
func (h operations) Listeners() []console.Listener {
	select {
	case <-h.started:
	default:
		return nil
	}
	all := []console.Listener{
		{Name: "service API and console", Address: h.addrs.API, Encrypted: strings.HasPrefix(h.addrs.APIURL, "https")},
		{Name: "WebSocket", Address: h.addrs.WS, Connections: h.count.Connections.Get(counters.WS)},
		{Name: "WebSocket over TLS", Address: h.addrs.WSS, Encrypted: true, Connections: h.count.Connections.Get(counters.WSS)},
		{Name: "fast channel", Address: h.addrs.Fast},
		{Name: "fast channel over DTLS", Address: h.addrs.DTLS, Encrypted: true},
		{Name: "KCP over DTLS", Address: h.addrs.KCP, Encrypted: true, Connections: h.count.Connections.Get(counters.KCP)},
	}
	if h.listeners.certs == nil {
		return all
	}
	leaf := h.listeners.certs.Certificate().Leaf
	names, end := slices.Clone(leaf.DNSNames), leaf.NotAfter.UTC()
	for _, ip := range leaf.IPAddresses {
		names = append(names, ip.String())
	}
	for i := range all {
		if all[i].Encrypted && all[i].Address != "" {
			all[i].Certificate, all[i].Expires = strings.Join(names, ", "), &end
		}
	}
	return all
}
