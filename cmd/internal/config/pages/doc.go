// Package pages generates two files from the configuration's structs in transport/host: docs/configuration.md, and the
// JSON schema that `troupe config schema` prints.
package pages
