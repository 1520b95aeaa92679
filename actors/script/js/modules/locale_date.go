package modules

import (
	"strconv"
	"strings"
	"time"

	"github.com/dop251/goja"
)

// moment is what of a time is printed, and how; empty: not at all.
type moment struct {
	weekday, year, month, day, hour, minute, second, zone string

	digits int  // of the second's fraction
	hours  bool // 24 of them
	last   bool // midnight is 24
	at     bool // the time follows the word at
}

// dateToLocale is toLocaleString and its kin of dates.
func (l *Loader) dateToLocale(method string, call goja.FunctionCall) goja.Value {
	r := l.runtime
	o, ok := call.This.(*goja.Object)
	if !ok || o.ClassName() != "Date" {
		panic(r.NewTypeError("Method Date.prototype.%s called on incompatible receiver %s", method, call.This.String()))
	}
	t, ok := o.Export().(time.Time)
	c := l.choices("Date.prototype."+method, call.Argument(0), call.Argument(1))
	m, location := c.moment(method)
	if !ok {
		return r.ToValue("Invalid Date")
	}
	if location == nil {
		location = time.Local
	}
	return r.ToValue(m.format(t.In(location)))
}

func (c *choices) moment(method string) (m moment, location *time.Location) {
	const numeric, padded = "numeric", "2-digit"
	m.weekday = c.one("weekday", "narrow", "short", "long")
	m.year = c.one("year", numeric, padded)
	m.month = c.one("month", numeric, padded, "narrow", "short", "long")
	m.day = c.one("day", numeric, padded)
	m.hour = c.one("hour", numeric, padded)
	m.minute = c.one("minute", numeric, padded)
	m.second = c.one("second", numeric, padded)
	m.digits = c.number("fractionalSecondDigits", 1, 3, 0)
	m.zone = c.one("timeZoneName", "short", "long", "shortOffset", "longOffset", "shortGeneric", "longGeneric")
	for _, name := range []string{"era", "dayPeriod"} {
		if c.get(name) != nil {
			c.absent(name)
		}
	}
	cycle := c.one("hourCycle", "h11", "h12", "h23", "h24")
	m.hours, m.last = cycle == "h23" || cycle == "h24", cycle == "h24"
	if v := c.get("hour12"); v != nil {
		m.hours = !v.ToBoolean()
		m.last = m.hours // as Node.js 20 has it
	}
	if v := c.get("timeZone"); v != nil {
		location = c.zone(v.String())
	}
	style := func(option, wrong string) string {
		if c.get(option) == nil {
			return ""
		}
		if method == wrong {
			panic(c.l.runtime.NewTypeError("Invalid option : %s", option))
		}
		for _, name := range []string{"weekday", "year", "month", "day", "hour", "minute", "second", "fractionalSecondDigits", "timeZoneName"} {
			if c.get(name) != nil {
				panic(c.l.runtime.NewTypeError("Can't set option %s when %s is used", name, option))
			}
		}
		return c.one(option, "full", "long", "medium", "short")
	}
	date, clock := style("dateStyle", "toLocaleTimeString"), style("timeStyle", "toLocaleDateString")
	hasDate := m.weekday+m.year+m.month+m.day != ""
	hasTime := m.hour+m.minute+m.second != "" || m.digits > 0
	switch {
	case date != "" || clock != "":
		switch date {
		case "full":
			m.weekday, m.year, m.month, m.day = "long", numeric, "long", numeric
		case "long", "medium":
			m.year, m.month, m.day = numeric, map[string]string{"long": "long", "medium": "short"}[date], numeric
		case "short":
			m.year, m.month, m.day = padded, numeric, numeric
		}
		if clock != "" {
			m.hour, m.minute = numeric, padded
			if clock != "short" {
				m.second = padded
			}
			m.zone = map[string]string{"full": "long", "long": "short"}[clock]
		}
	case method == "toLocaleDateString" && !hasDate, method == "toLocaleString" && !hasDate && !hasTime:
		m.year, m.month, m.day = numeric, numeric, numeric
		hasDate = true
		if method == "toLocaleDateString" {
			break
		}
		fallthrough
	case method == "toLocaleTimeString" && !hasTime:
		m.hour, m.minute, m.second = numeric, padded, padded
	}
	m.at = m.month == "long"
	return m, location
}

// zone returns a time zone by its name.
func (c *choices) zone(name string) *time.Location {
	if strings.EqualFold(name, "UTC") || strings.EqualFold(name, "GMT") {
		return time.UTC
	}
	if zone, err := time.LoadLocation(name); err == nil && name != "" && name != "Local" {
		return zone
	}
	panic(c.out("Invalid time zone specified: " + name))
}

func (m *moment) format(t time.Time) string {
	pad := func(n int, how string) string {
		if s := strconv.Itoa(n); how != "2-digit" || len(s) > 1 {
			return s
		}
		return "0" + strconv.Itoa(n)
	}
	name := func(s, how string) string {
		switch how {
		case "narrow":
			return s[:1]
		case "short":
			return s[:3]
		}
		return s
	}
	year := t.Year()
	if year < 1 { // of the era before
		year = 1 - year
	}
	parts := func(separator string, list ...string) string {
		kept := list[:0]
		for _, s := range list {
			if s != "" {
				kept = append(kept, s)
			}
		}
		return strings.Join(kept, separator)
	}
	years, day := "", ""
	switch m.year {
	case "numeric":
		years = strconv.Itoa(year)
	case "2-digit":
		years = pad(year%100, m.year)
	}
	if m.day != "" {
		day = pad(t.Day(), m.day)
	}
	date := ""
	switch m.month {
	case "numeric", "2-digit":
		date = parts("/", pad(int(t.Month()), m.month), day, years)
	case "":
		if date = parts(" ", years, day); years != "" && day != "" {
			date = years + " (day: " + day + ")"
		}
	default:
		date = parts(" ", name(t.Month().String(), m.month), day)
		date = parts(map[bool]string{true: ", ", false: " "}[day != ""], date, years)
	}
	if m.weekday != "" {
		weekday := name(t.Weekday().String(), m.weekday)
		switch {
		case date == "":
			date = weekday
		case m.month == "" || day == "":
			date += " " + weekday
		default:
			date = weekday + ", " + date
		}
	}
	clock := m.clock(t, pad)
	switch {
	case clock == "" || date == "":
		return date + clock
	case m.at && m.hour+m.minute+m.second != "":
		return date + " at " + clock
	case m.weekday != "" && m.year+m.month+m.day == "":
		return date + " " + clock
	}
	return date + ", " + clock
}

func (m *moment) clock(t time.Time, pad func(int, string) string) string {
	var b strings.Builder
	if m.hour != "" {
		hour, how := t.Hour(), m.hour
		switch {
		case m.hours:
			if how = "2-digit"; m.last && hour == 0 {
				hour = 24
			}
		case hour%12 == 0:
			hour = 12
		default:
			hour %= 12
		}
		b.WriteString(pad(hour, how))
	}
	if m.minute != "" {
		if b.Len() > 0 {
			b.WriteByte(':')
		}
		how := ""
		if m.hour+m.second != "" {
			how = "2-digit"
		}
		b.WriteString(pad(t.Minute(), how))
	}
	if m.second != "" {
		how := ""
		if b.Len() > 0 {
			how = "2-digit"
			b.WriteByte(':')
		}
		b.WriteString(pad(t.Second(), how))
	}
	if m.digits > 0 {
		fraction := strconv.Itoa(1000 + t.Nanosecond()/1e6)[1 : 1+m.digits]
		if m.second != "" {
			b.WriteByte('.')
		}
		b.WriteString(fraction)
	}
	if m.hour != "" && !m.hours {
		b.WriteString(map[bool]string{true: " AM", false: " PM"}[t.Hour() < 12])
	}
	if m.zone != "" {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(m.zoneName(t))
	}
	return b.String()
}

// zoneName is the offset, but for zones that Americans have a name for.
func (m *moment) zoneName(t time.Time) string {
	name, offset := t.Zone()
	switch name {
	case "UTC", "GMT":
		if m.zone == "long" && name == "UTC" {
			return "Coordinated Universal Time"
		}
		return name
	case "EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT", "AKST", "AKDT", "HST":
		if offset < -4*3600+1 && m.zone == "short" {
			return name
		}
	}
	sign := "+"
	if offset < 0 {
		sign, offset = "-", -offset
	}
	s := "GMT" + sign + strconv.Itoa(offset/3600)
	if minutes := offset / 60 % 60; minutes > 0 {
		s += ":" + strconv.Itoa(100 + minutes)[1:]
	}
	return s
}
