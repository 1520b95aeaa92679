package serviceapi

import (
	"context"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/gamelift"
	"github.com/aws/aws-sdk-go-v2/service/gamelift/types"

	"troupe/messages"
	"troupe/transport/awswire"
)

// createBuild creates a build of a zip archive or a folder in the storage of the host, or of one that is uploaded
// (service-api.md 2.14).
func (s *Server) createBuild(ctx context.Context, in *gamelift.CreateBuildInput) (*gamelift.CreateBuildOutput, error) {
	var bucket, key string
	var err error
	switch {
	case in.StorageLocation != nil:
		if bucket, key, err = stored(in.StorageLocation); err != nil {
			return nil, err
		}
	case s.options.UploadToken == nil:
		return nil, invalid("give StorageLocation: this host takes no uploads, because its operator does not set builds.allowUploaded")
	}
	tags, err := tagsOf(in.Tags)
	made, err := do(ctx, s, err, messages.CreateBuild{
		Name: aws.ToString(in.Name), Version: aws.ToString(in.Version), OperatingSystem: string(in.OperatingSystem), SDKVersion: aws.ToString(in.ServerSdkVersion),
		Bucket: bucket, Key: key, Tags: tags,
	})
	if err != nil {
		return nil, err
	}
	out := &gamelift.CreateBuildOutput{Build: s.build(made), StorageLocation: shownLocation(made)}
	if in.StorageLocation == nil {
		out.UploadCredentials = s.uploadCredentials(made)
	}
	return out, nil
}

// requestUploadCredentials returns what a client of S3 uploads the archive of a build with.
func (s *Server) requestUploadCredentials(ctx context.Context, in *gamelift.RequestUploadCredentialsInput) (*gamelift.RequestUploadCredentialsOutput, error) {
	id, err := s.arns.build(in.BuildId)
	found, err := do(ctx, s, err, messages.BuildQuery{ID: id})
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, messages.Errorf(messages.NotFound, "there is no build %q", awswire.Clip(*in.BuildId))
	case !found[0].Awaits || s.options.UploadToken == nil:
		return nil, invalid("build %s takes no upload: it has its files, or this host takes none", found[0].ID)
	}
	return &gamelift.RequestUploadCredentialsOutput{StorageLocation: shownLocation(found[0]), UploadCredentials: s.uploadCredentials(found[0])}, nil
}

// uploadCredentials returns credentials whose session token alone counts. Clients need the others to sign.
func (s *Server) uploadCredentials(b *messages.Build) *types.AwsCredentials {
	return &types.AwsCredentials{
		AccessKeyId: aws.String("upload"), SecretAccessKey: aws.String("upload"), SessionToken: aws.String(s.options.UploadToken(b.ID)),
	}
}

const (
	bucketMax = 255  // characters of a bucket's name
	keyMax    = 1024 // bytes of a key
)

// stored returns the bucket and the key of a storage location. RoleArn and ObjectVersion mean nothing here.
func stored(l *types.S3Location) (bucket, key string, err error) {
	bucket, key = aws.ToString(l.Bucket), aws.ToString(l.Key)
	switch {
	case bucket == "" || key == "":
		return "", "", invalid("StorageLocation needs Bucket and Key")
	case len(bucket) > bucketMax || strings.ContainsAny(bucket, "/\\:\x00") || bucket[0] == '.' || !utf8.ValidString(bucket):
		return "", "", invalid("StorageLocation.Bucket is the name of a folder in builds.storage; it is %q", awswire.Clip(bucket))
	case len(key) > keyMax || strings.ContainsAny(key, "\\\x00") || path.IsAbs(key) || slices.Contains(strings.Split(key, "/"), "..") || !utf8.ValidString(key):
		return "", "", invalid("StorageLocation.Key is the path of a zip archive or a folder in its bucket; it is %q", awswire.Clip(key))
	case l.ObjectVersion != nil:
		return "", "", invalid("StorageLocation.ObjectVersion is not available on this host")
	}
	return bucket, key, nil
}

func (s *Server) updateBuild(ctx context.Context, in *gamelift.UpdateBuildInput) (*gamelift.UpdateBuildOutput, error) {
	if in.Name == nil && in.Version == nil {
		return nil, invalid("give at least one of Name and Version")
	}
	id, err := s.arns.build(in.BuildId)
	shown, err := ask(ctx, s, err, messages.UpdateBuild{ID: id, Name: aws.ToString(in.Name), Version: aws.ToString(in.Version)}, s.build)
	return &gamelift.UpdateBuildOutput{Build: shown}, err
}

func (s *Server) describeBuild(ctx context.Context, in *gamelift.DescribeBuildInput) (*gamelift.DescribeBuildOutput, error) {
	id, err := s.arns.build(in.BuildId)
	found, err := do(ctx, s, err, messages.BuildQuery{ID: id})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, messages.Errorf(messages.NotFound, "there is no build %q", awswire.Clip(*in.BuildId))
	}
	return &gamelift.DescribeBuildOutput{Build: s.build(found[0])}, nil
}

// listBuilds lists builds, oldest first.
func (s *Server) listBuilds(ctx context.Context, in *gamelift.ListBuildsInput) (*gamelift.ListBuildsOutput, error) {
	found, err := do(ctx, s, nil, messages.BuildQuery{})
	found = slices.DeleteFunc(slices.Clone(found), func(b *messages.Build) bool {
		return in.Status != "" && string(in.Status) != b.Status.String()
	})
	shown, token, err := page(s, err, pagingOf(in, pageMax), found, func(b *messages.Build) position { return at(b.Created, b.ID) }, s.build)
	return &gamelift.ListBuildsOutput{Builds: shown, NextToken: token}, err
}

func (s *Server) deleteBuild(ctx context.Context, in *gamelift.DeleteBuildInput) (*gamelift.DeleteBuildOutput, error) {
	id, err := s.arns.build(in.BuildId)
	return &gamelift.DeleteBuildOutput{}, s.run(ctx, err, messages.DeleteBuild{ID: id})
}

// build converts a build to the SDK's struct.
func (s *Server) build(b *messages.Build) *types.Build {
	return &types.Build{
		BuildId: filled(string(b.ID)), BuildArn: aws.String(s.arns.mint("build", string(b.ID))), Name: filled(b.Name), Version: filled(b.Version),
		OperatingSystem: types.OperatingSystem(b.OperatingSystem), ServerSdkVersion: filled(b.SDKVersion), Status: types.BuildStatus(b.Status.String()),
		SizeOnDisk: aws.Int64(b.Size), CreationTime: moment(b.Created),
	}
}

func shownLocation(b *messages.Build) *types.S3Location {
	return &types.S3Location{Bucket: aws.String(b.Bucket), Key: aws.String(b.Key)}
}
