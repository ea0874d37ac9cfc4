package tool

import (
	"bytes"
	"encoding/binary"
	"image"
	_ "image/gif" // DecodeConfig knows a format when its package is there
	_ "image/jpeg"
	_ "image/png"
	"path"
	"strings"
)

// sniffed is how much of a file's beginning tells what it is; a NUL byte in it
// makes it binary. Git looks at the same 8,000 bytes (FIRST_FEW_BYTES in its
// xdiff-interface.c).
const sniffed = 8000

// kindOf says what a file is, by its beginning, in words; the empty string is
// text. media is set for the images that can be shown.
func kindOf(name string, head []byte) (kind, media string) {
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return m.kind, m.media
		}
	}
	if len(head) >= 12 && string(head[:4]) == "RIFF" {
		if string(head[8:12]) == "WEBP" {
			return "a WebP image", "image/webp"
		}
		return "sound or video (RIFF)", ""
	}
	switch strings.ToLower(path.Ext(name)) {
	case ".ipynb":
		return notebook, ""
	}
	if !isBinary(head) {
		return "", ""
	}
	// These could begin a text as well.
	switch {
	case bytes.HasPrefix(head, []byte("BZh")):
		return "bzip2-compressed", ""
	case bytes.HasPrefix(head, []byte("OggS")), bytes.HasPrefix(head, []byte("ID3")), bytes.HasPrefix(head, []byte("fLaC")):
		return "sound or video", ""
	}
	return "a binary file", ""
}

const (
	pdf      = "a PDF document"
	notebook = "a Jupyter notebook"
	utf16    = "text in UTF-16"
)

// magics are the first bytes of files that are met in workspaces and are no
// text: libmagic's names for them, in plainer words.
var magics = []struct{ magic, kind, media string }{
	{"\x89PNG\r\n\x1a\n", "a PNG image", "image/png"},
	{"\xff\xd8\xff", "a JPEG image", "image/jpeg"},
	{"GIF87a", "a GIF image", "image/gif"},
	{"GIF89a", "a GIF image", "image/gif"},
	{"%PDF-", pdf, ""},
	{"\xff\xfe", utf16, ""},
	{"\xfe\xff", utf16, ""},
	{"\x7fELF", "a program or library (ELF)", ""},
	{"\xcf\xfa\xed\xfe", "a program or library (Mach-O)", ""},
	{"\xca\xfe\xba\xbe", "a program (Mach-O or a Java class)", ""},
	{"\x00asm", "a WebAssembly module", ""},
	{"PK\x03\x04", "a zip archive (or a document made as one)", ""},
	{"\x1f\x8b", "gzip-compressed", ""},
	{"\xfd7zXZ\x00", "xz-compressed", ""},
	{"\x28\xb5\x2f\xfd", "zstd-compressed", ""},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive", ""},
	{"SQLite format 3\x00", "an SQLite database", ""},
	{"\x00\x00\x01\x00", "an icon", ""},
}

// isBinary reports whether a file that begins so is no text.
func isBinary(head []byte) bool {
	return bytes.IndexByte(head[:min(len(head), sniffed)], 0) >= 0
}

// dimensions returns the width and height of an image in pixels; ok is false
// when it is damaged. The formats of the standard library are read by it, and
// WebP's header here (RFC 9649).
func dimensions(media string, content []byte) (w, h int, ok bool) {
	if media != "image/webp" {
		c, _, err := image.DecodeConfig(bytes.NewReader(content))
		return c.Width, c.Height, err == nil && c.Width > 0 && c.Height > 0
	}
	if len(content) < 30 {
		return 0, 0, false
	}
	b := content[12:]
	u24 := func(i int) int { return int(b[i]) | int(b[i+1])<<8 | int(b[i+2])<<16 }
	switch string(b[:4]) {
	case "VP8 ": // lossy: a key frame's start code, then 14 bits each
		if string(b[11:14]) != "\x9d\x01\x2a" {
			return 0, 0, false
		}
		w, h = int(binary.LittleEndian.Uint16(b[14:]))&0x3fff, int(binary.LittleEndian.Uint16(b[16:]))&0x3fff
	case "VP8L": // lossless: a signature byte, then 14 bits each, less one
		if b[8] != 0x2f {
			return 0, 0, false
		}
		bits := binary.LittleEndian.Uint32(b[9:])
		w, h = int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1
	case "VP8X": // extended: flags, then 24 bits each, less one
		w, h = u24(12)+1, u24(15)+1
	}
	return w, h, w > 0 && h > 0
}
