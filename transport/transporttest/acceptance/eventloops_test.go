package acceptance_test

import "testing"

// A part of this package with websocket.engine: epoll, on systems that have it. The flag -engine epoll runs all of it so.
func TestOnEventLoops(t *testing.T) {
	for name, f := range map[string]func(*testing.T){
		"two players talk":       TestTwoPlayersTalk,
		"groups":                 TestGroupAndMessageKeepTheirOrder,
		"broken frames":          TestBrokenFrames,
		"large payloads":         TestLargePayloads,
		"a rate that waits":      TestReliableRateWaits,
		"too fast":               TestTooFastCloses,
		"a slow reader":          TestSlowReaderWhileOthersGoOn,
		"fragments and pings":    TestFragmentsAreReassembledAndPingsAnswered,
		"close codes":            TestACloseCodeOfTheClientIsTheClients,
		"pings before a login":   TestPingsArePaced,
		"a blocked callback":     TestIsolation_ABlockedCallbackHoldsUpItsOwnGameAlone,
		"a stream with resets":   TestStreamThroughResets,
		"a rejoin after a leave": TestRejoinAfterALeave,
	} {
		t.Run(name, f)
	}
}
