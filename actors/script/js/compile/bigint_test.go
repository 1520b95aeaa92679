package compile

import (
	"strings"
	"testing"
)

// RL-210.
func TestBigIntIsRefusedWithTheWayOut(t *testing.T) {
	for source, where := range map[string]string{
		"exports.x = 1;\nexports.y = 2n ** 64n;":       "x.js:2:13",
		"f(BigInt(5));":                                "x.js:1:3",
		"f(BigInt.asIntN(8, x));":                      "x.js:1:3",
		"new BigInt64Array(4);":                        "x.js:1:5",
		"f(typeof BigInt === 'function' && BigInt(5))": "",
		"f(x.BigInt(5), 'BigInt', 0xan1)":              "", // refused because of the number, not as a BigInt
		"f(a.BigInt, { BigInt: 1 })":                   "",
	} {
		_, err := unit(t, "x.js", source).Program("x.js")
		refused := err != nil && strings.Contains(err.Error(), "does not have BigInt")
		if refused != (where != "") || refused && (!strings.HasPrefix(err.Error(), where+":") || !strings.Contains(err.Error(), `"troupe": {"engine": "node"}`)) {
			t.Errorf("%s: %v", source, err)
		}
	}
	if _, err := Evaluated("f(1); 0x1Fn << 2"); err == nil || !strings.Contains(err.Error(), "BigInt") {
		t.Error(err)
	}
}
