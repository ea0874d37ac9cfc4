package output

import (
	"slices"
	"strconv"
)

// Marks are where in a document things begin: the elements of large arrays, one every
// 64 KiB, and the members of large objects. A question for $.items[500000] then reads
// 64 KiB and not all that stands before. Offsets are those of the document as
// questions see it, see Document.
type marks struct {
	Places []place `json:"places"`
}

// A place is a large array or object.
type place struct {
	Path   string       `json:"path"` // normalized
	Object bool         `json:"object,omitempty"`
	Offset int64        `json:"offset"`
	End    int64        `json:"end"` // first byte behind it
	Len    int64        `json:"len"`
	Every  []mark       `json:"every,omitempty"` // of an array, ascending; the first element is always there
	Names  []whereabout `json:"names,omitempty"` // of an object all or none
}

type mark struct {
	Index  int64 `json:"i"`
	Offset int64 `json:"o"`
}

// A whereabout says where the value of a member begins.
type whereabout struct {
	Name   string `json:"n"`
	Offset int64  `json:"o"`
}

const (
	// markEvery is how far elements with a mark are apart: reading as much takes less
	// than a tenth of a millisecond.
	markEvery = 64 << 10

	// placeSize is how large an array or object has to be to be a place: one mark.
	placeSize = markEvery

	// placeDepth is how many arrays and objects a place may stand in.
	placeDepth = 3

	// maxPlaces and maxMarked bound the places, and the members of one.
	maxPlaces = 1024
	maxMarked = 256

	// markedParents is up to which element of an array those below may be places: in an
	// array of many, each is small, and looking at all of them costs time.
	markedParents = 4096
)

// at returns the place of a normalized path, or nil. There are few enough to look at.
func (m *marks) at(path string) *place {
	for i := range m.Places {
		if m.Places[i].Path == path {
			return &m.Places[i]
		}
	}
	return nil
}

// before returns the last mark at or before an element.
func (p *place) before(index int64) (mark, bool) {
	i, ok := slices.BinarySearchFunc(p.Every, index, func(m mark, index int64) int {
		switch {
		case m.Index < index:
			return -1
		case m.Index > index:
			return 1
		}
		return 0
	})
	if ok {
		return p.Every[i], true
	}
	if i == 0 {
		return mark{}, false
	}
	return p.Every[i-1], true
}

// offsetOf returns where the value of the only member of the name begins. known is
// false if the document has to be read to know that.
func (p *place) offsetOf(name string) (offset int64, found, known bool) {
	if int64(len(p.Names)) != p.Len {
		return 0, false, false
	}
	for _, n := range p.Names {
		if n.Name != name {
			continue
		}
		if found {
			return 0, false, false // twice: a path selects both
		}
		offset, found = n.Offset, true
	}
	return offset, found, true
}

func indexStep(i int64) string { return "[" + strconv.FormatInt(i, 10) + "]" }
