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
	"slices"
	"strconv"
	"strings"
	"time"

	"troupe/cmd/troupe/internal/admin"
	"troupe/cmd/troupe/internal/reach"
)

// consoleFlags are the flags of commands that use the operator's API below /admin/v1/. The console uses the same API.
type consoleFlags struct {
	endpoint
	JSON bool `name:"json" help:"Print JSON, as the operator's API answers."`
}

// call requests a path below /admin/v1/. The caller must close the body of the response. A status other than 200 is an
// error with the host's message.
func (e *endpoint) call(ctx context.Context, method, path string, q url.Values) (*http.Response, error) {
	token := ""
	// without a key, the host trusts us as a local caller and requires the CSRF token of browsers
	if method != http.MethodGet && e.AccessKey == "" {
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
	var said struct{ Message, Node string }
	const most = 64 << 10
	if json.NewDecoder(io.LimitReader(resp.Body, most)).Decode(&said) == nil && said.Message != "" {
		if resp.StatusCode == http.StatusUnauthorized && e.AccessKey == "" {
			said.Message += ": give --access-key, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
		}
		if said.Node != "" {
			said.Message += " (says node " + said.Node + ")"
		}
		return nil, errors.New(said.Message)
	}
	return nil, reach.Refused(e.Endpoint, resp.StatusCode)
}

// readTimeout bounds a read-only call.
const readTimeout = 30 * time.Second

// read makes a read-only call and decodes the answer.
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
			return reached // the answer was incomplete
		}
		return e.another(err)
	}
	return nil
}

// another returns the error for an answer that cannot be decoded.
func (e *endpoint) another(err error) error {
	return fmt.Errorf("the server at %s is not a host of Troupe, or one of another version: %w", e.Endpoint, err)
}

// show prints a list as a table or as JSON. The list is the given member of the answer. titles are the column titles,
// and texts returns the cells of a row.
func show[T any](c *consoleFlags, s streams, path string, q url.Values, member string, titles []string, texts func(*T) []string) error {
	ctx, stop := s.interruptible()
	defer stop()
	var answer map[string]json.RawMessage
	if err := c.read(ctx, path, q, &answer); err != nil {
		return fmt.Errorf("admin: %w", err)
	}
	if err := printList(c, s, answer[member], titles, texts); err != nil {
		return err
	}
	return tellSilent(s, namesIn(answer))
}

// namesIn returns the nodes of a cluster that an answer calls silent.
func namesIn(answer map[string]json.RawMessage) (names []string) {
	_ = json.Unmarshal(answer["silentNodes"], &names) // most answers have none
	return names
}

// tellSilent says that a list lacks what is on some nodes of a cluster, because they do not answer.
func tellSilent(s streams, names []string) error {
	if len(names) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(s.err, "silent nodes, whose entries are missing: %s\n", strings.Join(names, ", "))
	return err
}

// showPages is show for a paginated list. It reads all pages. params are pairs of names and values, as for given.
func showPages[T any](c *consoleFlags, s streams, path, member string, params, titles []string, texts func(*T) []string) error {
	ctx, stop := s.interruptible()
	defer stop()
	all := []json.RawMessage{}
	var silent []string
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
		silent = append(silent, namesIn(answer)...)
		if all = append(all, page...); next == "" {
			if err := printAll(c, s, all, titles, texts); err != nil {
				return err
			}
			slices.Sort(silent)
			return tellSilent(s, slices.Compact(silent))
		}
		q.Set("next", next)
	}
}

// printAll is printList for a list of separately read elements.
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
	titles, rows = withoutNodes(titles, rows)
	return admin.PrintTable(s.out, titles, rows)
}

// withoutNodes removes the column NODE if it is empty, as it is without a cluster.
func withoutNodes(titles []string, rows [][]string) ([]string, [][]string) {
	i := slices.Index(titles, "NODE")
	if i < 0 || slices.ContainsFunc(rows, func(row []string) bool { return row[i] != "" }) {
		return titles, rows
	}
	for r := range rows {
		rows[r] = slices.Delete(rows[r], i, i+1)
	}
	return slices.Delete(slices.Clone(titles), i, i+1), rows
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

// do performs an action and prints one line, or the answer as JSON.
func (c *consoleFlags) do(s streams, method, path string, q url.Values, line func(answer map[string]any) string) error {
	var answer map[string]any
	printed, err := c.answer(s, method, path, q, &answer)
	if printed || err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, line(answer))
	return err
}

// answer performs a call and decodes the answer. With --json it prints the answer instead and returns true.
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

// given builds query parameters from pairs of names and values. It omits empty values.
func given(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// when formats a time for a table.
func when(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// briefly formats a number of seconds for a table.
func briefly(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond).String()
}

func number(n int) string { return strconv.Itoa(n) }
