package main

import (
	"fmt"

	"troupe/bench/faults"
	"troupe/bench/result"
)

// row is one fault of section 7 of docs/spec/reliability.md, and what is tried for it.
type row struct {
	id, fault string
	plays     []play
	tests     []tests
	storms    []storm
	// untried says what of the row is not tried here, and why.
	untried string
}

// play is a run of troupe faults.
type play struct {
	scenario   string // of troupe faults, or a file of the folder plans
	players    int    // 0: 8
	transports string // empty: ws and kcp
	// figure checks the row's figure, and returns why it is not reached; nil: the promises of troupe faults are enough.
	figure func(f *faults.Figures, players int) string
}

// tests are Go tests of one package; all of their names must be known there.
type tests struct {
	pkg  string
	run  []string
	tags string
	args []string
}

// storm is a run of troupe bench reconnect-storm.
type storm struct {
	transport      string
	rooms, players int
	figure         func(f result.Figures) string
	cause          string // why it is known not to hold on a busy machine
}

const acceptance = "./transport/transporttest/acceptance"

// fastShare is the figure of RL-103: how many percent of the fast messages arrive, over two paths that lose some.
func fastShare(least float64) func(*faults.Figures, int) string {
	return func(f *faults.Figures, players int) string {
		if got := 100 * float64(f.FastDelivered) / float64(max(f.FastSent, 1)*uint64(players)); got < least {
			return fmt.Sprintf("%.1f %% of the fast messages arrived, at least %g %% should", got, least)
		}
		return ""
	}
}

// reattached bounds the time until players are back, in milliseconds.
func reattached(p99, most float64) func(*faults.Figures, int) string {
	return func(f *faults.Figures, _ int) string {
		switch {
		case f.Resumes == 0:
			return "nobody was cut"
		case p99 > 0 && f.ReattachP99Ms > p99:
			return fmt.Sprintf("p99 of the time to be back is %.0f ms, at most %.0f should be", f.ReattachP99Ms, p99)
		case most > 0 && f.ReattachMaxMs > most:
			return fmt.Sprintf("the last was back after %.0f ms, at most %.0f should be", f.ReattachMaxMs, most)
		}
		return ""
	}
}

func nobodyCut(f *faults.Figures, _ int) string {
	if f.Resumes > 0 {
		return fmt.Sprintf("%d connections were lost, and none should be", f.Resumes)
	}
	return ""
}

// manyThrough is the figure of RL-101.
func manyThrough(f *faults.Figures, players int) string {
	if f.Delivered < 100_000 {
		return fmt.Sprintf("%d messages arrived, the figure is for 100,000", f.Delivered)
	}
	return reattached(1500, 0)(f, players)
}

func allBackWithin(seconds float64) func(result.Figures) string {
	return func(f result.Figures) string {
		if back, all := f["back_s"]; !all || back > seconds {
			return fmt.Sprintf("%.0f players did not come back, and all were back after %.1f s (0: not within a minute); %g s are the most", f["failed"], back, seconds)
		}
		return ""
	}
}

var rows = []row{
	{id: "RL-101", fault: "connection reset, FIN without close frame",
		plays: []play{{scenario: "plans/resets.yaml", players: 25, figure: manyThrough}},
		tests: []tests{{pkg: acceptance, run: []string{"TestStreamThroughResetsStock"}}}},
	{id: "RL-102", fault: "half-open",
		plays: []play{{scenario: "tunnel"}},
		tests: []tests{{pkg: acceptance, run: []string{"TestAClientThatAnswersNoPingsIsLost"}}, {pkg: "./transport/kcp", run: []string{"TestHalfOpenPeer"}}}},
	{id: "RL-103", fault: "loss of 1, 5 and 20 %", plays: []play{
		{scenario: "plans/loss-1.yaml", players: 20, transports: "kcp", figure: fastShare(97)},
		{scenario: "plans/loss-5.yaml", players: 20, transports: "kcp", figure: fastShare(89)},
		{scenario: "plans/loss-20.yaml", players: 20, transports: "kcp", figure: fastShare(62)},
		{scenario: "lossy-5"},
	}},
	{id: "RL-104", fault: "reorder 25 %, duplicate 5 %, jitter", plays: []play{{scenario: "reorder", transports: "kcp"}}},
	{id: "RL-105", fault: "delay 200 +-100 ms, 2 s spikes",
		plays: []play{{scenario: "plans/delay.yaml", figure: nobodyCut}},
		tests: []tests{{pkg: "./transport/kcp", run: []string{"TestMuteForAMoment"}}}},
	{id: "RL-106", fault: "MTU 1,200 and 576, black hole",
		plays:   []play{{scenario: "plans/mtu-1200.yaml", transports: "kcp"}, {scenario: "plans/mtu-576.yaml", transports: "kcp"}},
		untried: "a first login through 576 bytes, whose DTLS flight with the certificate is larger; TCP, which the kernel cuts to size"},
	{id: "RL-107", fault: "NAT rebinding: port, IP",
		plays:   []play{{scenario: "nat-rebind", transports: "kcp", figure: func(f *faults.Figures, n int) string { return boundIfCut(f, n, 3000) }}, {scenario: "nat-rebind"}},
		tests:   []tests{{pkg: acceptance, run: []string{"TestNATChangesThePort", "TestNATChangesTheAddress", "TestNATChangesWhatDTLSSees"}}},
		untried: "the kernel's NAT takes root, nft and conntrack: make proof-nat"},
	{id: "RL-108", fault: "outage of 5, 25 and 40 s (window 30)",
		plays: []play{{scenario: "plans/away.yaml"}, {scenario: "phone-sleep"}},
		tests: []tests{{pkg: acceptance, run: []string{"TestResumeAfterLoss", "TestWindowEnds"}}}},
	{id: "RL-109", fault: "slow reader, stopped reader",
		plays:   []play{{scenario: "slow-client"}},
		tests:   []tests{{pkg: acceptance, run: []string{"TestSlowReader", "TestStalledReaderIsCut"}}},
		untried: "the p99 of others beside one that is slow: the page of slow-client shows it, and nobody judges it"},
	{id: "RL-110", fault: "panic in each kind of actor", tests: []tests{
		{pkg: "./actors", run: []string{"TestACrashInOneGameSessionIsNotFeltInAnother"}},
		{pkg: "./actors/connection", run: []string{"TestACrashedConnectionActorIsALossForItsPlayer"}},
		{pkg: "./actors/gamesession", run: []string{"TestACrashedPlayerActorInEveryStateIsReplaced", "TestACrashedGroupKeepsItsMembersAndPendingOperationsGoOn", "TestTheEleventhGroupCrashInTenSecondsEndsTheGameSession"}},
		{pkg: "./actors/placement", run: []string{"TestEveryPlacementEndsOnce"}},
	}},
	{id: "RL-111", fault: "script throws, loops, eats memory",
		plays:   []play{{scenario: "script-hang"}},
		tests:   []tests{{pkg: "./actors/script/js", run: []string{"TestHostileScripts"}}, {pkg: acceptance, run: []string{"TestStuckScripts"}}},
		untried: "the p99 of other games: make bench-hostile, some 8 min"},
	{id: "RL-112", fault: "one player floods, fan-out storm",
		tests: []tests{{pkg: acceptance, run: []string{"TestFastFloodCostsOthersNothingReliable", "TestAFastSenderDoesNotEndWhoIsSlow"}}}},
	{id: "RL-113", fault: "SIGKILL of the control plane at every failpoint",
		tests:   []tests{{pkg: "./actors/store", run: []string{"TestNothingAnsweredIsLostAtAnyFailpoint", "TestNothingAnsweredIsLostAtRandomKills"}, tags: "faults"}},
		untried: "a whole host under load: make bench-kills"},
	{id: "RL-114", fault: "SIGKILL of the host with 100 games",
		plays: []play{{scenario: "server-crash"}},
		tests: []tests{{pkg: acceptance, run: []string{"TestResumeOfAnotherProcess", "TestGameSessionsAreKnownAfterARestart"}}}},
	{id: "RL-115", fault: "SIGSTOP of 5 and 20 s, a fifth of the CPU",
		plays: []play{{scenario: "server-stall", figure: nobodyCut}, {scenario: "plans/stall-20.yaml", figure: nobodyCut},
			{scenario: "noisy-neighbour", figure: nobodyCut}},
		tests: []tests{{pkg: acceptance, run: []string{"TestAHostThatWasStoppedKeepsWhoWasAway"}}, {pkg: "./transport/kcp", run: []string{"TestStoppedProcess", "TestStoppedHost"}}}},
	{id: "RL-116", fault: "disk full, read-only, slow; fsync error; torn tail",
		plays: []play{{scenario: "disk-full"}, {scenario: "disk-read-only"}, {scenario: "bad-disk"}, {scenario: "slow-disk"}},
		tests: []tests{{pkg: "./actors/store", run: []string{"TestFullDisk", "TestFailedSync", "TestTornLog"}, tags: "faults"}}},
	{id: "RL-117", fault: "wall clock +-1 h, +-1 d",
		tests:   []tests{{pkg: "./transport/transporttest/sim", run: []string{"TestSeeds"}, args: []string{"-sim.seeds", "200"}}},
		untried: "from outside: a Go process reads the clock without libc, and time namespaces do not move it; every fourth seed injects the steps"},
	{id: "RL-118", fault: "cluster member killed, partitioned, slow", untried: "there is no cluster yet"},
	{id: "RL-119", fault: "store down for 30 s",
		plays: []play{{scenario: "plans/store-down.yaml", figure: nobodyCut}},
		tests: []tests{{pkg: "./actors/fleet", run: []string{"TestPlayerSessionsThatChangeDuringAnOutageAreStoredWithTheirEvents"}}}},
	{id: "RL-120", fault: "file descriptors exhausted, 64 MiB of memory",
		plays: []play{{scenario: "out-of-files", transports: "ws,wss,kcp"}, {scenario: "little-memory"}}},
	{id: "RL-121", fault: "5,000 clients cut at once",
		plays: []play{{scenario: "reconnect-storm", players: 50}},
		tests: []tests{{pkg: acceptance, run: []string{"TestAVenueBehindOneAddressComesBack"}}},
		storms: []storm{
			{transport: "ws", rooms: 500, players: 10, figure: allBackWithin(15)},
			{transport: "kcp", rooms: 300, players: 10, figure: allBackWithin(15), cause: "on a busy machine one goroutine reads the host's socket too seldom, and the kernel drops what does not fit into its buffer"},
		}},
	{id: "RL-122", fault: "hostile traffic during honest load",
		tests:   []tests{{pkg: acceptance, run: []string{"TestSilentConnectionsKeepNobodyOut"}}, {pkg: "./transport/dtls", run: []string{"TestAHelloFloodStaysWithinTheCapsAndHonestPeersGetIn"}}},
		untried: "the honest p99 at full size: make proof-crowds"},
	{id: "RL-123", fault: "drain, rolling restart",
		plays: []play{{scenario: "rolling-restart"}},
		tests: []tests{{pkg: acceptance, run: []string{"TestPlayersComeInAndBackWhileTheHostDrains"}}}},
	{id: "RL-124", fault: "all of the above by seed, in virtual time",
		tests:   []tests{{pkg: "./transport/transporttest/sim", run: []string{"TestSeeds"}, args: []string{"-sim.seeds", "200"}}},
		untried: "20,000 seeds: make seeds"},
}

// boundIfCut is that of players who may not even notice.
func boundIfCut(f *faults.Figures, players int, most float64) string {
	if f.Resumes == 0 {
		return ""
	}
	return reattached(0, most)(f, players)
}
