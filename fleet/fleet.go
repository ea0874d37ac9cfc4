// Package fleet lets the tasks of a shared database be carried by workers on many machines, with Temporal: a task that
// has something to be done is a workflow, and to do it is an activity of that workflow on one of the workers.
//
// The log of a task is its only truth. Temporal is told that a task has something to be done ([Watch]), gives it to a
// worker ([Work]) and, if that one dies, to another. What is to be done, and whether a run may go on, is decided in the
// packages below; nothing but ids, labels and event numbers goes to Temporal.
//
//	fleet.Watch  the tasks -> a signal to the workflow of a task, which begins with it
//	carry        the workflow: the activity drive, once for each signal that the task has changed since
//	fleet.Work   a worker: the activity is [board.Driver.Carry]
package fleet

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"

	"pawl/config"
)

// DefaultQueue is the queue of tasks that no label sends to another.
const DefaultQueue = "pawl"

// queueLabel is how the label of a task begins that names its queue.
const queueLabel = "queue:"

// QueueOf returns the queue of a task with some labels: that of the label "queue:NAME", or DefaultQueue.
func QueueOf(labels []string) string {
	for _, l := range labels {
		if name, ok := strings.CutPrefix(l, queueLabel); ok && name != "" {
			return name
		}
	}
	return DefaultQueue
}

// An Address says where Temporal is. What is empty is taken from the variables and the file of Temporal's own
// command line (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_TLS_…, TEMPORAL_API_KEY, TEMPORAL_PROFILE:
// https://docs.temporal.io/develop/environment-configuration, 2026-11).
type Address struct {
	HostPort  string
	Namespace string
}

// dialTimeout is how long the server may take to answer at first.
const dialTimeout = 10 * time.Second

// A Client is a connection to Temporal.
type Client struct {
	client.Client
	namespace string
	log       *slog.Logger

	mu             sync.Mutex
	known, refused bool // whether workflows can be searched by attributes of pawl; neither: it is not known
}

// Dial connects to Temporal. The caller closes the client. The error is a [*config.Error].
func Dial(ctx context.Context, a Address, env config.Env, logger *slog.Logger) (*Client, error) {
	opt, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{EnvLookup: lookup(env)})
	if err != nil {
		return nil, config.Errorf("the settings of Temporal: %w", err)
	}
	opt.HostPort = cmp.Or(a.HostPort, opt.HostPort, client.DefaultHostPort)
	opt.Namespace = cmp.Or(a.Namespace, opt.Namespace, client.DefaultNamespace)
	opt.Identity = self()
	opt.Logger = log.NewStructuredLogger(logger)
	if opt.ConnectionOptions.TLS != nil {
		opt.ConnectionOptions.TLS.MinVersion = tls.VersionTLS12
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	c, err := client.DialContext(ctx, opt)
	if err != nil {
		return nil, config.Errorf("Temporal cannot be reached at %s (namespace %s): %w", opt.HostPort, opt.Namespace, err)
	}
	return &Client{Client: c, namespace: opt.Namespace, log: logger}, nil
}

// lookup makes an environment that of envconfig. It has no list of all variables: headers for gRPC are not read.
type lookup config.Env

func (l lookup) LookupEnv(name string) (string, bool) { return l(name) }
func (l lookup) Environ() []string                    { return nil }

// workflowID returns the id of the workflow of a task. It has the queue, so that databases with a queue of their own
// can share a namespace.
func workflowID(queue, task string) string { return fmt.Sprintf("%s/%s", queue, task) }
