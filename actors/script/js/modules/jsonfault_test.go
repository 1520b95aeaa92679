package modules

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// Texts that are not JSON are refused in the words of Node.js 20, which are kept.
func TestBadJSONIsRefusedInTheWordsOfNode(t *testing.T) {
	const kept = "testdata/badjson.json"
	data, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	if node := node20(); node != "" {
		if said := runNode(t, node, "testdata/badjson.js"); !bytes.Equal(said, data) {
			t.Errorf("%s is not what Node.js says", kept)
		}
	}
	var list [][2]string
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	for _, x := range list {
		if got, _ := JSONFault(x[0]); got != x[1] {
			t.Errorf("%q:\n got %s\nwant %s", x[0], got, x[1])
		}
	}
}

func TestRequireNamesABadJSONFile(t *testing.T) {
	says(t, `true SyntaxError undefined /local/game/bad.json: Expected double-quoted property name in JSON at position 11 []
SyntaxError: /local/game/bad.json: Expected double-quoted property name in JSON at position 11
/local/game/empty.json: Unexpected end of JSON input
/local/game/bom.json: Unexpected token 'x', "x" is not valid JSON
again /local/game/bad.json: Expected double-quoted property name in JSON at position 11`,
		"main.js", `
			try { require('./bad.json'); } catch (e) { console.log(e instanceof SyntaxError, e.name, e.code, e.message, Object.keys(e)); console.log(e.stack.split('\n')[0]); }
			for (const name of ['./empty', './bom']) try { require(name); } catch (e) { console.log(e.message); }
			try { require('./bad.json'); } catch (e) { console.log('again', e.message); }`,
		"bad.json", "{\n \"a\": 1,\n}\n", "empty.json", "", "bom.json", bom+"x")
}

func FuzzJSONFault(f *testing.F) {
	for _, s := range []string{`{"a": [1, -2.5e+3, "x\u00e9\n", true, false, null, {}]}`, `[[[`, `{"a"`, "\"\x01", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = string([]rune(text))
		message, at := JSONFault(text)
		if json.Valid([]byte(text)) != (message == "") {
			t.Errorf("%q: %q at %d", text, message, at)
		}
	})
}
