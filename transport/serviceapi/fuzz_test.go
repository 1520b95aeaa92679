package serviceapi

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"

	"troupe/messages/counters"

	"github.com/aws/smithy-go/encoding/cbor"
)

// FuzzAPIJSONAndCBOR sends arbitrary bodies to all operations in both protocols. No call panics or returns
// status 500, and each response is well-formed in the protocol of its request.
func FuzzAPIJSONAndCBOR(f *testing.F) {
	index := map[string]uint8{}
	for i, name := range Operations() {
		index[name] = uint8(i)
	}
	game := members{"GameSessionId": "arn:aws:gamelift:us-east-1::gamesession/fleet-one/gsess-0000"}
	for name, in := range map[string]members{
		"CreateGameSession":       {"FleetId": fleetOne, "MaximumPlayerSessionCount": 3, "GameProperties": []members{{"Key": "k", "Value": "v"}}},
		"DescribeGameSessions":    {"FleetId": fleetOne, "Limit": 2, "NextToken": "AQAA", "StatusFilter": "ACTIVE"},
		"SearchGameSessions":      {"AliasId": aliasOne, "Limit": 1000},
		"CreatePlayerSession":     {"GameSessionId": game["GameSessionId"], "PlayerId": "p"},
		"CreatePlayerSessions":    {"GameSessionId": game["GameSessionId"], "PlayerIds": []string{"a", "b"}, "PlayerDataMap": members{"a": "1"}},
		"DescribePlayerSessions":  game,
		"ListFleets":              {"ScriptId": "script-1"},
		"DescribeFleetAttributes": {"FleetIds": []string{fleetOne, "arn:aws:gamelift:us-east-1::fleet/fleet-two"}},
	} {
		f.Add(index[name], false, mustJSON(in))
		f.Add(index[name], true, cbor.Encode(treeOf(in)))
	}
	f.Add(uint8(255), true, []byte{})
	f.Fuzz(func(t *testing.T, which uint8, binary bool, body []byte) {
		if len(body) > 1<<20 {
			return
		}
		fake := newFakeBackend()
		server, err := New(Options{Backend: fake, Region: defaultRegion, Account: "000000000000", Counters: new(counters.Set)})
		if err != nil {
			t.Fatal(err)
		}
		protocol := "json"
		if binary {
			protocol = "cbor"
		}
		create := newRequest("json", "http://host/", "CreateGameSession", []byte(`{"FleetId":"fleet-one","MaximumPlayerSessionCount":3}`))
		server.ServeHTTP(httptest.NewRecorder(), create)

		name := "NoSuchThing"
		if int(which) < len(Operations()) {
			name = Operations()[which]
		}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, newRequest(protocol, "http://host/p", name, body))
		r := decoded(t, protocol, w.Code, w.Header(), w.Body.Bytes())
		if r.Status != http.StatusOK && r.Status != http.StatusBadRequest {
			t.Fatalf("%s: got %d %v", name, r.Status, r.Body)
		}
		if r.Status != http.StatusOK && (r.Code() == "" || r.Body["message"] == "") {
			t.Fatalf("%s: error body %v", name, r.Body)
		}
		if r.Header.Get("x-amzn-RequestId") == "" || (r.Header.Get("Smithy-Protocol") != "") != binary {
			t.Fatalf("%s: headers %v", name, r.Header)
		}
		if server.options.Counters.APIErrors.Load() > 0 == (r.Status == http.StatusOK) {
			t.Fatalf("%s: errors miscounted", name)
		}
		if bytes.Contains(r.Raw, []byte("ResultMetadata")) {
			t.Fatalf("%s: got %s", name, r.Raw)
		}
	})
}
