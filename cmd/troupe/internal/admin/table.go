package admin

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// PrintJSON writes a list as a JSON array. It omits members that are zero. Times are in RFC 3339 format.
func PrintJSON[T any](out io.Writer, list []T) error {
	err := json.MarshalWrite(out, list, json.OmitZeroStructFields(true), json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, "\n")
	return err
}

// PrintTable writes rows under a header, in columns. Unprintable characters are escaped.
func PrintTable(out io.Writer, header []string, rows [][]string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(header, "\t"))
	for _, row := range rows {
		for i := range row {
			row[i] = Cell(row[i])
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// Cell escapes control characters, which callers of the service API may have put into names.
func Cell(s string) string {
	if s == "" {
		return "-"
	}
	quoted := strconv.QuoteToGraphic(s)
	if inner := quoted[1 : len(quoted)-1]; inner != s {
		return inner
	}
	return s
}
