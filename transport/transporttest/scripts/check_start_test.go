package scripts

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/transport/transporttest/stock"
)

// RT-58.
func TestOrderAtStart(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `
			const steps = ['load'];
			let session;
			exports.ssExports = {
				get configuration() { steps.push('configuration'); return {}; },
				init: (s) => { session = s; steps.push('init with ' + JSON.stringify(s.getGameSessionId())); },
				onProcessStarted: async (args) => {
					steps.push('onProcessStarted ' + args.join('+'));
					await new Promise((resolve) => setTimeout(resolve, 20));
					steps.push('ready');
					return true;
				},
				onStartGameSession: (g) => {
					steps.push('onStartGameSession ' + g.Status + ' ' + (g.GameSessionId === session.getGameSessionId()));
					steps.forEach((step) => session.getLogger().info(step));
				},
			};`), setup{Args: "a  b"})
		game := w.create(4)
		w.log.await(t, "onStartGameSession")
		w.awaitStatus(game, types.GameSessionStatusActive)
		var got []string
		for _, line := range w.log.all() {
			if scriptLine(line) {
				got = append(got, line.Text)
			}
		}
		same(t, "steps", got, []string{"load", "configuration", `init with ""`, "onProcessStarted a+b", "ready", "onStartGameSession ACTIVATING true"})
		w.noErrors()
	})
}

// RT-59.
func TestOnlyInitIsARelay(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `exports.ssExports = { init: function () {} };`), setup{})
		game := w.newGame(4)
		ann, bob := w.join(game, "ann"), w.join(game, "bob")
		w.send(ann, stock.Message{OpCode: 5, TargetPlayer: 2, Payload: []byte("x"), Reliable: true})
		w.heard(bob, 5, "x")
		w.send(bob, stock.Message{OpCode: 6, TargetGroup: stock.AllPlayers, Payload: []byte("y"), Reliable: true})
		w.heard(ann, 6, "y")
		w.say(ann, 7, "nobody listens")
		if err := ann.JoinGroup(3); err != nil {
			t.Fatal(err)
		}
		w.hear(ann, stock.OpGroupMembershipUpdate)
		w.noErrors()
	})
}

// RT-60.
func TestNotReadyIsNeverReady(t *testing.T) {
	for name, answer := range map[string]string{
		"false": "() => false", "undefined": "() => {}", "throws": "() => { throw new Error('no') }", "promise of false": "async () => false", "rejects": "async () => { throw new Error('no') }",
	} {
		t.Run(name, func(t *testing.T) {
			everyEngine(t, func(t *testing.T, e engine) {
				w := start(t, e, one(t, fmt.Sprintf(`exports.ssExports = {
					init: () => {}, onProcessStarted: %s, onStartGameSession: () => console.log('started'),
				};`, answer)), setup{})
				w.neverReady("onProcessStarted")
				if n := w.host.Counters().ScriptCrashes.Load(); n == 0 {
					t.Error("no process ended with an error")
				}
			})
		})
	}
}

// neverReady checks that no process of the fleet became ready, so no game session can be created, and that an
// event of the fleet names the reason.
func (w *world) neverReady(reasons ...string) {
	w.Helper()
	_, err := w.api.CreateGameSession(w.context(), &gamelift.CreateGameSessionInput{FleetId: aws.String("fleet-dev"), MaximumPlayerSessionCount: aws.Int32(2)})
	if refused := new(types.InvalidFleetStatusException); !errors.As(err, &refused) {
		w.Errorf("a game session was created: %v", err)
	}
	fleets, err := w.api.DescribeFleetAttributes(w.context(), &gamelift.DescribeFleetAttributesInput{FleetIds: []string{"fleet-dev"}})
	if err != nil || fleets.FleetAttributes[0].Status != types.FleetStatusError {
		w.Fatalf("the fleet is %+v, %v", fleets, err)
	}
	out, err := w.api.DescribeFleetEvents(w.context(), &gamelift.DescribeFleetEventsInput{FleetId: aws.String("fleet-dev")})
	if err != nil {
		w.Fatal(err)
	}
	said := ""
	for _, e := range out.Events {
		said += string(e.EventCode) + ": " + *e.Message + "\n"
	}
	for _, reason := range reasons {
		if !strings.Contains(said, reason) {
			w.Errorf("%q is not said:\n%s", reason, said)
		}
	}
}

// RT-61.
func TestDefaultsWithoutConfiguration(t *testing.T) {
	const players = 32
	for name, configuration := range map[string]string{
		"missing": "", "empty": "configuration: {},", "not numbers": "configuration: { maxPlayers: 'many', pingIntervalTime: null, other: 1 },",
	} {
		t.Run(name, func(t *testing.T) {
			everyEngine(t, func(t *testing.T, e engine) {
				w := start(t, e, one(t, `exports.ssExports = { `+configuration+` init: () => {} };`), setup{})
				game := w.newGame(40)
				first := w.join(game, "first")
				for i := 1; i < players; i++ {
					w.join(game, fmt.Sprint("player ", i))
				}
				if r, err := w.dial(w.seat(game, "one too many"), stock.Options{NoUDP: true}).AwaitLogin(w.context()); err == nil {
					t.Errorf("player %d was let in: %+v", players+1, r)
				}
				w.pings(e, first, 4, 3*time.Second)
			})
		})
	}
}

// RT-61.
func TestConfigurationIsUsed(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `exports.ssExports = { configuration: { maxPlayers: 1, pingIntervalTime: 50 }, init: () => {} };`), setup{})
		game := w.newGame(4)
		ann := w.join(game, "ann")
		seat := w.seat(game, "bob")
		if r, err := w.dial(seat, stock.Options{NoUDP: true}).AwaitLogin(w.context()); err == nil {
			t.Errorf("a second player was let in: %+v", r)
		}
		w.pings(e, ann, 10, 50*time.Millisecond)
	})
}

// pings waits for count pings of a client. From the second one on it checks their interval. All idle
// connections get their pings at the same time.
func (w *world) pings(e engine, c *stock.Client, count int, interval time.Duration) {
	w.Helper()
	time.Sleep(time.Millisecond) // so that polling never coincides with a ping
	var last time.Time
	for n := range count {
		want := c.Stats().PingsReceived + 1
		w.until("a ping", func() error {
			if got := c.Stats().PingsReceived; got < want {
				return fmt.Errorf("%d pings", got)
			}
			return nil
		})
		if d := time.Since(last); e.virtual() && n > 1 && d != interval {
			w.Errorf("a ping after %v, want %v", d, interval)
		}
		last = time.Now()
	}
}

// RT-63.
func TestModulesAndByteOrderMark(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, files(t,
			"game/script.js", "\ufeff"+`
				const loaded = [
					require('../src/proto/Packet_pb'), require('../src/proto/CoreCommands_pb'), require('../src/proto/GroupMessages_pb.js'),
					require('./gameloop.js'), require('./gameloop'), require('./parts'), require('./words'), require('util'), require('./parts/deep/../deeper'),
				];
				exports.ssExports = {
					init: (s) => {
						s.getLogger().info(loaded.map((m) => typeof m).join(' '), loaded[3] === loaded[4], loaded[3].count, loaded[5], loaded[6].word);
						s.getLogger().info(typeof loaded[7].inspect, loaded[8].where);
					},
				};`,
			"game/gameloop.js", "\ufeff"+`let count = 0; exports.count = ++count;`,
			"game/parts/index.js", `module.exports = 'index of ' + require('path').basename(__dirname);`,
			"game/parts/deep/x.js", ``,
			"game/parts/deeper.js", `exports.where = require('path').basename(__filename);`,
			"game/words.json", `{"word": "json"}`,
		), setup{Launch: "/local/game/game/script.js"})
		w.newGame(4)
		w.log.await(t, "object object object object object string object object object true 1 index of parts json")
		w.log.await(t, "function deeper.js")
		w.noErrors()
	})
}

// RT-63.
func TestAMissingModuleIsNamed(t *testing.T) {
	everyEngine(t, func(t *testing.T, e engine) {
		w := start(t, e, one(t, `const aws = require('aws-sdk'); exports.ssExports = { init: () => {} };`), setup{})
		w.neverReady("aws-sdk")
	})
}
