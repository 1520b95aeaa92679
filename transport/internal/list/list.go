package list

import "iter"

// List keeps elements in the order in which they were added. The zero value is empty. It is not safe for concurrent use.
type List[T any] struct{ first, last *Link[T] }

// Link is an element's place in a List. The zero value is in no list. An element in several
// lists has one Link for each.
type Link[T any] struct {
	in           *List[T]
	older, newer *Link[T]
	element      T
}

// Add appends an element. Its link must not be in a list.
func (l *List[T]) Add(k *Link[T], element T) {
	*k = Link[T]{in: l, older: l.last, element: element}
	if l.last != nil {
		l.last.newer = k
	} else {
		l.first = k
	}
	l.last = k
}

// Remove removes an element. It does nothing if the link is not in this list.
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

// First returns the oldest element, or the zero value if the list is empty.
func (l *List[T]) First() (element T) {
	if l.first != nil {
		element = l.first.element
	}
	return element
}

// All returns the elements, oldest first. During the iteration, only the current element may be removed.
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
