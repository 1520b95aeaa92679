// Package reach says in one line why a host's service API could not be called, or what
// it answered: the SDK says it in five.
package reach
