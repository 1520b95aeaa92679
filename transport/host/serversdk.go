package host

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"

	"troupe/transport"
	"troupe/transport/awswire"
	"troupe/transport/serversdk/endpoint"
)

// serverSDKPath is the path of the Server SDK's endpoint on the service API's address.
const serverSDKPath = "/server-sdk"

// startServerSDK makes the endpoint and, if it has an address of its own, opens that. scheme and public are those of the
// service API.
func (h *Host) startServerSDK(o Options, scheme, public string, proxies transport.Proxies) (err error) {
	c := &o.Config
	url := strings.Replace(scheme, "http", "ws", 1) + "://" + public + serverSDKPath
	var conns *processConns
	if c.ServerSDK.Addr != "" {
		if h.sdkAddr, err = o.listen(c.ServerSDK.Addr); err != nil {
			return fmt.Errorf("host: serverSDK.addr: %w", err)
		}
		conns = newProcessConns(h.sdkAddr, proxies, h.count)
		h.sdkAddr = conns
		if c.API.TLS {
			h.sdkAddr = tls.NewListener(h.sdkAddr, h.listeners.certs.ServerConfig())
		}
		own, err := c.reachable(h.sdkAddr.Addr())
		if err != nil {
			return err
		}
		url = strings.Replace(scheme, "http", "ws", 1) + "://" + own
	}
	h.addrs.ServerSDK = cmp.Or(c.ServerSDK.URL, url)
	backend := processes{Doer: h.Doer(), system: h.system}
	if n := h.node; n != nil {
		backend.latest = &latest{synced: n.Synced, ctx: n.ctx, work: &n.work}
	}
	h.sdk = endpoint.New(endpoint.Options{
		Backend: backend, URL: h.addrs.ServerSDK, HostURL: h.ownServerSDK(c), Account: c.Account, Region: c.Region, Log: o.Log, Counters: h.count,
		Secret: h.reloads.secretOf, Taken: releaseAPIConn,
	})
	if h.sdkAddr != nil {
		h.sdkHTTP = newAPIServer(conns.handler(h.sdk))
		h.sdkHTTP.ConnContext = rememberConn
		h.sdkHTTP.ErrorLog = listenerLog(o.Log, "server-sdk")
		h.serving.Go(func() { h.served("server-sdk", h.sdkHTTP.Serve(h.sdkAddr), o.OnFailure) })
	}
	return nil
}

// closeServerSDK ends the connections of processes. Until they have ended, handshakes are refused with 503.
func (h *Host) closeServerSDK() {
	if h.sdk != nil {
		h.sdk.Close()
	}
	if h.sdkHTTP != nil {
		h.sdkHTTP.Close()
	}
	if h.sdkAddr != nil {
		h.sdkAddr.Close()
	}
}

// serverSDKPages adds the endpoint to pages. It serves the path with and without a trailing slash, and never redirects.
func (h *Host) serverSDKPages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path := r.URL.Path; path == serverSDKPath || path == serverSDKPath+"/" {
			h.sdk.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// releaseAPIConn says that a connection is one of a process from now on. The limits of its listener are for handshakes.
func releaseAPIConn(r *http.Request) {
	switch c := r.Context().Value(apiConnKey{}).(type) {
	case *apiConn:
		c.l.mu.Lock()
		defer c.l.mu.Unlock()
		c.l.forget(c)
	case *processConn:
		c.accepted(true)
	}
}

// connectOperation is the operation that a key must be allowed to call if processes connect with it.
const connectOperation = "GetComputeAuthToken"

// secretOf returns the secret of an access key in force with which processes may connect (server-sdk.md 5.3).
func (s *reloads) secretOf(accessKey string) (secret, sessionToken string, ok bool) {
	for _, k := range *s.keys.Load() {
		if k.ID == accessKey && k.Allows(connectOperation) {
			return k.Secret, k.SessionToken, true
		}
	}
	return "", "", false
}

// loadKeys reads the access keys, with the secrets from their files.
func (c *Config) loadKeys() (keys []awswire.Key, err error) {
	a := &c.API
	if !a.signed() {
		return nil, nil
	}
	for i := range a.Keys {
		secret, err := secretOf(a.Keys[i].Secret, a.Keys[i].SecretFile)
		if err != nil {
			return nil, fmt.Errorf("host: api.keys[%d].secretFile: %w", i, err)
		}
		keys = append(keys, a.made(&a.Keys[i], secret))
	}
	return keys, nil
}
