package faults

import (
	"fmt"
	"strings"
	"testing"
)

// Each expectation of a script gives one verdict per name. The verdict is broken if the expectation failed once.
func TestExpectations(t *testing.T) {
	t.Parallel()
	var x expectations
	x.read("23 November 2026 13:44:27,443 [INFO] (game.js) 1: troupe.expect ok scores add up\n" +
		"23 November 2026 13:44:27,457 [INFO] (game.js) 1: troupe.expect FAILED nobody is twice in the list\n" +
		"23 November 2026 13:44:27,458 [INFO] (game.js) 1: troupe.expect maybe no\n")
	x.read("... troupe.expect ok scores add up\n... troupe.expect ok nobody is twice in the list\n")
	got := x.judge()
	if len(got) != 2 || got[0].Promise != "scores add up" || got[0].Outcome != holds || got[1].Outcome != broken || got[1].Invariant != ownInvariant {
		t.Errorf("%+v", got)
	}
	for i := range 200 {
		x.read(fmt.Sprintf("troupe.expect ok name %d\n", i))
	}
	if got := x.judge(); len(got) != expectMax+1 || got[expectMax].Outcome != notChecked || !strings.HasPrefix(got[expectMax].Detail, "102 lines") {
		t.Errorf("%d: %+v", len(got), got[len(got)-1])
	}
}
