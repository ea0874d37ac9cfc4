package tool

import (
	"bytes"
	"image"
	_ "image/gif" // package image knows a format when its package is there
	_ "image/jpeg"
	_ "image/png"
	"path"
	"strings"

	_ "golang.org/x/image/bmp"
	_ "golang.org/x/image/webp"
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
			return kindNames["image/webp"], "image/webp"
		}
		return "sound or video (RIFF)", ""
	}
	if !isBinary(head) {
		if strings.EqualFold(path.Ext(name), ".ipynb") {
			return notebook, ""
		}
		return "", ""
	}
	// These could begin a text as well.
	switch {
	case bytes.HasPrefix(head, []byte("BM")):
		return kindNames[bmp], bmp
	case bytes.HasPrefix(head, []byte("BZh")):
		return "bzip2-compressed", ""
	case bytes.HasPrefix(head, []byte("OggS")), bytes.HasPrefix(head, []byte("ID3")), bytes.HasPrefix(head, []byte("fLaC")):
		return "sound or video", ""
	}
	return "a binary file", ""
}

const (
	pdfDocument = "a PDF document"
	notebook    = "a Jupyter notebook"
	utf16       = "text in UTF-16"

	bmp = "image/bmp"
)

// kindNames are the images that can be shown, by media type. No provider takes
// BMP: it is shown as PNG.
var kindNames = map[string]string{
	"image/png": "a PNG image", "image/jpeg": "a JPEG image", "image/gif": "a GIF image", "image/webp": "a WebP image", bmp: "a BMP image",
}

// magics are the first bytes of files that are met in workspaces and are no
// text: libmagic's names for them, in plainer words.
var magics = []struct{ magic, kind, media string }{
	{"\x89PNG\r\n\x1a\n", "a PNG image", "image/png"},
	{"\xff\xd8\xff", "a JPEG image", "image/jpeg"},
	{"GIF87a", "a GIF image", "image/gif"},
	{"GIF89a", "a GIF image", "image/gif"},
	{"%PDF-", pdfDocument, ""},
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
	{"II*\x00", "a TIFF image", ""},
	{"MM\x00*", "a TIFF image", ""},
}

// isBinary reports whether a file that begins so is no text.
func isBinary(head []byte) bool {
	return bytes.IndexByte(head[:min(len(head), sniffed)], 0) >= 0
}

// dimensions returns the width and height of an image in pixels; ok is false
// when it is damaged.
func dimensions(content []byte) (w, h int, ok bool) {
	c, _, err := image.DecodeConfig(bytes.NewReader(content))
	return c.Width, c.Height, err == nil && c.Width > 0 && c.Height > 0
}
