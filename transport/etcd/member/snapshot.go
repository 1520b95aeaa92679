package member

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
)

// Source is the member from which a snapshot is taken.
type Source struct {
	Endpoint       string // URL for clients
	TLS            TLS    // used if Endpoint is https
	User, Password string
}

// answerTime is the maximum time until a member gives its first answer.
const answerTime = 10 * time.Second

// Save writes a snapshot to a new file. Until the snapshot is complete, the file has the suffix ".part". Save returns
// the version of etcd that runs at the source.
func Save(ctx context.Context, from Source, file string) (version string, err error) {
	if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("etcd: %s is there already: give another file", file)
	}
	config := clientv3.Config{Endpoints: []string{from.Endpoint}, Username: from.User, Password: from.Password, Logger: zap.NewNop(), DialTimeout: answerTime}
	if strings.HasPrefix(from.Endpoint, "https:") {
		if config.TLS, err = from.TLS.info().ClientConfig(); err != nil {
			return "", fmt.Errorf("etcd: %w", err)
		}
	}
	err = answers(ctx, config)
	if config.TLS != nil && from.TLS.Cert == "" && errors.Is(err, context.DeadlineExceeded) {
		return "", fmt.Errorf("etcd: %s does not answer without a certificate: %w", from.Endpoint, err)
	} else if err != nil {
		return "", fmt.Errorf("etcd: %s does not answer: %w", from.Endpoint, err)
	}
	if version, err = snapshot.NewV3(zap.NewNop()).Save(ctx, config, file); err != nil {
		return "", fmt.Errorf("etcd: %s: %w", from.Endpoint, err)
	}
	return version, syncDir(filepath.Dir(file))
}

// answers checks whether a member answers, and returns the reason if it does not. A request for a snapshot would wait
// until the member answers.
func answers(ctx context.Context, config clientv3.Config) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	at, err := url.Parse(config.Endpoints[0])
	if err != nil {
		return err
	}
	dial := new(net.Dialer).DialContext // its error gives the reason that etcd's client hides
	if config.TLS != nil {
		dial = (&tls.Dialer{Config: config.TLS}).DialContext
	}
	conn, err := dial(ctx, "tcp", at.Host)
	if err != nil {
		return err
	}
	_ = conn.Close()
	client, err := clientv3.New(config)
	if err != nil {
		return err
	}
	_, err = client.Status(ctx, config.Endpoints[0])
	return errors.Join(err, client.Close())
}

// syncDir makes the names in a directory durable.
func syncDir(dir string) error {
	f, err := fileutil.OpenDir(dir)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	return errors.Join(fileutil.Fsync(f), f.Close())
}

// revisionBump is added to the revision of a restored member. The result is higher than any revision that a
// node has seen.
const revisionBump = 1_000_000_000

// Restore creates a member's directory from a snapshot. The directory must not exist. o must be the options
// with which the member will be started. Watches that began before the snapshot must be restarted.
func Restore(o Options, file string) error {
	if err := o.restore(file); err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	return nil
}

func (o Options) restore(file string) error {
	config, err := o.config()
	if err != nil {
		return err
	}
	dir := filepath.Clean(o.Dir)
	if found, err := os.ReadDir(dir); len(found) > 0 {
		return fmt.Errorf("%s is not empty: give a directory that does not exist, or move this one away", dir)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	part := dir + ".part"
	defer os.RemoveAll(part)
	if err := os.RemoveAll(part); err != nil { // left by an attempt that was killed
		return err
	}
	err = snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath: file, Name: config.Name, OutputDataDir: part, PeerURLs: types.URLs(config.AdvertisePeerUrls).StringSlice(),
		InitialCluster: config.InitialCluster, InitialClusterToken: config.InitialClusterToken,
		RevisionBump: revisionBump, MarkCompacted: true,
	})
	if err != nil {
		return fmt.Errorf("%s is no snapshot, or it is damaged: %w", file, err)
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(part, dir); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}
