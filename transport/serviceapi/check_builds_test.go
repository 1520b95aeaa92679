package serviceapi

import (
	"reflect"
	"testing"

	"troupe/messages"
)

func TestBuildsAreCreatedUpdatedDescribedListedDeleted(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t)
		place := members{"Bucket": "games", "Key": "arena/1.zip"}
		refused(t, a, protocol, "CreateBuild", invalidRequest, map[string]members{
			"no place":       {"Name": "n"},
			"no bucket":      {"StorageLocation": members{"Key": "k"}},
			"no key":         {"StorageLocation": members{"Bucket": "b"}},
			"path as bucket": {"StorageLocation": members{"Bucket": "a/b", "Key": "k"}},
			"parent":         {"StorageLocation": members{"Bucket": "..", "Key": "k"}},
			"outside":        {"StorageLocation": members{"Bucket": "b", "Key": "a/../../c"}},
			"absolute":       {"StorageLocation": members{"Bucket": "b", "Key": "/etc/passwd"}},
			"version":        {"StorageLocation": members{"Bucket": "b", "Key": "k", "ObjectVersion": "1"}},
			"system":         {"StorageLocation": place, "OperatingSystem": "PLAN9"},
			"SDK":            {"StorageLocation": place, "ServerSdkVersion": "5"},
		})
		a.call(t, protocol, "CreateBuild", members{"StorageLocation": place, "Tags": []members{{"Key": "aws:x", "Value": "v"}}}).Want(t, 400, "TaggingFailedException")
		if len(a.fake.got) != 0 {
			t.Errorf("the backend got %+v", a.fake.got)
		}
		out := a.call(t, protocol, "CreateBuild", members{
			"Name": "n", "Version": "1", "OperatingSystem": "AMAZON_LINUX_2023", "ServerSdkVersion": "5.6.0", "Tags": []members{{"Key": "k", "Value": "v"}},
			"StorageLocation": with(place, "RoleArn", "arn:aws:iam::1:role/x"),
		}).OK(t)
		build := out["Build"].(members)
		if build["CreationTime"] == nil || !reflect.DeepEqual(out["StorageLocation"], place) || out["UploadCredentials"] != nil {
			t.Errorf("got %v", out)
		}
		delete(build, "CreationTime")
		if want := (members{"BuildId": "build-0000", "BuildArn": "arn:aws:gamelift:us-east-1:000000000000:build/build-0000", "Name": "n", "Version": "1",
			"OperatingSystem": "AMAZON_LINUX_2023", "ServerSdkVersion": "5.6.0", "Status": "INITIALIZED", "SizeOnDisk": 0.}); !reflect.DeepEqual(build, want) {
			t.Errorf("got %v, want %v", build, want)
		}
		if got := a.fake.got[0].(messages.CreateBuild); got.Bucket != "games" || got.Key != "arena/1.zip" || got.Tags["k"] != "v" {
			t.Errorf("the backend got %+v", got)
		}
		for range 2 {
			a.call(t, protocol, "CreateBuild", members{"StorageLocation": place}).OK(t)
		}
		a.fake.builds[1].Status, a.fake.builds[1].Size = messages.BuildReady, 77
		const arn = "arn:aws:gamelift:us-east-1:123456789012:build/build-0001"
		if got := a.call(t, protocol, "DescribeBuild", members{"BuildId": arn}).OK(t)["Build"].(members); got["Status"] != "READY" || got["SizeOnDisk"] != 77. || got["Name"] != nil {
			t.Errorf("got %v", got)
		}
		first := a.call(t, protocol, "ListBuilds", members{"Limit": 2}).OK(t)
		second := a.call(t, protocol, "ListBuilds", members{"Limit": 2, "NextToken": first["NextToken"]}).OK(t)
		if len(items(t, first, "Builds")) != 2 || items(t, second, "Builds")[0]["BuildId"] != "build-0002" || second["NextToken"] != nil {
			t.Errorf("pages %v, %v", first, second)
		}
		if got := items(t, a.call(t, protocol, "ListBuilds", members{"Status": "READY"}).OK(t), "Builds"); len(got) != 1 || got[0]["BuildId"] != "build-0001" {
			t.Errorf("those that are READY: %v", got)
		}
		a.call(t, protocol, "UpdateBuild", members{"BuildId": "build-0001"}).Want(t, 400, invalidRequest)
		a.call(t, protocol, "UpdateBuild", members{"BuildId": arn, "Version": "2"}).OK(t)
		if got := a.fake.got[len(a.fake.got)-1]; got != (messages.UpdateBuild{ID: "build-0001", Version: "2"}) {
			t.Errorf("the backend got %+v", got)
		}

		process := members{"LaunchPath": "/local/game/server", "ConcurrentExecutions": 1}
		good := members{"Name": "f", "BuildId": arn, "EC2InstanceType": "c5.large", "RuntimeConfiguration": members{"ServerProcesses": []members{process}}}
		a.call(t, protocol, "CreateFleet", with(good, "CertificateConfiguration", members{"CertificateType": "GENERATED"})).Want(t, 400, invalidRequest)
		fleet := a.call(t, protocol, "CreateFleet", good).OK(t)["FleetAttributes"].(members)
		if fleet["BuildId"] != "build-0001" || fleet["BuildArn"] != "arn:aws:gamelift:us-east-1:000000000000:build/build-0001" || fleet["ScriptId"] != nil {
			t.Errorf("got %v", fleet)
		}
		for id, want := range map[string]int{arn: 1, "build-0000": 0} {
			if ids := a.call(t, protocol, "ListFleets", members{"BuildId": id}).OK(t)["FleetIds"].([]any); len(ids) != want {
				t.Errorf("fleets of %s: %v", id, ids)
			}
		}

		a.call(t, protocol, "DeleteBuild", members{"BuildId": arn}).OK(t)
		for _, operation := range []string{"DeleteBuild", "DescribeBuild"} {
			a.call(t, protocol, operation, members{"BuildId": arn}).Want(t, 400, "NotFoundException")
		}
		a.call(t, protocol, "RequestUploadCredentials", members{"BuildId": arn}).Want(t, 400, "NotFoundException")
		a.call(t, protocol, "RequestUploadCredentials", members{"BuildId": "build-0002"}).Want(t, 400, invalidRequest)
	})
}

func TestBuildsAreUploaded(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newAPI(t, func(o *Options) { o.UploadToken = func(id messages.BuildID) string { return "token of " + string(id) } })
		out := a.call(t, protocol, "CreateBuild", members{"Name": "n"}).OK(t)
		if got := a.fake.got[0].(messages.CreateBuild); got.Bucket != "" || got.Key != "" {
			t.Errorf("the backend got %+v", got)
		}
		a.fake.builds[0].Awaits, a.fake.builds[0].Bucket, a.fake.builds[0].Key = true, "Uploads", "k"
		again := a.call(t, protocol, "RequestUploadCredentials", members{"BuildId": "build-0000"}).OK(t)
		want := members{"AccessKeyId": "upload", "SecretAccessKey": "upload", "SessionToken": "token of build-0000"}
		if !reflect.DeepEqual(out["UploadCredentials"], want) || !reflect.DeepEqual(again["UploadCredentials"], want) ||
			!reflect.DeepEqual(again["StorageLocation"], members{"Bucket": "Uploads", "Key": "k"}) {
			t.Errorf("got %v and %v", out, again)
		}
		a.fake.builds[0].Awaits = false
		a.call(t, protocol, "RequestUploadCredentials", members{"BuildId": "build-0000"}).Want(t, 400, invalidRequest)
		a.call(t, protocol, "RequestUploadCredentials", members{"BuildId": "build-none"}).Want(t, 400, "NotFoundException")
	})
}
