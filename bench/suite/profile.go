package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"troupe/bench/server"
)

// profiling is the fetching of profiles that is under way.
type profiling struct {
	wg sync.WaitGroup

	mu  sync.Mutex
	err error // guarded by mu
}

// goProfile fetches the profiles of what a host does from now on for a while, if this measurement is the one to be profiled.
// The caller waits for them.
func (r *run) goProfile(ctx context.Context, proc *server.Process, length time.Duration) *profiling {
	p := new(profiling)
	if !r.profile || proc.Spec.Kind != server.Troupe {
		return p
	}
	seconds := max(1, int(length.Seconds()))
	for name, page := range map[string]string{
		"cpu":   fmt.Sprintf("profile?seconds=%d", seconds),
		"heap":  "heap",
		"block": fmt.Sprintf("block?seconds=%d", seconds),
	} {
		file := fmt.Sprintf("%s-%s-%s.pprof", r.w.Name, fileName(r.now), name)
		p.wg.Go(func() {
			err := ctx.Err()
			if page == "heap" { // what is in use when the load has lasted
				err = rest(ctx, length)
			}
			if err == nil {
				err = save(ctx, proc, page, filepath.Join(r.o.ProfileDir, file))
			}
			if err != nil {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.err = errors.Join(p.err, err)
				return
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			if !slices.Contains(r.profiles, file) {
				r.profiles = append(r.profiles, file)
			}
		})
	}
	return p
}

// goProfileMeasured is goProfile of the measured part itself. It costs the host something: figures of that round are higher.
func (r *run) goProfileMeasured(ctx context.Context, proc *server.Process, length time.Duration) *profiling {
	if r.profile && !r.apart && proc.Spec.Kind == server.Troupe {
		r.warn("the last round was profiled, which costs the host CPU, memory and allocations")
	}
	return r.goProfile(ctx, proc, length)
}

func save(ctx context.Context, proc *server.Process, page, path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("store profile: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return proc.Profile(ctx, page, f)
}

// wait returns when all are there.
func (p *profiling) wait() error {
	p.wg.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
