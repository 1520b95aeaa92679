package acceptance_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"golang.org/x/sys/unix"

	"troupe/actors/script"
	"troupe/messages"
	"troupe/transport/host"
)

// smallDisk mounts a file system of a few MiB for the duration of the test.
func smallDisk(t *testing.T, mib string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("troupe-test", dir, "tmpfs", 0, "size="+mib+"m"); err != nil {
		t.Skipf("no small disk to fill: mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// The disk has room for small changes only, and the registry is busy. A script gets contents that do not fit,
// while it is renamed and tagged. After a restart, the host has exactly what it had acknowledged.
func TestAScriptThatIsRefusedAndRenamedIsThereAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := smallDisk(t, "16")
		change := func(c *host.Config) { c.Store = host.Store{Path: filepath.Join(disk, "store.db")} }
		slow := func(o *host.Options) {
			// blocks the registry
			o.NewHandler = func(*messages.Fleet) script.Handler { time.Sleep(5 * time.Millisecond); return script.Relay{} }
		}
		h := startHostWith(t, change, slow)
		id, fleet := h.scriptFleet(archive(map[string]string{"lib/main.js": says("one")}))
		noise := make([]byte, 2<<20)
		for i := range noise {
			noise[i] = byte(rand.Uint32())
		}
		large := archive(map[string]string{"lib/main.js": says("large"), "noise.txt": string(noise)})
		if err := os.WriteFile(filepath.Join(disk, "filler"), make([]byte, 14<<20+512<<10), 0o600); err != nil {
			t.Fatal(err)
		}

		ctx, deadline := h.context(), time.Now().Add(time.Second)
		var wg sync.WaitGroup
		until := func(do func() error) {
			wg.Go(func() {
				for time.Now().Before(deadline) {
					_ = do() // may be refused
				}
			})
		}
		until(func() error {
			_, err := h.api.UpdateScript(ctx, &gamelift.UpdateScriptInput{ScriptId: &id, ZipFile: large})
			if err == nil {
				t.Error("there is room for it")
			}
			return err
		})
		for range 4 {
			until(func() error {
				_, err := h.api.UpdateScript(ctx, &gamelift.UpdateScriptInput{ScriptId: &id, Name: aws.String(time.Now().String())})
				return err
			})
			until(func() error {
				_, err := h.api.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{FleetId: aws.String("fleet-dev"), MaximumPlayerSessionCount: aws.Int32(2)})
				return err
			})
		}
		until(func() error {
			_, err := h.api.TagResource(ctx, &gamelift.TagResourceInput{ResourceARN: aws.String("arn:aws:gamelift:us-east-1::script/" + id),
				Tags: []types.Tag{{Key: aws.String("at"), Value: aws.String(time.Now().Format(time.StampMicro))}}})
			return err
		})
		wg.Wait()
		if err := os.Remove(filepath.Join(disk, "filler")); err != nil {
			t.Fatal(err)
		}
		if _, err := h.api.UpdateScript(h.context(), &gamelift.UpdateScriptInput{ScriptId: &id, Name: aws.String("the last")}); err != nil {
			t.Fatal(err)
		}
		before := h.script(id)
		h.host.Close()

		h = startHost(t, change, nil)
		h.untilActive(fleet)
		if after := h.script(id); after != before {
			t.Errorf("the script is %s, and was %s", after, before)
		}
		_, player := h.on(fleet)
		h.hears(player, "one")
	})
}

// script returns what the API shows of a script.
func (h *testHost) script(id string) string {
	h.Helper()
	out, err := h.api.DescribeScript(h.context(), &gamelift.DescribeScriptInput{ScriptId: &id})
	if err != nil {
		h.Fatal(err)
	}
	text, err := json.Marshal(out.Script)
	if err != nil {
		h.Fatal(err)
	}
	return string(text)
}
