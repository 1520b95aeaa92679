package modules

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/dop251/goja"
	"golang.org/x/text/collate"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// localized are the methods that print and compare for people, as Node.js does for
// en-US whatever the locale is: the engine has its own idea of them, without options.
// They are of Go, as functions of JavaScript would cost each runtime more.
var localized = map[string]func(*Loader, goja.FunctionCall) goja.Value{
	"number":  func(l *Loader, c goja.FunctionCall) goja.Value { return l.numberToLocale("Number", c) },
	"bigint":  func(l *Loader, c goja.FunctionCall) goja.Value { return l.numberToLocale("BigInt", c) },
	"moment":  func(l *Loader, c goja.FunctionCall) goja.Value { return l.dateToLocale("toLocaleString", c) },
	"date":    func(l *Loader, c goja.FunctionCall) goja.Value { return l.dateToLocale("toLocaleDateString", c) },
	"time":    func(l *Loader, c goja.FunctionCall) goja.Value { return l.dateToLocale("toLocaleTimeString", c) },
	"compare": (*Loader).localeCompare,
}

// choices reads the options of such a method, each once.
type choices struct {
	l      *Loader
	method string
	object *goja.Object // nil: none are given
}

var localeForm = regexp.MustCompile(`^$|^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$`)

func (l *Loader) choices(method string, locales, options goja.Value) *choices {
	r, c := l.runtime, &choices{l: l, method: method}
	check := func(v goja.Value) {
		if !localeForm.MatchString(v.String()) {
			panic(c.out("Incorrect locale information provided"))
		}
	}
	switch v := locales.(type) {
	case goja.String:
		check(v)
	case *goja.Object:
		if v.ClassName() == "Array" {
			r.ForOf(v, func(item goja.Value) bool { check(item); return true })
		}
	default:
		if goja.IsNull(v) {
			panic(r.NewTypeError("Cannot convert undefined or null to object"))
		}
	}
	if goja.IsNull(options) && !strings.HasPrefix(method, "Date") {
		panic(r.NewTypeError("%s called on null or undefined", method))
	}
	if !goja.IsUndefined(options) {
		c.object = options.ToObject(r)
	}
	return c
}

func (c *choices) out(message string) *goja.Object {
	e, err := c.l.runtime.New(c.l.runtime.Get("RangeError"), c.l.runtime.ToValue(message))
	must(err)
	return e
}

// get returns an option; nil: it is not given.
func (c *choices) get(name string) goja.Value {
	if c.object == nil {
		return nil
	}
	if v := c.object.Get(name); v != nil && !goja.IsUndefined(v) {
		return v
	}
	return nil
}

// one returns an option that must be one of the words; empty: it is not given.
func (c *choices) one(name string, words ...string) string {
	v := c.get(name)
	if v == nil {
		return ""
	}
	s := v.String()
	for _, w := range words {
		if s == w {
			return s
		}
	}
	panic(c.out("Value " + s + " out of range for " + c.method + " options property " + name))
}

// number returns an option that must be a number in a range, or without.
func (c *choices) number(name string, low, high, without int) int {
	v := c.get(name)
	if v == nil {
		return without
	}
	f := v.ToFloat()
	if !(f >= float64(low) && f <= float64(high)) {
		panic(c.out(name + " value is out of range."))
	}
	return int(f)
}

func (c *choices) absent(what string) {
	panic(c.l.runtime.NewTypeError("%s of %s is not available in the embedded engine; %s", what, c.method, useNode))
}

var currencies = map[string]string{"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "CNY": "CN¥", "KRW": "₩", "INR": "₹", "BRL": "R$", "CAD": "CA$", "AUD": "A$", "MXN": "MX$"}

// numberToLocale is toLocaleString of numbers.
func (l *Loader) numberToLocale(class string, call goja.FunctionCall) goja.Value {
	r := l.runtime
	n, ok := call.This, false
	if o, is := n.(*goja.Object); is && o.ClassName() == class {
		n = r.ToValue(o.Export())
	}
	var d decimal
	switch x := n.Export().(type) {
	case int64:
		d, ok = decimalOf(strconv.FormatInt(x, 10)), class == "Number"
	case float64:
		d, ok = decimalOf(strconv.FormatFloat(x, 'f', -1, 64)), class == "Number"
	case *big.Int:
		d, ok = decimalOf(x.String()), class == "BigInt"
	}
	if !ok {
		panic(r.NewTypeError("%s.prototype.toLocaleString requires that 'this' be a %s", class, class))
	}
	return r.ToValue(d.format(l.choices(class+".prototype.toLocaleString", call.Argument(0), call.Argument(1))))
}

// decimal is a number in digits: those of whole and then the fraction.
type decimal struct {
	negative bool
	digits   string // without a point
	whole    int    // how many of digits are before it
	special  string // what is no number of digits
}

func decimalOf(s string) (d decimal) {
	s, d.negative = strings.CutPrefix(s, "-")
	switch s {
	case "NaN":
		d.special = s
	case "+Inf", "Inf":
		d.special = "∞"
	}
	whole, fraction, _ := strings.Cut(s, ".")
	d.digits, d.whole = whole+fraction, len(whole)
	return d
}

// round keeps n digits and rounds half away from zero.
func (d *decimal) round(n int) {
	if n >= len(d.digits) {
		return
	}
	if n < 0 {
		d.digits = strings.Repeat("0", d.whole)
		return
	}
	up := d.digits[n] >= '5'
	kept := []byte(d.digits[:n])
	for i := n - 1; up && i >= 0; i-- {
		if kept[i]++; kept[i] <= '9' {
			up = false
		} else {
			kept[i] = '0'
		}
	}
	if up {
		kept = append([]byte{'1'}, kept...)
		d.whole++
	}
	if zeros := d.whole - len(kept); zeros > 0 {
		kept = append(kept, strings.Repeat("0", zeros)...)
	}
	d.digits = string(kept)
}

// leading is how many zeros precede what counts.
func (d *decimal) leading() int { return len(d.digits) - len(strings.TrimLeft(d.digits, "0")) }

// shift moves the point to the right.
func (d *decimal) shift(n int) {
	d.whole += n
	if zeros := d.whole - len(d.digits); zeros > 0 {
		d.digits += strings.Repeat("0", zeros)
	}
	if d.whole < 1 {
		d.digits, d.whole = strings.Repeat("0", 1-d.whole)+d.digits, 1
	}
	for d.whole > 1 && d.digits[0] == '0' {
		d.digits, d.whole = d.digits[1:], d.whole-1
	}
}

func (d decimal) format(c *choices) string {
	style := c.one("style", "decimal", "percent", "currency", "unit")
	currency, display := "", ""
	if v := c.get("currency"); v != nil {
		if currency = strings.ToUpper(v.String()); len(currency) != 3 {
			panic(c.out("Invalid currency code : " + v.String()))
		}
	}
	display = c.one("currencyDisplay", "code", "symbol", "narrowSymbol", "name")
	notation := c.one("notation", "standard", "scientific", "engineering", "compact")
	long := c.one("compactDisplay", "short", "long") == "long"
	sign := c.one("signDisplay", "auto", "never", "always", "exceptZero", "negative")
	low, high := 0, 3
	switch style {
	case "percent":
		high = 0
	case "currency":
		if currency == "" {
			panic(c.l.runtime.NewTypeError("Currency code is required with currency style."))
		}
		if low, high = 2, 2; currency == "JPY" || currency == "KRW" {
			low, high = 0, 0
		}
	case "unit":
		c.absent("style 'unit'")
	}
	if notation == "scientific" || notation == "engineering" {
		c.absent("notation '" + notation + "'")
	}
	compact := notation == "compact"
	if compact {
		low, high = 0, 0
	}
	integer := c.number("minimumIntegerDigits", 1, 21, 1)
	// A bound that is given moves the other one, if that is only the usual one.
	least, most := c.number("minimumFractionDigits", 0, 100, -1), c.number("maximumFractionDigits", 0, 100, -1)
	fraction := least >= 0 || most >= 0
	switch {
	case least > most && most >= 0:
		panic(c.out("maximumFractionDigits value is out of range."))
	case fraction:
		if least < 0 {
			least = min(low, most)
		}
		if most < 0 {
			most = max(high, least)
		}
		low, high = least, most
	}
	fewest, largest := c.number("minimumSignificantDigits", 1, 21, -1), c.number("maximumSignificantDigits", 1, 21, -1)
	significant := fewest > 0 || largest > 0
	if significant {
		fewest = max(fewest, 1)
		if largest < 0 {
			largest = 21
		} else if largest < fewest {
			panic(c.out("maximumSignificantDigits value is out of range."))
		}
	}
	group := 1 // digits there must be before the first separator
	if v := c.get("useGrouping"); v != nil {
		switch v.String() {
		case "false":
			group = math.MaxInt32
		case "min2":
			group = 2
		}
	} else if compact {
		group = 2
	}

	text, suffix := d.special, ""
	if text == "" {
		if style == "percent" {
			d.shift(2)
		}
		round := func() {
			switch {
			case significant:
				d.round(d.leading() + largest)
			case compact && !fraction:
				d.round(max(d.whole, d.leading()+2))
			default:
				d.round(d.whole + high)
			}
			d.shift(0)
		}
		if compact {
			suffix = d.compact(round, long)
		} else {
			round()
		}
		text = d.text(low, integer, group, significant, fewest)
	}
	switch {
	case style == "percent":
		text += suffix + "%"
	case style != "currency":
		text += suffix
	case display == "name":
		c.absent("currencyDisplay 'name'")
	default:
		symbol := currency
		if s := currencies[currency]; s != "" && display != "code" {
			symbol = s
			if display == "narrowSymbol" {
				symbol = strings.TrimLeft(s, "ACMNX")
			}
		}
		if symbol == currency {
			symbol += "\u00a0"
		}
		text = symbol + text + suffix
	}
	zero := d.special == "" && strings.Trim(d.digits, "0") == "" || d.special == "NaN"
	switch {
	case sign == "never", sign == "exceptZero" && zero, sign == "negative" && zero:
	case d.negative:
		text = "-" + text
	case sign == "always", sign == "exceptZero":
		text = "+" + text
	}
	return text
}

// compact leaves out thousands and returns the word for them.
func (d *decimal) compact(round func(), long bool) string {
	short, names := []string{"", "K", "M", "B", "T"}, []string{"", " thousand", " million", " billion", " trillion"}
	whole := *d
	power := 0
	for {
		*d = whole
		if power > 0 {
			d.shift(-3 * power)
		}
		round()
		if power == 4 || d.whole <= 3 {
			break
		}
		power++
	}
	if long {
		return names[power]
	}
	return short[power]
}

// text writes a number that is rounded.
func (d *decimal) text(low, integer, group int, significant bool, fewest int) string {
	whole, fraction := d.digits[:d.whole], strings.TrimRight(d.digits[d.whole:], "0")
	if significant {
		if low = fewest - (len(d.digits[:d.whole+len(fraction)]) - d.leading()) + len(fraction); strings.Trim(d.digits, "0") == "" {
			low = fewest - 1
		}
	}
	if n := low - len(fraction); n > 0 {
		fraction += strings.Repeat("0", n)
	}
	if n := integer - len(whole); n > 0 {
		whole = strings.Repeat("0", n) + whole
	}
	var b strings.Builder
	for i, digit := range whole {
		if left := len(whole) - i; i > 0 && left%3 == 0 && len(whole)-3 >= group {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	if fraction != "" {
		b.WriteString("." + fraction)
	}
	return b.String()
}

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

// localeCompare is the method of strings. Its collators are kept, as a sort asks often.
func (l *Loader) localeCompare(call goja.FunctionCall) goja.Value {
	r := l.runtime
	if goja.IsUndefined(call.This) || goja.IsNull(call.This) {
		panic(r.NewTypeError("String.prototype.localeCompare called on null or undefined"))
	}
	a, b := call.This.String(), call.Argument(0).String()
	kind := collation{}
	if !goja.IsUndefined(call.Argument(1)) || !goja.IsUndefined(call.Argument(2)) {
		c := l.choices("String.prototype.localeCompare", call.Argument(1), call.Argument(2))
		kind.sensitivity = c.one("sensitivity", "base", "accent", "case", "variant")
		if v := c.get("numeric"); v != nil {
			kind.numeric = v.ToBoolean()
		}
	}
	collator := l.collators[kind]
	if collator == nil {
		if l.collators == nil {
			l.collators = make(map[collation]*collate.Collator)
		}
		collator = kind.collator()
		l.collators[kind] = collator
	}
	return r.ToValue(collator.CompareString(norm.NFD.String(a), norm.NFD.String(b)))
}

// collation is a way to compare.
type collation struct {
	sensitivity string
	numeric     bool
}

func (k collation) collator() *collate.Collator {
	var options []collate.Option
	if k.numeric {
		options = append(options, collate.Numeric)
	}
	switch k.sensitivity {
	case "base":
		options = append(options, collate.Loose)
	case "accent":
		options = append(options, collate.IgnoreCase)
	case "case":
		options = append(options, collate.IgnoreDiacritics)
	}
	return collate.New(language.Und, options...)
}
