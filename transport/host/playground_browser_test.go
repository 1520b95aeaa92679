package host

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

// Parts of the playground as the test finds them.
const (
	cardOf = `[...document.querySelectorAll(".player")].find(e => e.getAttribute("aria-label") === "Player %s")`
	// payloadsOf are the payloads of a player's messages with op code 7, in their order.
	payloadsOf = `[...document.querySelectorAll(".packets tbody tr")].reverse().filter(r => r.cells[1].textContent === "%s" && r.cells[2].textContent === "%s" && r.cells[3].textContent === "7").map(r => r.cells[10].textContent).join(" ")`
)

// TestThePlaygroundPlays: two players of one page join a game session, talk to each other, to a group and
// to the game; one is cut off, and gets everything after it has resumed as the same peer. It needs Chromium.
func TestThePlaygroundPlays(t *testing.T) {
	path := chromium(t, long)
	c := config(t)
	c.Events.SSE.Own = true
	h := start(t, Options{Config: c, Version: "test"})
	b := openBrowser(t, path)
	b.visit("http://" + h.Addrs().API + "/#/playground")
	b.until("fleets", `document.querySelector("#play-fleet option")`)
	join := func(name string) {
		t.Helper()
		b.eval(fmt.Sprintf(`document.querySelector("#play-name").value = %q; document.querySelector("#play-name").form.requestSubmit()`, name))
		b.until(name, fmt.Sprintf(`(%s)?.innerText.includes("Joined as peer")`, fmt.Sprintf(cardOf, name)))
		b.until("the form", `!document.querySelector("#play-name").form.querySelector("[type=submit]").disabled`)
	}
	join("ann")
	b.until("the game session of ann", `document.querySelector("#play-game").value !== ""`)
	join("bob")
	if n := b.eval(`fetch("/admin/v1/game-sessions").then(r => r.json()).then(d => d.matched + " " + d.gameSessions[0].players)`); n != "1 2" {
		t.Errorf("game sessions and players: %s", n)
	}
	set := func(card, field, value string) {
		t.Helper()
		b.eval(fmt.Sprintf(`{ const e = (%s).querySelector("[id$=-%s]"); e.value = %q; e.dispatchEvent(new Event("change")); }`, fmt.Sprintf(cardOf, card), field, value))
	}
	press := func(card, button string) {
		t.Helper()
		b.eval(fmt.Sprintf(`[...(%s).querySelectorAll("button")].find(e => e.textContent === %q).click()`, fmt.Sprintf(cardOf, card), button))
	}
	say := func(name, to, whom, payload string) {
		t.Helper()
		set(name, "op", "7")
		set(name, "to", to)
		set(name, "whom", whom)
		set(name, "payload", payload)
		press(name, "Send")
	}
	hears := func(name, payloads string) {
		t.Helper()
		b.until(name+" hears", fmt.Sprintf(payloadsOf+" === %q", name, "in", payloads))
	}
	say("ann", "player", "2", "hello")
	hears("bob", "hello")
	set("bob", "kind", "hex")
	say("bob", "player", "1", "00 ff")
	hears("ann", "00 ff")
	press("bob", "Join")
	b.until("group", fmt.Sprintf(`(%s).innerText.includes("Group 1: peers 2")`, fmt.Sprintf(cardOf, "bob")))
	press("ann", "Join") // only members send to a group
	b.until("group", fmt.Sprintf(`(%s).innerText.includes("Group 1: peers 1, 2")`, fmt.Sprintf(cardOf, "ann")))
	say("ann", "group", "1", "team")
	hears("bob", "hello team")
	say("ann", "server", "1", "script")
	b.until("acknowledged", fmt.Sprintf(`(%s).innerText.includes("3 sent · 2 received · 0 not acknowledged")`, fmt.Sprintf(cardOf, "ann")))

	// While bob is away, ann and bob both send; afterwards nothing is lost, and each message is there once.
	set("bob", "away", "3000")
	set("bob", "kind", "text")
	press("bob", "Cut")
	b.until("away", fmt.Sprintf(`(%s).innerText.includes("Cut: its connection")`, fmt.Sprintf(cardOf, "bob")))
	heard, said := "hello team", "00 ff team"
	for i := range 5 {
		say("ann", "player", "2", fmt.Sprint("m", i))
		say("bob", "player", "1", fmt.Sprint("b", i))
		heard += fmt.Sprint(" m", i)
		said += fmt.Sprint(" b", i)
	}
	if got := b.eval(fmt.Sprintf(payloadsOf, "bob", "in")); got != "hello team" {
		t.Errorf("bob hears %q while it is away", got)
	}
	b.until("back", fmt.Sprintf(`/as peer 2: \d+ sent again, nothing lost/.test((%s).innerText)`, fmt.Sprintf(cardOf, "bob")))
	hears("bob", heard)
	hears("ann", said)
	b.until("everything is acknowledged", fmt.Sprintf(`(%s).innerText.includes("0 not acknowledged · 1 resume")`, fmt.Sprintf(cardOf, "bob")))
	b.until("the numbers of the resume", `document.querySelector(".packets").innerText.includes("again; has received up to number") && document.querySelector(".packets").innerText.includes("accepted as peer 2; the host has received up to number")`)
	if waits := b.eval(`[...document.querySelectorAll(".packets tr")].filter(r => r.cells[2]?.textContent === "out" && r.cells[9]?.textContent === "waits").length + ""`); waits != "0" {
		t.Errorf("%s packets are not marked as acknowledged", waits)
	}
	// Another page is shown, and the players stay; what an operator took is an event.
	b.eval(`location.hash = "#/events"`)
	b.until("events", `document.querySelector("main").innerText.includes("create player session") || document.querySelector("main").innerHTML.includes("create player session")`)
	b.eval(`location.hash = "#/playground"`)
	b.until("the players are still there", `document.querySelectorAll(".player").length === 2`)
	say("ann", "all", "1", "bye")
	hears("bob", heard+" bye")
	press("bob", "Leave the game")
	b.until("left", fmt.Sprintf(`(%s).innerText.includes("Has left")`, fmt.Sprintf(cardOf, "bob")))
	b.until("one is left", `fetch("/admin/v1/game-sessions").then(r => r.json()).then(d => d.gameSessions[0].players === 1)`)
	b.named("playground")
}

// TestThePlaygroundKeepsSomePackets: a talkative player does not fill the tab.
func TestThePlaygroundKeepsSomePackets(t *testing.T) {
	path := chromium(t, long)
	h := start(t, Options{Config: config(t)})
	b := openBrowser(t, path)
	b.visit("http://" + h.Addrs().API + "/#/playground")
	rows := b.eval(`(async () => {
		const { Log, packetsMax } = await import("/console/packets.js");
		const { packetTable } = await import("/console/packettable.js");
		const log = new Log(), table = packetTable(log);
		document.body.append(table.section);
		for (let i = 0; i < 3 * packetsMax; i++) {
			log.add({ player: "ann", event: "event " + i });
			if (i % 100 === 0) await new Promise(requestAnimationFrame);
		}
		await new Promise(requestAnimationFrame);
		await new Promise(requestAnimationFrame);
		const shown = table.section.querySelectorAll("tbody tr");
		return packetsMax + " " + log.entries.length + " " + shown.length + " " + shown[0].cells[2].textContent;
	})()`)
	if rows != "500 500 500 event 1499" {
		t.Errorf("kept, shown, and the newest: %s", rows)
	}
}

// TestThePlaygroundNeedsAnOperator: a key that only reads sees no form, and is refused a seat and a game session.
func TestThePlaygroundNeedsAnOperator(t *testing.T) {
	c := config(t)
	c.API.Keys = []APIKey{{ID: guardKey, Secret: guardSecret}, {ID: "KEYREADER", Secret: guardSecret, Allow: []string{"gamelift:Describe*", "gamelift:List*", "gamelift:Search*", "gamelift:GetGameSessionLogUrl"}}}
	synctest.Test(t, func(t *testing.T) {
		h := begin(t, Options{Config: c})
		for _, path := range []string{"/admin/v1/players?player=ann&gameSession=x", "/admin/v1/game-sessions?fleet=fleet-dev"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.Addrs().APIURL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			signedAs(t, "KEYREADER")(r)
			a := h.send(r)
			if a.Body.Close(); a.StatusCode != http.StatusForbidden {
				t.Errorf("%s: %d", path, a.StatusCode)
			}
		}
	})
	path := chromium(t, long)
	base := start(t, Options{Config: c}).Addrs().APIURL
	b := openBrowser(t, path)
	b.mute = true
	for key, shows := range map[string]string{"KEYREADER": "Yours may look, and not act", guardKey: "Add a player"} {
		b.visit(base + "/#/playground")
		b.until("login", `document.querySelector("#key")`)
		b.eval(fmt.Sprintf(`document.querySelector("#key").value = %q; document.querySelector("#secret").value = %q; document.querySelector("form").requestSubmit()`, key, guardSecret))
		b.until(key, fmt.Sprintf(`document.querySelector("main")?.innerText.includes(%q)`, shows))
		if n := b.eval(`document.querySelectorAll("main form").length + ""`); (key == "KEYREADER") != (n == "0") {
			t.Errorf("%s sees %s forms", key, n)
		}
		b.eval(`document.querySelector(".who button").click()`)
		b.until("logged out", `document.querySelector("#key")`)
	}
}

// The page may connect to the host's own game listeners, and to nothing else.
func TestThePolicyNamesTheGameListeners(t *testing.T) {
	c := config(t)
	withTLS(t, &c)
	named := func(t *testing.T, h *testHost) {
		t.Helper()
		_, header, _ := h.call("GET", "/", "", "Accept", "text/html")
		_, wss, _ := strings.Cut(h.Addrs().WSS, ":")
		want := "connect-src 'self' ws://" + h.Addrs().WS + " wss://localhost:" + wss + ";"
		if got := header.Get("Content-Security-Policy"); !strings.Contains(got, want) {
			t.Errorf("%s: no %s", got, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		virtual := c
		withTLS(t, &virtual)
		named(t, begin(t, Options{Config: virtual}))
	})
	path := chromium(t, long)
	h := start(t, Options{Config: c})
	named(t, h)
	b := openBrowser(t, path)
	b.mute = true
	b.visit("http://" + h.Addrs().API + "/#/playground")
	b.until("fleets", `document.querySelector("#play-fleet option")`)
	other := b.eval(`new Promise(done => { addEventListener("securitypolicyviolation", e => done(e.effectiveDirective)); try { new WebSocket("ws://127.0.0.1:1/") } catch (e) { done("thrown") } })`)
	if other != "connect-src" {
		t.Errorf("a WebSocket to another address: %q", other)
	}
	// A certificate that the browser does not trust: the page says what to do.
	b.eval(`document.querySelector("#play-scheme").value = "wss"; document.querySelector("#play-name").form.requestSubmit()`)
	b.until("the hint", `document.querySelector("main").innerText.includes("troupe tls trust")`)
}
