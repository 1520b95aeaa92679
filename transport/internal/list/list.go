package list

import "iter"

// List keeps elements in the order in which they were added. The zero value is empty. Not safe for concurrent use.
type List[T any] struct{ first, last *Link[T] }

// Link is an element's place in a List. The zero value is in none. An element that is in
// several lists has a Link for each.
type Link[T any] struct {
	in           *List[T]
	older, newer *Link[T]
	element      T
}

// Add puts an element at the end. Its link must not be in a list.
func (l *List[T]) Add(k *Link[T], element T) {
	*k = Link[T]{in: l, older: l.last, element: element}
	if l.last != nil {
		l.last.newer = k
	} else {
		l.first = k
	}
	l.last = k
}

// Remove takes an element out. It does nothing if the link is not in the list.
func (l *List[T]) Remove(k *Link[T]) {
	if k.in != l {
		return
	}
	if k.older != nil {
		k.older.newer = k.newer
	} else {
		l.first = k.newer
	}
	if k.newer != nil {
		k.newer.older = k.older
	} else {
		l.last = k.older
	}
	*k = Link[T]{}
}

// First returns the element that has been in the list for the longest, the zero value if there is none.
func (l *List[T]) First() (element T) {
	if l.first != nil {
		element = l.first.element
	}
	return element
}

// All returns the elements, oldest first. Only the one in hand may be removed meanwhile.
func (l *List[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for k := l.first; k != nil; {
			next := k.newer
			if !yield(k.element) {
				return
			}
			k = next
		}
	}
}
