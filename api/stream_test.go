package api_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"pawl/api"
	"pawl/board"
	"pawl/task"
)

// line returns the data of an event.
func line(t *testing.T, e event, err error) value {
	t.Helper()
	must(t, err)
	var v any
	must(t, json.Unmarshal([]byte(e.data), &v))
	return value{t, v}
}

// The stream of all tasks has every event once, in order, whichever process has caused it,
// and continues after the last one that a client got.
func TestTheStreamOfAllTasksLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, planReply)
	one := s.add("One.")
	stream := s.follow("/events", 0)
	e, err := stream.next()
	if line(t, e, err).text("type") != "position" {
		t.Errorf("a stream that begins now begins with %+v", e)
	}
	two := s.add("Two.")
	e, err = stream.next()
	if v := line(t, e, err); v.text("type") != "task_created" || v.text("task") != two || v.at("seq") != 1. || v.text("card.title") != "Two." || v.text("card.status") != "pending" {
		t.Errorf("created: %+v", v.v)
	}
	other := s.open() // another process
	_, err = board.Of(other).Do(t.Context(), task.ID(one), "anna", task.Edited{Labels: &[]string{"l"}})
	must(t, err)
	e, err = stream.next()
	if v := line(t, e, err); v.text("type") != "task_edited" || v.text("task") != one || v.text("by") != "anna" || v.text("card.labels.0") != "l" {
		t.Errorf("edited: %+v", v.v)
	}
	last, _ := strconv.ParseInt(e.id, 10, 64)
	stream.stop()
	s.do("POST", "/tasks/"+two+"/cancel", "").is(200)
	s.do("DELETE", "/tasks/"+one, "").is(200)
	three := s.add("Three.")
	s.start() // another server, which a client connects to again
	stream = s.follow("/events", last)
	var got []string
	for range 3 {
		e, err := stream.next()
		v := line(t, e, err)
		got = append(got, v.text("type")+" "+v.text("task"))
	}
	if want := []string{"status_changed " + two, "task_removed " + one, "task_created " + three}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("after the last event: %q, want %q", got, want)
	}
	stream = s.follow("/events?after=0", 0)
	for i, want := range []string{"task_created " + two, "status_changed " + two, "task_removed " + one, "task_created " + three} {
		e, err := stream.next()
		if v := line(t, e, err); v.text("type")+" "+v.text("task") != want {
			t.Errorf("event %d from the beginning is %+v, want %s", i, v.v, want)
		}
	}
}

func TestStreamsAreToldOfAShutdownAndLeaveNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	id := s.add("One.")
	streams := []*eventStream{s.follow("/events", 0), s.follow("/tasks/"+id+"/events", 0)}
	for _, stream := range streams {
		_, err := stream.next()
		must(t, err)
	}
	must(t, s.api.Close())
	for _, stream := range streams {
		if e, err := stream.next(); err != nil || e.name != "shutdown" {
			t.Errorf("at the end: %+v, %v", e, err)
		}
		if e, err := stream.next(); err == nil {
			t.Errorf("after the end: %+v", e)
		}
	}
}

// A stream whose client is gone ends, with its goroutine.
func TestAClientThatIsGoneLeavesNoGoroutine(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	id := s.add("One.")
	var streams []*eventStream
	for range 50 {
		streams = append(streams, s.follow("/tasks/"+id+"/events", 0), s.follow("/events", 0))
	}
	for _, stream := range streams {
		_, err := stream.next()
		must(t, err)
	}
	if n := s.api.Streams(); n != 100 {
		t.Errorf("%d streams are open", n)
	}
	for _, stream := range streams {
		stream.stop()
	}
	for deadline := time.Now().Add(patience); s.api.Streams() > 0; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d streams are left", s.api.Streams())
		}
	}
}

// A client that does not read loses its connection and none of the facts: it continues where
// it was, and others are not held up meanwhile.
func TestAClientThatIsTooSlowContinuesWhereItWas(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	id := s.add("One.")
	quick := s.follow("/tasks/"+id+"/events", 0)
	patient := *s
	s.start() // another server of the folder, which waits for no client
	api.SetSlowest(s.api, 50*time.Millisecond)
	slow, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	must(t, err)
	defer slow.Close()
	must(t, slow.(*net.TCPConn).SetReadBuffer(1))
	_, err = fmt.Fprintf(slow, "GET %s/tasks/%s/events HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", api.Prefix, id, slow.RemoteAddr(), token)
	must(t, err)
	for deadline := time.Now().Add(patience); s.api.Streams() == 0; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("the stream of the slow client does not begin")
		}
	}
	const messages = 6
	body, err := json.Marshal(map[string]string{"text": strings.Repeat("x", 64<<10)})
	must(t, err)
	read := make(chan error, 1)
	go func() {
		for n := 1; n <= messages+1; n++ {
			if e, err := quick.next(); err != nil || e.id != fmt.Sprint(n) {
				read <- fmt.Errorf("event %d has the id %s: %w", n, e.id, err)
				return
			}
		}
		read <- nil
	}()
	for range messages {
		patient.do("POST", "/tasks/"+id+"/messages", string(body)).is(http.StatusCreated)
	}
	must(t, <-read)
	quick.stop()
	for deadline := time.Now().Add(patience); s.api.Streams() > 0; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("the slow client is not closed")
		}
	}
	again := patient.follow("/tasks/"+id+"/events", messages)
	if e, err := again.next(); err != nil || e.id != fmt.Sprint(messages+1) {
		t.Errorf("it continues with %.100q, %v", e.id, err)
	}
}
