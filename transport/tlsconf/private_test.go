package tlsconf

import (
	"io/fs"
	"testing"
)

// A group may read a secret only in the way that Kubernetes mounts secrets: the file belongs to root, and the
// process is in the group.
func TestPrivate(t *testing.T) {
	for _, c := range []struct {
		mode               fs.FileMode
		owner, group, user int
		want               bool
	}{
		{0o440, 0, 2000, 1000, true},
		{0o640, 0, 2000, 1000, true},
		{0o460, 0, 2000, 1000, false}, // the group may write
		{0o444, 0, 2000, 1000, false},
		{0o440, 0, 3000, 1000, false},    // the process is not in the group
		{0o440, 1000, 2000, 1000, false}, // the process's own file: the operator can use chmod
		{0o440, 0, 0, 1000, false},       // root's group
		{0o440, 0, 2000, 0, false},
	} {
		if got := private(c.mode, c.owner, c.group, c.user, []int{2000, 0}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
