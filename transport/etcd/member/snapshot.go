package member

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
)

// Save writes a snapshot of the member in config to a new file. It returns the etcd version of that member.
func Save(ctx context.Context, config clientv3.Config, file string) (version string, err error) {
	if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("etcd: %s is there already", file)
	}
	config.Logger = zap.NewNop()
	if version, err = snapshot.NewV3(zap.NewNop()).Save(ctx, config, file); err != nil {
		return "", fmt.Errorf("etcd: %w", err)
	}
	return version, nil
}

// revisionBump is added to the revision of a restored member. The result is higher than any revision that a
// node has seen.
const revisionBump = 1_000_000_000

// Restore creates a member's directory from a snapshot. The directory must not exist. o must be the options
// with which the member will be started. Watches that began before the snapshot must be restarted.
func Restore(o Options, file string) error {
	config, err := o.config()
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	err = snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath: file, Name: config.Name, OutputDataDir: o.Dir, PeerURLs: types.URLs(config.AdvertisePeerUrls).StringSlice(),
		InitialCluster: config.InitialCluster, InitialClusterToken: config.InitialClusterToken,
		RevisionBump: revisionBump, MarkCompacted: true,
	})
	if err != nil {
		return fmt.Errorf("etcd: %s: %w", file, err)
	}
	return nil
}
