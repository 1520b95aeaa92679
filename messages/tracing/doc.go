// Package tracing has the spans of what the host does for the control plane: an API call, the placement that it begins, the launch of a
// game session. Spans name their parents as W3C Trace Context does, so that a trace begins with the caller's own. A nil Tracer and a nil
// Span do nothing: a host without a collector pays nothing, and no message of players is ever traced.
package tracing
