package host

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.yaml.in/yaml/v3"
)

const operationsDocs = "../../docs/operations"

// busyMetrics returns the metrics of a host after an API call, an error, and a login.
func busyMetrics(t *testing.T) (text string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := storeConfig(t)
		withTLS(t, &c)
		h := begin(t, Options{Config: c, Dev: true})
		for _, operation := range []string{"ListFleets", "NoSuch"} {
			h.call("POST", "/", "{}", "X-Amz-Target", "GameLift."+operation, "Content-Type", "application/x-amz-json-1.1")
		}
		h.plays("ann")
		_, _, text = h.call("GET", "/metrics", "")
	})
	return text
}

// Every query of the dashboard and of the alert rules uses metrics, labels and values that a host exposes.
func TestDashboardAndAlertsAskForWhatAHostHas(t *testing.T) {
	known := readExposed(busyMetrics(t))
	clustered(t, 1, func(c *hosts) {
		_, _, text := c.all[0].call("GET", "/metrics", "")
		for name, labels := range readExposed(text) {
			if known[name] == nil {
				known[name] = labels
			}
		}
	})
	if got := known["troupe_fleet_free_game_sessions"]["fleet"]; len(got) == 0 || got[0] != "fleet-dev" {
		t.Errorf("room of fleets %v", got)
	}
	for _, name := range []string{"troupe_store_bytes", "troupe_queued_bytes_max", "troupe_certificate_end_timestamp_seconds"} {
		if known[name] == nil {
			t.Errorf("no %s", name)
		}
	}
	open := []string{"operation", "type", "fleet", "location"}
	queries := 0
	for title, query := range dashboardQueries(t) {
		queries++
		if err := checkQuery(query, known, open...); err != nil {
			t.Errorf("panel %s: %s: %v", title, query, err)
		}
	}
	for name, rule := range alertRules(t) {
		queries++
		if err := checkQuery(rule.Expr, known, open...); err != nil {
			t.Errorf("alert %s: %s: %v", name, rule.Expr, err)
		}
	}
	if queries < 50 {
		t.Errorf("only %d queries", queries)
	}
}

func dashboardQueries(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(operationsDocs, "grafana.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Title      string
		Templating struct {
			List []struct{ Name, Query string }
		}
		Panels []struct {
			ID                       int
			Type, Title, Description string
			GridPos                  struct{ H, W, X, Y int }
			Targets                  []struct{ RefID, Expr string }
		}
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	queries, ids, taken := make(map[string]string), make(map[int]bool), make(map[[2]int]string)
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%s: its id is that of another panel", p.Title)
		}
		ids[p.ID] = true
		if p.Type == "row" {
			continue
		}
		if p.Description == "" || len(p.Targets) == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("%s: no text, no query, or beside the page", p.Title)
		}
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				place := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other := taken[place]; other != "" {
					t.Fatalf("%s lies on %s", p.Title, other)
				}
				taken[place] = p.Title
			}
		}
		for _, target := range p.Targets {
			queries[p.Title+" "+target.RefID] = target.Expr
		}
	}
	return queries
}

type alertRule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

var ruleName = regexp.MustCompile(`\ATroupe[A-Z]\w+\z`)

// alertRules decodes the rules strictly, as Prometheus does: unknown keys are errors.
func alertRules(t *testing.T) map[string]alertRule {
	t.Helper()
	f, err := os.Open(filepath.Join(operationsDocs, "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var file struct {
		Groups []struct {
			Name  string
			Rules []alertRule
		}
	}
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		t.Fatal(err)
	}
	rules := make(map[string]alertRule)
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if _, twice := rules[r.Alert]; twice || !ruleName.MatchString(r.Alert) {
				t.Errorf("the name %s", r.Alert)
			}
			if s := r.Labels["severity"]; s != "page" && s != "ticket" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s: %v %v", r.Alert, r.Labels, r.Annotations)
			}
			if r.For != "" {
				if _, err := time.ParseDuration(r.For); err != nil {
					t.Errorf("%s: %v", r.Alert, err)
				}
			}
			rules[r.Alert] = r
		}
	}
	return rules
}

// checkQuery detects wrong queries.
func TestWrongQueriesAreFound(t *testing.T) {
	known := readExposed("m_total{a=\"x\",b=\"y\"} 1\nm_seconds_bucket{le=\"+Inf\"} 2\nplain 1.5\n")
	for query, right := range map[string]bool{
		`plain`: true, `sum by (a, instance) (rate(m_total{a="x"}[5m])) > 0`: true, `m_total{a=~"x",instance="i"} - time()`: true,
		`histogram_quantile(0.9, sum by (le) (rate(m_seconds_bucket[$__rate_interval])))`: true, `up{job="troupe"} == 0`: true,
		`m_totals`: false, `m_total{c="x"}`: false, `m_total{a="y"}`: false, `m_total{a=~"x|z"}`: false, `sum by (c) (m_total)`: false,
		`sum(m_total`: false, `sum(m_total))`: false, `rate(m_total[5x])`: false, `1 + 1`: false, `plain ? 1`: false, `m_total{a=}`: false,
	} {
		if err := checkQuery(query, known); (err == nil) != right {
			t.Errorf("%s: %v", query, err)
		}
	}
}

// promtool runs Prometheus's own tool. If it is not installed, the test is skipped; promql_test.go checks the
// queries without it.
func promtool(t *testing.T, in io.Reader, args ...string) {
	t.Helper()
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: rules and queries are not read by Prometheus's own parser")
	}
	c := exec.Command(tool, args...)
	c.Stdin = in
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestPrometheusReadsTheAlertRules(t *testing.T) {
	promtool(t, nil, "check", "rules", filepath.Join(operationsDocs, "alerts.yaml"))
}

// Each alert has a scenario in which it fires, and only for the affected instance.
func TestAlertsFireWhenTheyShould(t *testing.T) {
	const scenarios = "testdata/alerts_test.yaml"
	text, err := os.ReadFile(scenarios)
	if err != nil {
		t.Fatal(err)
	}
	for name := range alertRules(t) {
		if !bytes.Contains(text, []byte(`alertname="`+name+`"`)) {
			t.Errorf("%s has no scenario in which %s fires", scenarios, name)
		}
	}
	promtool(t, nil, "test", "rules", scenarios)
}

// The dashboard's queries are not rules. So the test replaces Grafana's variables by values and gives each
// query a name.
func TestPrometheusReadsTheDashboard(t *testing.T) {
	type rule struct{ Record, Expr string }
	type group struct {
		Name  string
		Rules []rule
	}
	g := group{Name: "dashboard"}
	queries := dashboardQueries(t)
	variables := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*")
	for _, title := range slices.Sorted(maps.Keys(queries)) {
		query := variables.Replace(queries[title])
		if strings.Contains(query, "$") {
			t.Errorf("panel %s: a variable that this test does not know: %s", title, query)
		}
		record := strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return r
			}
			return '_'
		}, title)
		g.Rules = append(g.Rules, rule{Record: "panel:" + record, Expr: query})
	}
	text, err := yaml.Marshal(map[string][]group{"groups": {g}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "dashboard.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, nil, "check", "rules", file)
}

// Prometheus's own parser accepts the metrics of a host, and finds no violation of its rules for names and
// help texts.
func TestPrometheusReadsTheMetrics(t *testing.T) {
	promtool(t, strings.NewReader(busyMetrics(t)), "check", "metrics")
}
