package modules

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/dop251/goja"
)

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
