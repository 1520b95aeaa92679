package counters

import (
	"reflect"
	"strings"
)

// Metric is one number of a Set, with its name and help text.
type Metric struct {
	Name, Help string
	Label      string // name of the label of a Vec or Histograms, names of those of Pairs, with a comma; else empty
	// Number points to the field of the Set.
	Number any
}

// Counter reports whether the number only grows.
func (m Metric) Counter() bool { return strings.HasSuffix(m.Name, "_total") }

// Metrics returns the metrics of all fields, in the order of the fields.
func (s *Set) Metrics() []Metric {
	v := reflect.ValueOf(s).Elem()
	metrics := make([]Metric, v.NumField())
	for i := range metrics {
		tag := v.Type().Field(i).Tag
		metrics[i] = Metric{Name: tag.Get("metric"), Help: tag.Get("help"), Label: tag.Get("label"), Number: v.Field(i).Addr().Interface()}
	}
	return metrics
}
