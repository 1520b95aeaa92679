package host

import (
	"bytes"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// promtool runs Prometheus's own tool, and skips the test where it is not installed; promql_test.go reads the queries anywhere.
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

// Each alert has a scenario in which it fires, for the instance that is meant only.
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

// Queries of the dashboard are no rules: Grafana's variables get a value, and each query a name.
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

// What a host exposes is read by Prometheus's own parser, and follows its rules for names and help texts.
func TestPrometheusReadsTheMetrics(t *testing.T) {
	promtool(t, strings.NewReader(busyMetrics(t)), "check", "metrics")
}
