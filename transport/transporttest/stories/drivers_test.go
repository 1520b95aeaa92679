package stories

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/smithy-go"

	"troupe/transport/serviceapi/serviceapitest"
)

// The access key of all drivers.
const (
	accessKey = "AKIATROUPESTORY"
	secretKey = "story/secret+key"
)

// driver calls operations with one kind of client. in and out have the form of the API's JSON.
type driver interface {
	call(t *testing.T, operation string, in object) (out object, failed *refusal)
}

type object = map[string]any

// refusal is a typed error as the client received it.
type refusal struct{ Code, Message string }

// patience is the timeout of one call.
const patience = 2 * time.Minute

// goSDK is the AWS SDK for Go, which uses CBOR.
type goSDK struct{ client *gamelift.Client }

func newGoSDK(t *testing.T, endpoint string, web *http.Client) driver {
	return goSDK{serviceapitest.SDKClient(t, endpoint, func(o *gamelift.Options) {
		o.HTTPClient = web
		o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: accessKey, SecretAccessKey: secretKey}, nil
		})
	})}
}

// call finds the method by its name; all methods have the same form.
func (d goSDK) call(t *testing.T, operation string, in object) (object, *refusal) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	method := reflect.ValueOf(d.client).MethodByName(operation)
	input := reflect.New(method.Type().In(1).Elem())
	text, _ := json.Marshal(in)
	if err := json.Unmarshal(text, input.Interface()); err != nil {
		t.Fatalf("%s: %v", operation, err)
	}
	results := method.Call([]reflect.Value{reflect.ValueOf(ctx), input})
	if err, _ := results[1].Interface().(error); err != nil {
		var typed smithy.APIError
		if !errors.As(err, &typed) {
			t.Fatalf("%s: %v", operation, err)
		}
		return nil, &refusal{typed.ErrorCode(), typed.ErrorMessage()}
	}
	out := make(object)
	text, _ = json.Marshal(results[0].Interface())
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%s: %v", operation, err)
	}
	return out, nil
}

// jsSDK is a process with @aws-sdk/client-gamelift. It reads a line of JSON for each call and writes one as
// the result.
type jsSDK struct {
	in  io.Writer
	out *bufio.Reader
}

const jsLoop = `import * as sdk from "@aws-sdk/client-gamelift";
import { createInterface } from "node:readline";
const client = new sdk.GameLiftClient({
  region: "us-east-1", endpoint: process.env.TROUPE_ENDPOINT, maxAttempts: 1,
  credentials: { accessKeyId: process.env.KEY, secretAccessKey: process.env.SECRET },
});
for await (const line of createInterface({ input: process.stdin })) {
  const { operation, input } = JSON.parse(line);
  if (input.ZipFile) input.ZipFile = Buffer.from(input.ZipFile, "base64");
  let answer;
  try { answer = { out: await client.send(new sdk[operation + "Command"](input)) }; }
  catch (e) { answer = { failed: { Code: e.name, Message: e.message } }; }
  console.log(JSON.stringify(answer));
}
`

func newJSSDK(t *testing.T, endpoint string) driver {
	dir := serviceapitest.InstallNode(t).Dir()
	if err := os.WriteFile(filepath.Join(dir, "loop.mjs"), []byte(jsLoop), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "node", "loop.mjs")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "TROUPE_ENDPOINT="+endpoint, "KEY="+accessKey, "SECRET="+secretKey)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		timer := time.AfterFunc(patience, cancel)
		_ = cmd.Wait()
		timer.Stop()
		cancel()
	})
	return &jsSDK{in, bufio.NewReader(out)}
}

func (d *jsSDK) call(t *testing.T, operation string, in object) (object, *refusal) {
	t.Helper()
	line, _ := json.Marshal(object{"operation": operation, "input": in})
	if _, err := d.in.Write(append(line, '\n')); err != nil {
		t.Fatalf("%s: %v", operation, err)
	}
	text, err := d.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("%s: %v", operation, err)
	}
	var answer struct {
		Out    object   `json:"out"`
		Failed *refusal `json:"failed"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatalf("%s: %v: %s", operation, err, text)
	}
	return answer.Out, answer.Failed
}

// commandLine is the aws command line, with a process for each call. Its start takes more than a second. So
// from the third call of an operation on, the SDK for Go makes the call.
type commandLine struct {
	endpoint, dir string
	calls         map[string]int // number of calls per operation
	others        driver
}

func newCommandLine(t *testing.T, endpoint string) driver {
	if _, err := exec.LookPath("aws"); err != nil {
		t.Skip("aws is not installed: the aws command line was not tried")
	}
	return commandLine{endpoint, t.TempDir(), make(map[string]int), newGoSDK(t, endpoint, http.DefaultClient)}
}

func (d commandLine) call(t *testing.T, operation string, in object) (object, *refusal) {
	t.Helper()
	if d.calls[operation]++; d.calls[operation] > 2 {
		return d.others.call(t, operation, in)
	}
	args := []string{"gamelift", "--endpoint-url", d.endpoint, "--output", "json", kebab(operation)}
	if archive, ok := in["ZipFile"].([]byte); ok {
		file := filepath.Join(d.dir, "script.zip")
		if err := os.WriteFile(file, archive, 0o600); err != nil {
			t.Fatal(err)
		}
		rest := make(object)
		for k, v := range in {
			if k != "ZipFile" {
				rest[k] = v
			}
		}
		in = rest
		args = append(args, "--zip-file", "fileb://"+file)
	}
	text, _ := json.Marshal(in)
	args = append(args, "--cli-input-json", string(text))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "aws", args...)
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+accessKey, "AWS_SECRET_ACCESS_KEY="+secretKey, "AWS_DEFAULT_REGION=us-east-1",
		"AWS_CONFIG_FILE="+filepath.Join(d.dir, "none"), "AWS_MAX_ATTEMPTS=1", "AWS_EC2_METADATA_DISABLED=true", "AWS_PAGER=")
	var complaint strings.Builder
	cmd.Stderr = &complaint
	printed, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && !strings.Contains(complaint.String(), "An error occurred") && unknownCommand(complaint.String()):
		t.Logf("this aws does not know %s yet: called by the SDK for Go", operation)
		return d.others.call(t, operation, in)
	case err != nil:
		return nil, parseComplaint(t, operation, complaint.String(), err)
	}
	out := make(object)
	if len(strings.TrimSpace(string(printed))) > 0 {
		if err := json.Unmarshal(printed, &out); err != nil {
			t.Fatalf("%s: %v: %s", operation, err, printed)
		}
	}
	return out, nil
}

// unknownCommand reports whether the installed command line does not know an operation.
func unknownCommand(complaint string) bool {
	return strings.Contains(complaint, "Invalid choice") || strings.Contains(complaint, "invalid choice")
}

// parseComplaint parses "An error occurred (Code) when calling the Op operation: text".
func parseComplaint(t *testing.T, operation, text string, err error) *refusal {
	t.Helper()
	_, behind, ok := strings.Cut(text, "An error occurred (")
	code, message, ok2 := strings.Cut(behind, ")")
	if !ok || !ok2 {
		t.Fatalf("%s: %v: %s", operation, err, text)
	}
	_, message, _ = strings.Cut(message, ": ")
	return &refusal{code, strings.TrimSpace(message)}
}

// kebab converts an operation's name to the name of its command.
func kebab(operation string) string {
	var b strings.Builder
	for i, r := range operation {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// at returns a member by its path, for example "GameSessions.0.Status". It returns nil if there is none.
func at(v any, path string) any {
	for step := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case object:
			v = x[step]
		case []any:
			var i int
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

func text(v any, path string) string {
	s, _ := at(v, path).(string)
	return s
}
