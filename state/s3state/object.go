package s3state

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/overbrainer/overbrainer/state"
)

// object is one object as it was read; nil data: there is none.
type object struct {
	data []byte
	etag string
	age  time.Duration // by the server's clock
}

func (b *Backend) get(ctx context.Context, key string) (object, error) {
	api, err := b.api(ctx)
	if err != nil {
		return object{}, err
	}
	out, err := api.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(b.cfg.Bucket), Key: aws.String(key)})
	if code(err) == "NoSuchKey" {
		return object{}, nil
	}
	if err != nil {
		return object{}, b.wrong("reading", err)
	}
	defer out.Body.Close()
	o := object{etag: aws.ToString(out.ETag)}
	if o.data, err = io.ReadAll(out.Body); err != nil {
		return object{}, b.wrong("reading", err)
	}
	if at, ok := awsDate(out); ok && out.LastModified != nil {
		o.age = at.Sub(*out.LastModified)
	}
	return o, nil
}

// condition is what must hold for a write.
type condition struct {
	absent bool   // nothing lies there
	etag   string // this lies there
}

// put writes an object where the condition holds, ErrMoved where it does not.
func (b *Backend) put(ctx context.Context, key string, data []byte, when condition) (etag string, err error) {
	api, err := b.api(ctx)
	if err != nil {
		return "", err
	}
	in := &s3.PutObjectInput{
		Bucket: aws.String(b.cfg.Bucket), Key: aws.String(key), Body: bytes.NewReader(data),
		ContentLength: aws.Int64(int64(len(data))), ContentType: aws.String("application/json"),
	}
	if when.absent {
		in.IfNoneMatch = aws.String("*")
	} else {
		in.IfMatch = aws.String(when.etag)
	}
	b.encryption(in)
	// A second try of the SDK's may meet the first one's own object. Locks and
	// states carry an ID, by which whoever reads them knows.
	out, err := api.PutObject(ctx, in)
	switch status(err) {
	case http.StatusPreconditionFailed, http.StatusConflict:
		return "", state.ErrMoved
	case http.StatusNotFound:
		if code(err) == "NoSuchKey" { // what was to be replaced is gone
			return "", state.ErrMoved
		}
	}
	if err != nil {
		failure := b.wrong("writing", err)
		if lost(err) {
			return "", &state.UnsureError{Err: failure}
		}
		return "", failure
	}
	return aws.ToString(out.ETag), nil
}

// remove deletes an object that is still the one with the tag. Servers that
// know no condition here delete it all the same.
func (b *Backend) remove(ctx context.Context, key, etag string) error {
	api, err := b.api(ctx)
	if err != nil {
		return err
	}
	in := &s3.DeleteObjectInput{Bucket: aws.String(b.cfg.Bucket), Key: aws.String(key), IfMatch: aws.String(etag)}
	_, err = api.DeleteObject(ctx, in)
	switch s := status(err); {
	case s == http.StatusPreconditionFailed, s == http.StatusConflict:
		return state.ErrMoved
	case s == http.StatusNotFound && code(err) != "NoSuchBucket":
		return nil
	case s == http.StatusNotImplemented, s == http.StatusBadRequest:
		in.IfMatch = nil
		_, err = api.DeleteObject(ctx, in)
	}
	if err != nil {
		return b.wrong("deleting", err)
	}
	return nil
}

// code gives the server's word for an error, "" for none.
func code(err error) string {
	var answered smithy.APIError
	if errors.As(err, &answered) {
		return answered.ErrorCode()
	}
	return ""
}

// status gives the HTTP status of an error's answer, 0 if there was none.
func status(err error) int {
	var answered *awshttp.ResponseError
	if errors.As(err, &answered) {
		return answered.HTTPStatusCode()
	}
	return 0
}

// lost reports whether a write may have been done although it failed.
func lost(err error) bool {
	s := status(err)
	return s == 0 || (s >= 500 && s != http.StatusNotImplemented)
}
