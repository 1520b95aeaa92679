package host

import (
	"strings"
	"testing"
)

// Validate refuses settings that cannot work, and names the key.
func TestSettingsAreChecked(t *testing.T) {
	for want, change := range map[string]func(c *Config){
		"dtls.addr":                   func(c *Config) { c.DTLS.Addr = "" },
		"kcp.addr":                    func(c *Config) { c.KCP.Addr = "nowhere" },
		"certificates":                func(c *Config) { c.Fleets[0].Certificates = "SOMETIMES" },
		"tls.certFile":                func(c *Config) { c.TLS.CertFile = "x" },
		"tls.caFile":                  func(c *Config) { c.TLS.CAFile = "x" },
		"dtls.halfOpen":               func(c *Config) { c.DTLS.HalfOpen = -1 },
		"public.host":                 func(c *Config) { c.Fleets[0].Certificates, c.WSS.Addr = "GENERATED", "0.0.0.0:0" },
		"tls.reloadEvery":             func(c *Config) { c.TLS.ReloadEvery = 0 },
		"fleets[0].reconnectWindow: ": func(c *Config) { c.Fleets[0].ReconnectWindow = "11m" },
		"reconnect.overflow: ":        func(c *Config) { c.Reconnect.Overflow = "perhaps" },
		"reconnect.stockAmbiguous: ":  func(c *Config) { c.Reconnect.StockAmbiguous = "sometimes" },
		"reconnect.queueBytesAll: ":   func(c *Config) { c.Reconnect.QueueBytesAll = -1 },
		"limits.loginsPerSecond: ":    func(c *Config) { c.Limits.LoginsPerSecond = -1 },
		"log.gameSessions.keep: ":     func(c *Config) { c.Log.GameSessions.Keep = 0 },
		"script.callback":             func(c *Config) { c.Script.Callback = -1 },
		"script.timersMax":            func(c *Config) { c.Script.TimersMax = -1 },
		"script.memoryMax":            func(c *Config) { c.Script.MemoryMax = 1 << 20 },
		"script.unpackedMax":          func(c *Config) { c.Script.UnpackedMax = 0 },
		"script.processesMax":         func(c *Config) { c.Script.ProcessesMax = 0 },
		"script.node.uid":             func(c *Config) { c.Script.Node.UID = -1 },
		"fleets[0].engine":            func(c *Config) { c.Fleets[0].Engine = "v8" },
		"fleets[0].standby":           func(c *Config) { c.Fleets[0].Standby = -2 },
		"fleets[0].nodeVersion":       func(c *Config) { c.Fleets[0].NodeVersion = "12.x" },
		"fleets[0]: has settings":     func(c *Config) { c.Fleets[0].Script, c.Fleets[0].LaunchPath = "", "x.js" },
	} {
		c := Defaults()
		c.Fleets[0].Script = "x.js"
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
