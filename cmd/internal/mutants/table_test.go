package mutants

// Packages that contain the tests.
const (
	inConnection  = "./actors/connection"
	inPlayer      = "./actors/player"
	inGameSession = "./actors/gamesession"
	inStore       = "./actors/store"
	inPlacement   = "./actors/placement"
	inGateway     = "./transport/gateway"
	inWebSocket   = "./transport/websocket"
	inAcceptance  = "./transport/transporttest/acceptance"
	inSim         = "./transport/transporttest/sim"
	inKCP         = "./transport/kcp"
	inConsole     = "./transport/console"
	inActors      = "./actors"
	inCluster     = "./actors/cluster"
	inShared      = "./actors/store/shared"
	inStories     = "./transport/transporttest/stories"
)

var mutants = []mutant{
	{
		name: "a message is dropped when it is written, not when it is acknowledged", promise: "RL-2",
		file: "actors/player/outbox.go", changes: []change{{"case c.how == ByWriting:\n\t\tq.release(it)", "case c.how != 0:\n\t\tq.release(it)"}},
		pkg: inPlayer, run: "TestOutboxBehavesLikeItsModel",
	},
	{
		name: "the old connection is not closed when another takes over", promise: "RL-8",
		file: "actors/player/actor.go", changes: []change{{"a.closeLink(messages.CloseTakenOver)", ""}},
		pkg: inGameSession, run: "TestATakeoverClosesTheOldConnectionAndItsLateEndChangesNothing",
	},
	{
		name: "the end of an older connection counts", promise: "RL-8",
		file: "actors/player/machine.go", changes: []change{{"if e.hasEpoch() && e.Epoch != m.Epoch {", "if e.hasEpoch() && e.Epoch > m.Epoch {"}},
		pkg: inPlayer, run: "TestEveryInterleaving",
	},
	{
		name: "messages of an older connection count while they are recent", promise: "RL-8",
		file: "actors/player/confirm.go", changes: []change{{"return o.confirmation.receive(n, e == o.attachment.epoch)", "return o.confirmation.receive(n, e+1 >= o.attachment.epoch)"}},
		pkg: inPlayer, run: "TestALateNumberOfAnOlderConnectionIsLeftAlone",
	},
	{
		name: "the host acknowledges nothing", promise: "RL-2",
		file: "actors/player/confirmation.go", changes: []change{{"\tc.ackTold.Store(n)\n\tc.ackNow = false\n\treturn n", "\tc.ackTold.Store(n)\n\tc.ackNow = false\n\treturn 0"}},
		pkg: inPlayer, run: "TestAnAckRidesOrGoesAlone",
	},
	{
		name: "an acknowledgement of more than was sent is believed", promise: "RL-6",
		file: "actors/player/confirmation.go", changes: []change{{"if c.how != ByAcks || n > sent || n < c.ack {", "if c.how != ByAcks || n < c.ack {"}},
		pkg: inSim, run: "TestSeeds",
	},
	{
		name: "the peer id of a player that has left is given to the next", promise: "RL-9",
		file: "actors/gamesession/playersession.go", changes: []change{{"\ts.presence = gone\n\tdelete(a.byPeer, s.player.Peer)\n", "\ts.presence = gone\n\tdelete(a.byPeer, s.player.Peer)\n\ta.highestPeer = s.player.Peer - 1\n"}},
		pkg: inGameSession, run: "TestPeerIDsCountFromOneAndAreNeverReused",
	},
	{
		name: "the queue to a player has no bound", promise: "RL-25",
		file: "actors/player/queue.go", changes: []change{{"if q.bytes+size > most.bytes || q.n+1 > most.messages {\n\t\treturn true", "if q.bytes+size > most.bytes || q.n+1 > most.messages {\n\t\treturn false"}},
		pkg: inGameSession, run: "TestADetachedPlayerWhoseQueueIsFullLeaves",
	},
	{
		name: "a slow consumer is not closed", promise: "RL-25",
		file: "actors/player/actor.go", changes: []change{{"a.closeLink(messages.CloseSlowConsumer)", ""}},
		pkg: inGameSession, run: "TestASlowConsumerIsClosedAndDetachedAndLosesNothing",
	},
	{
		name: "the store answers before it has written", promise: "RL-18",
		file: "actors/store/write.go", changes: []change{{"\t\terr := s.writeBatch(batch)\n", "\t\ts.answer(batch, nil)\n\t\terr := s.writeBatch(batch)\n\t\tbatch = nil\n"}},
		pkg: inStore, run: "TestAnErrorRefusesTheWaitingCommits", tags: "faults",
	},
	{
		name: "the store does not wait for the disk", promise: "RL-18",
		file: "actors/store/schema.go", changes: []change{{`"synchronous(FULL)"`, `"synchronous(OFF)"`}},
		pkg: inStore, run: "TestSettings",
	},
	{
		name: "checksums of the store are not compared", promise: "RL-22",
		file: "actors/store/schema.go", changes: []change{{"if sum(kind, id, value) != want {", "if sum(kind, id, value) != want && false {"}},
		pkg: inStore, run: "TestDamagedRecordsAreNamedAndTakenOut",
	},
	{
		name: "the end of the window ends nobody", promise: "RL-14",
		file: "actors/player/actor.go", changes: []change{{"\t\ta.step(c, Event{Kind: WindowOver, Epoch: m.epoch})\n", ""}},
		pkg: inGameSession, run: "TestALostPlayerIsDetachedForTheWindowAndThenLeavesOnce",
	},
	{
		name: "the window of a loss runs on after the player is back", promise: "RL-14",
		file: "actors/player/actor.go", changes: []change{
			{"\t\t\ta.window.Stop()\n", ""},
			{"Event{Kind: WindowOver, Epoch: m.epoch}", "Event{Kind: WindowOver, Epoch: a.d.machine.Epoch}"},
		},
		pkg: inSim, run: "TestAnEarlierWindowDoesNotEndAPlayerThatIsLostAgain",
	},
	{
		name: "a player that is leaving resumes", promise: "RL-14",
		file: "actors/player/machine.go", changes: []change{{"\t\tif r.Rejoin && m.Left && e.Credential == IDOnly {", "\t\tif e.Credential == GoodToken {\n\t\t\tm.Epoch++\n\t\t\treturn m.to(Attached), []Effect{Resume}\n\t\t}\n\t\tif r.Rejoin && m.Left && e.Credential == IDOnly {"}},
		pkg: inPlayer, run: "TestMachineFollowsTheTableInEveryStateItCanReach",
	},
	{
		name: "the seat of a reservation that is over stays taken", promise: "RL-15",
		file: "actors/gamesession/players.go", changes: []change{{"\tif status.Final() {\n\t\ta.finished++\n", "\tif status.Final() {\n"}},
		pkg: inGameSession, run: "TestAReservationEndsAfterExactly60SecondsAndNoLongerCounts",
	},
	{
		name: "a replay begins with the second message", promise: "RL-1",
		file: "actors/player/queue.go", changes: []change{{"q.next, q.waiting = 0, q.bytes\n", "q.next, q.waiting = min(1, q.n), q.bytes\n"}},
		pkg: inPlayer, run: "TestEveryInterleaving",
	},
	{
		name: "a token that was replaced stays good", promise: "RL-12",
		file: "actors/player/token.go", changes: []change{{"old && previous == 1", "previous == 1"}},
		pkg: inPlayer, run: "TestThePreviousTokenIsGoodUntilTheNewOneIsProved",
	},
	{
		name: "two logins with one token get two new ones", promise: "RL-7",
		file: "actors/player/token.go", changes: []change{{"next.Sum(secret[:0])", "rand.Read(secret[:])"}},
		pkg: inSim, run: "TestSeeds",
	},
	{
		name: "a message that is received twice is handled twice", promise: "RL-3",
		file: "actors/player/confirmation.go", changes: []change{{"\tcase n <= last:\n\t\treturn Duplicate", "\tcase n <= last:\n\t\treturn Next"}},
		pkg: inPlayer, run: "TestTheNumberOfAPlayersMessageSaysWhatItIs",
	},
	{
		name: "a placement ends without an event", promise: "RL-19",
		file: "actors/placement/end.go", changes: []change{{"[]messages.Event{eventOf(e.queue.record, record, why)}", "[]messages.Event(nil)"}},
		pkg: inPlacement, run: "TestEachPlacementHasOneTerminalEvent",
	},
	{
		name: "a player that resumes is in no group", promise: "RL-9",
		file: "actors/gamesession/players.go", changes: []change{{"func (a *Actor) onCameBack(m player.CameBack) {\n",
			"func (a *Actor) onCameBack(m player.CameBack) {\n\tfor _, id := range m.Player.Groups {\n\t\ta.removeGone(a.groups[id], m.Player)\n\t}\n\tm.Player.Groups = nil\n"}},
		pkg: inGameSession, run: "TestAResumeKeepsPeerGroupsAndMessagesInOrder",
	},
	{
		name: "a player is not told of a gap", promise: "RL-2",
		file: "actors/player/actor.go", changes: []change{{"result.Outcome = wire.OutcomeReplayLost", "result.Outcome = wire.OutcomeResumed"}},
		pkg: inGameSession, run: "TestOverflowWhileAwayIsAnEndOrAGap",
	},
	{
		name: "a player is told of a gap once, though the answer may be lost", promise: "RL-2",
		file: "actors/player/shed.go", changes: []change{{"\tif proved {\n\t\tg.known = g.told", "\tif proved || true {\n\t\tg.known = g.told"}},
		pkg: inGameSession, run: "TestAGapIsToldUntilThePlayerKnowsOfIt",
	},
	{
		name: "onPlayerConnect runs twice", promise: "RL-13",
		file: "actors/gamesession/players.go", changes: []change{{"\tok, p := a.ask(\"onPlayerConnect\"", "\ta.o.Handler.OnPlayerConnect(msg)\n\tok, p := a.ask(\"onPlayerConnect\""}},
		pkg: inGameSession, run: "TestTheConnectionPayloadAndThePlayerReachTheGate",
	},
	{
		name: "a player that resumes has no limits", promise: "RL-25",
		file: "transport/gateway/peer.go", changes: []change{{"\tnow = p.gateway.clock()\n\twait, over :=", "\tnow = p.gateway.clock()\n\tif a := p.handle.Attachment(); a != nil && a.Epoch > 1 {\n\t\treturn now, true\n\t}\n\twait, over :="}},
		pkg: inSim, run: "TestAPlayerThatResumesKeepsItsLimits",
	},
	{
		name: "a silent connection is never given up", promise: "RL-14",
		file: "actors/connection/actor.go", changes: []change{{"if silence >= limit {", "if silence >= limit && false {"}},
		pkg: inConnection, run: "TestASilentPeerIsDroppedAfterTwoIntervalsAndAtLeastSixSeconds",
	},
	{
		name: "players can say that they are somebody else", promise: "RL-10",
		file: "transport/gateway/classify.go", changes: []change{{"Sender: int32(sender),", "Sender: h.Sender,"}},
		pkg: inGateway, run: "TestDeliveredHasTheTrueSenderAndOneTarget",
	},
	{
		name: "actors are restarted without end", promise: "RL-24",
		file: "actors/gamesession/messages.go", changes: []change{{"return r.count <= most", "return r.count <= most || true"}},
		pkg: inGameSession, run: "TestTheFourthCrashInTenSecondsEndsThePlayerSession",
	},
	{
		name: "a change is answered before the store has it", promise: "RL-18",
		file: "actors/ledger/ledger.go", changes: []change{{"\tp.entry = entry\n", "\tp.entry = entry\n\tp.reply(nil)\n\tp.Reply = nil\n"}},
		pkg: inSim, run: "TestSeeds",
	},
	{
		name: "a restart keeps one seat of a game session", promise: "RL-18",
		file: "actors/fleet/restoresessions.go", changes: []change{{"players[e] = append(players[e], r.playerSession(id))", "players[e] = []messages.PlayerSession{r.playerSession(id)}"}},
		pkg: inSim, run: "TestSeeds",
	},
	{
		name: "a seat that the store refuses stays taken", promise: "RL-15",
		file: "actors/fleet/playersessions.go", changes: []change{{"Refused: func() { tell(true) }", "Refused: func() { tell(false) }"}},
		pkg: inSim, run: "TestSeeds",
	},
	{
		name: "a lost player is waited for in strict mode", promise: "RL-14",
		file: "actors/player/machine.go", changes: []change{{"\t\tcase !r.Window:\n\t\t\treturn m.to(Leaving), []Effect{Drop, TellLeaving}\n", ""}},
		pkg: inSim, run: "TestSeeds",
	},
	{
		name: "messages over KCP have no numbers", promise: "RL-1",
		file: "transport/kcp/engine.go", changes: []change{{"e.put(f.AppendNumbered(buf.b[:0], relSeq, ack))", "e.put(f.Unit())"}},
		pkg: inSim, run: "TestSeeds",
	},
	{
		name: "a host that stood still cuts its players over KCP", promise: "RL-115",
		file: "transport/kcp/timer.go", changes: []change{{"\te.excuse()\n", ""}},
		pkg: inKCP, run: "TestStoppedHost",
	},
	{
		name: "connections without a login are not counted", promise: "RL-201",
		file: "transport/admission.go", changes: []change{{"if l.PendingMax > 0 && a.pending >= l.PendingMax && a.victim(s, now) == nil {", "if false {"}},
		pkg: "./transport", run: "TestAdmissionBoundsPendingConnections",
	},
	{
		name: "frames of clients need no mask", promise: "RL-202",
		file: "transport/internal/rfc6455/frame.go", changes: []change{{"case masked && b[1]&MaskBit == 0:", "case false:"}},
		pkg: inWebSocket, run: "TestRFC6455",
	},
	{
		name: "a length that lies is believed", promise: "RL-203",
		file: "messages/wire/unit.go", changes: []change{{"\tcase length > uint64(len(b)):\n\t\treturn nil, ErrLengthLies\n", ""}},
		pkg: "./messages/wire", run: "TestSplitUnit",
	},
	{
		name: "players may send op codes of the server", promise: "RL-204",
		file: "transport/gateway/classify.go", changes: []change{{"case wire.ServerOnly(h.OpCode):", "case false:"}},
		pkg: inGateway, run: "TestClassify",
	},
	{
		name: "guesses are answered at once", promise: "RL-205",
		file: "transport/gateway/refusal.go", changes: []change{{"\t\twait += guessPause\n", ""}},
		pkg: inAcceptance, run: "TestGuessesCostTheGuesser",
	},
	{
		name: "the time of a refusal tells what was checked", promise: "RL-205",
		file: "transport/gateway/refusal.go", changes: []change{{"wait := refusalStep - (now.Sub(g.started)-p.readAt)%refusalStep", "wait := time.Millisecond"}},
		pkg: inGateway, run: "TestARefusalIsSentAtAWholeStep",
	},
	{
		name: "the fast channel moves to another IP address", promise: "RL-206",
		file: "transport/fast/binding.go", changes: []change{{"\tcase from.Addr() != b.addr.Addr():\n\t\treturn b.elsewhere(number, now)\n", ""}},
		pkg: "./transport/fast", run: "TestBinding",
	},
	{
		name: "KCP gets segments unchecked", promise: "RL-207",
		file: "transport/kcp/receive.go", changes: []change{{"if why := checkSegments(body); why != 0 {", "if why := checkSegments(body); false {"}},
		pkg: inKCP, run: "TestHostileRecordsAreDroppedAndCounted",
	},
	{
		name: "an association with AES-GCM never ends", promise: "RL-208",
		file: "transport/dtls/association.go", changes: []change{{"a.sealed.Load() >= gcmRecordsMax ||", "false ||"}},
		pkg: "./transport/dtls", run: "TestGCMIsCapped",
	},
	{
		name: "a token of the fast channel works twice", promise: "RL-209",
		file: "transport/fast/secured.go", changes: []change{{"c.claimed || time.Since", "time.Since"}},
		pkg: inAcceptance, run: "TestAWrongTokenWrongPeerOrReusedTokenIsRefusedAndTheWebSocketLivesOn",
	},
	{
		name: "a buffer is given to two at once", promise: "RL-211",
		file: "messages/wire/framepool.go", changes: []change{{"one := [1]*Frame{f}", "one := [2]*Frame{f, f}"}},
		pkg: inAcceptance, run: "TestIsolation_GamesAndPlayersCannotReachOthers",
	},
	{
		name: "signatures are not compared", promise: "RL-212",
		file: "transport/awswire/sigv4.go", changes: []change{{"if !hmac.Equal(q.sign(key.secret, canonical), q.signature) {", "if !hmac.Equal(q.sign(key.secret, canonical), q.signature) && false {"}},
		pkg: "./transport/awswire", run: "TestWhatWasChangedOnTheWayIsRefused",
	},
	{
		name: "an action needs no token of the console", promise: "RL-212",
		file: "transport/console/access.go", changes: []change{{"if who.csrf == \"\" || subtle", "if true || subtle"}},
		pkg: inConsole, run: "TestAnActionNeedsTheToken",
	},
	{
		name: "other web pages may call the console", promise: "RL-212",
		file: "transport/console/access.go", changes: []change{{" && strings.EqualFold(u.Host, r.Host)", ""}},
		pkg: inConsole, run: "TestOtherWebPagesMayNotCall",
	},
	{
		name: "a key that may only look acts", promise: "RL-212",
		file: "transport/console/access.go", changes: []change{{"if changes && who.role < Operator {", "if changes && who.role < Reader {"}},
		pkg: inConsole, run: "TestReadersMayNotAct",
	},
	{
		name: "pages of the console may be kept and shown in frames", promise: "RL-212",
		file: "transport/console/console.go", changes: []change{{"\th.Set(\"X-Frame-Options\", \"DENY\")\n", ""}, {"\th.Set(\"Cache-Control\", \"no-store\")\n", ""}},
		pkg: inConsole, run: "TestAnswersStayWithTheirPage",
	},
	{
		name: "the log has player session ids in full", promise: "RL-213",
		file: "actors/gamesession/players.go", changes: []change{{"Str(\"player_session\", h.ID.Short()).Int32", "Str(\"player_session\", string(h.ID)).Int32"}},
		pkg: inAcceptance, run: "TestHostLogKeepsPlayerSessionIDs",
	},
	{
		name: "TLS 1.0 is good enough", promise: "RL-214",
		file: "transport/tlsconf/store.go", changes: []change{{"MinVersion: tls.VersionTLS12,", "MinVersion: tls.VersionTLS10,"}},
		pkg: "./transport/tlsconf", run: "TestHandshakeMatrix",
	},
	{
		name: "a script may hold any amount of memory", promise: "RL-210",
		file: "actors/script/watchdog/memory.go", changes: []change{{"held > w.o.MemoryMax && since >= oldest", "held < 0 && since >= oldest"}},
		pkg: "./actors/script/watchdog", run: "TestACallEndsForWhatItsOwnerHolds",
	},
	{
		name: "a game session is claimed although another node has it", promise: "CL-5",
		file: "actors/cluster/directory.go", changes: []change{{"record.Incarnation), coord.Absent(d.o.Keys.Game(tag)), coord.Absent(d.o.Keys.Gone(tag)),", "record.Incarnation),"}},
		pkg: inCluster, run: "TestDirectorySeeds",
	},
	{
		name: "a lease is taken for a fence", promise: "CL-16",
		file: "actors/cluster/directory.go", changes: []change{{"\t\t\tcoord.Incarnation(d.o.Keys.Node(d.o.Node), record.Incarnation), coord.Absent(", "\t\t\tcoord.Absent("}},
		pkg: inCluster, run: "TestOldIncarnations",
	},
	{
		name: "a node is reaped on the word of one witness", promise: "CL-18",
		file: "actors/cluster/missing.go", changes: []change{{"if others && o.State == Live", "if false && o.State == Live"}},
		pkg: inCluster, run: "TestLossTable",
	},
	{
		name: "an old term commits", promise: "CL-16",
		file: "actors/cluster/directory.go", changes: []change{{"[]coord.Condition{leads, coord.Absent(d.o.Keys.Node(node))}", "[]coord.Condition{coord.Absent(d.o.Keys.Node(node))}"}},
		pkg: inCluster, run: "TestOldIncarnations",
	},
	{
		name: "the directory keeps the record of an ended game session", promise: "CL-202",
		file: "actors/cluster/directory.go", changes: []change{{"coord.Delete(d.o.Keys.Game(tag)), coord.Delete(d.o.Keys.HostGame(d.o.Node, tag)))", "coord.Delete(d.o.Keys.HostGame(d.o.Node, tag)))"}},
		pkg: inCluster, run: "TestDirectorySeeds",
	},
	{
		name: "a page token is good at one node only", promise: "CL-4",
		file: "transport/host/api.go", changes: []change{{"if n := h.node; n != nil {\n\t\treturn n.secret(pagesSecret)", "if n := h.node; n != nil && false {\n\t\treturn n.secret(pagesSecret)"}},
		pkg: inStories, run: "TestPagesOfThreeHosts",
	},
	{
		name: "a search counts twice", promise: "CL-11",
		file: "actors/spread.go", changes: []change{{"all, matched = append(all, f.GameSessions...), matched+f.Matched", "all, matched = append(all, f.GameSessions...), matched+f.Matched+len(f.GameSessions)"}},
		pkg: inActors, run: "TestPagesOverNodes",
	},
	{
		name: "a claim stays without a game", promise: "CL-210",
		file: "actors/cluster/directory.go", changes: []change{{"own.state, own.over, own.refused, own.since = unsure, true, true, time.Now()\n\t\t}\n\t\tif own.over {", "own.state, own.since = unsure, time.Now()\n\t\t}\n\t\tif own.over {"}},
		pkg: inCluster, run: "TestDirectorySeeds",
	},
	{
		name: "a replay key is dropped between two nodes", promise: "RL-20",
		file: "transport/peers/server.go", changes: []change{{"ctx = messages.WithReplayKey(ctx, key[0])", ""}},
		pkg: "./transport/host", run: "TestACallHasOneEffectAtAllHosts",
	},
	{
		name: "a ticket is lost at a change of leader", promise: "CL-40",
		file: "actors/matchmaker/keep.go", changes: []change{{"\t\t\tstate.tickets = append(state.tickets, storedTicket{r, bytes})\n", "\t\t\tif r.Status != messages.TicketSearching {\n\t\t\t\tstate.tickets = append(state.tickets, storedTicket{r, bytes})\n\t\t\t}\n"}},
		pkg: "./transport/host", run: "TestALeaderIsLostWhileTicketsWait",
	},
	{
		name: "a new leader does not finish what needs several transactions", promise: "CL-42",
		file: "actors/store/shared/store.go", changes: []change{{"\t\terr = s.finishFormer()\n", ""}},
		pkg: "./transport/host", run: "TestALeaderIsLostInALargeMatch",
	},
}
