package plugin

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/overbrainer/overbrainer/providers"
	"github.com/overbrainer/overbrainer/providers/plugin/providerpb"
)

// toStatus packs an error of a provider for the wire. The code serves readers
// of traces only; what the error means is in the details.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	var e *providers.Error
	if !errors.As(err, &e) {
		e = &providers.Error{Kind: providers.Unknown, Message: err.Error()}
	}
	s := status.New(codeOf(e.Kind), valid(e.Message))
	detailed, packErr := s.WithDetails(&providerpb.Error{
		Kind:       string(e.Kind),
		Op:         valid(e.Op),
		Status:     int32(e.Status),
		Message:    valid(e.Message),
		Detail:     valid(e.Detail),
		RetryAfter: durationpb.New(e.RetryAfter),
	})
	if packErr != nil {
		return s.Err()
	}
	return detailed.Err()
}

func codeOf(k providers.Kind) codes.Code {
	switch k {
	case providers.NotFound:
		return codes.NotFound
	case providers.Unauthenticated:
		return codes.Unauthenticated
	case providers.Forbidden:
		return codes.PermissionDenied
	case providers.Invalid, providers.Rejected:
		return codes.InvalidArgument
	case providers.Capacity, providers.NoCredits, providers.RateLimited:
		return codes.ResourceExhausted
	case providers.Conflict:
		return codes.AlreadyExists
	case providers.Unimplemented:
		return codes.Unimplemented
	case providers.Transient:
		return codes.Unavailable
	}
	return codes.Unknown
}

// fromStatus unpacks an error that came over the wire. ok is false for one
// that the transport made, whose meaning depends on the call.
func fromStatus(err error) (e *providers.Error, ok bool) {
	s, isStatus := status.FromError(err)
	if !isStatus {
		return nil, false
	}
	for _, d := range s.Details() {
		if p, is := d.(*providerpb.Error); is {
			return &providers.Error{
				Kind:       knownKind(p.GetKind()),
				Op:         p.GetOp(),
				Status:     int(p.GetStatus()),
				Message:    p.GetMessage(),
				Detail:     p.GetDetail(),
				RetryAfter: p.GetRetryAfter().AsDuration(),
			}, true
		}
	}
	return nil, false
}

// knownKind maps a kind that this version does not know to Unknown.
func knownKind(s string) providers.Kind {
	switch k := providers.Kind(s); k {
	case providers.Capacity, providers.Forbidden, providers.Rejected, providers.Invalid,
		providers.Unauthenticated, providers.NoCredits, providers.NotFound, providers.Conflict,
		providers.RateLimited, providers.Ambiguous, providers.Transient, providers.Unimplemented:
		return k
	}
	return providers.Unknown
}

// transportError says what an error of the transport itself means for a call:
// an effect may have happened, a read may work later.
func transportError(ctx context.Context, op string, effect bool, err error) *providers.Error {
	e := &providers.Error{Op: op, Kind: providers.Transient}
	if effect {
		e.Kind = providers.Ambiguous
	}
	s := status.Convert(err)
	switch {
	case ctx.Err() != nil || s.Code() == codes.Canceled || s.Code() == codes.DeadlineExceeded:
		e.Message = "the call was given up before the provider answered"
	case s.Code() == codes.ResourceExhausted && strings.Contains(s.Message(), "larger than max"):
		e.Message = "a message is larger than the 16 MiB that the plugin protocol allows"
		if effect && strings.Contains(s.Message(), "trying to send") {
			// Nothing was sent: answers to effects are small.
			e.Kind = providers.Invalid
		}
	case s.Code() == codes.Internal && strings.Contains(s.Message(), "marshal"):
		// Nothing was sent.
		e.Kind, e.Message = providers.Invalid, "the request holds text that is not UTF-8"
	case s.Code() == codes.Unimplemented:
		e.Kind, e.Message = providers.Unimplemented, "the provider does not know this call"
	default:
		e.Message = "the connection to the provider's process was lost"
		e.Detail = s.Message()
	}
	return e
}

// valid makes text fit for the wire, which takes UTF-8 only.
func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
