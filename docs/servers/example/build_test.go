package main

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/rs/zerolog"

	"troupe/actors/serverprocess/launch"
	"troupe/transport/host"
	"troupe/transport/transporttest/hosttest"
)

// storage returns a folder with a bucket that has the example as a zip archive.
func storage(t *testing.T) string {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	from, err := os.Open(own)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "games"), 0o700); err != nil {
		t.Fatal(err)
	}
	to, err := os.Create(filepath.Join(dir, "games", "chat.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	w := zip.NewWriter(to)
	part, err := w.Create("bin/server") // without a mode, as on Windows
	if err == nil {
		_, err = io.Copy(part, from)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// unpacked creates a build, and waits until it is READY.
func unpacked(ctx context.Context, t *testing.T, api *gamelift.Client) *types.Build {
	t.Helper()
	made, err := api.CreateBuild(ctx, &gamelift.CreateBuildInput{
		Name: aws.String("chat"), StorageLocation: &types.S3Location{Bucket: aws.String("games"), Key: aws.String("chat.zip"), RoleArn: aws.String("arn:aws:iam::1:role/x")},
	})
	if err != nil {
		t.Fatal(err)
	}
	var build *types.Build
	await(ctx, t, "a READY build", func() bool {
		out, err := api.DescribeBuild(ctx, &gamelift.DescribeBuildInput{BuildId: made.Build.BuildId})
		if err != nil || out.Build.Status == types.BuildStatusFailed {
			t.Fatalf("%+v, %v", out, err)
		}
		build = out.Build
		return build.Status == types.BuildStatusReady
	})
	return build
}

func fleetOf(build *types.Build, from int) *gamelift.CreateFleetInput {
	in := &gamelift.CreateFleetInput{
		Name: aws.String("arena"), BuildId: build.BuildId, ComputeType: types.ComputeTypeEc2, EC2InstanceType: types.EC2InstanceTypeC5Large,
		RuntimeConfiguration: &types.RuntimeConfiguration{ServerProcesses: []types.ServerProcess{{
			LaunchPath: aws.String("/local/game/bin/server"), Parameters: aws.String(asExample), ConcurrentExecutions: aws.Int32(2),
		}}},
	}
	if from > 0 {
		in.EC2InboundPermissions = []types.IpPermission{{FromPort: aws.Int32(int32(from)), ToPort: aws.Int32(int32(from + 9)), IpRange: aws.String("0.0.0.0/0"), Protocol: types.IpProtocolTcp}}
	}
	return in
}

// rootUser skips a test that needs a host which can run builds as nobody.
func rootUser(t *testing.T) *user.User {
	t.Helper()
	if err := launch.Supported(); err != nil {
		t.Skip(err)
	}
	nobody, err := user.Lookup("nobody")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("only a host that runs as root can run builds, as nobody:", err)
	}
	return nobody
}

// API-66: the aws command uploads a folder as it is, in parts.
func TestABuildUploadedByTheCommandOfAWS(t *testing.T) {
	rootUser(t)
	name, err := exec.LookPath("aws")
	if err != nil {
		t.Skip("the aws command is not installed: it was not tried")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := hosttest.Config(t)
	c.Builds = host.Builds{Storage: t.TempDir(), AllowUploaded: true, User: "nobody", UnpackedMax: 1 << 30}
	h := hosttest.Start(t, host.Options{Config: c, Network: hosttest.System, Log: hosttest.Log(t)})
	folder, home := t.TempDir(), t.TempDir()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(own)
	if err == nil {
		err = os.MkdirAll(filepath.Join(folder, "bin"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "bin", "server"), text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, name, "gamelift", "upload-build", "--name", "chat", "--build-version", "1", "--build-root", folder,
		"--operating-system", "AMAZON_LINUX_2023", "--region", "us-east-1")
	cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL=http://"+h.Host.Addrs().API, "AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=any", "AWS_SESSION_TOKEN=", "AWS_PAGER=",
		"AWS_CONFIG_FILE="+home+"/none", "AWS_SHARED_CREDENTIALS_FILE="+home+"/none", "AWS_MAX_ATTEMPTS=1", "AWS_EC2_METADATA_DISABLED=true")
	cmd.WaitDelay = 5 * time.Second
	said, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "Successfully uploaded") {
		t.Fatalf("%v: %s", err, said)
	}
	var build types.Build
	await(ctx, t, "a READY build", func() bool {
		out, err := h.API.ListBuilds(ctx, &gamelift.ListBuildsInput{})
		if err != nil || len(out.Builds) != 1 || out.Builds[0].Status == types.BuildStatusFailed {
			t.Fatalf("%+v, %v", out, err)
		}
		build = out.Builds[0]
		return build.Status == types.BuildStatusReady
	})
	if *build.SizeOnDisk != int64(len(text)) || *build.Name != "chat" {
		t.Errorf("%+v", build)
	}
	made, err := h.API.CreateFleet(ctx, fleetOf(&build, 0))
	if err != nil {
		t.Fatal(err)
	}
	await(ctx, t, "an ACTIVE fleet", func() bool {
		out, err := h.API.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{*made.FleetAttributes.FleetId}})
		return err == nil && out.FleetAttributes[0].Status == types.FleetStatusActive
	})
}

// API-66, API-67: from an archive to a player in the game, and back, with the SDK.
func TestABuildOverTheAPI(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	nobody := rootUser(t)
	from := 20_000 + 50*rand.IntN(240)
	c := hosttest.Config(t)
	c.Builds = host.Builds{Storage: storage(t), AllowUploaded: true, User: "nobody", Ports: fmt.Sprintf("%d-%d", from, from+39), UnpackedMax: 1 << 30}
	h := hosttest.Start(t, host.Options{Config: c, Network: hosttest.System, Log: hosttest.Log(t)})
	build := unpacked(ctx, t, h.API)
	if own, _ := os.Executable(); *build.SizeOnDisk != sizeOf(t, own) {
		t.Errorf("%d bytes", *build.SizeOnDisk)
	}
	made, err := h.API.CreateFleet(ctx, fleetOf(build, from))
	if err != nil {
		t.Fatal(err)
	}
	fleet := made.FleetAttributes
	if *fleet.BuildId != *build.BuildId || *fleet.BuildArn != *build.BuildArn || fleet.Status != types.FleetStatusNew {
		t.Errorf("%+v", fleet)
	}
	await(ctx, t, "an ACTIVE fleet", func() bool {
		out, err := h.API.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{*fleet.FleetId}})
		return err == nil && out.FleetAttributes[0].Status == types.FleetStatusActive
	})
	var game *types.GameSession
	await(ctx, t, "a game session", func() bool {
		out, err := h.API.CreateGameSession(ctx, &gamelift.CreateGameSessionInput{FleetId: fleet.FleetId, MaximumPlayerSessionCount: aws.Int32(2)})
		if err == nil {
			game = out.GameSession
		}
		return err == nil
	})
	await(ctx, t, "ACTIVE", func() bool {
		out, err := h.API.DescribeGameSessions(ctx, &gamelift.DescribeGameSessionsInput{GameSessionId: game.GameSessionId})
		return err == nil && out.GameSessions[0].Status == types.GameSessionStatusActive
	})
	seat, err := h.API.CreatePlayerSession(ctx, &gamelift.CreatePlayerSessionInput{GameSessionId: game.GameSessionId, PlayerId: aws.String("ann")})
	if err != nil {
		t.Fatal(err)
	}
	if port := int(*game.Port); port < from || port > from+9 {
		t.Errorf("port %d", port)
	}
	conn, lines, id := join(t, &types.GameSessionConnectionInfo{IpAddress: game.IpAddress, Port: game.Port, MatchedPlayerSessions: []types.MatchedPlayerSession{{PlayerSessionId: seat.PlayerSession.PlayerSessionId}}})
	expect(t, lines, id+" joined")
	for _, pid := range processesOf(t, "/build-") {
		if uid := ownerOf(t, pid); uid != nobody.Uid {
			t.Errorf("process %s runs as user %s", pid, uid)
		}
	}

	// In use, a build stays.
	var inUse *types.InvalidRequestException
	if _, err := h.API.DeleteBuild(ctx, &gamelift.DeleteBuildInput{BuildId: build.BuildId}); !errors.As(err, &inUse) || !strings.Contains(*inUse.Message, *fleet.FleetId) {
		t.Errorf("deleted in use: %v", err)
	}
	fmt.Fprintln(conn) // an empty line leaves, which ends the game
	if _, err := h.API.DeleteFleet(ctx, &gamelift.DeleteFleetInput{FleetId: fleet.FleetId}); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, "the end of the fleet, and the deletion of its build", func() bool {
		_, err := h.API.DeleteBuild(ctx, &gamelift.DeleteBuildInput{BuildId: build.BuildId})
		return err == nil
	})
	await(ctx, t, "no process of the build", func() bool { return len(processesOf(t, string(*build.BuildId))) == 0 })
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "troupe-builds-*", *build.BuildId))
	await(ctx, t, "no files of the build", func() bool {
		left, err = filepath.Glob(filepath.Join(os.TempDir(), "troupe-builds-*", *build.BuildId))
		return err == nil && len(left) == 0
	})
}

// API-66, API-67: a fleet of a build runs again after a restart, without its archive, and does not once the operator forbids
// it.
func TestABuildAfterRestarts(t *testing.T) {
	rootUser(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "troupe-test-builds-") // which nobody can enter, unlike t.TempDir
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c := hosttest.Config(t)
	c.Store = host.Store{Path: filepath.Join(t.TempDir(), "store.db")}
	c.Builds = host.Builds{Storage: storage(t), Dir: dir, AllowUploaded: true, User: "nobody", UnpackedMax: 1 << 30}
	var started atomic.Int64
	start := func() *hosttest.Host {
		return hosttest.Start(t, host.Options{Config: c, Network: hosttest.System, Log: zerolog.New(writes(func(line []byte) {
			if strings.Contains(string(line), `"game server started"`) {
				started.Add(1)
			}
		}))})
	}
	h := start()
	build := unpacked(ctx, t, h.API)
	made, err := h.API.CreateFleet(ctx, fleetOf(build, 0))
	if err != nil {
		t.Fatal(err)
	}
	is := func(want types.FleetStatus) {
		t.Helper()
		await(ctx, t, string(want), func() bool {
			out, err := h.API.DescribeFleetAttributes(ctx, &gamelift.DescribeFleetAttributesInput{FleetIds: []string{*made.FleetAttributes.FleetId}})
			return err == nil && len(out.FleetAttributes) == 1 && out.FleetAttributes[0].Status == want
		})
	}
	is(types.FleetStatusActive)
	h.Host.Close()
	if err := os.Remove(filepath.Join(c.Builds.Storage, "games", "chat.zip")); err != nil {
		t.Fatal(err)
	}
	h = start()
	is(types.FleetStatusActive)
	h.Host.Close()

	before := started.Load()
	if before < 2 {
		t.Errorf("%d processes were started", before)
	}
	c.Builds.AllowUploaded, c.Builds.User = false, ""
	h = start()
	is(types.FleetStatusError)
	events, err := h.API.DescribeFleetEvents(ctx, &gamelift.DescribeFleetEventsInput{FleetId: made.FleetAttributes.FleetId})
	if err != nil || !strings.Contains(fmt.Sprint(*events.Events[0].Message, *events.Events[1].Message), "builds.allowUploaded") {
		t.Errorf("%+v, %v", events, err)
	}
	// a build that is there is told before a process could be started, so a later one being READY means that it was
	again, err := h.API.CreateBuild(ctx, &gamelift.CreateBuildInput{StorageLocation: &types.S3Location{Bucket: aws.String("none"), Key: aws.String("none")}})
	if err != nil {
		t.Fatal(err)
	}
	await(ctx, t, "a later build", func() bool {
		out, err := h.API.DescribeBuild(ctx, &gamelift.DescribeBuildInput{BuildId: again.Build.BuildId})
		return err == nil && out.Build.Status == types.BuildStatusFailed
	})
	if all := processesOf(t, string(*build.BuildId)); len(all) > 0 {
		t.Errorf("processes %v", all)
	}
	if n := started.Load() - before; n != 0 {
		t.Errorf("%d processes were started", n)
	}
	_, err = h.API.CreateFleet(ctx, fleetOf(build, 0))
	var refused *types.InvalidRequestException
	if !errors.As(err, &refused) || !strings.Contains(*refused.Message, "builds.allowUploaded") {
		t.Errorf("CreateFleet: %v", err)
	}
}

func sizeOf(t *testing.T, name string) int64 {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// processesOf returns the processes whose executable has text in its path. It returns none where there is no /proc.
func processesOf(t *testing.T, text string) (all []string) {
	t.Helper()
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		if path, err := os.Readlink(link); err == nil && strings.Contains(path, text) {
			all = append(all, filepath.Base(filepath.Dir(link)))
		}
	}
	return all
}

// ownerOf returns the number of the user of a process.
func ownerOf(t *testing.T, pid string) string {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "Uid:" {
			return fields[1]
		}
	}
	return ""
}
