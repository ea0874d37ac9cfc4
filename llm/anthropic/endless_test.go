package anthropic

import (
	"io"
	"strings"
	"testing"
)

// chatter begins an answer and never ends it.
type chatter struct{ next *strings.Reader }

const chatterBegin = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[],\"usage\":{}}}\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"

var chatterGoesOn = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"" +
	strings.Repeat("and on ", 50_000) + "\"}}\n\n"

func (c *chatter) Read(p []byte) (int, error) {
	n, err := c.next.Read(p)
	if err == io.EOF {
		c.next.Reset(chatterGoesOn)
		return c.next.Read(p)
	}
	return n, err
}

func TestAnAnswerWithoutEndIsGivenUpAndNotAskedForAgain(t *testing.T) {
	t.Parallel()
	u := DecodeRecording(&chatter{strings.NewReader(chatterBegin)})
	if u.ErrorKind != "invalid" {
		t.Errorf("error kind %q, want invalid: trying again would bring as much", u.ErrorKind)
	}
}
