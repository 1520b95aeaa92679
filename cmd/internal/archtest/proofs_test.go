package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// proof names the tests of one statement: a sentence, a clause or a limit, by words of it that occur once in its part of the
// document. Tests are the folder of a package, a colon, and names.
type proof struct {
	words string
	tests []string
}

const acceptance = "transport/transporttest/acceptance: "

// securityProofs are those of "Attackers and defences" in SECURITY.md.
var securityProofs = []proof{
	{"Decoders check sizes before they allocate memory, are fuzzed", []string{"messages/wire: TestSplitUnit FuzzPacketDecode", "transport/websocket: TestOversizeIsNotAllocated TestClaimIsNotBelieved", "transport/awswire: TestAPIBodiesThatGrow"}},
	{"lifetime of connections without a login are limited", []string{"transport: TestAdmissionBoundsPendingConnections TestAdmissionBoundsTheRateAndForgets TestAnIPv6NetworkIsBoundedAsAWhole TestTheOldestSilentConnectionGivesWay", "actors/connection: TestWithoutALoginTheConnectionIsClosedAfterExactlyTenSeconds"}},
	{"The same holds for DTLS handshakes", []string{"transport/dtls: TestAHelloFloodStaysWithinTheCapsAndHonestPeersGetIn TestOneAddressHasAShareOfTheHandshakes TestNewHandshakesHaveARate", acceptance + "TestIdleConnectionsDoNotTakeTheAPI", "transport/host: TestSlowCallersAreCutOff"}},
	{"its refusals a second later", []string{acceptance + "TestGuessesCostTheGuesser TestIDsThatExistAreNoFailures"}},
	{"an unknown id is refused before anything else is done", []string{acceptance + "TestBadPlayerSessionsAreRefused"}},
	{"Every refusal is sent at a whole multiple of 50 ms", []string{"transport/gateway: TestARefusalIsSentAtAWholeStep"}},
	{"all refusals of unknown ids have the same bytes", []string{acceptance + "TestBadPlayerSessionsAreRefused"}},
	{"A caller with an existing id is told why it is refused", []string{acceptance + "TestARefusedLoginSaysWhy"}},
	{"They never refuse a valid", []string{acceptance + "TestGuessesKeepNobodyOut TestPlayersOfBeforeARestartKeepNobodyOut"}},
	{"verifies AWS Signature Version 4", []string{"transport/awswire: TestWhatWasChangedOnTheWayIsRefused TestRefusalsHaveTheirCodes", "transport/serviceapi: TestGoSDKIsRefused"}},
	{"Without keys it listens on loopback only", []string{"cmd/internal/config: TestMistakesOfAccessKeys"}},
	{"an unknown key has its own error", []string{"transport/awswire: TestRefusalsHaveTheirCodes"}},
	{"TLS is 1.2 or 1.3, DTLS 1.2", []string{"transport/tlsconf: TestHandshakeMatrix", "transport/dtls: TestWeakPeersAreRefused TestOpenSSLCompletesAHandshake TestGCMIsCapped"}},
	{"The host writes the sender of a message itself", []string{"transport/gateway: TestDeliveredHasTheTrueSenderAndOneTarget", acceptance + "TestForgedSendersAreNeverDelivered"}},
	{"never reach another game session", []string{acceptance + "TestIsolation_GamesAndPlayersCannotReachOthers TestIsolation_NothingAfterTheEnd TestGamesAreSeparate"}},
	{"sizes, groups, queues and deliveries are limited", []string{acceptance + "TestReliableRateWaits TestFastRateDrops TestGroupOperationRate TestSlowReader TestARoomIsNoFasterThanItsBound TestAFullMailboxDropsFastMessagesAndReadsNoMore", "actors/gamesession: TestDeliveriesThatPlayersCauseAreBounded",
		"transport/websocket: TestRFC6455", "actors/group: TestGroupsAreBoundedAndGroupIDsMustBePositive"}},
	{"Logins over the limit of a player session wait", []string{acceptance + "TestTakeoversOverTheLimitWait TestFlappingLinkKeepsItsSeat", "actors/gamesession: TestALoginOverTheLimitWaits TestAPauseIsShorterThanTheRestOfTheReservation"}},
	{"A crash of a player's, a group's or a game session's actor", []string{"actors: TestACrashInOneGameSessionIsNotFeltInAnother", "actors/gamesession: TestACrashedPlayerActorInEveryStateIsReplaced TestACrashedGroupKeepsItsMembersAndPendingOperationsGoOn"}},
	{"May do what its `allow` says", []string{"transport/awswire: TestAPIKeysMayCallWhatTheyAreAllowed TestAPIThrottlesPerKey"}},
	{"sees shortened player session ids", []string{"transport/host: TestKeysThatMakeNoPlayerSessionsSeeShortIDs"}},
	{"`/events` and pages below `/debug/` need a key", []string{"transport/host: TestGuardedPages TestWithKeysNobodyIsTrustedForItsAddress TestATokenIsAskedOfEverybody TestLoopbackIsTrustedAsLoopbackOnly"}},
	{"The console and `/admin/v1/` have the rules of `/debug/`", []string{"transport/host: TestTheConsoleIsGuardedLikeDebug TestTheConsoleIsForOperators",
		"transport/console: TestWithKeysALoginIsNeeded TestAnActionNeedsTheToken TestOtherWebPagesMayNotCall TestLoginsAreBounded TestFailedLoginsAreLimited TestALoginExpires TestNewKeysEndLogins"}},
	{"Signed URLs of logs are good for 15 minutes", []string{"transport/ops: TestSignedLog"}},
	{"in Node.js only if `script.node.allowUploaded`", []string{acceptance + "TestAnUploadedScriptDoesNotChooseNode"}},
	{"or `script.node.uid` names another user", []string{"transport/host: TestWhereUploadedScriptsMayRunInNode"}},
	{"cannot read the host's memory and environment", []string{"cmd/troupe: TestTheHostsEnvironmentIsItsOwn"}},
	{"which shares nothing", []string{"actors/script/js: TestGamesOfOneProgramShareNothingButCode"}},
	{"no files, no processes, and no network", []string{"actors/script/js: TestCallbacksThatUseWhatTheEngineLacks"}},
	{"Calls, memory, timers and sends are watched", []string{"actors/script/js: TestHostileScripts TestAScriptThatKeepsMoreWithEachCallEnds", "actors/script/watchdog: TestACallEndsForWhatItsOwnerHolds",
		"actors/gamesession: TestMessagesOfTheGameAreBounded"}},
	{"such a call is abandoned and holds a thread", []string{acceptance + "TestStuckScripts TestOneStuckScript", "actors/stage: TestAnActorIsAbandonedInACallThatNeverReturns"}},
	{"Node.js: a process with limits on CPU", []string{"actors/script/node: TestHostileScripts TestTheWatchdog TestProcessesOfTheScriptEndWithIt TestProcessesOfAnotherUserEndWithTheScript"}},
	{"may sign for the configured names and", []string{"transport/tlsconf: TestTheCASignsForItsNamesAlone"}},
	{"is unconstrained until `troupe tls rotate`", []string{"transport/tlsconf: TestACAOfAnOlderVersionStays TestRotate"}},
	{"The store is checked at the start", []string{"actors/store: TestDamagedRecordsAreNamedAndTakenOut TestDamagedDatabase", acceptance + "TestDamagedRecords"}},
	{"lowest versions and their reasons", []string{"cmd/internal/archtest: TestNoDependencyIsOlderThanItsFloor"}},
}

// reliabilityProofs are those of sections 4 and 5 of docs/spec/reliability.md, by the first cell of a row.
var reliabilityProofs = []proof{
	{"connection, UDP association", []string{"actors/connection: TestACrashedConnectionActorIsALossForItsPlayer", "transport/dtls: TestAPanicCostsOneAssociation", "transport/fast: TestAPanicCostsOnePeersChannel"}},
	{"player", []string{"actors/gamesession: TestACrashedPlayerActorIsReplacedAndThePlayerResumes TestACrashedPlayerActorInEveryStateIsReplaced TestTheFourthCrashInTenSecondsEndsThePlayerSession", "actors/player: TestASuccessorEndsAPlayerSessionWithInconsistentState"}},
	{"group", []string{"actors/gamesession: TestACrashedGroupKeepsItsMembersAndPendingOperationsGoOn TestTheEleventhGroupCrashInTenSecondsEndsTheGameSession"}},
	{"game session, script", []string{"actors/gamesession: TestACrashedGameSessionIsTerminatedAndItsPlayersAreClosed", "actors/script/node: TestADeadProcessIsACrashOfItsGameSessionOnly"}},
	{"placements (queues and placements)", []string{"actors/placement: TestCrash TestCrashWhileEnding TestCrashWhileLaunching"}},
	{"fleet registry", []string{"actors: TestACrashOfTheRegistryEndsTheProcess"}},

	{"At 50 % fast messages to that player are dropped", []string{"actors/player: TestFastMessagesAreDroppedFromHalfTheBudget"}},
	{"at 75 % it counts as slow", []string{"actors/player: TestOutboxBehavesLikeItsModel TestFastMessagesAreDroppedFromHalfTheBudget"}},
	{"at 100 % its connection is closed with 4009", []string{"actors/gamesession: TestASlowConsumerIsClosedAndDetachedAndLosesNothing TestOverflowWhileAwayIsAnEndOrAGap"}},
	{"The sender is neither blocked nor given an error", []string{acceptance + "TestSlowReaderWhileOthersGoOn"}},
	{"fast ones are dropped; for reliable ones", []string{acceptance + "TestFastRateDrops TestReliableRateWaits"}},
	{"after 10 s over the limit it closes with 4010", []string{acceptance + "TestTooFastCloses", "transport/host: TestTheDefaultsAreThoseOfTheSpecification"}},

	{"HTTP header read, TLS handshake", []string{"transport/websocket: TestSlowloris TestRefusedRequests"}},
	{"accept to LOGIN", []string{"actors/connection: TestWithoutALoginTheConnectionIsClosedAfterExactlyTenSeconds"}},
	{"connections without a login", []string{"transport: TestAdmissionBoundsPendingConnections TestAdmissionTakesAnIPv6NetworkAsOneSource TestTheOldestSilentConnectionGivesWay TestLoginsPaceACrowd"}},
	{"new connections per IP", []string{"transport: TestAdmissionBoundsTheRateAndForgets TestOverTheRateConnectionsWait"}},
	{"WebSocket message / frame headers per message", []string{"transport/websocket: TestRFC6455 TestOversizeIsNotAllocated"}},
	{"compression", []string{"transport/websocket: TestBothPathsAndAnyOriginAreAccepted TestRFC6455"}},
	{"malformed packets", []string{acceptance + "TestTenMalformedPacketsClose"}},
	{"player inbound", []string{acceptance + "TestReliableRateWaits TestFastRateDrops TestTooFastCloses"}},
	{"group operations", []string{acceptance + "TestGroupOperationRate"}},
	{"deliveries caused per game session", []string{"actors/gamesession: TestDeliveriesThatPlayersCauseAreBounded"}},
	{"groups per player, per session", []string{"actors/group: TestGroupsAreBoundedAndGroupIDsMustBePositive"}},
	{"DTLS half-open", []string{"transport/dtls: TestAHelloFloodStaysWithinTheCapsAndHonestPeersGetIn TestOneAddressHasAShareOfTheHandshakes TestNewHandshakesHaveARate"}},
	{"game session mailbox", []string{"actors/stage: TestMailboxAgainstAModel TestAwaitRoom", acceptance + "TestAFullMailboxDropsFastMessagesAndReadsNoMore TestIsolation_ABlockedCallbackHoldsUpItsOwnGameAlone"}},
	{"script watchdog", []string{"actors/script/watchdog: TestALongCallIsInterruptedOnceThenStuck TestACallEndsForWhatItsOwnerHolds"}},
	{"reliable bytes of a game session's players", []string{acceptance + "TestARoomIsNoFasterThanItsBound", "transport/gateway: TestARoomIsSharedByThoseWhoSend"}},
	{"logins", []string{"transport/gateway: TestLoginLimiterLetsReconnectingPlayersGoFirst TestLoginLimiterRefusesNobodyWithAReservedSeat", "transport/host: TestTheDefaultsAdmitEightThousandLoginsPerSecond"}},
	{"API body, rate", []string{"transport/serviceapi: TestAPIBodyCaps", "transport/awswire: TestAPIThrottlesPerKey"}},
	{"log line", []string{"actors/gamesession: TestHostLogCannotBeForged", "actors/sessionlog: TestLineIsThatOfTheOriginal FuzzLine"}},
}

// secretProofs are those of "Secrets" in SECURITY.md, by the first cell of a row.
var secretProofs = []proof{
	{"player session id", []string{acceptance + "TestHostLogKeepsPlayerSessionIDs TestBadPlayerSessionsAreRefused"}},
	{"reconnect token", []string{"actors/player: TestOnlyTheHashOfATokenIsKept TestThePreviousTokenIsGoodUntilTheNewOneIsProved"}},
	{"access key of the service API", []string{"cmd/internal/config: TestFileWithSecretsIsTheOwnersAlone", acceptance + "TestSecretFileIsTheOwnersAlone TestHostLogKeepsSecrets"}},
	{"token of `events.sse`", []string{"transport/host: TestATokenIsAskedOfEverybody"}},
	{"private key of the CA", []string{"transport/tlsconf: TestFilesAreThePrivateOnesOfOneUser TestTheCASignsForItsNamesAlone"}},
	{"the store, its backups", []string{"actors/store: TestFilesAreTheOwnersAlone TestBackupWhileCommitsGoOn", "actors/sessionlog: TestLogsAreTheOwnersAlone"}},
}

// threatProofs are those of section 6 of docs/spec/reliability.md, by the number of a row: the attack that it names. Bugs that
// take the defence away are in cmd/internal/mutants.
var threatProofs = []proof{
	{"RL-201", []string{acceptance + "TestSilentConnectionsKeepNobodyOut", "transport/websocket: TestSlowloris"}},
	{"RL-202", []string{"transport/websocket: TestRFC6455 TestOversizeIsNotAllocated TestBothPathsAndAnyOriginAreAccepted"}},
	{"RL-203", []string{"messages/wire: TestSplitUnit TestGroupsNestToTheLimit TestParseCapsItsViews FuzzPacketDecode FuzzJSONPacket", acceptance + "TestMalformedPackets"}},
	{"RL-204", []string{acceptance + "TestForgedSendersAreNeverDelivered TestForgedSender TestServerOpCodes"}},
	{"RL-205", []string{acceptance + "TestGuessesCostTheGuesser TestGuessesKeepNobodyOut TestBadPlayerSessionsAreRefused", "transport/gateway: TestARefusalIsSentAtAWholeStep"}},
	{"RL-206", []string{"transport/fast: TestSpoof_OtherIPIsRefused TestSpoof_ReplayIsRefused TestSpoof_Amplification TestSpoof_NoGameDataToAnAddressThatIsNotConfirmed TestMovedAddress TestContested",
		acceptance + "TestSpoof_SecondAddressWithImplausibleNumbers TestSpoof_SecondAddressWithAPlausibleNumber TestSpoof_ASilentAddressMoves TestSpoof_ReplayedDatagrams"}},
	{"RL-207", []string{acceptance + "TestForgedKCPSegmentsMakeNothingAndKillNothing", "transport/kcp: TestHostileRecordsAreDroppedAndCounted"}},
	{"RL-208", []string{"transport/dtls: TestForgedAndReplayedRecordsAreDropped TestTheAnswerToAHelloIsSmall TestGCMIsCapped TestNoNonceIsUsedTwice TestWeakPeersAreRefused TestOpenSSLCompletesAHandshake"}},
	{"RL-209", []string{acceptance + "TestAWrongTokenWrongPeerOrReusedTokenIsRefusedAndTheWebSocketLivesOn"}},
	{"RL-210", []string{"actors/script/js: TestHostileScripts", "actors/script/node: TestHostileScripts", acceptance + "TestStuckScripts"}},
	{"RL-211", []string{acceptance + "TestIsolation_GamesAndPlayersCannotReachOthers TestIsolation_NothingAfterTheEnd"}},
	{"RL-212", []string{"transport/awswire: TestWhatWasChangedOnTheWayIsRefused TestRefusalsHaveTheirCodes", acceptance + "TestAPIWithKeys"}},
	{"RL-213", []string{acceptance + "TestHostLogKeepsSecrets TestHostLogKeepsPlayerSessionIDs TestSecretFileIsTheOwnersAlone"}},
	{"RL-214", []string{"transport/tlsconf: TestHandshakeMatrix"}},
	{"RL-215", []string{"cmd/internal/archtest: TestNoDependencyIsOlderThanItsFloor"}},
}

// matchmakingProofs are those of section 23 of docs/spec/flexmatch.md, by the id of a line.
var matchmakingProofs = []proof{
	{"**FM-1**", []string{ruleLanguage + "TestInvalidRuleSetsGiveTheCodeAndThePath TestValidOnPurpose"}},
	{"**FM-2**", []string{ruleLanguage + "TestExamplesAreValid TestInvalidRuleSetsGiveTheCodeAndThePath"}},
	{"**FM-3**", []string{ruleLanguage + "TestInvalidRuleSetsGiveTheCodeAndThePath"}},
	{"**FM-4**", []string{ruleLanguage + "TestInvalidRuleSetsGiveTheCodeAndThePath"}},
	{"**FM-5**", []string{matching + "TestVectors TestPassesAreDeterministic TestLargeMatchesChooseLocationAndTickets TestLargeMatchesKeepBatchDistanceAndBalance TestLargeMatchesBackfill"}},
	{"**FM-6**", []string{ruleLanguage + "TestValidOnPurpose"}},
	{"**FM-7**", []string{ruleLanguage + "TestValidOnPurpose"}},
	{"**FM-8**", []string{ruleLanguage + "TestValidOnPurpose", matching + "TestVectors"}},
	{"**FM-9**", []string{ruleLanguage + "TestValidOnPurpose", matching + "TestVectors"}},
	{"**FM-10**", []string{matching + "TestRulesByExample"}},
	{"**FM-11**", []string{matching + "TestRulesByExample TestSmallPoolsMatchAsBruteForceDoes"}},
	{"**FM-12**", []string{matching + "TestVectors"}},
	{"**FM-13**", []string{matching + "TestRulesByExample"}},
	{"**FM-14**", []string{matching + "TestVectors", tickets + "TestLatencies"}},
	{"**FM-15**", []string{matching + "TestVectors TestSmallPoolsMatchAsBruteForceDoes TestLargeLatencyExpands"}},
	{"**FM-16**", []string{matching + "TestVectors", ruleLanguage + "TestStagesHaveTheValuesInForce"}},
	{"**FM-17**", []string{matching + "TestRulesByExample TestVectors"}},
	{"**FM-18**", []string{matching + "TestRulesByExample TestVectors"}},
	{"**FM-19**", []string{matching + "TestVectors TestSmallPoolsMatchAsBruteForceDoes"}},
	{"**FM-20**", []string{matching + "TestVectors TestSmallPoolsMatchAsBruteForceDoes TestLargeMatchesBackfill"}},
	{"**FM-21**", []string{matching + "TestAdditionalPlayersStayFree"}},
	{"**FM-22**", []string{tickets + "TestTwoPlayersPlay"}},
	{"**FM-23**", []string{tickets + "TestANewerTicketOfThePlayer TestBackfillEnds"}},
	{"**FM-24**", []string{tickets + "TestRequestTimesOutAfterMatches TestRequestTimesOut"}},
	{"**FM-25**", []string{tickets + "TestStop TestBothAccept"}},
	{"**FM-26**", []string{tickets + "TestBothAccept TestOneRejects TestAcceptanceTimesOut"}},
	{"**FM-27**", []string{tickets + "TestPlacementTimesOut"}},
	{"**FM-28**", []string{tickets + "TestTwoPlayersPlay TestManualBackfill TestBackfillEnds", "transport/serviceapi: TestStartMatchBackfill TestTickets"}},
	{"**FM-29**", []string{tickets + "TestStandalone TestBackfillRefusals"}},
	{"**FM-30**", []string{tickets + "TestMatchmakerDataIsThatOfTheSDKs", acceptance + "TestAMatchIsPlayed"}},
	{"**FM-31**", []string{tickets + "TestManualBackfill", acceptance + "TestTheBackEndFillsASeat"}},
	{"**FM-32**", []string{tickets + "TestBackfillEnds"}},
	{"**FM-33**", []string{tickets + "TestAutomaticBackfill TestAutomaticBackfillIsStopped TestAutomaticBackfillIsStoppedWhilePlacing", acceptance + "TestASeatIsFilledForAScript"}},
	{"**FM-34**", []string{"transport/events: TestMatchmakingEvents", tickets + "TestTwoPlayersPlay"}},
	{"**FM-35**", []string{tickets + "TestBothAccept"}},
	{"**FM-36**", []string{tickets + "TestEstimateOfAnEvent"}},
	{"**FM-37**", []string{"transport/serviceapi: TestTickets"}},
	{"**FM-38**", []string{"transport/serviceapi: TestTickets"}},
	{"**FM-39**", []string{tickets + "TestRefusals", acceptance + "TestTicketsOutliveTheHost"}},
	{"**FM-40**", []string{tickets + "TestRefusals", matching + "TestAttributesOfAnotherTypeAreRefused"}},
}

// Packages of matchmaking.
const (
	tickets      = "actors/matchmaker: "
	matching     = "actors/matchmaker/match: "
	ruleLanguage = "actors/matchmaker/ruleset: "
)

// Each secret and each statement about a defence in SECURITY.md, each rule and limit of sections 4 and 5 of reliability.md, and
// each threat of section 6, has tests; and so has each check of matchmaking.
func TestDefencesHaveTests(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	read := func(file, from, to string) string {
		b, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		_, text, found := strings.Cut(string(b), from)
		ended := to == "" // the end of the file
		if !ended {
			text, _, ended = strings.Cut(text, to)
		}
		if !found || !ended {
			t.Fatalf("%s has no part from %q to %q", file, from, to)
		}
		return text
	}
	security := read("SECURITY.md", "## Attackers and defences\n", "\n## ")
	checkProofs(t, root, blocks(security), security, securityProofs)
	rules := read("docs/spec/reliability.md", "## 4. Actors and supervision\n", "\n## 6. ")
	checkProofs(t, root, limits(rules), rules, reliabilityProofs)
	secrets := read("SECURITY.md", "## Secrets\n", "\n## ")
	checkProofs(t, root, firstCells(secrets), secrets, secretProofs)
	threats := read("docs/spec/reliability.md", "## 6. Threats and required defences\n", "\n## 7. ")
	checkProofs(t, root, firstCells(threats), threats, threatProofs)
	matchmaking := read("docs/spec/flexmatch.md", "## 23. Conformance checklist\n", "")
	var checks []string
	for line := range strings.SplitSeq(matchmaking, "\n") {
		if check, ok := strings.CutPrefix(line, "- "); ok {
			checks = append(checks, check)
		}
	}
	checkProofs(t, root, checks, matchmaking, matchmakingProofs)
}

// blocks returns the items of lists and the paragraphs without one that are in a text.
func blocks(text string) (all []string) {
	for part := range strings.SplitSeq(text, "\n\n") {
		for item := range strings.SplitSeq("\n"+part, "\n- ") {
			item = strings.TrimSpace(item)
			if item != "" && !(strings.HasPrefix(item, "**") && strings.Count(item, "\n") == 0) { // a heading alone
				all = append(all, item)
			}
		}
	}
	return all
}

// firstCells returns the first cell of each row of the tables of a text, without their heads.
func firstCells(text string) (all []string) {
	var head bool
	for line := range strings.SplitSeq(text, "\n") {
		switch name, _, row := strings.Cut(strings.TrimPrefix(line, "| "), " | "); {
		case !row:
			head = false
		case !head: // the next line is a rule
			head = true
		case !strings.HasPrefix(line, "| --- |"):
			all = append(all, name)
		}
	}
	return all
}

var cell = regexp.MustCompile(`^[a-zA-Z]`)

// limits returns what the tables of a text name: the first cell of each row, and the third where a row has two limits.
func limits(text string) (all []string) {
	for line := range strings.SplitSeq(text, "\n") {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| Actor |") || strings.HasPrefix(line, "| Limit |") || len(cells) != 4 {
			continue
		}
		all = append(all, strings.TrimPrefix(cells[0], "| "))
		if strings.Index(text, line) > strings.Index(text, "| Limit | Value |") {
			all = append(all, cells[2])
		}
	}
	return slices.DeleteFunc(all, func(s string) bool { return !cell.MatchString(s) })
}

// checkProofs wants each statement to have a proof, and each proof to have its words in the text, and tests that exist.
func checkProofs(t *testing.T, root string, statements []string, text string, proofs []proof) {
	t.Helper()
	for _, s := range statements {
		if !slices.ContainsFunc(proofs, func(p proof) bool { return strings.Contains(s, p.words) }) {
			t.Errorf("nobody says which test proves: %s", s)
		}
	}
	for _, p := range proofs {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), p.words) {
			t.Errorf("nothing says any more: %s", p.words)
		}
		if len(p.tests) == 0 {
			t.Errorf("no test: %s", p.words)
		}
		for _, tests := range p.tests {
			dir, names, _ := strings.Cut(tests, ": ")
			files, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*_test.go"))
			var all strings.Builder
			for _, file := range files {
				b, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				all.Write(b)
			}
			for name := range strings.FieldsSeq(names) {
				if !strings.Contains(all.String(), "\nfunc "+name+"(") {
					t.Errorf("%s: %s has no %s", p.words, dir, name)
				}
			}
		}
	}
}
