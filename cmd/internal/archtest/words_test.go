package archtest

import (
	"go/ast"
	"strings"
	"unicode"
)

// private are words that once named things of this project alone, and the term of the
// field that stands for each.
var private = map[string]string{
	"parcel":    "envelope",
	"stranger":  "unknown peer, or detached worker",
	"turnstile": "login limiter",
	"visitor":   "handshaking connection",
	"sight":     "sample",
	"dog":       "watchdog",
	"finale":    "completion",
	"news":      "pending events, or delivery",
	"doors":     "listeners",
	"beginning": "specification",
	"idles":     "stand-by processes",
	"settle":    "a verb that says what happens: commit, confirm, finish, await",
	"settled":   "committed, confirmed, finished, quiet",
}

// findPrivate looks for declared names with a private word in them. Where a name is used
// it has been declared, here or by somebody else.
func findPrivate(all []*source) (found []violation) {
	for _, s := range all {
		if s.generated {
			continue
		}
		check := func(ids ...*ast.Ident) {
			for _, id := range ids {
				for _, w := range wordsOf(id.Name) {
					term := private[w]
					if term == "" {
						term = private[strings.TrimSuffix(w, "s")]
					}
					if strings.HasPrefix(w, "settle") && top(s.pkg) == "bench" {
						continue // the settling time of a measurement is a term of the field
					}
					if term != "" {
						found = append(found, violation{s.file, s.at(id.Pos()), id.Name + ": the field says " + term})
					}
				}
			}
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				check(n.Name)
			case *ast.TypeSpec:
				check(n.Name)
			case *ast.ValueSpec:
				check(n.Names...)
			case *ast.Field:
				check(n.Names...)
			case *ast.AssignStmt:
				for _, e := range n.Lhs {
					if id, ok := e.(*ast.Ident); ok && n.Tok.String() == ":=" {
						check(id)
					}
				}
			}
			return true
		})
	}
	return found
}

// wordsOf splits a name at its capitals and returns its words in small letters.
func wordsOf(name string) (words []string) {
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
		}
		word = nil
	}
	last := rune(0)
	for _, r := range name {
		if !unicode.IsLetter(r) || unicode.IsUpper(r) && !unicode.IsUpper(last) {
			end()
		}
		if unicode.IsLetter(r) {
			word = append(word, r)
		}
		last = r
	}
	end()
	return words
}
