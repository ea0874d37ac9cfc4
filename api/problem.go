package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"pawl/agent"
	"pawl/app"
	"pawl/board"
	"pawl/config"
	"pawl/gitcopy"
	"pawl/inbox"
	"pawl/internal/stable"
	"pawl/internal/text"
	"pawl/request"
	"pawl/runlog"
	"pawl/store"
	"pawl/task"
	"pawl/tasklog"
	"pawl/worker"
)

// A Problem is an error as a response: application/problem+json.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"` // of the status
	Status int    `json:"status"`
	// Code is for a program to switch on.
	Code string `json:"code"`
	// Message is a sentence for a person.
	Message string         `json:"error"`
	Errors  []FieldProblem `json:"errors,omitempty"`
	Request string         `json:"request_id"`

	// AcceptedAt and SamePayload are of code output_already_submitted: when the result that
	// counts was accepted, and whether this one is equal to it.
	AcceptedAt  *time.Time `json:"accepted_at,omitempty"`
	SamePayload *bool      `json:"same_payload,omitempty"`

	header http.Header
}

// A FieldProblem says what is wrong with one field of a request.
type FieldProblem struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

func (p *Problem) Error() string { return p.Message }

const problemType = "application/problem+json"

// Codes of problems that no package below gives.
const (
	codeNotFound = "NOT_FOUND"
	codeInput    = "INVALID_INPUT"
)

func notFound(message string) *Problem {
	return &Problem{Status: http.StatusNotFound, Code: codeNotFound, Message: message}
}

// invalid returns the problem of a field.
func invalid(field, message string) *Problem {
	return &Problem{Status: http.StatusUnprocessableEntity, Code: codeInput, Message: field + ": " + message, Errors: []FieldProblem{{field, message}}}
}

// problemOf returns an error of package app as a response. One that it does not know is nil.
func problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	code, message := "", err.Error()
	if c, ok := errors.AsType[interface {
		error
		Code() string
	}](err); ok {
		code = c.Code()
	}
	of := func(status int, otherwise string) *Problem {
		return &Problem{Status: status, Code: cmp.Or(code, otherwise), Message: message}
	}
	if e, ok := errors.AsType[*task.SubmissionError](err); ok {
		p := of(http.StatusConflict, "")
		if e.Kind == task.NotGranted {
			p.Status = http.StatusForbidden
		}
		if e.Kind == task.AlreadySubmitted {
			p.AcceptedAt, p.SamePayload = &e.AcceptedAt, &e.SamePayload
		}
		return p
	}
	if e, ok := errors.AsType[*task.InputError](err); ok {
		p := of(http.StatusUnprocessableEntity, "")
		for field, what := range e.Fields {
			p.Errors = append(p.Errors, FieldProblem{field, what})
		}
		stable.Sort(p.Errors, func(a, b FieldProblem) int { return cmp.Compare(a.Field, b.Field) })
		return p
	}
	switch {
	case errors.As(err, new(*task.TransitionError)):
		return of(http.StatusConflict, "")
	case errors.As(err, new(*board.TooLargeError)):
		return of(http.StatusRequestEntityTooLarge, "")
	case errors.As(err, new(*http.MaxBytesError)):
		return &Problem{Status: http.StatusRequestEntityTooLarge, Code: "BODY_TOO_LARGE", Message: "the body of the request is too large"}
	case errors.Is(err, store.ErrNoTask):
		return of(http.StatusNotFound, codeNotFound).next("GET " + Prefix + "/tasks lists them")
	case errors.Is(err, store.ErrNotFound):
		return of(http.StatusNotFound, codeNotFound).next("GET " + Prefix + "/runs lists them")
	case errors.Is(err, store.ErrNoRuns), errors.Is(err, runlog.ErrNoRun), errors.Is(err, board.ErrNoTasks):
		return of(http.StatusNotFound, codeNotFound)
	case errors.As(err, new(*store.OwnedError)):
		return of(http.StatusConflict, "DRIVEN_ELSEWHERE")
	case errors.As(err, new(*request.DecidedError)), errors.As(err, new(*request.AnsweredError)):
		return of(http.StatusConflict, "ALREADY_DECIDED")
	case errors.As(err, new(*store.NeededError)):
		return of(http.StatusConflict, "NEEDED")
	case errors.Is(err, worker.ErrClosed):
		return of(http.StatusServiceUnavailable, "STOPPED")
	case errors.As(err, new(*inbox.NotTakenError)):
		return of(http.StatusGatewayTimeout, "NOT_TAKEN")
	case errors.As(err, new(*store.ChainError)), errors.As(err, new(*store.UnreadableError)):
		return of(http.StatusConflict, "DAMAGED")
	case errors.As(err, new(*app.TaskRunError)):
		return of(http.StatusConflict, "TASK_RUN")
	case errors.As(err, new(*board.NoCopyError)):
		return of(http.StatusConflict, "NO_COPY")
	case errors.As(err, new(*gitcopy.StateError)), errors.As(err, new(*gitcopy.Error)):
		return of(http.StatusConflict, "GIT")
	case errors.As(err, new(*agent.NotFoundError)):
		return of(http.StatusNotFound, codeNotFound)
	case errors.As(err, new(*config.Error)):
		return of(http.StatusUnprocessableEntity, codeInput)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return of(http.StatusServiceUnavailable, "STOPPED")
	}
	if e, ok := errors.AsType[*store.FileError](err); ok {
		return &Problem{Status: http.StatusServiceUnavailable, Code: "STORAGE", Message: e.Error()}
	}
	return nil
}

// next adds to the message what to do next.
func (p *Problem) next(step string) *Problem {
	p.Message += "; " + step
	return p
}

// problem returns an error as the response of the request. What is not an error of the
// caller is logged with the request's id, and the caller is told that id alone.
func (s *Server) problem(ctx context.Context, err error) *Problem {
	id := requestOf(ctx).id
	p := problemOf(err)
	if p == nil {
		s.log.Error("a request failed", "request", id, "error", err)
		p = internal(id)
	}
	return p.of(id)
}

func internal(request string) *Problem {
	return &Problem{Status: http.StatusInternalServerError, Code: "INTERNAL", Message: "internal error: see the log for request " + request}
}

// of returns the problem with all its fields.
func (p *Problem) of(request string) *Problem {
	q := *p
	q.Type, q.Title, q.Request = "about:blank", http.StatusText(p.Status), request
	return &q
}

// writeProblem writes a response outside of an operation.
func (s *Server) writeProblem(w http.ResponseWriter, r *http.Request, p *Problem) {
	for name, values := range p.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p.of(requestOf(r.Context()).id)) // a client that is gone needs no answer
}

// strictNames makes huma compare the names of fields with case, and describe lists as never null, as they are.
var strictNames = sync.OnceFunc(func() { huma.ValidateStrictCasing, huma.DefaultArrayNullable = true, false })

const unknownParameter = "unknown query parameter"

// wrong returns what is wrong with a request.
func (e *endpoint) wrong(status int, msg string, errs []error) *Problem {
	p := &Problem{Status: status, Code: codeInput, Message: msg}
	switch status {
	case http.StatusBadRequest:
		p.Code = "INVALID_JSON"
	case http.StatusRequestTimeout:
		p.Code = "TIMEOUT"
	case http.StatusUnsupportedMediaType:
		p.Code = "UNSUPPORTED_MEDIA_TYPE"
	case http.StatusInternalServerError:
		p.Code = "INTERNAL"
	}
	for _, err := range errs {
		f := FieldProblem{Message: err.Error()}
		if d, ok := err.(huma.ErrorDetailer); ok {
			detail := d.ErrorDetail()
			f = FieldProblem{detail.Location, detail.Message}
			if strings.Contains(f.Message, "unexpected property") || f.Message == unknownParameter {
				f.Message = e.unknownField(f.Field)
			}
		}
		if field, ok := strings.CutSuffix(f.Message, outOfRange); ok && f.Field == "body" {
			f = FieldProblem{field, strings.TrimPrefix(outOfRange, ": ")}
		}
		if name, ok := strings.CutPrefix(f.Message, "expected required property "); ok {
			f.Field, f.Message = f.Field+"."+strings.TrimSuffix(name, " to be present"), "it is required"
		}
		_, field, ok := strings.Cut(f.Field, ".")
		if ok && f.Field != "" {
			f.Field = field
		}
		if strings.Contains(f.Message, "http: request body too large") {
			return e.tooLarge()
		}
		p.Errors = append(p.Errors, f)
	}
	// One that is not known is mostly one that is missing, misspelt: it is said first.
	stable.Sort(p.Errors, func(a, b FieldProblem) int {
		return cmp.Compare(rank(a), rank(b))
	})
	if len(p.Errors) > 0 {
		p.Message = p.Errors[0].Message
		if f := p.Errors[0].Field; f != "" {
			p.Message = f + ": " + p.Message
		}
	}
	return p
}

const noField = "there is no such field"

// rank orders what is wrong with fields.
func rank(f FieldProblem) int {
	if strings.HasPrefix(f.Message, noField) {
		return 0
	}
	return 1
}

// tooLarge returns the problem of a body that is too large.
func (e *endpoint) tooLarge() *Problem {
	p := &Problem{Status: http.StatusRequestEntityTooLarge, Code: "BODY_TOO_LARGE", Message: "the body of the request is too large"}
	if e.op.OperationID == attachID {
		p.Code, p.Message = "FILE_TOO_LARGE", "the file is larger than "+text.Size(tasklog.MaxAttachment)+", which is the most that can be attached"
	}
	return p
}

// unknownField says that a field is not known, with the one that is probably meant.
func (e *endpoint) unknownField(location string) string {
	name := location[strings.LastIndexByte(location, '.')+1:]
	var known []string
	if strings.HasPrefix(location, "query.") {
		for _, p := range e.op.Parameters {
			if p.In == "query" {
				known = append(known, p.Name)
			}
		}
		return "there is no such parameter" + text.DidYouMean(name, known)
	}
	return noField + text.DidYouMean(name, fields(e.s.document.Components.Schemas, e.schema, 0))
}

// fields returns the names of the fields of an object and of those in it.
func fields(r huma.Registry, s *huma.Schema, depth int) []string {
	const deepest = 4
	if s != nil && s.Ref != "" {
		s = r.SchemaFromRef(s.Ref)
	}
	if s == nil || depth > deepest {
		return nil
	}
	var names []string
	for name, p := range s.Properties {
		names = append(append(names, name), fields(r, p, depth+1)...)
	}
	return append(names, fields(r, s.Items, depth+1)...)
}
