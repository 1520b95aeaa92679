package member

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/rs/zerolog"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// core writes etcd's log messages of level warn and above to the log of the process.
type core struct {
	log     zerolog.Logger
	closing *atomic.Bool // set when the member is closing; its listeners then report errors
	fields  []zapcore.Field
}

// logger returns the log of a member, and a flag that must be set before the member closes.
func logger(log zerolog.Logger) (*zap.Logger, *atomic.Bool) {
	closing := new(atomic.Bool)
	return zap.New(core{log: log, closing: closing}), closing
}

// silenced are messages without useful information. The first two appear at every start: one port is enough, because
// nodes have a separate connection for watches. A new member says the third one until its first snapshot. The last one
// repeats the error of Start.
var silenced = []string{
	"Running http and grpc server on single port. This is not recommended for production.", "simple token is not cryptographically signed",
	"failed to update storage version", "bootstrap failed",
}

// Enabled implements zapcore.Core.
func (c core) Enabled(l zapcore.Level) bool { return l >= zapcore.WarnLevel }

// With implements zapcore.Core.
func (c core) With(fields []zapcore.Field) zapcore.Core {
	return core{c.log, c.closing, append(c.fields[:len(c.fields):len(c.fields)], fields...)}
}

// Check implements zapcore.Core.
func (c core) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !c.Enabled(e.Level) || slices.Contains(silenced, e.Message) || c.closing.Load() && !strings.HasPrefix(e.Message, "leadership") {
		return checked
	}
	return checked.AddCore(e, c)
}

// Write implements zapcore.Core.
func (c core) Write(e zapcore.Entry, fields []zapcore.Field) error {
	values := zapcore.NewMapObjectEncoder()
	for _, f := range append(c.fields[:len(c.fields):len(c.fields)], fields...) {
		f.AddTo(values)
	}
	level := zerolog.WarnLevel
	if e.Level > zapcore.WarnLevel {
		level = zerolog.ErrorLevel
	}
	c.log.WithLevel(level).Fields(values.Fields).Msg("etcd: " + e.Message)
	return nil
}

// Sync implements zapcore.Core.
func (c core) Sync() error { return nil }
