package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"troupe/cmd/troupe/internal/admin"
	"troupe/cmd/troupe/internal/reach"
)

// consoleFlags are the flags of commands that use the operator's API below /admin/v1/, which the
// console uses, too.
type consoleFlags struct {
	endpoint
	JSON bool `name:"json" help:"Print JSON, as the operator's API answers."`
}

// call requests a path below /admin/v1/. The caller closes the body of the answer. Any status but
// 200 is an error with the sentence of the host.
func (e *endpoint) call(ctx context.Context, method, path string, q url.Values) (*http.Response, error) {
	token := ""
	if method != http.MethodGet && e.AccessKey == "" { // trusted as a caller on this machine, which needs the token of browsers
		var me struct{ CSRFToken string }
		if err := e.read(ctx, "me", nil, &me); err != nil {
			return nil, err
		}
		token = me.CSRFToken
	}
	resp, err := e.ask(ctx, method, "/admin/v1/"+path, q, token)
	if err != nil || resp.StatusCode == http.StatusOK {
		return resp, err
	}
	defer resp.Body.Close()
	var said struct{ Message string }
	const most = 64 << 10
	if json.NewDecoder(io.LimitReader(resp.Body, most)).Decode(&said) == nil && said.Message != "" {
		if resp.StatusCode == http.StatusUnauthorized && e.AccessKey == "" {
			said.Message += ": give --access-key, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
		}
		return nil, errors.New(said.Message)
	}
	return nil, reach.Refused(e.Endpoint, resp.StatusCode)
}

// readTimeout bounds a call that only reads.
const readTimeout = 30 * time.Second

// read calls a path that only reads, and decodes the answer.
func (e *endpoint) read(ctx context.Context, path string, q url.Values, into any) error {
	soon, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return e.decode(soon, http.MethodGet, path, q, into)
}

func (e *endpoint) decode(ctx context.Context, method, path string, q url.Values, into any) error {
	resp, err := e.call(ctx, method, path, q)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		if reached := reach.Explain(e.Endpoint, err); reached != err {
			return reached // it stopped in the middle
		}
		return e.another(err)
	}
	return nil
}

// another is the error of an answer that is not understood.
func (e *endpoint) another(err error) error {
	return fmt.Errorf("the server at %s is not a host of Troupe, or one of another version: %w", e.Endpoint, err)
}

// show prints the list that is the member of an answer, as a table of titles and the texts of each row, or as JSON.
func show[T any](c *consoleFlags, s streams, path string, q url.Values, member string, titles []string, texts func(*T) []string) error {
	ctx, stop := s.interruptible()
	defer stop()
	var answer map[string]json.RawMessage
	if err := c.read(ctx, path, q, &answer); err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	return printList(c, s, answer[member], titles, texts)
}

// showPages is show for a list in pages, of which it reads all. The parameters are pairs as given
// takes them.
func showPages[T any](c *consoleFlags, s streams, path, member string, params, titles []string, texts func(*T) []string) error {
	ctx, stop := s.interruptible()
	defer stop()
	all := []json.RawMessage{}
	q := given(append(params, "limit", "200")...)
	for {
		var answer map[string]json.RawMessage
		if err := c.read(ctx, path, q, &answer); err != nil {
			return fmt.Errorf("admin: %w", err)
		}
		var page []json.RawMessage
		next := ""
		if err := errors.Join(json.Unmarshal(answer[member], &page), json.Unmarshal(answer["next"], &next)); err != nil {
			return fmt.Errorf("admin: %w", c.another(err))
		}
		if next != "" && next == q.Get("next") {
			return fmt.Errorf("admin: %w", c.another(errors.New("its pages do not end")))
		}
		if all = append(all, page...); next == "" {
			return printAll(c, s, all, titles, texts)
		}
		q.Set("next", next)
	}
}

// printAll is printList for elements that were read one by one.
func printAll[T any](c *consoleFlags, s streams, all []json.RawMessage, titles []string, texts func(*T) []string) error {
	raw, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("admin: %s: %w", c.Endpoint, err)
	}
	return printList(c, s, raw, titles, texts)
}

// printList prints a list of the API as a table or as JSON.
func printList[T any](c *consoleFlags, s streams, raw json.RawMessage, titles []string, texts func(*T) []string) error {
	if c.JSON {
		return printRaw(s.out, raw)
	}
	var list []T
	if err := json.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("admin: %s: %w", c.Endpoint, err)
	}
	rows := make([][]string, len(list))
	for i := range list {
		rows[i] = texts(&list[i])
	}
	return admin.PrintTable(s.out, titles, rows)
}

func printRaw(out io.Writer, raw json.RawMessage) error {
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := out.Write(b.Bytes())
	return err
}

// do calls an action, and prints a line, or the answer as JSON.
func (c *consoleFlags) do(s streams, method, path string, q url.Values, line func(answer map[string]any) string) error {
	var answer map[string]any
	printed, err := c.answer(s, method, path, q, &answer)
	if printed || err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, line(answer))
	return err
}

// answer decodes the answer to a call. With --json it prints it instead, and reports true.
func (c *consoleFlags) answer(s streams, method, path string, q url.Values, into any) (printed bool, err error) {
	ctx, stop := s.interruptible()
	defer stop()
	var raw json.RawMessage
	if err := c.decode(ctx, method, path, q, &raw); err != nil {
		return false, fmt.Errorf("admin: %w", err)
	}
	if c.JSON {
		return true, printRaw(s.out, raw)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return false, fmt.Errorf("admin: %s: %w", c.Endpoint, err)
	}
	return false, nil
}

// given returns the parameters that are not empty, of pairs of names and values.
func given(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// when is a time in a table.
func when(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// briefly is a number of seconds in a table.
func briefly(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond).String()
}

func number(n int) string { return strconv.Itoa(n) }
