package suite

import (
	"cmp"
	"fmt"
	"strings"

	"troupe/bench/result"
	"troupe/bench/server"
)

// orDev is a fleet, or that of a host that nobody has configured.
func orDev(fleet string) string { return cmp.Or(fleet, "fleet-dev") }

func percent(part, whole int64) string {
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

// fileName is a name without what a file should not be called.
func fileName(name string) string { return strings.ReplaceAll(name, " ", "-") }

// deniedText reports whether an answer of AWS JSON says that the caller has no right to the operation.
func deniedText(text string) bool {
	for _, name := range []string{"AccessDenied", "UnrecognizedClient", "InvalidSignature", "MissingAuthenticationToken", "UnauthorizedException", "IncompleteSignature"} {
		if strings.Contains(text, name) {
			return true
		}
	}
	return false
}

// buildOf names the build of a server, as far as it is known.
func (r *run) buildOf(spec server.Spec) string {
	if r.o.Against != nil {
		return r.o.Against.Build
	}
	if spec.Kind == server.Bare && spec.Bin != r.o.Self.Bin {
		return "" // it says so itself
	}
	build, err := result.BuildOf(spec.Bin)
	if err != nil {
		return ""
	}
	if len(spec.Sets) > 0 {
		build += ", " + strings.Join(spec.Sets, " ")
	}
	return build
}
