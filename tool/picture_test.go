package tool_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/image/bmp"

	"pawl/run"
	"pawl/tool"
	"pawl/tool/tooltest"
)

func TestReadShowsPictures(t *testing.T) {
	t.Parallel()
	// Half of it is black: what is made smaller must have both colours still.
	wide := image.NewGray(image.Rect(0, 0, 6000, 300))
	for x := range 3000 {
		for y := range 300 {
			wide.SetGray(x, y, color.Gray{Y: 255})
		}
	}
	noise := image.NewNRGBA(image.Rect(0, 0, 1100, 1100))
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(noise.Pix)
	palette := image.NewPaletted(image.Rect(0, 0, 2500, 10), color.Palette{color.Black, color.White})
	tooltest.Run(t, tool.Read(),
		tooltest.Case{Name: "a picture that providers take is shown as it is", Files: map[string]string{"a.png": picture(3, 2)}, Args: `{"path":"a.png"}`, Want: []string{"a.png is a PNG image of 3×2 pixels:"},
			Check: shown("image/png", 3, 2, func(t *testing.T, data []byte) {
				if string(data) != picture(3, 2) {
					t.Error("its bytes are others")
				}
			})},
		tooltest.Case{Name: "a WebP picture too", Files: map[string]string{"a": webp}, Args: `{"path":"a"}`, Want: []string{"a is a WebP image of 3×2 pixels:"}, Check: shown("image/webp", 3, 2, nil)},
		tooltest.Case{Name: "a wide one is made smaller", Files: map[string]string{"a.png": encode(png.Encode, wide)}, Args: `{"path":"a.png"}`, Want: []string{"a PNG image of 6000×300 pixels, shown as 2000×100:"},
			Check: shown("image/png", 2000, 100, func(t *testing.T, data []byte) {
				img, _, err := image.Decode(bytes.NewReader(data))
				if err != nil {
					t.Fatal(err)
				}
				if left, right := color.GrayModel.Convert(img.At(500, 50)), color.GrayModel.Convert(img.At(1500, 50)); left != (color.Gray{Y: 255}) || right != (color.Gray{}) {
					t.Errorf("its halves are %v and %v", left, right)
				}
			})},
		tooltest.Case{Name: "a line of pixels stays one", Files: map[string]string{"a.png": picture(8001, 1)}, Args: `{"path":"a.png"}`, Want: []string{"8001×1 pixels, shown as 2000×1:"}, Check: shown("image/png", 2000, 1, nil)},
		tooltest.Case{Name: "a photograph stays a JPEG", Files: map[string]string{"a.jpg": encode(toJPEG, wide)}, Args: `{"path":"a.jpg"}`, Want: []string{"a JPEG image of 6000×300 pixels, shown as 2000×100:"}, Check: shown("image/jpeg", 2000, 100, nil)},
		tooltest.Case{Name: "one of too many bytes becomes a JPEG", Files: map[string]string{"a.png": encode(png.Encode, noise)}, Args: `{"path":"a.png"}`, Want: []string{"1100×1100 pixels, shown as 1100×1100:"}, Check: shown("image/jpeg", 1100, 1100, nil)},
		tooltest.Case{Name: "of a wide GIF the first frame is shown", Files: map[string]string{"a.gif": encode(toGIF, palette)}, Args: `{"path":"a.gif"}`, Want: []string{"a GIF image of 2500×10 pixels, shown as 2000×8, its first frame:"}, Check: shown("image/png", 2000, 8, nil)},
		tooltest.Case{Name: "a BMP, which no provider takes, becomes a PNG", Files: map[string]string{"a.bmp": encode(bmp.Encode, image.NewGray(image.Rect(0, 0, 3, 2)))}, Args: `{"path":"a.bmp"}`, Want: []string{"a BMP image of 3×2 pixels, shown as 3×2:"}, Check: shown("image/png", 3, 2, nil)},
		tooltest.Case{Name: "a text that begins like a BMP is text", Files: map[string]string{"a": "BMW\n"}, Args: `{"path":"a"}`, Want: []string{"BMW"}},
		tooltest.Case{Name: "a TIFF is refused with what it is", Files: map[string]string{"a": "II*\x00\x08\x00"}, Args: `{"path":"a"}`, Wrong: true, Want: []string{"a TIFF image"}},
		tooltest.Case{Name: "a picture that would fill the memory is refused", Files: map[string]string{"a.png": bigPNG(100_000, 100_000)}, Args: `{"path":"a.png"}`, Wrong: true, Want: []string{"100000×100000 pixels: too large to be made smaller here", "at most 2000 pixels a side"}},
		tooltest.Case{Name: "a damaged picture is refused", Files: map[string]string{"a": picture(3, 2)[:20]}, Args: `{"path":"a"}`, Wrong: true, Want: []string{"a begins like a PNG image but is damaged"}},
		tooltest.Case{Name: "one whose end is lost too, when it has to be made smaller", Files: map[string]string{"a": picture(3000, 2)[:60]}, Args: `{"path":"a"}`, Wrong: true, Want: []string{"cannot be made smaller here"}},
	)
}

func TestWhatIsReadAsAWholeIsBounded(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"a.png": picture(3, 2), "a.pdf": "%PDF-1.7\n", "a.ipynb": "{" + strings.Repeat("\n", 9000)} {
		env := tooltest.NewEnv(t, map[string]string{name: content})
		if err := os.Truncate(filepath.Join(env.Workspace, name), 33<<20); err != nil {
			t.Fatal(err)
		}
		r := call(t, env, tool.Read(), map[string]any{"path": name})
		if got := run.PlainText(r.Content); !r.IsError || !strings.Contains(got, "34.6 MB; at most 33.6 MB can be read") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// webp is a picture of 3×2 pixels.
const webp = "RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x02\x40\x00\x00\x00\x00\x00\x00\x00"

// shown checks that the result has a picture, and more of it if more is not nil.
func shown(media string, w, h int, more func(*testing.T, []byte)) func(*testing.T, tool.Env, tool.Result) {
	return func(t *testing.T, _ tool.Env, r tool.Result) {
		t.Helper()
		if len(r.Content) != 2 || r.Content[1].Type != run.ImagePart {
			t.Fatalf("the content is no image block: %+v", r.Content)
		}
		img := r.Content[1].Image
		c, _, err := image.DecodeConfig(bytes.NewReader(img.Data))
		if err != nil || img.MediaType != media || c.Width != w || c.Height != h || len(img.Data) > 5<<20/4*3 {
			t.Errorf("got %s of %d×%d pixels, %d bytes (%v); want %s of %d×%d", img.MediaType, c.Width, c.Height, len(img.Data), err, media, w, h)
		}
		if more != nil {
			more(t, img.Data)
		}
	}
}

// picture returns a PNG.
func picture(w, h int) string { return encode(png.Encode, image.NewGray(image.Rect(0, 0, w, h))) }

// encode writes a picture.
func encode(write func(io.Writer, image.Image) error, img image.Image) string {
	var b bytes.Buffer
	if err := write(&b, img); err != nil {
		panic(err)
	}
	return b.String()
}

func toJPEG(w io.Writer, img image.Image) error { return jpeg.Encode(w, img, nil) }
func toGIF(w io.Writer, img image.Image) error  { return gif.Encode(w, img, nil) }

// bigPNG returns the beginning of a PNG: what its size is, and nothing of it.
func bigPNG(w, h uint32) string {
	b := []byte(picture(1, 1))
	binary.BigEndian.PutUint32(b[16:], w)
	binary.BigEndian.PutUint32(b[20:], h)
	binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))
	return string(b)
}
