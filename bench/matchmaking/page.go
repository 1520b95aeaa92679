package matchmaking

import (
	_ "embed"
	"io"

	"troupe/bench/page"
)

//go:embed page/body.html
var body string

//go:embed page/script.js
var script string

var report = page.New(body, script)

// Page writes the report as a page.
func (r *Report) Page(w io.Writer) error {
	return report.Write(w, "troupe match simulate", r, r)
}
