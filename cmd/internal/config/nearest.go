package config

import "strings"

// nearest returns the candidate that the user most likely meant. It prefers a candidate with the same last part or one
// inside the named section, and otherwise the smallest edit distance. On a tie it returns the first.
func nearest(name string, candidates []string) string {
	lower := strings.ToLower(name)
	best, least := "", 0
	for _, c := range candidates {
		d := distance(lower, strings.ToLower(c))
		if strings.EqualFold(lastPart(c), lastPart(name)) || inside(strings.ToLower(c), lower) {
			d -= len(lower) + len(c)
		}
		if best == "" || d < least {
			best, least = c, d
		}
	}
	return best
}

func inside(key, section string) bool {
	rest, ok := strings.CutPrefix(key, section)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '_')
}

func lastPart(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

// nameBytesMax truncates very long names, to bound the work.
const nameBytesMax = 128

// distance returns the Levenshtein distance.
func distance(a, b string) int {
	a, b = a[:min(len(a), nameBytesMax)], b[:min(len(b), nameBytesMax)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
