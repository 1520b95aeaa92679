// Package otlp sends the spans of package tracing to a collector, by OTLP over HTTP (OpenTelemetry protocol 1.x, binary protobuf to
// /v1/traces). Spans wait in a queue with a bound; those that find it full, and those that the collector does not take, are dropped and counted.
// So a collector that is slow or down costs the host a bounded amount of memory, and delays nothing but by closeMax its end.
package otlp
