package awswire

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"
	"github.com/aws/smithy-go/encoding/cbor"
	"pgregory.net/rapid"
)

// codecs are the codecs by name. Both must give the same results.
var codecs = map[string]codec{"json": jsonCodec{}, "cbor": cborCodec{}}

// Every kind of member of the service survives a round trip in both protocols.
func TestCodecRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := func(label string) *string {
			return rapid.Ptr(rapid.StringN(0, 20, -1), true).Draw(rt, label)
		}
		when := time.UnixMilli(rapid.Int64Range(0, 253402300799_000).Draw(rt, "ms")).UTC()
		in := []any{
			&gamelift.CreateGameSessionInput{
				FleetId: text("fleet"), MaximumPlayerSessionCount: rapid.Ptr(rapid.Int32(), true).Draw(rt, "max"),
				GameProperties: rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) types.GameProperty {
					return types.GameProperty{Key: rapid.Ptr(rapid.String(), true).Draw(rt, "key"), Value: aws.String("")}
				}), 1, 3).Draw(rt, "properties"),
			},
			&gamelift.CreatePlayerSessionsInput{
				PlayerIds: rapid.SliceOfN(rapid.String(), 1, 4).Draw(rt, "ids"), PlayerDataMap: rapid.MapOfN(rapid.String(), rapid.String(), 1, 4).Draw(rt, "map"),
			},
			&gamelift.CreateScriptInput{ZipFile: rapid.SliceOfN(rapid.Byte(), 1, 50).Draw(rt, "zip")},
			&gamelift.DescribeFleetEventsInput{FleetId: text("fleet2"), StartTime: &when},
			&gamelift.CreateMatchmakingConfigurationInput{AcceptanceRequired: rapid.Ptr(rapid.Bool(), true).Draw(rt, "bool"), BackfillMode: types.BackfillModeManual},
			&gamelift.StartGameSessionPlacementInput{PlayerLatencies: []types.PlayerLatency{{LatencyInMilliseconds: aws.Float32(rapid.Float32Range(-1e9, 1e9).Draw(rt, "f32"))}}},
			&gamelift.PutScalingPolicyInput{Threshold: aws.Float64(rapid.Float64Range(-1e15, 1e15).Draw(rt, "f64")), ScalingAdjustment: aws.Int32(-3)},
			&gamelift.StartMatchmakingInput{Players: []types.Player{{LatencyInMs: map[string]int32{"a": 1}, PlayerAttributes: map[string]types.AttributeValue{
				"x": {N: aws.Float64(1.5), SL: []string{"p"}, SDM: map[string]float64{"k": 0}},
			}}}},
			&gamelift.DescribeScriptOutput{Script: &types.Script{SizeOnDisk: aws.Int64(rapid.Int64Range(0, 1<<53).Draw(rt, "i64"))}},
		}
		for name, c := range codecs {
			for _, v := range in {
				body, err := c.encode(v)
				if err != nil {
					rt.Fatalf("%s: encode %T: %v", name, v, err)
				}
				back := reflect.New(reflect.TypeOf(v).Elem()).Interface()
				if err := c.decode(body, back); err != nil {
					rt.Fatalf("%s: decode %T: %v", name, v, err)
				}
				if !reflect.DeepEqual(v, back) {
					rt.Fatalf("%s: %T: got %+v, want %+v", name, v, back, v)
				}
			}
		}
	})
}

// The Go SDK truncates a CBOR time to milliseconds; the result must be the right millisecond.
func TestCBORTimeSurvivesTruncation(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ms := rapid.Int64Range(0, 253402300799_000).Draw(rt, "ms")
		got, err := cbor.AsTime(&cbor.Tag{ID: 1, Value: cbor.Float64(epochFloat(time.UnixMilli(ms)))})
		if err != nil || got.UnixMilli() != ms {
			rt.Fatalf("got %v, %v, want %d ms", got, err, ms)
		}
	})
}

func TestCBORTimeForms(t *testing.T) {
	for name, c := range map[string]struct {
		value cbor.Value
		want  int64 // ms; -1: refused
	}{
		"float64":    {&cbor.Tag{ID: 1, Value: cbor.Float64(1469498468.057)}, 1469498468057},
		"float32":    {&cbor.Tag{ID: 1, Value: cbor.Float32(1024.5)}, 1024500},
		"integer":    {&cbor.Tag{ID: 1, Value: cbor.Uint(1469498468)}, 1469498468000},
		"other tag":  {&cbor.Tag{ID: 0, Value: cbor.String("2026-01-01T00:00:00Z")}, -1},
		"no tag":     {cbor.Uint(1), -1},
		"text":       {&cbor.Tag{ID: 1, Value: cbor.String("1")}, -1},
		"too far":    {&cbor.Tag{ID: 1, Value: cbor.Uint(math.MaxInt64)}, -1},
		"not a time": {&cbor.Tag{ID: 1, Value: cbor.Float64(math.NaN())}, -1},
	} {
		var in gamelift.DescribeFleetEventsInput
		err := cborCodec{}.decode(cbor.Encode(cbor.Map{"StartTime": c.value}), &in)
		switch {
		case c.want < 0 && err == nil:
			t.Errorf("%s: accepted", name)
		case c.want >= 0 && (err != nil || in.StartTime.UnixMilli() != c.want):
			t.Errorf("%s: got %v, %v", name, in.StartTime, err)
		}
	}
	for _, body := range []string{`{"StartTime":"2026-01-01T00:00:00Z"}`, `{"StartTime":1e300}`, `{"StartTime":true}`} {
		if err := (jsonCodec{}).decode([]byte(body), new(gamelift.DescribeFleetEventsInput)); err == nil {
			t.Errorf("%s: accepted", body)
		}
	}
}

// An empty list is not decoded as an absent one, because validation treats them differently.
func TestEmptyListsAreKept(t *testing.T) {
	for name, c := range codecs {
		out := &gamelift.ListFleetsOutput{FleetIds: []string{}}
		body, err := c.encode(out)
		if err != nil {
			t.Fatal(err)
		}
		back := new(gamelift.ListFleetsOutput)
		if err := c.decode(body, back); err != nil || back.FleetIds == nil {
			t.Errorf("%s: got %v, %v", name, back.FleetIds, err)
		}
		if body, err = c.encode(new(gamelift.ListFleetsOutput)); err != nil || len(body) > 2 {
			t.Errorf("%s: empty output is %q, %v", name, body, err)
		}
	}
}

// The host never sends text that is not valid UTF-8.
func TestOutputIsUTF8(t *testing.T) {
	for name, c := range codecs {
		body, err := c.encode(&gamelift.ListFleetsOutput{FleetIds: []string{"a\xffb"}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var back gamelift.ListFleetsOutput
		if err := c.decode(body, &back); err != nil || back.FleetIds[0] != "a\uFFFDb" {
			t.Errorf("%s: got %q, %v", name, back.FleetIds, err)
		}
		c.encodeError("Code", "a\xffb")
	}
}

// The decoder accepts every body that the scan accepts, and never recurses deeper than the scan allows.
func TestScanAgreesWithTheDecoder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		body := rapid.SliceOfN(rapid.OneOf(
			rapid.Byte(), rapid.SampledFrom([]byte{0xa0, 0xa1, 0x80, 0x81, 0x9f, 0xbf, 0xff, 0x61, 0x7f, 0x5f, 0xc1, 0xf6, 0x01}),
		), 0, 40).Draw(rt, "body")
		if _, err := scanCBOR(body); err != nil {
			return
		}
		if _, err := cbor.Decode(body); err != nil {
			rt.Fatalf("%x: passes the scan but not the decoder: %v", body, err)
		}
	})
}
