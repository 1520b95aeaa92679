package member

import (
	"github.com/rs/zerolog"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// core passes etcd's log messages, from level warn on, to the log of the process.
type core struct {
	log    zerolog.Logger
	fields []zapcore.Field
}

func logger(log zerolog.Logger) *zap.Logger { return zap.New(core{log: log}) }

// Enabled implements zapcore.Core.
func (c core) Enabled(l zapcore.Level) bool { return l >= zapcore.WarnLevel }

// With implements zapcore.Core.
func (c core) With(fields []zapcore.Field) zapcore.Core {
	return core{c.log, append(c.fields[:len(c.fields):len(c.fields)], fields...)}
}

// Check implements zapcore.Core.
func (c core) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return checked.AddCore(e, c)
	}
	return checked
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
