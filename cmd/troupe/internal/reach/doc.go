// Package reach explains errors of calls to a host's service API in one line, which names
// the address and the cause. The AWS SDK's own text takes five lines.
package reach
