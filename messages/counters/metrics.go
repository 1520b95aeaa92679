package counters

import (
	"reflect"
	"strings"
)

// Metric is one metric of a Set, with its name and help text.
type Metric struct {
	Name, Help string
	Label      string // label name of a Vec or Histograms; both label names of Pairs, separated by a comma; otherwise empty
	// Number points to the metric's field of the Set.
	Number any
}

// Counter reports whether the metric is a counter, which only grows.
func (m Metric) Counter() bool { return strings.HasSuffix(m.Name, "_total") }

// Metrics returns all metrics in the order of the Set's fields.
func (s *Set) Metrics() []Metric {
	v := reflect.ValueOf(s).Elem()
	metrics := make([]Metric, v.NumField())
	for i := range metrics {
		tag := v.Type().Field(i).Tag
		metrics[i] = Metric{Name: tag.Get("metric"), Help: tag.Get("help"), Label: tag.Get("label"), Number: v.Field(i).Addr().Interface()}
	}
	return metrics
}
