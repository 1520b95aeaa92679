package host

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The tests of the dashboard and alert rules parse queries with this file. Prometheus's own parser would add
// a hundred modules to go.mod. The most frequent mistake is a name that no host exposes, and this file finds
// that.

// exposed has the series of a /metrics response: metric -> label -> values of the label.
type exposed map[string]map[string][]string

var (
	seriesForm = regexp.MustCompile(`(?m)^([a-zA-Z_:]\w*)(?:\{(.*)\})? \S+$`)
	labelForm  = regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
)

func readExposed(text string) exposed {
	all := make(exposed)
	for _, m := range seriesForm.FindAllStringSubmatch(text, -1) {
		if all[m[1]] == nil {
			all[m[1]] = make(map[string][]string)
		}
		for _, l := range labelForm.FindAllStringSubmatch(m[2], -1) {
			if values := all[m[1]][l[1]]; !slices.Contains(values, l[2]) {
				all[m[1]][l[1]] = append(values, l[2])
			}
		}
	}
	return all
}

var (
	tokenForm   = regexp.MustCompile(`\A(?:\s+|[a-zA-Z_:][\w:]*|\d[\w.]*|"(?:[^"\\]|\\.)*"|\[[^\]]*\]|=~|!~|!=|==|<=|>=|[-+*/%^<>=(){},])`)
	nameForm    = regexp.MustCompile(`\A[a-zA-Z_:]`)
	rangeForm   = regexp.MustCompile(`\A\[(\d+[smhd]|\$__rate_interval)\]\z`)
	promqlWords = strings.Fields("sum max min avg count topk rate increase histogram_quantile time absent and or unless")
	groupings   = strings.Fields("by without on ignoring group_left group_right")
	// metrics and labels that Prometheus adds when it scrapes
	scrapedMetrics, scrapedLabels = []string{"up"}, []string{"instance", "job"}
)

// checkQuery returns an error if a query is malformed, or uses metrics, labels or label values that are not
// exposed. Values of the labels in open are not checked.
func checkQuery(query string, known exposed, open ...string) error {
	var tokens []string
	for rest := query; rest != ""; {
		t := tokenForm.FindString(rest)
		if t == "" {
			return fmt.Errorf("cannot be read at %.20q", rest)
		}
		if rest = rest[len(t):]; strings.TrimSpace(t) != "" {
			tokens = append(tokens, t)
		}
	}
	at := func(i int) string {
		if i < len(tokens) {
			return tokens[i]
		}
		return ""
	}
	var brackets []string
	metrics, grouped := 0, []string(nil)
	seen := make(map[string]bool) // labels of all metrics in the query
	for i := 0; i < len(tokens); i++ {
		switch t := tokens[i]; {
		case t == "(" || t == "{":
			brackets = append(brackets, t)
		case t == ")" || t == "}":
			if len(brackets) == 0 || (t == ")") != (brackets[len(brackets)-1] == "(") {
				return fmt.Errorf("a %s too many", t)
			}
			brackets = brackets[:len(brackets)-1]
		case t[0] == '[':
			if !rangeForm.MatchString(t) {
				return fmt.Errorf("the range %s", t)
			}
		case !nameForm.MatchString(t) || slices.Contains(promqlWords, t):
		case slices.Contains(groupings, t):
			if at(i+1) != "(" {
				return fmt.Errorf("%s without labels", t)
			}
			for i += 2; at(i) != ")"; i++ {
				if at(i) == "" {
					return fmt.Errorf("%s does not end", t)
				}
				if at(i) != "," {
					grouped = append(grouped, at(i))
				}
			}
		default:
			metrics++
			labels := known[t]
			if labels == nil && !slices.Contains(scrapedMetrics, t) {
				return fmt.Errorf("no host has the metric %s", t)
			}
			for label := range labels {
				seen[label] = true
			}
			if at(i+1) != "{" {
				continue
			}
			for i += 2; at(i) != "}"; i++ {
				if at(i) == "," {
					continue
				}
				if err := checkMatcher(t, labels, at(i), at(i+1), at(i+2), open); err != nil {
					return err
				}
				i += 2
			}
		}
	}
	switch {
	case len(brackets) > 0:
		return fmt.Errorf("a %s is not closed", brackets[0])
	case metrics == 0:
		return fmt.Errorf("no metric")
	}
	for _, label := range grouped {
		if !seen[label] && !slices.Contains(scrapedLabels, label) {
			return fmt.Errorf("no metric of it has the label %s", label)
		}
	}
	return nil
}

func checkMatcher(metric string, labels map[string][]string, label, op, value string, open []string) error {
	if !strings.HasPrefix(value, `"`) || !slices.Contains([]string{"=", "!=", "=~", "!~"}, op) {
		return fmt.Errorf("%s{%s%s%s}", metric, label, op, value)
	}
	if slices.Contains(scrapedLabels, label) {
		return nil
	}
	values := labels[label]
	if values == nil {
		return fmt.Errorf("%s has no label %s", metric, label)
	}
	if slices.Contains(open, label) {
		return nil
	}
	wanted := []string{strings.Trim(value, `"`)}
	if op[1:] == "~" {
		wanted = strings.Split(wanted[0], "|")
	}
	for _, v := range wanted {
		if !slices.Contains(values, v) {
			return fmt.Errorf("%s of %s is never %q", label, metric, v)
		}
	}
	return nil
}
