package serviceapi

import (
	"reflect"
	"strings"
	"testing"

	"troupe/messages"
)

const sdkURL = "wss://sdk.example.test/server-sdk"

func newComputeAPI(t *testing.T) *api {
	t.Helper()
	return newAPI(t, func(o *Options) { o.ServerSDK = sdkURL })
}

// SS-44, SS-45: computes are registered, shown, listed, authorized and removed, by name and by ARN.
func TestComputes(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newComputeAPI(t)
		good := members{"FleetId": someARN + "fleet/" + fleetOne, "ComputeName": "host-01", "IpAddress": "10.1.2.3", "DnsName": "host-01.example.test",
			"Location": "custom-lan", "CertificatePath": "/etc/cert.pem"}
		made := a.call(t, protocol, "RegisterCompute", good).OK(t)["Compute"].(members)
		created := made["CreationTime"]
		if created == nil {
			t.Error("no CreationTime")
		}
		const arn = "arn:aws:gamelift:us-east-1:000000000000:compute/host-01"
		want := members{"FleetId": fleetOne, "FleetArn": "arn:aws:gamelift:us-east-1:000000000000:fleet/fleet-one", "ComputeName": "host-01", "ComputeArn": arn,
			"ComputeStatus": "ACTIVE", "IpAddress": "10.1.2.3", "DnsName": "host-01.example.test", "Location": "custom-lan", "CreationTime": created,
			"GameLiftServiceSdkEndpoint": sdkURL}
		if !reflect.DeepEqual(made, want) {
			t.Errorf("registered %v, want %v", made, want)
		}
		if got := a.fake.computes[0]; got.CertificatePath != "/etc/cert.pem" || got.FleetID != fleetOne {
			t.Errorf("the backend got %+v", got)
		}
		a.call(t, protocol, "RegisterCompute", good).Want(t, 400, "ConflictException")
		for _, name := range []string{"host-01", arn} {
			one := members{"FleetId": fleetOne, "ComputeName": name}
			if got := a.call(t, protocol, "DescribeCompute", one).OK(t)["Compute"]; !reflect.DeepEqual(got, want) {
				t.Errorf("%s: described %v", name, got)
			}
			token := a.call(t, protocol, "GetComputeAuthToken", one).OK(t)
			if token["AuthToken"] != "token-of-host-01" || token["ExpirationTimestamp"] == nil || token["ComputeArn"] != arn || token["ComputeName"] != "host-01" ||
				token["FleetId"] != fleetOne || token["FleetArn"] != want["FleetArn"] {
				t.Errorf("%s: authorized %v", name, token)
			}
		}
		a.call(t, protocol, "DeregisterCompute", members{"FleetId": fleetOne, "ComputeName": arn}).OK(t)
		for _, operation := range []string{"DescribeCompute", "GetComputeAuthToken", "DeregisterCompute"} {
			a.call(t, protocol, operation, members{"FleetId": fleetOne, "ComputeName": "host-01"}).Want(t, 400, "NotFoundException")
			a.call(t, protocol, operation, members{"FleetId": fleetOne, "ComputeName": "arn:aws:gamelift:eu-west-1::compute/host-01"}).Want(t, 400, "NotFoundException")
		}
		a.call(t, protocol, "GetComputeAccess", members{"FleetId": fleetOne, "ComputeName": "host-01"}).Want(t, 400, "UnsupportedRegionException")
	})
}

// The host refuses an address that players cannot use, and answers only errors that the model declares.
func TestRegisterComputeIsChecked(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newComputeAPI(t)
		good := members{"FleetId": fleetOne, "ComputeName": "h", "IpAddress": "10.1.2.3", "Location": "custom-lan"}
		refused(t, a, protocol, "RegisterCompute", invalidRequest, map[string]members{
			"no address": with(good, "IpAddress", nil), "no location": with(good, "Location", nil), "unknown fleet": with(good, "FleetId", "fleet-none"),
			"no IP": with(good, "IpAddress", "a1"), "any IP": with(good, "IpAddress", "0.0.0.0"), "two slashes": with(good, "ComputeName", "a/b/c"),
			"long name for the C++ SDK": with(good, "DnsName", strings.Repeat("n", 64)),
		})
		refused(t, a, protocol, "ListCompute", invalidRequest, map[string]members{"unknown fleet": {"FleetId": "fleet-none"}})
		if len(a.fake.computes) != 0 {
			t.Errorf("the backend got %+v", a.fake.computes)
		}
		for name, in := range map[string]members{
			"IPv6": with(good, "IpAddress", "2001:db8::1"), "name": with(with(good, "IpAddress", nil), "DnsName", strings.Repeat("n", 63)), "a/b": good,
		} {
			a.call(t, protocol, "RegisterCompute", with(in, "ComputeName", name)).OK(t)
		}
	})
}

func TestComputesAreListed(t *testing.T) {
	inBoth(t, func(t *testing.T, protocol string) {
		a := newComputeAPI(t)
		for name, location := range map[string]string{"one": "custom-a", "two": "custom-b", "three": "custom-a"} {
			a.fake.computes = append(a.fake.computes, &messages.Compute{FleetID: fleetOne, Name: name, Location: location, IPAddress: "10.0.0.1", Created: epochStart})
		}
		for want, in := range map[string]members{
			"one three two": {}, "one three": {"Location": "custom-a"}, "": {"Location": "custom-c"},
			"one three two ": {"ComputeStatus": "ACTIVE"}, " ": {"ComputeStatus": "IMPAIRED"}, "  ": {"ContainerGroupDefinitionName": "x"},
		} {
			var got []string
			for token := any(nil); ; {
				out := a.call(t, protocol, "ListCompute", with(with(with(in, "FleetId", fleetOne), "Limit", 2), "NextToken", token)).OK(t)
				for _, item := range items(t, out, "ComputeList") {
					got = append(got, item["ComputeName"].(string))
				}
				if token = out["NextToken"]; token == nil {
					break
				}
			}
			if strings.Join(got, " ") != strings.TrimSpace(want) {
				t.Errorf("%v: got %v, want %s", in, got, want)
			}
		}
	})
}
