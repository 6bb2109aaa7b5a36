package plugin

import (
	"context"
	"errors"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/overbrainer/overbrainer/providers"
	pb "github.com/overbrainer/overbrainer/providers/plugin/providerpb"
)

// Limits of one call, against a provider that never answers. A provider's own
// retries stay below the long one.
const (
	describeLimit  = 10 * time.Second
	configureLimit = 2 * time.Minute
	callLimit      = 20 * time.Minute
	// effectGrace is above the time that a provider gives one request.
	effectGrace = 75 * time.Second
)

// client is a provider behind gRPC.
type client struct {
	rpc   pb.ProviderServiceClient
	calls atomic.Uint64 // names of the calls
	// crashed tells what is known of a process that ended; nil where the
	// provider is not a process of ours.
	crashed func() (message, detail string, ended bool)
}

var _ providers.Provider = (*client)(nil)

// fail gives an error its meaning.
func (c *client) fail(ctx context.Context, op string, effect bool, err error) error {
	var unsent *providers.Error
	if errors.As(err, &unsent) {
		return unsent
	}
	if e, ok := fromStatus(err); ok {
		return e
	}
	e := transportError(ctx, op, effect, err)
	if c.crashed == nil || e.Kind == providers.Invalid || e.Kind == providers.Unimplemented {
		return e
	}
	if message, detail, ended := c.crashed(); ended {
		e.Message, e.Detail = message, detail
	}
	return e
}

// read and effect are one call each.
func read[Req, Res any](ctx context.Context, c *client, op string, limit time.Duration,
	f func(context.Context, *Req, ...callOption) (*Res, error), r *Req) (*Res, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	res, err := f(ctx, r)
	if err != nil {
		return nil, c.fail(ctx, op, false, err)
	}
	return res, nil
}

// effect makes a call that has an effect. It is not given up when ctx ends: the
// provider is asked to finish what is under way and to begin nothing more, and
// its answer is waited for, since it says what now exists. A provider that does
// not answer in time is given up.
func effect[Req, Res any](ctx context.Context, c *client, op string,
	f func(context.Context, *Req, ...callOption) (*Res, error), r *Req) (*Res, error) {
	if ctx.Err() != nil {
		return nil, &providers.Error{Kind: providers.Transient, Op: op, Message: "interrupted before the request was sent"}
	}
	name := strconv.FormatUint(c.calls.Add(1), 10)
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		_, _ = c.rpc.Interrupt(call, &pb.InterruptRequest{Call: name})
		select {
		case <-time.After(effectGrace):
			cancel()
		case <-call.Done():
		}
	})()
	res, err := f(metadata.AppendToOutgoingContext(call, callKey, name), r)
	if err != nil {
		return nil, c.fail(call, op, true, err)
	}
	return res, nil
}

func (c *client) Describe(ctx context.Context) (providers.Description, error) {
	r, err := read(ctx, c, "describe", describeLimit, c.rpc.Describe, &pb.DescribeRequest{})
	if err != nil {
		return providers.Description{}, err
	}
	d := describeFrom(r)
	return d, checkDescription(d)
}

func (c *client) Configure(ctx context.Context, req providers.ConfigureRequest) (providers.Configured, error) {
	p, err := configureTo(req)
	if err != nil {
		return providers.Configured{}, err
	}
	r, err := read(ctx, c, "configure", configureLimit, c.rpc.Configure, p)
	if err != nil {
		return providers.Configured{}, err
	}
	return configuredFrom(r), nil
}

func (c *client) Catalog(ctx context.Context, q providers.CatalogQuery) (providers.Catalog, error) {
	r, err := read(ctx, c, "read catalog", callLimit, c.rpc.Catalog, queryTo(q))
	if err != nil {
		return providers.Catalog{}, err
	}
	return catalogFrom(r), nil
}

func (c *client) CreatePod(ctx context.Context, req providers.CreatePod) (providers.Pod, error) {
	r, err := effect(ctx, c, "create pod", c.rpc.CreatePod, createTo(req))
	if err != nil {
		return providers.Pod{}, err
	}
	return podFrom(r.GetPod()), nil
}

func (c *client) GetPod(ctx context.Context, id string) (providers.Pod, error) {
	r, err := read(ctx, c, "read pod", callLimit, c.rpc.GetPod, &pb.GetPodRequest{Id: id})
	if err != nil {
		return providers.Pod{}, err
	}
	return podFrom(r.GetPod()), nil
}

func (c *client) ListPods(ctx context.Context) (providers.PodList, error) {
	r, err := read(ctx, c, "list pods", callLimit, c.rpc.ListPods, &pb.ListPodsRequest{})
	if err != nil {
		return providers.PodList{}, err
	}
	return providers.PodList{Pods: mapped(r.GetPods(), podFrom), ServerTime: timeFrom(r.GetServerTime())}, nil
}

func (c *client) DeletePod(ctx context.Context, id string) (bool, error) {
	r, err := effect(ctx, c, "delete pod", c.rpc.DeletePod, &pb.DeletePodRequest{Id: id})
	return r.GetExisted(), err
}

func (c *client) PodLogs(ctx context.Context, req providers.LogRequest, sink func(providers.LogLine) error) error {
	const op = "read pod log"
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.rpc.PodLogs(ctx, &pb.PodLogsRequest{PodId: req.PodID, Cursor: req.Cursor, Follow: req.Follow})
	if err != nil {
		return c.fail(ctx, op, false, err)
	}
	for {
		l, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return c.fail(ctx, op, false, err)
		}
		if err := sink(lineFrom(l)); err != nil {
			return err
		}
	}
}

func (c *client) ListTemplates(ctx context.Context) ([]providers.Template, error) {
	r, err := read(ctx, c, "list templates", callLimit, c.rpc.ListTemplates, &pb.ListTemplatesRequest{})
	if err != nil {
		return nil, err
	}
	return mapped(r.GetTemplates(), templateFrom), nil
}
