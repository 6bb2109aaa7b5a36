package s3state

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/overbrainer/overbrainer/state"
)

// wrong words what a call failed with.
func (b *Backend) wrong(doing string, err error) error {
	if errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	e := &state.BackendError{Trouble: state.Refused, Where: b.where}
	c, s := code(err), status(err)
	switch {
	case c == "NoSuchBucket":
		e.Trouble, e.Hint = state.Missing, "make the bucket "+b.cfg.Bucket+" first, or correct bucket, region and endpoint"
	case c == "ExpiredToken", c == "InvalidAccessKeyId", c == "SignatureDoesNotMatch":
		e.Trouble, e.Hint = state.Denied, "the AWS credentials in use are not right for this server"
	case s == http.StatusForbidden, s == http.StatusUnauthorized:
		e.Trouble, e.Hint = state.Denied, "it takes s3:GetObject, s3:PutObject and s3:DeleteObject on the key and on KEY.tflock, and s3:ListBucket on the bucket"
	case s == http.StatusNotImplemented:
		e.Trouble, e.Hint = state.Unsuitable, useAnother
	case s == http.StatusMovedPermanently, c == "AuthorizationHeaderMalformed":
		e.Hint = "is region the bucket's own?"
	case s == 0 || s >= 500:
		e.Trouble, e.Hint = state.Unreachable, "is the server up, and endpoint right? Without credentials set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	}
	if s != 0 && c != "" {
		e.Err = fmt.Errorf("%s was answered with %d %s", doing, s, c)
	} else {
		e.Err = fmt.Errorf("%s: %w", doing, deepest(err))
	}
	return e
}

// deepest leaves out the SDK's wrappings, which name operations and IDs.
func deepest(err error) error {
	var network *net.OpError
	if errors.As(err, &network) {
		return network
	}
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}
