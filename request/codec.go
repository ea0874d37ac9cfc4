package request

import (
	"encoding/json"
	"errors"
	"fmt"
)

// A kind is the name of a type of requests, in the column kind of the inbox. The names stay for ever.
type kind string

const (
	say       kind = "say"
	goOn      kind = "continue"
	answer    kind = "answer"
	withdraw  kind = "withdraw"
	configure kind = "configure"
	decide    kind = "decide"
	interrupt kind = "interrupt"
	call      kind = "call"
)

func (Say) kind() kind       { return say }
func (Continue) kind() kind  { return goOn }
func (Answer) kind() kind    { return answer }
func (Withdraw) kind() kind  { return withdraw }
func (Configure) kind() kind { return configure }
func (Decide) kind() kind    { return decide }
func (Interrupt) kind() kind { return interrupt }
func (Call) kind() kind      { return call }

var decoders = map[kind]func(payload []byte) (Request, error){
	say: decoded[Say], goOn: decoded[Continue], answer: decoded[Answer], withdraw: decoded[Withdraw],
	configure: decoded[Configure], decide: decoded[Decide], interrupt: decoded[Interrupt], call: decoded[Call],
}

func decoded[R Request](payload []byte) (Request, error) {
	var r R
	err := json.Unmarshal(payload, &r)
	return r, err
}

// ErrUnknown says that a request is of a kind that this version of pawl does not know.
var ErrUnknown = errors.New("a request of an unknown kind")

// Encode returns a request as a row of the inbox has it: its kind, and the rest as a JSON object.
func Encode(r Request) (kind, payload string, err error) {
	b, err := json.Marshal(r)
	if err != nil {
		return "", "", fmt.Errorf("encode a request (%s): %w", r.kind(), err)
	}
	return string(r.kind()), string(b), nil
}

// Decode returns the request of a row. The error is [ErrUnknown], or says why the payload is none of
// its kind.
func Decode(name, payload string) (Request, error) {
	decode := decoders[kind(name)]
	if decode == nil {
		return nil, fmt.Errorf("%w: %q", ErrUnknown, name)
	}
	r, err := decode([]byte(payload))
	if err != nil {
		return nil, fmt.Errorf("decode a request (%s): %w", name, err)
	}
	return r, nil
}
