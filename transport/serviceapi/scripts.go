package serviceapi

import (
	"context"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
	"troupe/transport/awswire"
)

// createScript creates a script from the archive in the request, because the host has no object store
// (service-api.md 2.5).
func (s *Server) createScript(ctx context.Context, in *gamelift.CreateScriptInput) (*gamelift.CreateScriptOutput, error) {
	if (in.ZipFile == nil) == (in.StorageLocation == nil) {
		return nil, invalid("give exactly one of ZipFile and StorageLocation")
	}
	if in.StorageLocation != nil {
		return nil, noStore(in.StorageLocation)
	}
	node := aws.ToString(in.NodeJsVersion)
	if !slices.Contains([]string{"", messages.NodeVersion10, messages.NodeVersion24}, node) {
		return nil, invalid("NodeJsVersion must be %s or %s, it is %q", messages.NodeVersion10, messages.NodeVersion24, awswire.Clip(node))
	}
	tags, err := tagsOf(in.Tags)
	shown, err := ask(ctx, s, err, messages.CreateScript{
		Name: aws.ToString(in.Name), Version: aws.ToString(in.Version), NodeVersion: node, Zip: in.ZipFile, Tags: tags,
	}, s.script)
	return &gamelift.CreateScriptOutput{Script: shown}, err
}

func (s *Server) updateScript(ctx context.Context, in *gamelift.UpdateScriptInput) (*gamelift.UpdateScriptOutput, error) {
	switch {
	case in.ZipFile != nil && in.StorageLocation != nil:
		return nil, invalid("give ZipFile or StorageLocation, not both")
	case in.Name == nil && in.Version == nil && in.ZipFile == nil && in.StorageLocation == nil:
		return nil, invalid("give at least one of Name, Version, ZipFile and StorageLocation")
	case in.StorageLocation != nil:
		return nil, noStore(in.StorageLocation)
	}
	id, err := s.arns.script(in.ScriptId)
	shown, err := ask(ctx, s, err, messages.UpdateScript{
		ID: id, Name: aws.ToString(in.Name), Version: aws.ToString(in.Version), Zip: in.ZipFile,
	}, func(u messages.UpdatedScript) *types.Script { return s.script(u.Script) })
	return &gamelift.UpdateScriptOutput{Script: shown}, err
}

func (s *Server) describeScript(ctx context.Context, in *gamelift.DescribeScriptInput) (*gamelift.DescribeScriptOutput, error) {
	id, err := s.arns.script(in.ScriptId)
	found, err := do(ctx, s, err, messages.ScriptQuery{ID: id})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, messages.Errorf(messages.NotFound, "there is no script %q", awswire.Clip(*in.ScriptId))
	}
	return &gamelift.DescribeScriptOutput{Script: s.script(found[0])}, nil
}

// listScripts lists scripts, oldest first.
func (s *Server) listScripts(ctx context.Context, in *gamelift.ListScriptsInput) (*gamelift.ListScriptsOutput, error) {
	found, err := do(ctx, s, nil, messages.ScriptQuery{})
	shown, token, err := page(s, err, pagingOf(in, pageMax), found, func(r *messages.Script) position { return at(r.Created, r.ID) }, s.script)
	return &gamelift.ListScriptsOutput{Scripts: shown, NextToken: token}, err
}

func (s *Server) deleteScript(ctx context.Context, in *gamelift.DeleteScriptInput) (*gamelift.DeleteScriptOutput, error) {
	id, err := s.arns.script(in.ScriptId)
	return &gamelift.DeleteScriptOutput{}, s.run(ctx, err, messages.DeleteScript{ID: id})
}

// script converts a script to the SDK's struct. The storage location is invented, because callers expect one.
func (s *Server) script(r *messages.Script) *types.Script {
	return &types.Script{
		ScriptId:      filled(string(r.ID)),
		ScriptArn:     aws.String(s.arns.mint("script", string(r.ID))),
		Name:          filled(r.Name),
		Version:       filled(r.Version),
		SizeOnDisk:    aws.Int64(r.Size),
		CreationTime:  moment(r.Created),
		NodeJsVersion: filled(r.NodeVersion),
		StorageLocation: &types.S3Location{
			Bucket: aws.String("troupe-scripts-" + s.arns.region), Key: aws.String(string(r.ID) + "/" + strconv.Itoa(r.Contents)),
		},
	}
}

func noStore(l *types.S3Location) error {
	switch bucket := aws.ToString(l.Bucket); {
	case bucket == "" || aws.ToString(l.Key) == "" || aws.ToString(l.RoleArn) == "":
		return invalid("StorageLocation needs Bucket, Key and RoleArn")
	default:
		return invalid("this host has no object store for the bucket %q: give the script as ZipFile", awswire.Clip(bucket))
	}
}
