package scripts

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/actors/script/bundle"
)

// RT-79.
func TestWhatAScriptStartsEndsWithItsGameSession(t *testing.T) {
	needNode(t)
	if runtime.GOOS != "linux" {
		t.Skip("what leaves its process group is found on Linux only")
	}
	t.Parallel()
	w := start(t, engine{name: bundle.EngineNode}, one(t, `
		const { spawn, spawnSync } = require('child_process');
		let session;
		exports.ssExports = {
			init: (s) => { session = s; },
			onMessage: () => {
				const one = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
				one.unref();
				// A session of its own, and a parent that has ended.
				const two = spawnSync('setsid', ['sh', '-c', '(sleep 1000 > /dev/null 2>&1 & echo $!) &'], { env: { PATH: process.env.PATH } });
				session.sendReliableGroupMessage(session.newTextGameMessage(2, -1, process.pid + ' ' + one.pid + ' ' + two.stdout), -1);
			},
		};`), setup{})
	begin := func() (game string, pids []string) {
		game = w.newGame(2)
		c := w.join(game, "ann")
		w.say(c, 1, "")
		return game, strings.Fields(string(w.hear(c, 2).Payload))
	}
	ended := func(pids []string) {
		t.Helper()
		w.until("the end of all processes", func() error {
			for _, pid := range pids {
				if runs(pid) {
					return fmt.Errorf("%s of %s runs", pid, pids)
				}
			}
			return nil
		})
	}
	first, ofFirst := begin()
	second, ofSecond := begin()
	_, ofThird := begin()
	w.terminate(first)
	ended(ofFirst)
	if _, err := w.api.TerminateGameSession(w.context(), &gamelift.TerminateGameSessionInput{
		GameSessionId: aws.String(second), TerminationMode: types.TerminationModeForceTerminate,
	}); err != nil {
		t.Fatal(err)
	}
	ended(ofSecond)
	for _, pid := range ofThird {
		if len(ofThird) != 3 || !runs(pid) {
			t.Errorf("%s of %q, of a game session that goes on, has ended", pid, ofThird)
		}
	}
	w.host.Close()
	ended(ofThird)
}

// A game session on stand-by has its place in a process, which game sessions take over one after the other.
func TestStandbysShareAProcess(t *testing.T) {
	inNode(t, true, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `
			let session;
			exports.ssExports = {
				init: (s) => { session = s; },
				onMessage: () => { session.sendReliableGroupMessage(session.newTextGameMessage(2, -1, '' + process.pid), -1); },
				onProcessTerminate: () => { session.processEnding().then(() => process.exit(0)); },
			};`), setup{})
		pid := func() (game, pid string) {
			game = w.newGame(2)
			c := w.join(game, "ann")
			w.say(c, 1, "")
			return game, string(w.hear(c, 2).Payload)
		}
		first, of := pid()
		second, ofSecond := pid()
		if of != ofSecond {
			t.Errorf("game sessions are in the processes %s and %s", of, ofSecond)
		}
		w.terminate(first)
		w.terminate(second)
		w.awaitStatus(first, types.GameSessionStatusTerminated)
		w.awaitStatus(second, types.GameSessionStatusTerminated)
		if _, later := pid(); later != of {
			t.Errorf("a new game session is in process %s: the one on stand-by was in %s", later, of)
		}
		w.noErrors()
		w.host.Close()
		w.until("the end of the process", func() error {
			if runs(of) {
				return fmt.Errorf("%s runs", of)
			}
			return nil
		})
	})
}

// runs reports whether a process exists and is not a zombie.
func runs(pid string) bool {
	if _, err := strconv.Atoi(pid); err != nil {
		return true
	}
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}
