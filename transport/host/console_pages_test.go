package host

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAnOperatorActsInABrowser: what the pages offer is done; dialogs ask before; filters are in the address; a reader sees
// controls that are switched off; the keyboard reaches the content.
func TestAnOperatorActsInABrowser(t *testing.T) {
	path := chromium(t, long)
	base := "http://" + consoleHost(t, Options{}).Addrs().API
	b := openBrowser(t, path)
	click := func(selector string) {
		t.Helper()
		b.until(selector, `document.querySelector(`+quoted(selector)+`)`)
		b.eval(`document.querySelector(` + quoted(selector) + `).click()`)
	}
	fill := func(selector, value string) {
		t.Helper()
		b.until(selector, `document.querySelector(`+quoted(selector)+`)`)
		b.eval(`(e => { e.value = ` + quoted(value) + `; e.dispatchEvent(new Event(e.localName === "select" ? "change" : "input", { bubbles: true })); })(document.querySelector(` + quoted(selector) + `))`)
	}
	answers := func(path, has string) {
		t.Helper()
		until(t, path, func() bool {
			return strings.Contains(b.eval(`fetch("/admin/v1/`+path+`").then(r => r.text())`), has)
		})
	}
	rows := func(what, n string) {
		t.Helper()
		b.until(what, `document.querySelectorAll("main tbody tr").length === `+n)
	}

	b.visit(base + "/#/bans")
	rows("the ban", "1")
	click("main .actions button")
	fill("#ask-player", "mallory")
	fill("#ask-seconds", "86400")
	fill("#ask-reason", "rude")
	click("dialog[open] .danger")
	rows("both bans", "2")
	answers("bans", `"playerId":"mallory"`)
	click(`[aria-label="Lift the ban of mallory"]`)
	b.until("the dialog", `document.querySelector("dialog[open]").innerText.includes("at once")`)
	click("dialog[open] [type=submit]")
	rows("one ban", "1")

	b.visit(base + "/#/operate")
	b.until("level", `document.querySelector("main").innerText.includes("In force: info")`)
	fill("#level", "debug")
	b.eval(`document.querySelector("#level").form.requestSubmit()`)
	b.until("level", `document.querySelector("main").innerText.includes("In force: debug")`)
	answers("log-level", `"debug"`)
	downloads := t.TempDir()
	b.call("Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": downloads})
	fill("#kind", "heap")
	b.until("no seconds", `document.querySelector("#seconds").disabled`)
	b.eval(`document.querySelector("#kind").form.requestSubmit()`)
	until(t, "the profile", func() bool {
		file, err := os.Stat(filepath.Join(downloads, "troupe-heap.pprof"))
		return err == nil && file.Size() > 0
	})
	b.until("done", `document.querySelector("[role=status].note").innerText.includes("Done")`)
	click("main .danger")
	fill("#ask-grace", "600")
	click("dialog[open] .danger")
	b.until("draining", `document.querySelector(".state").innerText === "Draining" && document.querySelector("main").innerText.includes("Ends at the latest in\n10 min")`)
	answers("drain", `"draining":true`)
	click("main .actions .quiet")
	click("dialog[open] [type=submit]")
	b.until("live", `document.querySelector(".state").innerText === "Live"`)
	answers("drain", `"draining":false`)

	b.visit(base + "/#/settings")
	fill("#filter", "reconnect.window")
	rows("one setting", "1")
	b.visit(b.eval(`location.href`))
	b.until("the filter after a reload", `document.querySelector("#filter")?.value === "reconnect.window" && document.querySelectorAll("main tbody tr").length === 1`)

	b.visit(base + "/#/game-sessions?status=any&alias=alias-dev")
	rows("the game session of the alias", "1")
	fill("#location", "us-east-1")
	click("main .filters [type=submit]")
	b.until("both are in the address, and asked for", `location.hash.includes("alias=alias-dev&location=us-east-1") &&
		performance.getEntriesByType("resource").some(e => e.name.includes("/game-sessions?alias=alias-dev&location=us-east-1"))`)
	rows("the game session at the location", "1")

	b.visit(base + "/#/placements?status=PENDING")
	rows("the placement", "1")
	fill("#placement", "waits")
	b.eval(`document.querySelector("#placement").form.requestSubmit()`)
	b.until("why it waits", `document.querySelector("h1").innerText === "waits" && document.querySelector(".says").innerText.startsWith("It waits: ")`)
	b.eval(`history.back()`)
	rows("the placement", "1")
	click(`[aria-label="Cancel placement waits"]`)
	click("dialog[open] .danger")
	rows("none", "0")
	answers("placement?id=waits", "CANCELLED")

	b.visit(base + "/#/players")
	fill("#who", "ann")
	b.eval(`document.querySelector("#who").form.requestSubmit()`)
	b.until("the player", `document.querySelector("h1").innerText === "ann" && document.querySelector("main").innerText.includes("reserved")`)

	b.visit(base + "/#/queues")
	b.eval(`document.querySelector('nav a[href="#/fleets"]').click()`)
	b.until("focus on the content", `document.title.startsWith("Fleets") && document.activeElement.id === "main"`)
	b.eval(`document.querySelector(".skip").click()`)
	b.until("the address stays", `location.hash === "#/fleets" && document.activeElement.id === "main"`)
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": false})
	b.until("no list of pages", `getComputedStyle(document.querySelector("nav")).display === "none" && document.documentElement.scrollWidth <= 400`)
	click(".menu")
	b.until("the list of pages", `getComputedStyle(document.querySelector("nav")).display !== "none" && document.querySelector(".menu").ariaExpanded === "true"`)
	click(`nav a[href="#/bans"]`)
	b.until("the page", `document.title.startsWith("Bans") && document.querySelector(".menu").ariaExpanded === "false"`)
	b.visit(base + "/#/game-session?id=" + url.QueryEscape(b.eval(`fetch("/admin/v1/game-sessions").then(r => r.json()).then(d => d.gameSessions[0].id)`)))
	const table = `document.querySelector('[aria-label="Players"].scroll')`
	b.until("the table", table)
	b.eval(`window.before = ` + table + `; window.before.scrollLeft = 60`)
	b.until("its place after it was drawn anew", table+` !== window.before && `+table+`.scrollLeft === 60`)
	b.call("Emulation.clearDeviceMetricsOverride", nil)

	asAnswered(b, `{ ...await a.json(), role: "reader" }`, 200)
	b.visit(base + "/#/operate")
	b.until("the reason", `document.querySelector(".notice") && document.querySelector("main .danger").disabled`)
	if n := b.eval(`[...document.querySelectorAll("main button, main select, main input")].filter(e => !e.matches(":disabled")).length + ""`); n != "0" {
		t.Errorf("a reader can use %s controls", n)
	}
	b.visit(base + "/#/bans")
	rows("the ban", "1")
	if n := b.eval(`document.querySelectorAll("main button").length + ""`); n != "0" {
		t.Errorf("a reader sees %s buttons", n)
	}
}

// asAnswered has pages that are opened from now on read another answer of /admin/v1/me, an expression with the true answer a.
func asAnswered(b *browser, answer string, status int) {
	body, _ := json.Marshal(status)
	b.call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": `{ const all = window.fetch;
		window.fetch = async (path, o) => {
			const a = await all(path, o);
			return path === "/admin/v1/me" ? new Response(JSON.stringify(` + answer + `), { status: ` + string(body) + ` }) : a;
		}; }`})
}

func quoted(text string) string {
	q, _ := json.Marshal(text)
	return string(q)
}

const (
	axeVersion = "axe-core@4.14.1"
	axeSum     = "FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
)

// axe returns axe-core from npm, or skips the test where it is out of reach.
func axe(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("there is no npm on this machine, so axe-core does not check the pages of the console")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "pack", axeVersion, "--silent", "--prefer-offline", "--fetch-retries=0")
	cmd.Dir = t.TempDir()
	cmd.WaitDelay = 5 * time.Second
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("npm does not get %s, so it does not check the pages of the console: %v: %s", axeVersion, err, said)
	}
	all, _ := filepath.Glob(filepath.Join(cmd.Dir, "*.tgz"))
	if len(all) != 1 {
		t.Fatal("npm packs", all)
	}
	packed, err := os.ReadFile(all[0])
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha512.Sum512(packed); base64.StdEncoding.EncodeToString(sum[:]) != axeSum {
		t.Fatal(axeVersion, "is not the package that it was")
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(unzipped); ; {
		switch file, err := files.Next(); {
		case errors.Is(err, io.EOF):
			t.Fatal("there is no axe.min.js in it")
		case err != nil:
			t.Fatal(err)
		case file.Name == "package/axe.min.js":
			text, err := io.ReadAll(files)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
	}
}

// TestThePagesAreAccessible: axe-core finds nothing on any page, in light and dark, in a dialog and at the login.
func TestThePagesAreAccessible(t *testing.T) {
	path := chromium(t, long)
	script := axe(t)
	base := "http://" + consoleHost(t, Options{}).Addrs().API
	b := openBrowser(t, path)
	check := func(name, rules string) {
		t.Helper()
		if b.eval("typeof axe") == "undefined" {
			b.eval(script)
		}
		found := b.eval(`axe.run(document, { resultTypes: ["violations"]` + rules + ` }).then(r => r.violations.map(v => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + " " + n.failureSummary).join(" | ")).join("\n") || "nothing")`)
		if found != "nothing" {
			t.Errorf("%s: %s", name, found)
		}
	}
	b.visit(base + "/")
	session := b.eval(firstGameSession)
	// First, because ann holds the seat without a connection for a minute only.
	b.visit(base + "/#/game-session?id=" + url.QueryEscape(session))
	b.until("the button", `document.querySelector('[aria-label="Ban ann"]')`)
	b.eval(`document.querySelector('[aria-label="Ban ann"]').click()`)
	check("a dialog", "")
	for _, page := range consolePages(session) {
		b.visit(base + "/#/" + page.hash)
		for _, scheme := range []struct{ name, rules string }{{"light", ""}, {"dark", `, runOnly: ["color-contrast"]`}} { // other rules see no colours
			b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme.name}}})
			b.until(page.name, `document.querySelector("main").innerText.includes(`+quoted(page.has)+`)`)
			check(page.name+", "+scheme.name, scheme.rules)
		}
	}
	asAnswered(b, `{ code: "LoginNeeded", message: "log in" }`, 401)
	b.visit(base + "/")
	b.until("the login", `document.querySelector("form.login")`)
	check("the login", "")
}
