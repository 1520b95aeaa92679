package admin

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// PrintJSON writes a list as an array with the member names of the API. Empty members are
// left out; times are RFC 3339.
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

// Cell escapes control characters, which callers of the API may have put into names.
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

// PrintGameSessions writes game sessions as a table.
func PrintGameSessions(out io.Writer, list []types.GameSession) error {
	var rows [][]string
	for _, g := range list {
		rows = append(rows, []string{
			aws.ToString(g.GameSessionId), aws.ToString(g.Name), string(g.Status),
			fmt.Sprintf("%d/%d", aws.ToInt32(g.CurrentPlayerSessionCount), aws.ToInt32(g.MaximumPlayerSessionCount)),
			net.JoinHostPort(aws.ToString(g.IpAddress), strconv.Itoa(int(aws.ToInt32(g.Port)))), aws.ToString(g.Location), moment(g.CreationTime),
		})
	}
	return PrintTable(out, []string{"GAME SESSION", "NAME", "STATUS", "PLAYERS", "ADDRESS", "LOCATION", "CREATED"}, rows)
}

// PrintPlayerSessions writes player sessions as a table.
func PrintPlayerSessions(out io.Writer, list []types.PlayerSession) error {
	var rows [][]string
	for _, p := range list {
		rows = append(rows, []string{
			aws.ToString(p.PlayerSessionId), aws.ToString(p.PlayerId), string(p.Status), aws.ToString(p.GameSessionId), moment(p.CreationTime),
		})
	}
	return PrintTable(out, []string{"PLAYER SESSION", "PLAYER", "STATUS", "GAME SESSION", "CREATED"}, rows)
}

// PrintQueues writes queues as a table.
func PrintQueues(out io.Writer, list []types.GameSessionQueue) error {
	var rows [][]string
	for _, q := range list {
		var to []string
		for _, d := range q.Destinations {
			arn := aws.ToString(d.DestinationArn)
			to = append(to, arn[strings.LastIndex(arn, "/")+1:])
		}
		rows = append(rows, []string{
			aws.ToString(q.Name), strconv.Itoa(int(aws.ToInt32(q.TimeoutInSeconds))) + "s", strings.Join(to, " "), strconv.Itoa(len(q.PlayerLatencyPolicies)),
		})
	}
	return PrintTable(out, []string{"QUEUE", "TIMEOUT", "DESTINATIONS", "LATENCY POLICIES"}, rows)
}

func moment(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}
