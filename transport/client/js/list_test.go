package js_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	entry  = regexp.MustCompile(`(?m)^  (?:async )?(\w+)\(t\) \{$`)
	goTest = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
)

// entries returns the names of the entries in lists of the folder test.
func entries(t *testing.T, files ...string) (names []string) {
	t.Helper()
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join("test", file))
		if err != nil {
			t.Fatal(err)
		}
		found := entry.FindAllSubmatch(text, -1)
		if len(found) < 10 {
			t.Fatalf("%d entries in %s", len(found), file)
		}
		for _, m := range found {
			names = append(names, string(m[1]))
		}
	}
	return names
}

// counterparts maps tests of the Go SDK to the entries of the lists that test the same.
var counterparts = map[string]string{
	"TestPlays": "talk groups handlersAfterConnect", "TestEnds": "closeIsALeave abortIsALoss hostDrains", "TestBackPressure": "handlersAfterConnect", "TestAHostThatReadsNothing": "sendWhileAway", "TestDialAgain": "hangingConnection",

	"TestAnotherDevice":       "takenOver abortIsALoss endsAtOnce",
	"TestDialGivesUpAnywhere": "connectGivesUp", "TestDialEnds": "connectGivesUp refused connectErrors", "TestDialAsksAgain": "connectAsksAgain busyHost",
	"TestSendRefusesWhatTheHostWouldDrop": "talk", "TestSendWhileDetached": "sendWhileAway",
	"TestSendUntilAcked":       "sendWhileAway",
	"TestEndHasTheHostsReason": "endsAtOnce", "TestSilence": "silence watchNetwork",
	"TestResumes": "resumes", "TestMoves": "moves", "TestMove": "moves moveIsNoTakeover", "TestMoveIsNoTakeover": "moveIsNoTakeover",
	"TestAReturnAfterTheWindowIsRefused": "aReturnAfterTheWindow", "TestGap": "gap", "TestGapAndFreshDevice": "gap takenOver",
	"TestReconnects": "resumes", "TestExactlyOnceThroughLosses": "stream", "TestExactlyOnce": "stream", "TestFlappingLink": "stream resumes",
	"TestTheDelayOfAnAttemptDependsOnTheLoss": "delayOfAnAttempt", "TestNetworkBack": "networkBack watchNetwork", "TestNetworkBackTooEarly": "networkBack",
	"TestOutageWhileLoggingIn": "outageWhileLoggingIn", "TestGivesUp": "givesUp",
	"TestTheHostsAnswerDecidesAboutTheNextAttempt": "hostDecidesAboutTheNextAttempt",
	"TestALateLoginOfTheClientItselfIsNotTheEnd":   "lateLoginOfItsOwn", "TestAnAnswerAfterTheAttemptDoesNotAttach": "answerAfterTheAttempt",
	"TestAckTimes": "ackTimes", "TestAcks": "ackTimes", "TestAWrongNumberEndsTheConnectionOnly": "repeatedWrongNumbers",
	"TestRepeatedWrongNumbersEndTheClient": "repeatedWrongNumbers", "TestReconnectAtAHostWithoutNumbers": "hostWithoutNumbers",
	"TestRoomWithoutNumbers": "hostWithoutNumbers", "TestWithoutNumbers": "hostWithoutNumbers strictHost", "TestEndsWhileDetached": "endsWhileDetached",
	"TestCloseDuringAMove": "closeDuringAMove closeWhileMoving", "TestALossDuringAMoveIsNotTheEnd": "lossDuringAMove", "TestPolicy": "policy", "TestDefaults": "policy",
}

// withoutCounterpart has the tests of the Go SDK without an entry in the lists, grouped by the reason.
var withoutCounterpart = map[string]string{
	"this client has no UDP and no DTLS": `TestWithoutUDPEverythingGoesByWebSocket TestFastCounts
		TestAFastHandshakeRepeatsUntilItIsAnswered TestSecureFastCarriesMessages TestSecureFastRepeats TestSecureFastAnsweredByWebSocket
		TestASecureFastThatFailsLeavesTheLoginAlone TestSecureFastLeavesNothing TestResumption TestWatch TestNATChangesThePort
		TestTheFastChannelFallsBackWhileUDPIsBlocked TestMoveReportsTheFastChannelDown
		TestUDPComesBack TestADroppedConnectionReportsNoFailureOfItsFastChannel`,
	"this client has no KCP":                                 `TestAuto TestAutoComesBack TestTransportNames TestALateAnswerOverKCPAttaches`,
	"the platform has the WebSocket and checks certificates": `TestSocketReads TestSocketRefuses TestCloseFrame TestCertificate`,
	"events are calls, not a channel that a program may leave full": `TestCloseDoesNotWaitForTheProgram TestMoveWithEventsWaiting
		TestAnAnswerBeforeTheEndOfTheAttemptAttaches TestMoveEndsWithItsContextAfterALoss TestNoHoleAfterClose`,
	"a matter of Go's sockets and memory": `TestSendAllocatesNothing TestTheKernelsSockets TestResetsAndRefusedDatagrams
		TestDialWithABadDialer TestReconnectWithABadDialer TestFastWithABadDialer TestAHostMayAcknowledgeNothingForAsLongAsItMayBeSilent`,
	"not tried for this client by itself; stream, resumes and bothDecodersAgree go through it": `
		TestUnreliableDoesNotMoveTheCounter TestViolations
		TestFailedSendBurnsNoNumber TestMessagesDuringALoginAreNeitherLostNorDoubled
		TestContradictoryLoginAnswersAreErrors`,
	"not tried for this client": `TestALoginAnswerCountsIfTheHostClosesAtOnce TestDroppedAtOnce TestStorm TestATakeoverAfterARefusalIsTheEnd`,
}

const elsewhere = "the Go client is tried in clusters of whole hosts: transport/host"

// onlyHere has the entries without a test of the Go SDK, each with the reason.
var onlyHere = map[string]string{
	"closeWhileToldOfANewConnection": "events are calls", "closeWhenReconnected": "events are calls", "networkChangedInReconnected": "events are calls",
	"gapInMove": "events are calls", "moveSignalBehindAnotherMove": "a matter of promises",
	"connectTimeoutInfinite": "timers of the platform", "silenceInfinite": "timers of the platform",
	"redirects": elsewhere, "redirectsInACircle": elsewhere, "alternates": elsewhere, "closeBetweenHosts": elsewhere, "cluster": elsewhere,
	"silenceInAHiddenPage": "timers of the platform", "silenceTime": "this client asks the host by itself",
}

// TestTheListsAreThoseOfTheGoSDK checks that each test of the Go SDK has an entry in the lists or a reason for having
// none. It also checks that each entry has a test of the Go SDK or a reason.
func TestTheListsAreThoseOfTheGoSDK(t *testing.T) {
	files, err := filepath.Glob("../*_test.go")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	theirs := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range goTest.FindAllSubmatch(text, -1) {
			theirs[string(m[1])] = true
		}
	}
	without := map[string]bool{}
	for _, names := range withoutCounterpart {
		for _, name := range strings.Fields(names) {
			without[name] = true
		}
	}
	for name := range theirs {
		if (counterparts[name] == "") == !without[name] {
			t.Errorf("%s of the Go SDK: it needs a row in counterparts, or a reason in withoutCounterpart", name)
		}
	}
	ours := map[string]bool{}
	for _, name := range entries(t, "conformance.js", "life.js") {
		ours[name] = true
	}
	paired := map[string]bool{}
	for name, list := range counterparts {
		if !theirs[name] {
			t.Errorf("there is no test %s in the Go SDK", name)
		}
		for _, one := range strings.Fields(list) {
			paired[one] = true
			if !ours[one] {
				t.Errorf("%s: there is no entry %s in the lists", name, one)
			}
		}
	}
	for name := range without {
		if !theirs[name] {
			t.Errorf("there is no test %s in the Go SDK", name)
		}
	}
	for name := range ours {
		if paired[name] == (onlyHere[name] != "") {
			t.Errorf("%s has no counterpart in the Go SDK: it needs a row in counterparts, or a reason in onlyHere", name)
		}
	}
}
