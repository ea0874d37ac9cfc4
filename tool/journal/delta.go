package journal

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// A delta describes a content by another one, the base: the base's hash and then, until
// its end, pieces of
//
//	length      of bytes that follow here
//	bytes
//	length      of bytes copied from the base
//	offset      of those in the base
//
// with the numbers as in encoding/binary.AppendUvarint. The whole is compressed.

// hashLength is the length of a content's hash in hexadecimal.
const hashLength = 64

// encodeDelta returns content as a delta to base, whose hash is given.
//
// Common beginnings and ends are found first. In between, both are cut into chunks where a
// hash of the last 64 bytes has a certain form, so equal stretches of text are cut at the
// same bytes wherever they stand; a chunk that the base has too is extended in both
// directions as far as they agree.
func encodeDelta(hash string, base, content []byte) []byte {
	out := append(make([]byte, 0, 4<<10), hash...)
	copyFrom := func(literal []byte, offset, length int) {
		out = binary.AppendUvarint(out, uint64(len(literal)))
		out = append(out, literal...)
		out = binary.AppendUvarint(out, uint64(length))
		out = binary.AppendUvarint(out, uint64(offset))
	}
	start := commonPrefix(base, content)
	end := commonSuffix(base[start:], content[start:])
	copyFrom(nil, 0, start)
	middle := content[start : len(content)-end]
	chunks := map[uint64]int{} // offset in base, by hash
	for from, to := range chunked(base) {
		chunks[checksum(base[from:to])] = from
	}
	done := 0 // of middle
	for next := 0; next < len(middle); {
		length := chunkEnd(middle[next:])
		at, ok := chunks[checksum(middle[next:next+length])]
		if !ok || !bytes.HasPrefix(base[at:], middle[next:next+length]) {
			next += length
			continue
		}
		back := commonSuffix(base[:at], middle[done:next])
		length += commonPrefix(base[at+length:], middle[next+length:])
		copyFrom(middle[done:next-back], at-back, back+length)
		next += length
		done = next
	}
	copyFrom(middle[done:], len(base)-end, end)
	return out
}

// splitDelta returns the hash of a delta's base, and the pieces.
func splitDelta(delta []byte) (base string, pieces []byte, err error) {
	if len(delta) < hashLength {
		return "", nil, errDamaged
	}
	return string(delta[:hashLength]), delta[hashLength:], nil
}

// applyDelta returns the content that pieces describe.
func applyDelta(base, pieces []byte) ([]byte, error) {
	content := make([]byte, 0, len(base)+len(pieces))
	number := func() int {
		n, size := binary.Uvarint(pieces)
		if size <= 0 || n > maxContent {
			return -1
		}
		pieces = pieces[size:]
		return int(n)
	}
	for len(pieces) > 0 {
		literal := number()
		if literal < 0 || literal > len(pieces) {
			return nil, errDamaged
		}
		content = append(content, pieces[:literal]...)
		pieces = pieces[literal:]
		length, offset := number(), number()
		if length < 0 || offset < 0 || offset+length > len(base) || len(content)+length > maxContent {
			return nil, errDamaged
		}
		content = append(content, base[offset:offset+length]...)
	}
	return content, nil
}

// chunked yields where the chunks of b begin and end.
func chunked(b []byte) func(yield func(from, to int) bool) {
	return func(yield func(from, to int) bool) {
		for from := 0; from < len(b); {
			to := from + chunkEnd(b[from:])
			if !yield(from, to) {
				return
			}
			from = to
		}
	}
}

// chunkMask makes chunks of 1 KB on average in text without repetitions; maxChunk bounds
// those of bytes that never match it, such as zeros.
const (
	chunkMask = 1<<10 - 1
	maxChunk  = 16 << 10
)

// chunkEnd returns where the chunk that b begins with ends. It is the gear hash of
// FastCDC (Xia et al., USENIX ATC 2016): each byte is shifted out after 64 more.
func chunkEnd(b []byte) int {
	var h uint64
	for i, c := range b[:min(len(b), maxChunk)] {
		h = h<<1 + gear[c]
		if h>>(64-10)&chunkMask == 0 {
			return i + 1
		}
	}
	return min(len(b), maxChunk)
}

// gear has a random number for each byte: those of SplitMix64, from 1.
var gear = func() (numbers [256]uint64) {
	for i := range numbers {
		z := uint64(i+1) * 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		numbers[i] = z ^ z>>31
	}
	return numbers
}()

// checksum is a hash of a chunk. Equal ones are compared byte by byte.
func checksum(b []byte) uint64 {
	h := uint64(len(b))
	for ; len(b) >= 8; b = b[8:] {
		h = bits.RotateLeft64(h^binary.LittleEndian.Uint64(b), 29) * 0x9e3779b97f4a7c15
	}
	for _, c := range b {
		h = bits.RotateLeft64(h^uint64(c), 29) * 0x9e3779b97f4a7c15
	}
	return h
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n && binary.LittleEndian.Uint64(a[i:]) == binary.LittleEndian.Uint64(b[i:]); i += 8 {
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

func commonSuffix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n && binary.LittleEndian.Uint64(a[len(a)-i-8:]) == binary.LittleEndian.Uint64(b[len(b)-i-8:]); i += 8 {
	}
	for i < n && a[len(a)-i-1] == b[len(b)-i-1] {
		i++
	}
	return i
}
