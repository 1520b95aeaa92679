package console

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// pages reads a list until it has no next, and returns a member of its items.
func (w *world) pages(path, query, list, member string) (all []string) {
	w.Helper()
	for next, n := "", 0; n < 100; n++ {
		a := w.want(200, "", "GET", "/admin/v1/"+path+"?"+query+"&next="+url.QueryEscape(next), "")
		var answer map[string]json.RawMessage
		var items []map[string]any
		var more *string
		if err := json.Unmarshal(a.Body.Bytes(), &answer); err != nil {
			w.Fatal(err)
		}
		if err := json.Unmarshal(answer[list], &items); err != nil {
			w.Fatal(err)
		}
		if err := json.Unmarshal(answer["next"], &more); err != nil {
			w.Fatal(err)
		}
		if strings.Contains(a.Body.String(), "secret") {
			w.Fatalf("a whole id: %s", a.Body)
		}
		for _, one := range items {
			all = append(all, fmt.Sprint(one[member]))
		}
		if more == nil {
			return all
		}
		next = *more
		if raw, err := base64.RawURLEncoding.DecodeString(next); err != nil || strings.Contains(string(raw), "secret") {
			w.Fatalf("next is %s, %v", raw, err)
		}
	}
	w.Fatal("the pages do not end")
	return nil
}

// Whatever the size of a page, all pages together have every player session of every ACTIVE game session once, the newest
// first; none has a whole id, and neither has next.
func TestAllPagesHaveEachPlayerSessionOnce(t *testing.T) {
	defer func(was int) { gamesRead = was }(gamesRead)
	w := newWorld(t, false)
	w.console.o.Backend = aFew{}
	var want, ofOne []string
	for _, game := range []string{"e", "c", "d", "a", "b"} { // as aFew has created them
		for _, i := range []int{2, 3, 0, 1} {
			want = append(want, fmt.Sprintf("psess-%s-%05d-", game, i))
		}
	}
	for _, i := range []int{2, 3, 0, 1} {
		ofOne = append(ofOne, fmt.Sprintf("psess-c-%05d-", i))
	}
	for _, limit := range []int{1, 2, 3, 7, 19, 20, 200, 201, 202} {
		if limit > 200 { // pages that have read few game sessions
			gamesRead, limit = limit-200, 200
		}
		for query, want := range map[string][]string{"": want, "fleet=fleet-dev": want, "status=ACTIVE": want, "gameSession=c": ofOne, "status=COMPLETED": nil, "gameSession=c&status=RESERVED": nil} {
			if got := w.pages("players", fmt.Sprintf("limit=%d&%s", limit, query), "players", "playerSession"); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("limit %d, %s: %v, want %v", limit, query, got, want)
			}
		}
	}
}
