package acceptance_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages/counters"
	"troupe/messages/wire"
	"troupe/transport/client"
	"troupe/transport/dtls"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

// Tests of the secured mode: RT-9 and RT-30 to RT-34. The client is written from the specification alone, and
// uses openssl or GnuTLS for DTLS.

// secure enables the secured listeners.
func secure(t *testing.T) func(c *host.Config) {
	dir := t.TempDir()
	return func(c *host.Config) {
		c.WSS.Addr, c.DTLS.Addr, c.KCP.Addr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
		c.TLS.Dir = filepath.Join(dir, "tls")
		c.Fleets = append(c.Fleets, host.Fleet{ID: "fleet-secure", Name: "secure", GameSessionsMax: 100, Certificates: "GENERATED"})
		c.DTLS.HalfOpenPerIP = 0
	}
}

// roots returns the trust anchors of a host. A stock client would find them in the trust store of its
// platform.
func (h *testHost) roots() *x509.CertPool {
	h.Helper()
	text, err := os.ReadFile(h.host.Addrs().CA)
	if err != nil {
		h.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		h.Fatal("no certificate in the announced file")
	}
	return pool
}

func (h *testHost) secured() stock.Options {
	h.Helper()
	return stock.Secured(h.roots(), "localhost")
}

// dialSecure opens a stock client on wss.
func (h *testHost) dialSecure(id string, o stock.Options) *stock.Client {
	h.Helper()
	o.Network = h.Net
	c, err := stock.Dial(h.context(), h.host.Addrs().WSS, id, o)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(c.Kill)
	return c
}

// joinSecure is dialSecure followed by the login, including the DTLS handshake.
func (h *testHost) joinSecure(id string, o stock.Options) *stock.Client {
	h.Helper()
	c := h.dialSecure(id, o)
	if r, err := c.AwaitLogin(h.context()); err != nil {
		h.Fatalf("login: %v (%+v)", err, r)
	}
	return c
}

func isOp(op int32, via stock.Channel) func(stock.Event) bool {
	return func(e stock.Event) bool { return e.Err == nil && e.OpCode == op && e.Channel == via }
}

// loginResult returns the client's LOGIN_RESPONSE.
func (h *testHost) loginResult(c *stock.Client) *stock.LoginResult {
	h.Helper()
	for _, e := range c.Log() {
		if e.LoginResult != nil {
			return e.LoginResult
		}
	}
	h.Fatal("no LOGIN_RESPONSE")
	return nil
}

// RT-9.
func TestWSSWorksWithTLS12Alone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, secure(t), nil)
		id := h.seats(h.newGame(4), 1)[0]
		o := stock.Options{TLS: &tls.Config{RootCAs: h.roots(), ServerName: "localhost", MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12}}
		c := h.joinSecure(id, o)
		h.send(c, stock.Message{OpCode: 7, TargetPlayer: c.PeerID(), Reliable: true, Payload: []byte("over TLS 1.2")})
		if e := h.expect(c, isOp(7, stock.ChannelWebSocket)); string(e.Payload) != "over TLS 1.2" {
			t.Errorf("%v", e)
		}
		for version, good := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
			if err := h.handshake(&tls.Config{RootCAs: h.roots(), ServerName: "localhost", MinVersion: version, MaxVersion: version}); (err == nil) != good {
				t.Errorf("%s: %v", tls.VersionName(version), err)
			}
		}
		h.checkReceived(c)
	})
}

// handshake opens a TLS connection to the host and closes it.
func (h *testHost) handshake(c *tls.Config) error {
	h.Helper()
	conn, err := h.Net.DialContext(h.context(), "tcp", h.host.Addrs().WSS)
	if err != nil {
		h.Fatal(err)
	}
	defer conn.Close()
	return tls.Client(conn, c).HandshakeContext(h.context())
}

// RT-30, RT-31.
func TestAFullVerifyIdentityLogin(t *testing.T) {
	for _, test := range []struct {
		name  string
		stack stock.Stack
		has   func() (string, string)
		c     stock.Cipher
		suite counters.Suite
	}{
		{"openssl", stock.OpenSSL, stock.HasOpenSSL, 0, counters.SuiteChaCha20},
		{"GnuTLS GCM", stock.GnuTLS, stock.HasGnuTLS, stock.AES128GCM, counters.SuiteAESGCM},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, reason := test.has(); reason != "" {
				t.Skip(reason)
			}
			h := startHostWith(t, secure(t), onSystem)
			seats := h.seats(h.newGame(4), 2)
			o := h.secured()
			o.DTLS.Stack, o.DTLS.Cipher = test.stack, test.c
			a, b := h.joinSecure(seats[0], o), h.joinSecure(seats[1], o)
			for _, c := range []*stock.Client{a, b} {
				if err := c.AwaitFast(h.context()); err != nil {
					t.Fatal(err)
				}
				// D-108: the response arrives on both channels.
				for _, via := range []stock.Channel{stock.ChannelDTLS, stock.ChannelWebSocket} {
					h.until("answered by "+via.String(), func() error {
						if !slices.ContainsFunc(c.Log(), isOp(stock.OpVerifyIdentityResponse, via)) {
							return errors.New("no answer")
						}
						return nil
					})
				}
			}
			if n := h.host.Counters().Associations.Get(test.suite); n != 2 {
				t.Errorf("%d associations with %v", n, test.suite)
			}
			for n := range 20 {
				h.send(a, stock.Message{OpCode: 300, TargetPlayer: b.PeerID(), Payload: []byte{byte(n)}})
				e := h.expect(b, isOp(300, stock.ChannelDTLS))
				if e.Sender != a.PeerID() || e.Reliable || e.Payload[0] != byte(n) {
					t.Errorf("%v", e)
				}
				h.send(b, stock.Message{OpCode: 301, TargetGroup: stock.AllPlayers, Payload: []byte("all")})
				h.expect(a, isOp(301, stock.ChannelDTLS))
				h.expect(b, isOp(301, stock.ChannelDTLS))
			}
			if n := h.host.Counters().Identities.Get(counters.IdentityVerified); n != 2 {
				t.Errorf("%d verified", n)
			}
			h.untilCount("delivered by DTLS", func() int64 { return h.host.Counters().Delivered.Get(counters.DTLS) }, 60)
			a.Close()
			h.until("a's association is gone", func() error {
				if n := h.host.Counters().Associations.Total(); n != 1 {
					return fmt.Errorf("%d associations", n)
				}
				return nil
			})
			h.checkReceived(a, b)
		})
	}
}

// RT-33.
func TestCACertIsPEMInSecuredModeAndEmptyOtherwise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, secure(t), nil)
		seats := h.seats(h.newGame(4), 2)
		plain := h.join(seats[0], stock.Options{})
		if r := h.loginResult(plain); len(r.CACert) != 0 || r.ConnectToken != "" {
			t.Errorf("unsecured: caCert of %d bytes, connectToken %q", len(r.CACert), r.ConnectToken)
		}
		o := h.secured()
		o.DTLS = nil
		secured := h.joinSecure(seats[1], o)
		r := h.loginResult(secured)
		block, rest := pem.Decode(r.CACert)
		if block == nil || block.Type != "CERTIFICATE" || len(rest) != 0 {
			t.Fatalf("caCert is not one PEM certificate: %q", r.CACert)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil || !cert.IsCA {
			t.Errorf("caCert: %v, CA %v", err, cert.IsCA)
		}
		if len(r.ConnectToken) < 32 {
			t.Errorf("connectToken %q", r.ConnectToken)
		}
		_, port, _ := net.SplitHostPort(h.host.Addrs().DTLS)
		if port != strconv.Itoa(int(r.FastPort)) {
			t.Errorf("fastPort %d, DTLS is on %s", r.FastPort, port)
		}
	})
}

// RT-34.
func TestAPlainUDPConnectOnASecuredPortHasNoEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, secure(t), nil)
		o := h.secured()
		o.DTLS = nil
		c := h.joinSecure(h.seats(h.newGame(4), 1)[0], o)
		conn, err := h.Net.DialContext(h.context(), "udp", h.host.Addrs().DTLS)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for range 3 {
			if _, err := conn.Write(wire.AppendUDPConnect(nil, c.PeerID(), 0)); err != nil {
				t.Fatal(err)
			}
		}
		h.until("dropped", func() error {
			if n := h.host.Counters().Records.Get(counters.RecordMalformed); n != 3 {
				return fmt.Errorf("%d", n)
			}
			return nil
		})
		conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if n, err := conn.Read(make([]byte, 100)); err == nil {
			t.Errorf("answered with %d bytes", n)
		}
		if n := h.host.Counters().Handshakes.Total(); n != 0 {
			t.Errorf("%d handshakes", n)
		}
	})
}

// dtlsInbox is an association that stores what it receives.
type dtlsInbox struct {
	a   *dtls.Association
	got chan []byte
	end chan error
}

func (i *dtlsInbox) OnRecord(plain []byte) { i.got <- append([]byte(nil), plain...) }
func (i *dtlsInbox) OnClosed(err error)    { i.end <- err }

// dtls returns the options for an association with the host over the test's network.
func (h *testHost) dtls(addr string, roots *x509.CertPool) dtls.DialOptions {
	h.Helper()
	conn, err := h.Net.DialContext(h.context(), "udp", addr)
	if err != nil {
		h.Fatal(err)
	}
	return dtls.DialOptions{Conn: conn, Roots: roots, ServerName: "localhost"}
}

// associate opens a DTLS association with the host, for a client that breaks rules which a stock client
// follows.
func (h *testHost) associate() *dtlsInbox {
	h.Helper()
	return h.associateAt(h.host.Addrs().DTLS)
}

func (h *testHost) associateAt(addr string) *dtlsInbox {
	h.Helper()
	box := &dtlsInbox{got: make(chan []byte, 100), end: make(chan error, 1)}
	a, err := dtls.Dial(h.context(), h.dtls(addr, h.roots()), func(*dtls.Association) dtls.Handler { return box })
	if err != nil {
		h.Fatal(err)
	}
	box.a = a
	h.Cleanup(a.Close)
	return box
}

// verify sends VERIFY_IDENTITY with a token and returns the response.
func (h *testHost) verify(box *dtlsInbox, peer int32, token string) wire.VerifyIdentityResult {
	h.Helper()
	box.a.Write(wire.AppendVerifyIdentity(nil, &wire.VerifyIdentity{PeerID: peer, ConnectToken: token}, 0, nil))
	select {
	case unit := <-box.got:
		packet, err := wire.SplitUnit(unit)
		var head wire.Header
		if err == nil {
			err = head.Parse(packet)
		}
		if err != nil || head.OpCode != wire.OpVerifyIdentityResponse {
			h.Fatalf("%v: %+v", err, head)
		}
		r, err := wire.ParseVerifyIdentityResult(head.Inner)
		if err != nil {
			h.Fatal(err)
		}
		return r
	case <-h.context().Done():
		h.Fatal("no answer")
	}
	return wire.VerifyIdentityResult{}
}

// RT-32, RL-209.
func TestAWrongTokenWrongPeerOrReusedTokenIsRefusedAndTheWebSocketLivesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, secure(t), nil)
		seats := h.seats(h.newGame(4), 2)
		o := h.secured()
		o.DTLS = nil
		c, other := h.joinSecure(seats[0], o), h.joinSecure(seats[1], o)
		token := h.loginResult(c).ConnectToken
		alive := func() {
			t.Helper()
			h.send(c, stock.Message{OpCode: 9, TargetPlayer: c.PeerID(), Reliable: true})
			h.expect(c, isOp(9, stock.ChannelWebSocket))
		}
		refused := func(what string, peer int32, token string) {
			t.Helper()
			box := h.associate()
			if r := h.verify(box, peer, token); r.Success || r.PeerID != 0 {
				t.Errorf("%s: %+v", what, r)
			}
			select {
			case <-box.end:
			case <-h.context().Done():
				t.Errorf("%s: the association is not dropped", what)
			}
			alive()
		}
		refused("a wrong token", c.PeerID(), token+"x")
		refused("no token", c.PeerID(), "")
		refused("another's peer id", other.PeerID(), token)
		refused("an unknown peer id", 77, token)
		good := h.associate()
		if r := h.verify(good, c.PeerID(), token); !r.Success || r.PeerID != c.PeerID() {
			t.Fatalf("the right token: %+v", r)
		}
		if r := h.verify(good, c.PeerID(), token); !r.Success {
			t.Errorf("the same again: %+v", r)
		}
		refused("a used token", c.PeerID(), token)
		// The first association still works.
		sender := h.associate()
		if r := h.verify(sender, other.PeerID(), h.loginResult(other).ConnectToken); !r.Success {
			t.Fatalf("%+v", r)
		}
		number := int32(0)
		fromOther := func(op int32) {
			number++
			sender.a.Write(wire.AppendMessage(nil, &wire.Header{OpCode: op, Sequence: number, Sender: other.PeerID(), TargetPlayer: c.PeerID(), Payload: []byte("fast")}))
		}
		fromOther(12)
		select {
		case unit := <-good.got:
			if !slices.Contains(unit, 'f') {
				t.Errorf("%x", unit)
			}
		case <-h.context().Done():
			t.Error("the verified association gets nothing")
		}
		// Its end does not end the login.
		good.a.Close()
		h.until("gone", func() error {
			if n := h.host.Counters().Connections.Get(counters.DTLS); n != 1 {
				return fmt.Errorf("%d", n)
			}
			return nil
		})
		alive()
		fromOther(13)
		if e := h.expect(c, isOp(13, stock.ChannelWebSocket)); !e.Reliable {
			t.Errorf("%v", e)
		}
		if n := h.host.Counters().Identities.Get(counters.IdentityRefused); n != 5 {
			t.Errorf("%d refused", n)
		}
	})
}

func TestGameSessionsOfAFleetWithCertificatesAnnounceTheSecurePorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, func(c *host.Config) {
			secure(t)(c)
			c.Public.Host = "games.example.test"
		}, nil)
		for fleet, want := range map[string]struct{ addr, kind string }{
			"fleet-dev":    {h.host.Addrs().WS, "DISABLED"},
			"fleet-secure": {h.host.Addrs().WSS, "GENERATED"},
		} {
			out, err := h.api.CreateGameSession(h.context(), &gamelift.CreateGameSessionInput{FleetId: aws.String(fleet), MaximumPlayerSessionCount: aws.Int32(2)})
			if err != nil {
				t.Fatal(err)
			}
			g := out.GameSession
			if addr := net.JoinHostPort(*g.IpAddress, strconv.Itoa(int(*g.Port))); addr != want.addr || *g.DnsName != "games.example.test" {
				t.Errorf("%s announces %s (%s), want %s", fleet, addr, aws.ToString(g.DnsName), want.addr)
			}
			fleets, err := h.api.DescribeFleetAttributes(h.context(), &gamelift.DescribeFleetAttributesInput{FleetIds: []string{fleet}})
			if err != nil {
				t.Fatal(err)
			}
			if kind := fleets.FleetAttributes[0].CertificateConfiguration.CertificateType; kind != types.CertificateType(want.kind) {
				t.Errorf("%s: certificates %s", fleet, kind)
			}
			seat, err := h.api.CreatePlayerSession(h.context(), &gamelift.CreatePlayerSessionInput{GameSessionId: g.GameSessionId, PlayerId: aws.String("p")})
			if err == nil && int(*seat.PlayerSession.Port) != int(*g.Port) {
				t.Errorf("%s: the player session says port %d", fleet, *seat.PlayerSession.Port)
			}
		}
		// The certificate contains the name.
		if err := h.handshake(&tls.Config{RootCAs: h.roots(), ServerName: "games.example.test"}); err != nil {
			t.Error(err)
		}
	})
}

func TestAnAssociationThatDoesNotSayWhoItIsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, secure(t), nil)
		box := h.associate()
		box.a.Write([]byte("nothing that makes sense"))
		h.dropped(counters.DropFastMalformed, 1)
		box.a.Write(wire.AppendMessage(nil, &wire.Header{OpCode: 5, TargetGroup: -1, Payload: []byte("x")}))
		h.dropped(counters.DropBeforeLogin, 1)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		select {
		case <-box.end:
		case <-ctx.Done():
			t.Error("it is still there")
		}
		if n := h.host.Counters().Identities.Get(counters.IdentityLate); n != 1 {
			t.Errorf("%d late", n)
		}
	})
}

// operatorFiles creates a new certificate authority and a leaf, and writes their files.
func operatorFiles(t *testing.T, dir string, serial int64) (cert, key, ca string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	authority := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: fmt.Sprint("CA ", serial)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(serial + 1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	caDER, err := x509.CreateCertificate(rand.Reader, authority, authority, caKey.Public(), caKey)
	must(err)
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, authority, leafKey.Public(), caKey)
	must(err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(leafKey)
	must(err)
	cert, key, ca = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "ca.pem")
	for file, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: leafDER}, key: {Type: "PRIVATE KEY", Bytes: keyDER}, ca: {Type: "CERTIFICATE", Bytes: caDER},
	} {
		must(os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
	return cert, key, ca
}

func TestANewCertificateReachesAllListenersWithoutARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		cert, key, ca := operatorFiles(t, dir, 100)
		h := startHost(t, func(c *host.Config) {
			secure(t)(c)
			c.TLS = host.TLS{CertFile: cert, KeyFile: key, CAFile: ca, ReloadEvery: time.Second}
		}, nil)
		old := h.roots()
		seats := h.seats(h.newGame(8), 4)
		before := h.sdk(client.KCP, seats[0])
		operatorFiles(t, dir, 200)
		trust := &tls.Config{RootCAs: h.roots(), ServerName: "localhost"} // uses the new file
		if err := h.handshake(trust); err == nil {
			t.Error("the new certificate is served before the host has looked")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if err := h.handshake(trust); err != nil {
			t.Fatal(err)
		}
		h.sdk(client.WSS, seats[1]) // its DTLS trusts the caCert of its login, which is new as well
		h.sdk(client.KCP, seats[2])
		if _, err := dtls.Dial(h.context(), h.dtls(h.host.Addrs().KCP, old), func(*dtls.Association) dtls.Handler { return nil }); err == nil {
			t.Error("the old certificate is still served")
		}
		if err := before.say(5, client.AllPlayers, "still here", true); err != nil {
			t.Fatal(err)
		}
		before.hear(5)
	})
}
