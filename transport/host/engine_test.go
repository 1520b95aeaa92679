package host

import (
	"os"
	"testing"
)

// Uploaded scripts run in Node.js as another user, or if the operator wants them to run as the host's.
func TestWhereUploadedScriptsMayRunInNode(t *testing.T) {
	for _, c := range []struct {
		node Node
		may  bool
	}{
		{Node{}, false}, {Node{UID: os.Geteuid()}, false}, {Node{GID: 65534}, false}, {Node{UID: os.Geteuid() + 1}, true}, {Node{AllowUploaded: true}, true},
	} {
		if got := newPrograms(&Script{Node: c.node}).uploaded; got != c.may {
			t.Errorf("%+v: %v", c.node, got)
		}
	}
}
