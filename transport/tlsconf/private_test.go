package tlsconf

import (
	"io/fs"
	"testing"
)

// A secret may be read by a group only as Kubernetes mounts it: root's file, and the process in its group.
func TestPrivate(t *testing.T) {
	for _, c := range []struct {
		mode               fs.FileMode
		owner, group, user int
		want               bool
	}{
		{0o440, 0, 2000, 1000, true},
		{0o640, 0, 2000, 1000, true},
		{0o460, 0, 2000, 1000, false}, // the group writes
		{0o444, 0, 2000, 1000, false},
		{0o440, 0, 3000, 1000, false},    // another group
		{0o440, 1000, 2000, 1000, false}, // its own: chmod helps
		{0o440, 0, 0, 1000, false},       // root's group
		{0o440, 0, 2000, 0, false},
	} {
		if got := private(c.mode, c.owner, c.group, c.user, []int{2000, 0}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
