package api

import (
	"cmp"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"pawl/board"
	"pawl/internal/atomicfile"
	"pawl/internal/text"
	"pawl/internal/visible"
	"pawl/store"
	"pawl/task"
)

// A Subscription is where a browser gets messages while no page is open, as the Push API of browsers has it.
type Subscription struct {
	Endpoint string   `json:"endpoint" maxLength:"1000" doc:"The address of the browser's push service: https, on the public Internet"`
	Keys     PushKeys `json:"keys"`
}

// A PushKey is what a page subscribes with.
type PushKey struct {
	Key string `json:"key" doc:"The server's public key, in base64url: applicationServerKey"`
}

// A Subscribed is a subscription that the server has.
type Subscribed struct {
	ID      string    `json:"id"`
	Expires time.Time `json:"expires_at" doc:"When the session ends that has made it"`
}

// An Unsubscribed is a subscription that the server had.
type Unsubscribed struct {
	ID string `json:"id"`
}

// A subscriber is a subscription as it is stored. It counts as long as the session does that has made it, at the address
// whose page has: another program may have that address later, and its pages the browser's subscription.
type subscriber struct {
	Subscription
	User  string    `json:"user,omitempty"` // empty: the owner of the server
	Until time.Time `json:"until"`
	Host  string    `json:"host"`
	// Signed is by the token of the server: sessions end when that is another one.
	Signed string `json:"signed"`
}

func (s subscriber) id() string { return hash(s.Endpoint)[:20] }

const (
	pushKeyFile = "push-key"
	pushFile    = "push.json"
	// maxSubscriptions is how many a user can have. A new one takes the place of the oldest.
	maxSubscriptions = 10
	// pushEvery is how often it is looked whether something waits, and pushPause the least time between two messages: what
	// comes up meanwhile is one message.
	pushEvery = 2 * time.Second
	pushPause = 20 * time.Second
)

// pushes tells the devices of people that something waits for them. It costs nothing while no device wants that. The key
// and the subscriptions are of one server, also where several share a database: a browser subscribes at the address of a
// server, with its key, in a session that only that server knows.
type pushes struct {
	s            *Server
	client       *http.Client
	every, pause time.Duration
	once         sync.Once
	done         sync.WaitGroup

	mu  sync.Mutex
	all []subscriber
}

// openPushes reads what is stored, and begins if a device wants to be told.
func openPushes(s *Server) *pushes {
	p := &pushes{s: s, client: pushClient(), every: pushEvery, pause: pushPause}
	b, err := os.ReadFile(filepath.Join(s.ws.State, pushFile))
	if err == nil {
		err = json.Unmarshal(b, &p.all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("the subscriptions to push messages cannot be read: devices have to subscribe again", "error", err)
		p.all = nil
	}
	if len(p.all) > 0 {
		p.begin()
	}
	return p
}

// key returns the key of the server, which is made when it is first asked for.
func (p *pushes) key() (vapidKey, error) {
	file := filepath.Join(p.s.ws.State, pushKeyFile)
	b, err := atomicfile.Once(file, func() []byte {
		private, err := ecdh.P256().GenerateKey(rand.Reader)
		if err != nil {
			panic(err) // the system has no random numbers
		}
		return []byte(base64.RawURLEncoding.EncodeToString(private.Bytes()) + "\n")
	})
	if err != nil {
		return vapidKey{}, err
	}
	return parseVAPIDKey(string(b))
}

// change changes the subscriptions, in memory and on the disk.
func (p *pushes) change(f func([]subscriber) []subscriber) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := f(slices.Clone(p.all))
	b, err := json.Marshal(all)
	if err == nil {
		err = atomicfile.Write(filepath.Join(p.s.ws.State, pushFile), b, atomicfile.Durable)
	}
	if err == nil {
		p.all = all
	}
	return err
}

// add stores a subscription of a caller.
func (p *pushes) add(ctx context.Context, in Subscription) (Subscribed, error) {
	if _, err := pushEndpoint(in.Endpoint); err != nil {
		return Subscribed{}, err
	}
	if _, _, err := in.Keys.decode(); err != nil {
		return Subscribed{}, err
	}
	req := requestOf(ctx)
	sub := subscriber{Subscription: in, User: req.caller.name, Until: cmp.Or(req.caller.until, p.s.guard.now().Add(sessionLife)).UTC(), Host: req.host}
	sub.Signed = p.sign(sub)
	err := p.change(func(all []subscriber) []subscriber {
		all = slices.DeleteFunc(all, func(o subscriber) bool { return o.Endpoint == sub.Endpoint })
		all = append(all, sub)
		mine := 0
		for _, o := range all {
			if o.User == sub.User {
				mine++
			}
		}
		if mine > maxSubscriptions {
			i := slices.IndexFunc(all, func(o subscriber) bool { return o.User == sub.User })
			all = slices.Delete(all, i, i+1)
		}
		return all
	})
	if err != nil {
		return Subscribed{}, err
	}
	p.begin()
	return Subscribed{sub.id(), sub.Until}, nil
}

// remove removes the subscriptions that some f is true of, and reports whether there was one.
func (p *pushes) remove(is func(subscriber) bool) (was bool, err error) {
	p.mu.Lock()
	was = slices.ContainsFunc(p.all, is)
	p.mu.Unlock()
	if was {
		err = p.change(func(all []subscriber) []subscriber { return slices.DeleteFunc(all, is) })
	}
	return was, err
}

func (p *pushes) sign(s subscriber) string {
	return p.s.sign("push", s.Endpoint, s.User, s.Until.Format(time.RFC3339), s.Host)
}

// counts reports whether a subscription still does.
func (p *pushes) counts(s subscriber) bool {
	return p.s.guard.now().Before(s.Until) && equal(s.Signed, p.sign(s)) && slices.Contains(p.s.guard.hosts, s.Host)
}

// begin begins to look, once.
func (p *pushes) begin() { p.once.Do(func() { p.done.Go(func() { p.run(p.s.stopped) }) }) }

// A pushMessage is what a device is told. It may be read on a screen that is locked: there are no words of a model in it.
type pushMessage struct {
	Things int     `json:"things"` // that wait, at least one
	Kind   string  `json:"kind"`   // of the one that waits: approve, answer, stopped, review, failed
	Title  string  `json:"title"`  // of its task
	Task   task.ID `json:"task"`
}

// run tells the devices when something begins to wait.
func (p *pushes) run(ctx context.Context) {
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	w := waits{at: -1}
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := p.s.guard.now()
		if _, err := p.remove(func(s subscriber) bool { return !p.counts(s) }); err != nil {
			p.s.log.Warn("a subscription to push messages that has ended cannot be removed", "error", err)
		}
		p.mu.Lock()
		all := slices.Clone(p.all)
		p.mu.Unlock()
		if len(all) == 0 {
			w.at = -1
			continue
		}
		if err := w.look(ctx, p.s.board); err != nil {
			continue // it is looked again
		}
		if m, ok := w.message(); ok && now.Sub(last) >= p.pause {
			w.told()
			last = now
			p.tell(ctx, all, m)
		}
	}
}

// tell sends a message to the devices of those who may answer.
func (p *pushes) tell(ctx context.Context, all []subscriber, m pushMessage) {
	message, err := json.Marshal(m)
	var key vapidKey
	if err == nil {
		key, err = p.key()
	}
	if err != nil {
		p.s.log.Warn("no push message can be sent", "error", err)
		return
	}
	contact := "mailto:pawl@example.com" // services want one; a server without a name has none
	if p.s.opt.TLS {
		contact = p.s.guard.origins[0]
	}
	gone := make(chan string, len(all))
	var sending sync.WaitGroup
	places := make(chan struct{}, 8)
	for _, to := range all {
		if c, err := p.s.named(ctx, to.User); err != nil || !c.role.may(Answer) {
			continue
		}
		places <- struct{}{}
		sending.Go(func() {
			defer func() { <-places }()
			status, err := key.post(ctx, p.client, contact, to.Subscription, message)
			switch {
			case status == http.StatusNotFound || status == http.StatusGone:
				gone <- to.Endpoint
			case err != nil || status > 299:
				service, _ := url.Parse(to.Endpoint)         // it was before; the rest of it is secret
				if e := new(url.Error); errors.As(err, &e) { // which has all of it
					err = e.Err
				}
				p.s.log.Warn("a push message was not sent", "service", service.Host, "status", status, "error", err)
			}
		})
	}
	sending.Wait()
	close(gone)
	for endpoint := range gone {
		if _, err := p.remove(func(s subscriber) bool { return s.Endpoint == endpoint }); err != nil {
			p.s.log.Warn("a subscription to push messages that has ended cannot be removed", "error", err)
		}
	}
}

// waits are the tasks that have begun to wait for a person since position at.
type waits struct {
	at    int64 // -1: nobody has looked
	tasks map[task.ID]waiting
}

// A waiting is a task that waits for a person.
type waiting struct {
	kind, title string
	news        bool // that nobody was told of
}

// begins reports whether something can begin to wait with an event. What a person has ended is no news to anybody.
func begins(e task.Payload) bool {
	switch e := e.(type) {
	case task.PermissionRequested, task.QuestionAsked, task.PlanningQuestionsReturned:
		return true
	case task.StatusChanged:
		return e.Trigger != task.OnFail && e.Trigger != task.OnCancel && e.Trigger != task.OnComplete
	}
	return false
}

// look reads what has happened since it was called last. What waits already when it is called first is no news.
func (w *waits) look(ctx context.Context, b board.Board) error {
	if w.at < 0 {
		at, err := b.FeedEnd(ctx)
		if err != nil {
			return err
		}
		*w = waits{at: at, tasks: map[task.ID]waiting{}}
	}
	for {
		entries, err := b.Feed(ctx, w.at, pageLength)
		if err != nil {
			return err
		}
		changed := map[task.ID]bool{} // whether something has begun to wait
		for _, e := range entries {
			changed[e.Task] = changed[e.Task] || begins(e.Event.Payload)
		}
		for id, began := range changed {
			sum, err := b.Summary(ctx, id)
			if err != nil && !errors.Is(err, store.ErrNoTask) {
				return err
			}
			old, there := w.tasks[id]
			if kind := needOf(sum); err == nil && kind != "" && (began || there && old.kind == kind) {
				w.tasks[id] = waiting{kind, visible.Line(text.OneLine(sum.Title, 80)), began || old.news}
			} else {
				delete(w.tasks, id)
			}
		}
		if len(entries) > 0 {
			w.at = entries[len(entries)-1].Position
		}
		if len(entries) < pageLength {
			return nil
		}
	}
}

// message returns what to tell, if there is news.
func (w *waits) message() (m pushMessage, ok bool) {
	for id, of := range w.tasks {
		m = pushMessage{m.Things + 1, of.kind, of.title, id}
		ok = ok || of.news
	}
	if m.Things > 1 {
		m = pushMessage{Things: m.Things}
	}
	return m, ok
}

// told says that people were told. Reviews and failures are counted once, for a person may leave them as they are.
func (w *waits) told() {
	for id, of := range w.tasks {
		if of.news = false; of.kind == "review" || of.kind == "failed" {
			delete(w.tasks, id)
		} else {
			w.tasks[id] = of
		}
	}
}

// needOf says why a task needs a person, as needs in web/tasks.js does; empty: it does not.
func needOf(s task.Summary) string {
	switch {
	case s.WaitsFor == "permission":
		return "approve"
	case s.WaitsFor == "answers":
		return "answer"
	case s.WaitsFor != "" && s.WaitsFor != "paused":
		return "stopped"
	case s.Status == task.Completed && s.Branch != "" && !s.Merged:
		return "review"
	case s.Status == task.Failed:
		return "failed"
	}
	return ""
}

// pushOperations registers the subscriptions of devices.
func (s *Server) pushOperations() {
	handle(s, operation{method: http.MethodGet, path: "/push-key", id: "get-push-key", tag: "access",
		summary: "The key that a page subscribes to push messages with", more: "It is made when it is first asked for."},
		func(context.Context, *struct{}) (PushKey, error) {
			key, err := s.push.key()
			if err != nil {
				return PushKey{}, err
			}
			return PushKey{key.public()}, nil
		})
	handle(s, operation{method: http.MethodPost, path: "/push-subscriptions", id: "subscribe-device", tag: "access", status: http.StatusCreated,
		summary: "Tell a device when something begins to wait for a person", more: "It ends with the session, or when its push service says that it has. Of the eleventh of a user the oldest is removed."},
		func(ctx context.Context, in *struct{ Body Subscription }) (Subscribed, error) {
			return s.push.add(ctx, in.Body)
		})
	type input struct {
		ID string `path:"subscription" maxLength:"40"`
	}
	handle(s, operation{method: http.MethodDelete, path: "/push-subscriptions/{subscription}", id: "unsubscribe-device", tag: "access",
		summary: "End a subscription"},
		func(ctx context.Context, in *input) (Unsubscribed, error) {
			name := requestOf(ctx).caller.name
			was, err := s.push.remove(func(o subscriber) bool { return o.id() == in.ID && o.User == name })
			if err == nil && !was {
				return Unsubscribed{}, notFound("there is no such subscription of yours")
			}
			return Unsubscribed{in.ID}, err
		})
}
