// Package progress shows how a long run goes: on a terminal one line that is drawn over and over, with a bar, the time that
// is left and figures of the moment; elsewhere a plain line when a part begins or ends. It knows nothing of what runs.
package progress
