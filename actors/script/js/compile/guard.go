package compile

import (
	"strings"

	"github.com/dop251/goja/parser"
)

// CheckJSON refuses JSON that a script parses while it runs and that is nested so deeply
// that the engine's parser would overflow the stack, which ends the process.
func CheckJSON(text string) error { return checkJSON("JSON", text) }

// CheckEvaluated does so for source that a script has the engine evaluate, and refuses what
// ends the process when it is compiled.
func CheckEvaluated(text string) error {
	if len(text) > SourceMax {
		return &Error{File: "source", Message: "it is too long"}
	}
	if err := check("source", text); err != nil {
		return err
	}
	if !strings.Contains(text, "eval") && !strings.Contains(text, `\u`) && !mayHaveBigInt(text) { // an escape may be in a name
		return nil
	}
	tree, err := parser.ParseFile(nil, "", text, 0, parser.WithDisableSourceMaps)
	if err != nil { // the engine says what is wrong
		return nil
	}
	if err := checkEvals("source", tree); err != nil {
		return err
	}
	return checkBigInt("source", tree)
}

// CheckFunction is CheckEvaluated for the parameters and, last, the body of a function of a
// kind such as "async function", which the engine makes one text of.
func CheckFunction(kind string, sources []string) error {
	if len(sources) == 0 {
		return nil
	}
	last := len(sources) - 1
	return CheckEvaluated("(" + kind + " anonymous(" + strings.Join(sources[:last], ",") + "\n) {\n" + sources[last] + "\n})")
}
