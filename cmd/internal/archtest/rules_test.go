package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// rule is one rule for the whole module.
type rule struct {
	name string
	why  string
	find func(all []*source) []violation
}

// violation is a place that breaks a rule.
type violation struct {
	file string
	line int
	what string
}

func (v violation) String() string { return fmt.Sprintf("%s:%d: %s", v.file, v.line, v.what) }

// library is the import path of the actor library.
const library = "github.com/asynkron/protoactor-go"

var rules = []rule{
	{
		"arrows point down",
		"docs -> cmd -> transport -> actors -> messages: what is below must be usable, testable and understandable without what is above",
		eachImport(func(s *source, i imported) string {
			from, to := layer(s.pkg), layer(i.path)
			switch {
			case !i.own || top(s.pkg) == "bench" || top(i.path) == "bench":
				return ""
			case from == 0 || to == 0:
				return fmt.Sprintf("%s imports %s, and one of them has no place among docs, cmd, transport, actors, messages, bench", s.pkg, i.path)
			case from < to:
				return fmt.Sprintf("%s imports %s above it", s.pkg, i.path)
			}
			return ""
		}),
	},
	{
		"only the command imports bench",
		"bench may use anything; below cmd/troupe, which has `troupe bench`, nothing may need it",
		eachImport(func(s *source, i imported) string {
			if i.own && top(i.path) == "bench" && top(s.pkg) != "bench" && s.pkg != "cmd/troupe" {
				return s.pkg + " imports " + i.path
			}
			return ""
		}),
	},
	{
		"messages know nothing else",
		"all packages use messages: a dependency of messages is a dependency of every package",
		eachImport(func(s *source, i imported) string {
			if i.own && top(s.pkg) == "messages" && top(i.path) != "messages" {
				return s.pkg + " imports " + i.path
			}
			return ""
		}),
	},
	{
		"transports know no actors",
		"gateway is the one place where frames become actor messages and back; host wires and ops shows; any other transport must work against plain interfaces",
		eachImport(func(s *source, i imported) string {
			knows := []string{"transport/gateway", "transport/host", "transport/ops"}
			if i.own && !s.test && top(s.pkg) == "transport" && top(i.path) == "actors" && !slices.ContainsFunc(knows, func(k string) bool { return within(s.pkg, k) }) {
				return s.pkg + " imports " + i.path
			}
			return ""
		}),
	},
	{
		"a transport's abilities are methods of its connections",
		"a switch on the kind of transport above it must be found and extended for every new transport: a difference that matters is a method of transport.Conn",
		findKinds,
	},
	{
		"the AWS wire knows no games",
		"protocols, signatures and rules serve any table of operations: knowledge of games, fleets or players would keep the next service from using them",
		eachImport(func(s *source, i imported) string {
			if i.own && !s.test && s.pkg == "transport/awswire" && i.path != "messages/replay" && i.path != "messages/lazy" {
				return s.pkg + " imports " + i.path
			}
			return ""
		}),
	},
	{
		"only stage knows the actor library",
		"the library loses messages, restarts what it should not and deadlocks in places; actors/stage is written to keep all that away, and only from its actor package (remote, cluster, router and the rest move and kill actors by their own rules)",
		eachImport(func(s *source, i imported) string {
			switch {
			case i.path != library && !strings.HasPrefix(i.path, library+"/"):
				return ""
			case s.pkg != "actors/stage":
				return s.pkg + " imports " + i.path
			case i.path != library+"/actor":
				return s.pkg + " imports " + i.path + ", not the actor package"
			case i.dot:
				return "a dot import hides what is used of the library"
			}
			return ""
		}),
	},
	{
		"etcd and gRPC stay at the edge",
		"the coordinator is an interface: another one, or a test, must not need etcd; a host without a cluster runs none of it",
		eachImport(func(s *source, i imported) string {
			server := strings.HasPrefix(i.path, "go.etcd.io/etcd/server/") || strings.HasPrefix(i.path, "go.etcd.io/etcd/etcdutl/")
			switch {
			case strings.HasPrefix(i.path, "go.etcd.io/") && !within(s.pkg, "transport/etcd"), server && s.pkg != "transport/etcd/member",
				strings.HasPrefix(i.path, "google.golang.org/grpc") && !within(s.pkg, "transport/etcd") && s.pkg != "transport/peers",
				i.own && i.path == "transport/etcd/member" && !s.test && s.pkg != "cmd/troupe":
				return s.pkg + " imports " + i.path
			}
			return ""
		}),
	},
	{
		"stage leaves the library's unsafe parts alone",
		"each of them was seen to fail by running it (D-15): a mailbox that spins or deadlocks, data races of timeouts and futures, restarts that bring back the dead",
		findUnsafe,
	},
	{
		"one package reaches into the JavaScript engine",
		"a newer engine changes its private memory without a word: what is relied on is in actors/script/js/engine, with a test that says what has changed",
		findReaching,
	},
	{
		"test packages stay in tests",
		"a package whose name ends in test is allowed shortcuts (it takes a testing.TB, waits, panics) that must not end up in a binary",
		eachImport(func(s *source, i imported) string {
			if i.own && isTest(i.path) && !s.test && !isTest(s.pkg) {
				return s.pkg + " imports " + i.path + " outside of its tests"
			}
			return ""
		}),
	},
	{
		"one package comment, in doc.go",
		"the reader's first question is what a package is for and what it leaves to others: one paragraph, in the place where everybody looks; a command has a short one anywhere, which is its usage",
		findComments,
	},
	{
		fmt.Sprintf("no file over %d lines", linesMax),
		"a file holds one concept; one that long holds several, and nobody reads it to the end",
		func(all []*source) (found []violation) {
			for _, s := range all {
				if !s.test && !s.generated && s.lines > linesMax {
					found = append(found, violation{s.file, s.lines, fmt.Sprintf("%d lines", s.lines)})
				}
			}
			return found
		},
	},
	{
		fmt.Sprintf("no function over %d lines, no interface of more than %d methods", funcMax, methodsMax),
		"who reads a function keeps all of it in mind, and who implements an interface writes all of it: a fake for every test, and a second way",
		func(all []*source) (found []violation) {
			for name, v := range findLarge(all) {
				if largeAllowed[name] == "" {
					found = append(found, v)
				}
			}
			return found
		},
	},
	{
		"durations in the log have a unit",
		"zerolog writes them as plain numbers of milliseconds: a name that ends in _ms says so, and the log for people shows the unit for such names",
		findDurations,
	},
}

// findDurations finds calls of Dur whose key lacks the unit.
func findDurations(all []*source) (found []violation) {
	for _, s := range all {
		if s.test {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || f.Sel.Name != "Dur" {
				return true
			}
			if name, ok := call.Args[0].(*ast.BasicLit); !ok || !strings.HasSuffix(name.Value, `_ms"`) {
				found = append(found, violation{s.file, s.at(call.Args[0].Pos()), "a duration without a unit in its name"})
			}
			return true
		})
	}
	return found
}

// largeAllowed lists the functions and interfaces of the product that may exceed the size limits, with the reason.
var largeAllowed = map[string]string{
	"actors/script Handler": "the callbacks of a game, as GameLift names them",
}

// findLarge returns the functions and interfaces of the product that exceed the size limits, by name. Tests and bench
// do not belong to the product.
func findLarge(all []*source) map[string]violation {
	found := make(map[string]violation)
	known := make(map[string]*ast.InterfaceType)
	for _, s := range all {
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if t, ok := n.(*ast.TypeSpec); ok {
				if i, ok := t.Type.(*ast.InterfaceType); ok {
					known[path.Base(s.pkg)+"."+t.Name.Name] = i
				}
			}
			return true
		})
	}
	for _, s := range all {
		if s.test || s.generated || isTest(s.pkg) || top(s.pkg) == "bench" {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if lines := s.at(n.End()) - s.at(n.Pos()) + 1; lines > funcMax {
					found[s.pkg+" "+n.Name.Name] = violation{s.file, s.at(n.Pos()), fmt.Sprintf("%s has %d lines", n.Name.Name, lines)}
				}
			case *ast.TypeSpec:
				if i := known[path.Base(s.pkg)+"."+n.Name.Name]; i != nil {
					if count := methods(known, path.Base(s.pkg), i); count > methodsMax {
						found[s.pkg+" "+n.Name.Name] = violation{s.file, s.at(n.Pos()), fmt.Sprintf("%s has %d methods", n.Name.Name, count)}
					}
				}
			}
			return true
		})
	}
	return found
}

// methods counts the methods of an interface, including those of embedded interfaces. known contains the interfaces by
// package name and type name.
func methods(known map[string]*ast.InterfaceType, pkg string, i *ast.InterfaceType) (count int) {
	for _, m := range i.Methods.List {
		count += len(m.Names)
		name := pkg + "." + fmt.Sprint(m.Type)
		if x, ok := m.Type.(*ast.SelectorExpr); ok {
			name = fmt.Sprint(x.X) + "." + x.Sel.Name
		}
		if inner := known[name]; inner != nil && len(m.Names) == 0 {
			from, _, _ := strings.Cut(name, ".")
			count += methods(known, from, inner)
		}
	}
	return count
}

const (
	linesMax     = 600
	funcMax      = 100
	methodsMax   = 12
	paragraphMin = 20 // minimum number of words in a package comment
	shortMin     = 5  // minimum number of words in a command's package comment
)

// banned lists the identifiers of the library that must not be used, with the reason.
var banned = map[string]string{
	"BoundedDropping":               "spins a core for ever after its first drop",
	"Bounded":                       "blocks the sender, and deadlocks an actor that sends to itself",
	"SetReceiveTimeout":             "reused, it is a data race; use Context.After",
	"NewFuture":                     "raced by its timeout it is a data race; use stage.Await at the edges",
	"RequestFuture":                 "raced by its timeout it is a data race; use stage.Await at the edges",
	"StopFuture":                    "raced by its timeout it is a data race; wait for Exited",
	"PoisonFuture":                  "raced by its timeout it is a data race; wait for Exited",
	"ReenterAfter":                  "continues a future; ask with a message and a reply",
	"NewOneForOneStrategy":          "restarts; each parent decides for itself",
	"NewAllForOneStrategy":          "restarts; each parent decides for itself",
	"NewExponentialBackoffStrategy": "restarts; each parent decides for itself",
	"NewRestartingStrategy":         "restarts; each parent decides for itself",
	"DefaultSupervisorStrategy":     "restarts; each parent decides for itself",
	"RestartingSupervisorStrategy":  "restarts; each parent decides for itself",
	"WithSupervisor":                "a guard lets no panic out, so there is nothing to supervise",
	"WithGuardian":                  "a guard lets no panic out, so there is nothing to supervise",
	"RestartDirective":              "a restart after a stop leaves a zombie",
	"RestartChildren":               "a restart after a stop leaves a zombie",
}

func findUnsafe(all []*source) (found []violation) {
	for _, s := range all {
		if s.pkg != "actors/stage" || !slices.ContainsFunc(s.imports, func(i imported) bool { return i.path == library+"/actor" }) {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if why := banned[sel.Sel.Name]; why != "" {
					found = append(found, violation{s.file, s.at(sel.Pos()), sel.Sel.Name + " " + why})
				}
			}
			return true
		})
	}
	return found
}

// kinds lists the identifiers of individual transports.
var kinds = map[string]bool{"counters.WS": true, "counters.WSS": true, "counters.KCP": true}

// findKinds finds references to an individual transport in actors and in the gateway. The packages of transports may
// refer to them, and so may host, which opens them.
func findKinds(all []*source) (found []violation) {
	for _, s := range all {
		if s.test || isTest(s.pkg) || !within(s.pkg, "actors") && !within(s.pkg, "transport/gateway") {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && kinds[x.Name+"."+sel.Sel.Name] {
					found = append(found, violation{s.file, s.at(sel.Pos()), s.pkg + " names " + x.Name + "." + sel.Sel.Name})
				}
			}
			return true
		})
	}
	return found
}

func findComments(all []*source) (found []violation) {
	type pkg struct {
		first    *source
		comments []*source
	}
	pkgs := make(map[string]*pkg)
	var order []string
	for _, s := range all {
		if s.test {
			continue
		}
		p := pkgs[s.pkg]
		if p == nil {
			p = &pkg{first: s}
			pkgs[s.pkg] = p
			order = append(order, s.pkg)
		}
		if s.ast.Doc != nil {
			p.comments = append(p.comments, s)
		}
	}
	for _, name := range order {
		p := pkgs[name]
		if len(p.comments) != 1 {
			found = append(found, violation{p.first.file, 1, fmt.Sprintf("package %s has %d package comments", name, len(p.comments))})
			continue
		}
		s := p.comments[0]
		text := strings.TrimSpace(s.ast.Doc.Text())
		words, want := len(strings.Fields(text)), paragraphMin
		if s.main() {
			want = shortMin
		}
		switch line := s.at(s.ast.Doc.Pos()); {
		case !s.main() && !strings.HasSuffix(s.file, "/doc.go") && s.file != "doc.go":
			found = append(found, violation{s.file, line, "the package comment belongs into doc.go"})
		case !s.main() && !strings.HasPrefix(text, "Package "+s.ast.Name.Name+" "):
			found = append(found, violation{s.file, line, "the package comment should begin with Package " + s.ast.Name.Name})
		case words < want:
			found = append(found, violation{s.file, line, fmt.Sprintf("a package comment of %d words says too little", words)})
		}
	}
	return found
}

// reaching lists the functions of reflect that give access to a value's contents. js/compile uses them for the exported
// fields of syntax trees.
var reaching = []string{"ValueOf", "NewAt", "Indirect", "TypeOf"}

// findReaching finds code that could access the private memory of the JavaScript engine: in packages for scripts, and
// in other packages that import the engine.
func findReaching(all []*source) (found []violation) {
	const scripts, goja = "actors/script/js", "github.com/dop251/goja"
	for _, s := range all {
		uses := slices.ContainsFunc(s.imports, func(i imported) bool { return i.path == goja || strings.HasPrefix(i.path, goja+"/") })
		if within(s.pkg, scripts+"/engine") || !within(s.pkg, scripts) && !uses {
			continue
		}
		for _, i := range s.imports {
			if i.path == "unsafe" || i.path == "reflect" && i.dot {
				found = append(found, violation{s.file, i.line, s.pkg + " imports " + i.path})
			}
		}
		for _, group := range s.ast.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//go:linkname ") {
					found = append(found, violation{s.file, s.at(c.Pos()), s.pkg + " links to a private name"})
				}
			}
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && !within(s.pkg, scripts+"/compile") {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "reflect" && slices.Contains(reaching, sel.Sel.Name) {
					found = append(found, violation{s.file, s.at(sel.Pos()), s.pkg + " calls reflect." + sel.Sel.Name})
				}
			}
			return true
		})
	}
	return found
}

func eachImport(check func(s *source, i imported) string) func([]*source) []violation {
	return func(all []*source) (found []violation) {
		for _, s := range all {
			for _, i := range s.imports {
				if what := check(s, i); what != "" {
					found = append(found, violation{s.file, i.line, what})
				}
			}
		}
		return found
	}
}

// layer returns the layer of a package, or 0 if it has none.
func layer(pkg string) int {
	return 1 + slices.Index([]string{"messages", "actors", "transport", "cmd", "docs"}, top(pkg))
}

func top(pkg string) string {
	first, _, _ := strings.Cut(pkg, "/")
	return first
}

// within reports whether pkg is folder or is below it.
func within(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }

// isTest reports whether a package is for tests only. Its name, or the name of a package above it, ends in test.
func isTest(pkg string) bool {
	return slices.ContainsFunc(strings.Split(pkg, "/"), func(part string) bool { return strings.HasSuffix(part, "test") })
}
