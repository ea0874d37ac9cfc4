package api_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/chromedp"

	"pawl/api"
)

func decoded(t testing.TB, text string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(text)
	must(t, err)
	return b
}

// The example of RFC 8291, section 5 and appendix A.
func TestAPushMessageIsEncryptedAsTheStandardHasIt(t *testing.T) {
	t.Parallel()
	sender, err := ecdh.P256().NewPrivateKey(decoded(t, "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"))
	must(t, err)
	keys := api.PushKeys{P256DH: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4", Auth: "BTBZMqHH6r4Tts7J_aSIgg"}
	got, err := api.Seal([]byte("When I grow up, I want to be a watermelon"), keys, sender, decoded(t, "DGv6ra1nlYgDCS1FRnbzlw"))
	must(t, err)
	const want = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
	if !bytes.Equal(got, decoded(t, want)) {
		t.Errorf("got %s", base64.RawURLEncoding.EncodeToString(got))
	}
}

// A device is a browser with its push service, which keeps what it is sent and answers with a status.
type device struct {
	t        testing.TB
	private  *ecdh.PrivateKey
	auth     []byte
	key      string // of the server
	status   atomic.Int64
	messages chan string
}

// RoundTrip takes a message as the service does: it looks who sends, and the browser decrypts it.
func (d *device) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if r.Header.Get("Content-Encoding") != "aes128gcm" || r.Header.Get("Ttl") == "" || !d.sent(r) {
		d.t.Errorf("the push service is sent %v", r.Header)
	}
	if d.status.Load() == 201 {
		d.messages <- d.decrypt(body)
	}
	return &http.Response{StatusCode: int(d.status.Load()), Body: http.NoBody, Request: r}, nil
}

// sent reports whether a message is signed with the key of the server, for this service.
func (d *device) sent(r *http.Request) bool {
	signed, key, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "vapid t="), ", k=")
	parts := strings.Split(signed, ".")
	if key != d.key || len(parts) != 3 {
		return false
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), decoded(d.t, key))
	must(d.t, err)
	var claims struct {
		Aud, Sub string
		Exp      int64
	}
	must(d.t, json.Unmarshal(decoded(d.t, parts[1]), &claims))
	sum, sig := sha256.Sum256([]byte(parts[0]+"."+parts[1])), decoded(d.t, parts[2])
	return claims.Aud == "https://push.example.org" && claims.Sub != "" && claims.Exp < time.Now().Add(24*time.Hour).Unix() &&
		ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:]))
}

func (d *device) decrypt(body []byte) string {
	sender, err := ecdh.P256().NewPublicKey(body[21:86])
	must(d.t, err)
	shared, err := d.private.ECDH(sender)
	must(d.t, err)
	derive := func(secret, salt []byte, info string, n int) []byte {
		key, err := hkdf.Key(sha256.New, secret, salt, info, n)
		must(d.t, err)
		return key
	}
	secret := derive(shared, d.auth, "WebPush: info\x00"+string(d.private.PublicKey().Bytes())+string(body[21:86]), 32)
	block, err := aes.NewCipher(derive(secret, body[:16], "Content-Encoding: aes128gcm\x00", 16))
	must(d.t, err)
	gcm, err := cipher.NewGCM(block)
	must(d.t, err)
	plain, err := gcm.Open(nil, derive(secret, body[:16], "Content-Encoding: nonce\x00", 12), body[86:], nil)
	must(d.t, err)
	return strings.TrimSuffix(string(plain), "\x02")
}

// next waits for a message.
func (d *device) next() value {
	d.t.Helper()
	select {
	case m := <-d.messages:
		var v any
		must(d.t, json.Unmarshal([]byte(m), &v))
		return value{d.t, v}
	case <-time.After(patience):
		d.t.Fatal("no message came")
	}
	return value{}
}

// subscription is what the browser gives the page, for a path of the push service.
func (d *device) subscription(path string) string {
	b, err := json.Marshal(api.Subscription{Endpoint: "https://push.example.org/" + path, Keys: api.PushKeys{
		P256DH: base64.RawURLEncoding.EncodeToString(d.private.PublicKey().Bytes()), Auth: base64.RawURLEncoding.EncodeToString(d.auth)}})
	must(d.t, err)
	return string(b)
}

// device returns one that is not subscribed yet. Between two messages is a pause.
func (s *served) device(pause time.Duration) *device {
	s.t.Helper()
	private, err := ecdh.P256().GenerateKey(rand.Reader)
	must(s.t, err)
	d := &device{t: s.t, private: private, auth: make([]byte, 16), messages: make(chan string, 100), key: s.do("GET", "/push-key", "").is(200).text("key")}
	d.status.Store(201)
	api.SetPush(s.api, 5*time.Millisecond, pause, d)
	return d
}

// stored is what the server keeps of subscriptions.
func (s *served) stored() string {
	b, err := os.ReadFile(filepath.Join(s.ws.State, "push.json"))
	must(s.t, err)
	return string(b)
}

// A device is told once of each thing that begins to wait for a person, with the title of the task and no words of a model.
func TestADeviceIsToldWhatBeginsToWait(t *testing.T) {
	t.Parallel()
	s := serve(t, `{"when":{"first":"Plan this task","contains":"Break"},"calls":[{"tool":"planner-output","args":{"type":"error","error":"it is broken"}}],"repeat":true}`+storyReplies)
	d := s.device(0)
	s.do("POST", "/push-subscriptions", d.subscription("a")).is(201)
	s.drive()
	id := s.add("Count the files.\nAll of them, with the password hunter2.")
	s.do("POST", "/tasks/"+id+"/plan", "").is(200)
	if m := d.next(); m.at("things") != 1. || m.text("kind") != "answer" || m.text("title") != "Count the files." || m.text("task") != id {
		t.Errorf("told of questions: %+v", m.v)
	}
	s.do("PATCH", "/tasks/"+id, `{"labels":["x"]}`).is(200) // which is no news
	s.do("POST", "/tasks/"+id+"/answers", `{"answers":["Yes.","No."]}`).is(200)
	s.wait(id, "planned")
	s.do("POST", "/tasks/"+id+"/start", "").is(200)
	if m := d.next(); m.text("kind") != "approve" || len(m.v.(map[string]any)) != 4 {
		t.Errorf("told of a call: %+v", m.v)
	}
	s.do("POST", "/tasks/"+id+"/fail", `{"why":"no"}`).is(200) // which is no news to who does it
	broken := s.add("Break.")
	s.do("POST", "/tasks/"+broken+"/plan", "").is(200)
	if m := d.next(); m.text("kind") != "failed" || m.text("task") != broken {
		t.Errorf("told of a failure: %+v", m.v)
	}
	for _, file := range []string{"push.json", "push-key"} {
		if info, err := os.Stat(filepath.Join(s.ws.State, file)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
	d.status.Store(410) // the browser does not want it any more
	s.do("POST", "/tasks/"+s.add("Break again.")+"/plan", "").is(200)
	for strings.Contains(s.stored(), "push.example.org") {
		time.Sleep(time.Millisecond) // the file tells of no change
	}
}

// What comes up while a message must not be sent yet is one message.
func TestAFloodIsOneMessage(t *testing.T) {
	t.Parallel()
	s := serve(t, `{"when":{"first":"Plan this task"},"calls":[{"tool":"planner-output","args":{"type":"questions","questions":["Which?"]}}],"repeat":true}`+"\n")
	now := time.Now()
	var later atomic.Int64
	api.SetNow(s.api, func() time.Time { return now.Add(time.Duration(later.Load())) })
	d := s.device(time.Minute)
	s.do("POST", "/push-subscriptions", d.subscription("a")).is(201)
	s.drive()
	ask := func(n int) {
		var ids []string
		for i := range n {
			ids = append(ids, s.add(fmt.Sprint("Task ", i)))
			s.do("POST", "/tasks/"+ids[i]+"/plan", "").is(200)
		}
		for _, id := range ids {
			s.wait(id, "awaiting_input")
		}
	}
	ask(1)
	if m := d.next(); m.at("things") != 1. || m.text("title") != "Task 0" {
		t.Errorf("told first: %+v", m.v)
	}
	ask(20)
	later.Store(int64(time.Minute))
	if m := d.next(); m.at("things") != 21. || m.text("task") != "" || m.text("title") != "" {
		t.Errorf("told of a flood: %+v", m.v)
	}
	if again := s.do("GET", "/push-key", "").is(200).text("key"); again != d.key {
		t.Error("the server has another key than before")
	}
}

// A subscription ends with the session, is of the address of its page, and a user has at most ten.
func TestASubscriptionEndsWithItsSession(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	now := time.Now()
	var later atomic.Int64
	api.SetNow(s.api, func() time.Time { return now.Add(time.Duration(later.Load())) })
	d := s.device(0)
	_, code, _ := strings.Cut(s.do("POST", "/login-links", "").is(201).text("url"), "code=")
	session := s.do("POST", "/sessions", `{"code":"`+code+`"}`).is(201)
	if session.text("role") != "administer" || session.at("user") != nil {
		t.Errorf("the session is %+v", session.v)
	}
	as := with("Authorization", "Bearer "+session.text("token"))
	later.Store(int64(time.Hour))
	for i := range 12 {
		if sub := s.do("POST", "/push-subscriptions", d.subscription(fmt.Sprint(i)), as).is(201); sub.text("expires_at") != session.text("expires_at") {
			t.Errorf("it ends %s, and the session %s", sub.text("expires_at"), session.text("expires_at"))
		}
	}
	if n := strings.Count(s.stored(), "endpoint"); n != 10 || strings.Contains(s.stored(), "org/1\"") {
		t.Errorf("%d are stored: %s", n, s.stored())
	}
	id := s.do("POST", "/push-subscriptions", d.subscription("11"), as).is(201).text("id")
	s.do("DELETE", "/push-subscriptions/"+id, "", as).is(200)
	s.do("DELETE", "/push-subscriptions/"+id, "", as).problem(404, "NOT_FOUND")
	later.Store(int64(8 * 24 * time.Hour))
	for strings.Contains(s.stored(), "endpoint") {
		time.Sleep(time.Millisecond) // the file tells of no change
	}
}

// Nobody has the server send something to an address that only it can reach.
func TestPushMessagesGoToThePublicInternetAlone(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	d := s.device(0)
	for _, endpoint := range []string{"http://push.example.org/x", "https://127.0.0.1/x", "https://[::1]/x", "https://[::ffff:10.0.0.1]/x", "https://169.254.169.254/x",
		"https://push.example.org:8443/x", "https://a:b@push.example.org/x", "https:///x", "file:///etc/passwd", "push.example.org", "https://push.example.org/#x"} {
		s.do("POST", "/push-subscriptions", strings.Replace(d.subscription(""), "https://push.example.org/", endpoint, 1)).problem(422, "INVALID_INPUT")
	}
	keys := d.subscription("x")
	for _, wrong := range []string{strings.Replace(keys, `"auth":"`, `"auth":"AAAA`, 1), strings.Replace(keys, `"p256dh":"B`, `"p256dh":"C`, 1), `{"endpoint":"https://push.example.org/x"}`} {
		s.do("POST", "/push-subscriptions", wrong).problem(422, "INVALID_INPUT")
	}
	var reached atomic.Bool
	here := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	t.Cleanup(here.Close)
	_, port, err := net.SplitHostPort(here.Listener.Addr().String())
	must(t, err)
	client := api.PushClient()
	for _, host := range []string{"localhost", "127.0.0.1"} {
		if res, err := client.Get("https://" + net.JoinHostPort(host, port)); err == nil || reached.Load() || !strings.Contains(err.Error(), "this machine") {
			t.Errorf("%s: %v, %v", host, res, err)
		}
	}
	if client.CheckRedirect(nil, nil) != http.ErrUseLastResponse {
		t.Error("redirects are followed")
	}
}

// The page of settings switches the messages on and off. A message is shown while no page is in sight, and a click on it
// opens what waits in the strip. The subscription alone is not the browser's own: the service of its maker is not reached here.
func TestABrowserShowsAPushMessage(t *testing.T) {
	t.Parallel()
	s := serve(t, storyReplies)
	d := s.device(0)
	s.drive()
	b := s.browse(1400)
	b.sees("No task yet")
	allow := func(ctx context.Context, target *chromedp.Target) (v chromedp.Void, err error) {
		_, err = cdp.Call(ctx, target, cdpbrowser.SetPermission, cdpbrowser.SetPermissionParams{
			Permission: &cdpbrowser.PermissionDescriptor{Name: "notifications"}, Setting: cdpbrowser.PermissionSettingGranted})
		return v, err
	}
	b.do(chromedp.Evaluate[chromedp.Void](`location.hash = "#/settings"`), allow)
	b.do(chromedp.Evaluate[chromedp.Void](`window.subscribed = null; PushManager.prototype.subscribe = async function (o) { window.asked = o; return window.subscribed = { toJSON: () => (` + d.subscription("a") + `), unsubscribe: async () => { window.subscribed = null; } }; };
		PushManager.prototype.getSubscription = async () => window.subscribed; undefined`))
	b.click("Notify this device when a task needs me")
	b.sees("Notify this device no more")
	if asked := b.value("window.asked"); (value{t, asked}).text("applicationServerKey") != d.key {
		t.Errorf("the browser was asked for %v", asked)
	}
	id := s.add("Count the files.")
	s.do("POST", "/tasks/"+id+"/plan", "").is(200)
	told := <-d.messages

	registered := make(chan *serviceworker.Registration, 10)
	must(t, chromedp.Listen(b.ctx, func(event any) {
		if e, ok := event.(*serviceworker.EventWorkerRegistrationUpdated); ok && len(e.Registrations) > 0 {
			registered <- e.Registrations[0]
		}
	}))
	deliver := func() {
		t.Helper()
		b.do(chromedp.Navigate("about:blank"), func(ctx context.Context, target *chromedp.Target) (v chromedp.Void, err error) {
			if _, err = cdp.Call(ctx, target, serviceworker.Enable, cdp.Empty{}); err != nil {
				return v, err
			}
			r := <-registered
			if r.ScopeURL != s.url+"/push/" {
				t.Errorf("the worker is registered for %s", r.ScopeURL)
			}
			_, err = cdp.Call(ctx, target, serviceworker.DeliverPushMessage, serviceworker.DeliverPushMessageParams{Origin: s.url, RegistrationID: r.RegistrationID, Data: told})
			return v, err
		})
	}
	deliver()
	b.do(chromedp.Navigate(s.url + "/#/settings"))
	b.until(`(async () => { window.all = await (await navigator.serviceWorker.getRegistration("/push/")).getNotifications(); return all.length === 1 && all[0].title === "Count the files." && all[0].body === "Asks you something"; })()`)
	b.sees("This device") // which it is told of when it has begun
	worker := b.worker()
	worker.do(chromedp.Evaluate[chromedp.Void](`(async () => { const [notification] = await registration.getNotifications(); dispatchEvent(new NotificationEvent("notificationclick", { notification })); })()`))
	b.until(`location.hash === "#/needs/` + id + `"`)
	b.sees("Hidden ones?") // the questions are open
	if n := b.value(`document.querySelectorAll(".strip form").length`); n != 1. {
		t.Errorf("%v forms are open", n)
	}
	b.do(chromedp.Evaluate[chromedp.Void](`location.hash = "#/settings"; window.subscribed = { unsubscribe: async () => {} }; PushManager.prototype.getSubscription = async () => window.subscribed; undefined`))
	b.click("Notify this device no more")
	b.sees("Notify this device when a task needs me")
	b.until(`navigator.serviceWorker.getRegistration("/push/").then((r) => !r)`)
	for strings.Contains(s.stored(), "endpoint") {
		time.Sleep(time.Millisecond) // the file tells of no change
	}
	b.until(`navigator.serviceWorker.register("/push/worker.js").then(() => false, (error) => error.message.includes("TrustedScriptURL"))`) // not by a string
}

// worker returns the service worker of the browser.
func (b browser) worker() browser {
	b.t.Helper()
	all, err := chromedp.Targets(b.ctx)
	must(b.t, err)
	for _, info := range all {
		if info.Type == "service_worker" {
			ctx, stop := chromedp.NewContext(b.ctx, chromedp.WithTargetID(info.TargetID))
			b.t.Cleanup(stop)
			return browser{b.t, ctx}
		}
	}
	b.t.Fatal("there is no service worker")
	return b
}

// elsewhere sends what goes to push.example.org to a server of this machine.
type elsewhere string

func (host elsewhere) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", string(host)
	return http.DefaultTransport.RoundTrip(r)
}

// A push service that others have written takes the messages and decrypts them, until the browser has unsubscribed.
func TestRealPushServiceTakesWhatIsSent(t *testing.T) {
	t.Parallel()
	packages := modules(t)
	if _, err := os.Stat(filepath.Join(packages, "web-push-testing")); err != nil {
		t.Skip("needs web-push-testing from npm")
	}
	s := serve(t, storyReplies)
	port := s.listen()
	host := port.Addr().String()
	must(t, port.Close())
	service := exec.CommandContext(t.Context(), "node", "-e", `const { PushApiModel } = require("web-push-testing/src/PushApiModel.js"), Server = require("web-push-testing/src/server.js");
		new Server(new PushApiModel(), Number(process.argv[1])).startServer()`, host[strings.LastIndexByte(host, ':')+1:])
	service.Env = append(os.Environ(), "NODE_PATH="+packages)
	must(t, service.Start())
	t.Cleanup(func() { _ = service.Wait() }) // the context of the test has ended it
	ask := func(path string, form url.Values) value {
		t.Helper()
		for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) { // until node has begun
			res, err := http.PostForm("http://"+host+path, form)
			if err != nil {
				if time.Now().After(deadline) {
					t.Fatal(err)
				}
				continue
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			must(t, err)
			var v any
			_ = json.Unmarshal(body, &v) // not all of its answers are JSON
			return value{t, v}
		}
	}
	api.SetPush(s.api, 5*time.Millisecond, 0, elsewhere(host))
	subscribed := ask("/subscribe", url.Values{"userVisibleOnly": {"true"}, "applicationServerKey": {s.do("GET", "/push-key", "").is(200).text("key")}})
	client := subscribed.text("data.clientHash")
	body, err := json.Marshal(map[string]any{"endpoint": "https://push.example.org/notify/" + client, "keys": subscribed.at("data.keys")})
	must(t, err)
	s.do("POST", "/push-subscriptions", string(body)).is(201)
	s.drive()
	id := s.add("Count the files.")
	s.do("POST", "/tasks/"+id+"/plan", "").is(200)
	for len(ask("/get-notifications", url.Values{"clientHash": {client}}).items("data.messages")) == 0 {
		time.Sleep(10 * time.Millisecond) // it tells nobody
	}
	if got := ask("/get-notifications", url.Values{"clientHash": {client}}).text("data.messages.0"); got != `{"things":1,"kind":"answer","title":"Count the files.","task":"`+id+`"}` {
		t.Errorf("the browser decrypts %s", got)
	}
	ask("/expire-subscription/"+client, nil)
	s.do("POST", "/tasks/"+id+"/answers", `{"answers":["Yes.","No."]}`).is(200)
	s.wait(id, "planned")
	s.do("POST", "/tasks/"+id+"/start", "").is(200)
	for strings.Contains(s.stored(), "endpoint") {
		time.Sleep(time.Millisecond) // the file tells of no change
	}
}
