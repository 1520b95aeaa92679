package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// fromText parses a value from the environment or from a flag.
func fromText(k kind, text string) (any, error) {
	switch k {
	case kindBool:
		if text != "true" && text != "false" {
			return nil, fmt.Errorf("must be true or false, not %q", shorten(text))
		}
		return text == "true", nil
	case kindInt:
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("must be a whole number, not %q", shorten(text))
		}
		return n, nil
	case kindFloat:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("must be a number, not %q", shorten(text))
		}
		return finite(f)
	case kindDuration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, fmt.Errorf("must be a duration like 10s or 1m30s, not %q", shorten(text))
		}
		return d, nil
	}
	return text, nil
}

// listText parses a list from the environment or from a flag, where it is JSON.
func (l *loader) listText(f *field, source, text string) {
	raw, err := fromJSON(text)
	if err != nil {
		l.wrong(f.path, source, "must be a list in JSON, like [] or [\"a\"]: %w", err)
		return
	}
	r := fileReader{l: l, source: source}
	r.list(f, f.path, raw, l.setting(f))
}

// fromJSON decodes one JSON value into the types that a YAML file decodes to.
func fromJSON(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var raw any
	if err := d.Decode(&raw); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more after its end")
	}
	return numbers(raw), nil
}

// numbers replaces each json.Number by an int, or by a float64 if the number does not fit an int.
func numbers(raw any) any {
	switch v := raw.(type) {
	case json.Number:
		if n, err := strconv.Atoi(v.String()); err == nil {
			return n
		}
		f, _ := v.Float64() // infinite if the number is too large; no setting accepts that
		return f
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = numbers(v[name])
		}
	}
	return raw
}

// fromYAML converts a value that YAML has decoded.
func fromYAML(k kind, raw any) (any, error) {
	switch v := raw.(type) {
	case nil:
		return nil, errors.New("has no value")
	case string:
		if k == kindText || k == kindDuration {
			return fromText(k, v)
		}
	case bool:
		if k == kindBool {
			return v, nil
		}
	case int:
		switch {
		case k == kindInt:
			return v, nil
		case k == kindFloat:
			return float64(v), nil
		case k == kindDuration && v == 0:
			return time.Duration(0), nil
		}
	case float64:
		if k == kindFloat {
			return finite(v)
		}
	}
	return nil, fmt.Errorf("must be %s, not %s", k, describe(raw))
}

func finite(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, errors.New("must be a finite number")
	}
	return f, nil
}

// String describes the values of the kind, for error texts.
func (k kind) String() string {
	return [...]string{
		kindText: "text (in quotes, if it looks like something else)", kindBool: "true or false", kindInt: "a whole number",
		kindFloat: "a number", kindDuration: "a duration like 10s or 1m30s",
	}[k]
}
