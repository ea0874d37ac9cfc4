package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"

	"pawl/run"
)

const (
	// maxImage is in bytes as they are in the file. The Anthropic API takes images
	// of up to 5 MB of base64, which is 4/3 of that, and up to 8,000 pixels a side
	// (platform.claude.com/docs/en/build-with-claude/vision, general limits, as
	// quoted by others; read 2026-11-20). An image that is refused there would make
	// every later request of the run fail.
	maxImage = 5 << 20 / 4 * 3
	// maxPixels a side are taken when a request has more than 20 images, as that of
	// a long run has ("exceed max allowed size for many-image requests: 2000
	// pixels", github.com/anomalyco/opencode/issues/12068, read 2026-11-20). Models
	// see no more of larger ones: they are made smaller there too.
	maxPixels = 2000
	// maxDecoded is how many pixels are unpacked in order to make an image smaller:
	// 128 MB for most, four times that for a progressive JPEG at its worst.
	maxDecoded = 32 << 20
)

// Picture returns a picture that is given by its content as providers take it, made smaller
// when it has to be: what the tool read makes of it, with what it says of it. name is what
// errors call it; they are sentences.
func Picture(ctx context.Context, name string, content []byte) ([]run.Part, error) {
	kind, media := kindOf(name, content[:min(len(content), sniffed)])
	if media == "" {
		if kind == "" {
			kind = "text"
		}
		return nil, tell("%s is %s, and not a picture that can be shown: PNG, JPEG, GIF or WebP.", name, kind)
	}
	img, says, err := picture(ctx, name, media, content)
	if err != nil {
		return nil, err
	}
	return []run.Part{run.Text(fmt.Sprintf("%s is %s:", name, says)), {Type: run.ImagePart, Image: img}}, nil
}

// MaxPicture is how large the file of a picture may be, in bytes.
const MaxPicture = maxFile

// picture returns an image of one of kindNames as providers take it, made smaller
// when it has to be, and says what it is. The error is a sentence about name.
func picture(ctx context.Context, name, media string, content []byte) (*run.Image, string, error) {
	kind := kindNames[media]
	w, h, ok := dimensions(content)
	if !ok {
		return nil, "", tell("%s begins like %s but is damaged: it cannot be shown.", name, kind)
	}
	says := fmt.Sprintf("%s of %d×%d pixels", kind, w, h)
	if w <= maxPixels && h <= maxPixels && len(content) <= maxImage && media != bmp {
		return &run.Image{MediaType: media, Data: content}, says, nil
	}
	if w*h > maxDecoded {
		return nil, "", tell("%s is %s: too large to be made smaller here. Make it smaller with the shell; at most %d pixels a side are shown.", name, says, maxPixels)
	}
	select {
	case heavy <- struct{}{}:
		defer func() { <-heavy }()
	case <-ctx.Done():
		return nil, "", errors.New("stopped before it showed " + name)
	}
	img, _, err := image.Decode(bytes.NewReader(content))
	if err != nil {
		return nil, "", tell("%s is %s that cannot be made smaller here (%v), and at most %d pixels a side and %s are shown.", name, says, err, maxPixels, size(maxImage))
	}
	small, err := encodePicture(shrink(img), media)
	if err != nil {
		return nil, "", tell("%s is %s, and cannot be made small enough to be shown: %v.", name, says, err)
	}
	sw, sh, _ := dimensions(small.Data)
	says += fmt.Sprintf(", shown as %d×%d", sw, sh)
	if media == "image/gif" {
		says += ", its first frame"
	}
	return small, says, nil
}

// shrink returns an image of at most maxPixels a side. Each of its pixels is the mean of those
// that it stands for, so that fine lines stay.
func shrink(img image.Image) image.Image {
	from := img.Bounds()
	longer := max(from.Dx(), from.Dy())
	if longer <= maxPixels {
		return img
	}
	w, h := max(1, from.Dx()*maxPixels/longer), max(1, from.Dy()*maxPixels/longer)
	smaller := image.NewRGBA(image.Rect(0, 0, w, h))
	row, sums := image.NewRGBA(image.Rect(0, 0, from.Dx(), 1)), make([]int, 4*w)
	for y := range h {
		clear(sums)
		top, bottom := y*from.Dy()/h, (y+1)*from.Dy()/h
		for line := top; line < bottom; line++ {
			draw.Draw(row, row.Bounds(), img, image.Pt(from.Min.X, from.Min.Y+line), draw.Src)
			for x := range w {
				for i := 4 * (x * from.Dx() / w); i < 4*((x+1)*from.Dx()/w); i++ {
					sums[4*x+i%4] += int(row.Pix[i])
				}
			}
		}
		for i, sum := range sums {
			x := i / 4
			smaller.Pix[y*smaller.Stride+i] = uint8(sum / ((bottom - top) * ((x+1)*from.Dx()/w - x*from.Dx()/w)))
		}
	}
	return smaller
}

// encodePicture writes an image: as JPEG when it was one, else as PNG, and as JPEG
// on white when that is too large.
func encodePicture(img image.Image, media string) (*run.Image, error) {
	var b bytes.Buffer
	if media != "image/jpeg" {
		if err := png.Encode(&b, img); err != nil {
			return nil, err
		}
		if b.Len() <= maxImage {
			return &run.Image{MediaType: "image/png", Data: b.Bytes()}, nil
		}
		opaque := image.NewRGBA(image.Rectangle{Max: img.Bounds().Size()})
		draw.Draw(opaque, opaque.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
		draw.Draw(opaque, opaque.Bounds(), img, img.Bounds().Min, draw.Over)
		img = opaque
	}
	for _, quality := range []int{85, 60, 30} {
		b.Reset()
		if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}); err != nil {
			return nil, err
		}
		if b.Len() <= maxImage {
			return &run.Image{MediaType: "image/jpeg", Data: b.Bytes()}, nil
		}
	}
	return nil, fmt.Errorf("it has more than %s", size(maxImage))
}
