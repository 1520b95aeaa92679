package result

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Plots of a document are plain SVG on white: no script, no font but the reader's own.

// colours are those of the page, one for each subject.
var colours = []string{"#777777", "#0b62c4", "#d9822b", "#2e8b57", "#a83279", "#8a6d00", "#c0392b", "#16a0a0"}

const (
	svgWidth   = 820.0
	svgLeft    = 120.0 // room for the labels of bars and of the y axis
	svgRight   = 150.0 // room for the names of lines and the values of bars
	svgTop     = 40.0
	svgBar     = 26.0
	svgPlot    = 320.0 // height of a plot with lines
	svgBottom  = 50.0
	svgApart   = 15.0 // names of lines are at least so far apart
	plotWidth  = svgWidth - svgLeft - svgRight
	labelStyle = `font-family="sans-serif" font-size="13" fill="#333333"`
)

func svgOpen(b *strings.Builder, title string, height float64) {
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">`+"\n", svgWidth, height, html.EscapeString(title))
	fmt.Fprintf(b, `<rect width="%.0f" height="%.0f" fill="#ffffff"/>`+"\n", svgWidth, height)
	svgText(b, 10, 24, "start", title, ` font-weight="bold"`)
}

func svgText(b *strings.Builder, x, y float64, anchor, text, more string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" %s%s>%s</text>`+"\n", x, y, anchor, labelStyle, more, html.EscapeString(text))
}

// svg draws bars of one figure.
func (s shownBars) svg() string {
	var b strings.Builder
	svgOpen(&b, s.Label, svgTop+svgBar*float64(len(s.Bars))+10)
	for i, bar := range s.Bars {
		y := svgTop + svgBar*float64(i)
		svgText(&b, svgLeft-8, y+16, "end", bar.Name, "")
		x := svgLeft
		for part, percent := range bar.Parts {
			width := percent / 100 * plotWidth
			fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.0f" fill="%s"/>`+"\n", x, y+3, width, svgBar-8, []string{"#0b62c4", "#8fb8e8"}[part%2])
			x += width
		}
		svgText(&b, x+6, y+16, "start", bar.Text, "")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// line is one series of a plot, in the colour of its subject.
type line struct {
	name   string
	colour string
	points [][2]float64 // x from 0 to 1, y as it is, above 0
}

// linesSVG draws series over a logarithmic y axis. xTicks are labels by their place from 0 to 1. Without points it is empty.
func linesSVG(title, xLabel string, xTicks map[float64]string, series []line) string {
	low, high := math.Inf(1), 0.0
	for _, l := range series {
		for _, p := range l.points {
			low, high = min(low, p[1]), max(high, p[1])
		}
	}
	if high <= 0 {
		return ""
	}
	bottom, top := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	if bottom == top {
		top++
	}
	place := func(p [2]float64) (x, y float64) {
		return svgLeft + p[0]*plotWidth, svgTop + (top-math.Log10(p[1]))/(top-bottom)*svgPlot
	}
	var b strings.Builder
	svgOpen(&b, title, svgTop+svgPlot+svgBottom)
	for decade := bottom; decade <= top; decade++ {
		_, y := place([2]float64{0, math.Pow(10, decade)})
		fmt.Fprintf(&b, `<path d="M%.1f %.1fh%.1f" stroke="#e6e6e6"/>`+"\n", svgLeft, y, plotWidth)
		svgText(&b, svgLeft-8, y+4, "end", fmt.Sprintf("%g ms", math.Pow(10, decade)), "")
	}
	for _, at := range sortedKeys(xTicks) {
		x := svgLeft + at*plotWidth
		fmt.Fprintf(&b, `<path d="M%.1f %.1fv%.1f" stroke="#e6e6e6"/>`+"\n", x, svgTop, svgPlot)
		svgText(&b, x, svgTop+svgPlot+18, "middle", xTicks[at], "")
	}
	svgText(&b, svgLeft+plotWidth/2, svgTop+svgPlot+38, "middle", xLabel, "")
	nameAt := 0.0
	for _, l := range series {
		if len(l.points) == 0 {
			continue
		}
		var path strings.Builder
		for i, p := range l.points {
			x, y := place(p)
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], x, y)
		}
		fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", path.String(), l.colour)
		nameAt += svgApart
		svgText(&b, svgLeft+plotWidth+12, svgTop+nameAt, "start", l.name, fmt.Sprintf(` style="fill: %s"`, l.colour))
	}
	b.WriteString("</svg>\n")
	return b.String()
}
