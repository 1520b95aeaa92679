// Package reach turns errors of calls to a host's service API into a single line that gives the address and the cause.
// The text of the AWS SDK takes five lines.
package reach
