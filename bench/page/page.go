package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"sync"
)

//go:embed page.html
var shell string

//go:embed page.css
var style template.CSS

//go:embed plots.js
var plots template.JS

// uPlot 1.6.32, MIT License. Its license text is in uplot/LICENSE and in the notices of the binary.
//
//go:embed uplot/uPlot.iife.min.js
var plotLibrary template.JS

//go:embed uplot/uPlot.min.css
var plotStyle template.CSS

// Page is a kind of report. Its methods may be called from any goroutine.
type Page struct {
	text   func() *template.Template
	script template.JS
}

// New makes a Page from an html/template for its body and a script. The script can use the functions of plots.js
// through the global plots. Write panics if the template is invalid, because body and script are part of this program.
func New(body, script string) *Page {
	text := sync.OnceValue(func() *template.Template {
		text := template.Must(template.New("page").Parse(shell))
		template.Must(text.New("body").Parse(body))
		return text
	})
	return &Page{text, template.JS(script)}
}

// Write writes the page. The body is executed with shown. The script receives data as JSON.
func (p *Page) Write(w io.Writer, title string, shown, data any) error {
	err := p.text().Execute(w, struct {
		Title                  string
		Style, PlotStyle       template.CSS
		Library, Plots, Script template.JS
		Shown, Data            any
	}{title, style, plotStyle, plotLibrary, plots, p.script, shown, data})
	if err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}
