// Package s3state keeps a state as one object of an S3 bucket. Writers are kept
// apart by conditional writes: a lock object that only one can make, and a
// state that is replaced only where it is the one that was read. Any server
// that has both will do.
package s3state

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/overbrainer/overbrainer/state"
)

// Config is the backend block, by Terraform's names. What is empty comes from
// where the AWS command line has it: environment, shared files, the machine.
type Config struct {
	Bucket       string
	Key          string // of the object; the lock is KEY.tflock
	Region       string
	Endpoint     string // "" = Amazon's
	UsePathStyle bool
	Profile      string
	AccessKey    string
	SecretKey    string
	Token        string

	SharedConfigFiles      []string
	SharedCredentialsFiles []string

	Encrypt    bool   // asks for server-side encryption
	KMSKeyID   string // with Encrypt: this key
	MaxRetries int    // tries of one request; 0 = the SDK's
}

// Backend is the place. See state.Backend.
type Backend struct {
	cfg   Config
	where string

	mu     sync.Mutex
	client *s3.Client
	proven bool // conditional writes work there
}

// New checks the configuration; the SDK is not touched yet.
func New(cfg Config) (*Backend, error) {
	switch {
	case cfg.Bucket == "":
		return nil, errors.New("bucket is missing")
	case cfg.Key == "" || strings.HasPrefix(cfg.Key, "/") || strings.HasSuffix(cfg.Key, "/"):
		return nil, errors.New("key must be the name of an object, without a slash at its ends")
	case (cfg.AccessKey == "") != (cfg.SecretKey == ""):
		return nil, errors.New("access_key and secret_key belong together")
	}
	return &Backend{cfg: cfg, where: "s3://" + cfg.Bucket + "/" + cfg.Key}, nil
}

// Where gives s3://BUCKET/KEY.
func (b *Backend) Where() string { return b.where }

// api makes the client when it is first needed.
func (b *Backend) api(ctx context.Context) (*s3.Client, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.client != nil {
		return b.client, nil
	}
	var opts []func(*config.LoadOptions) error
	if b.cfg.Region != "" {
		opts = append(opts, config.WithRegion(b.cfg.Region))
	}
	if b.cfg.Profile != "" {
		opts = append(opts, config.WithSharedConfigProfile(b.cfg.Profile))
	}
	if len(b.cfg.SharedConfigFiles) > 0 {
		opts = append(opts, config.WithSharedConfigFiles(b.cfg.SharedConfigFiles))
	}
	if len(b.cfg.SharedCredentialsFiles) > 0 {
		opts = append(opts, config.WithSharedCredentialsFiles(b.cfg.SharedCredentialsFiles))
	}
	if b.cfg.AccessKey != "" {
		opts = append(opts, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(b.cfg.AccessKey, b.cfg.SecretKey, b.cfg.Token)))
	}
	loaded, err := config.LoadDefaultConfig(ctx, opts...)
	if err != nil {
		return nil, &state.BackendError{Trouble: state.Refused, Where: b.where, Err: err, Hint: "this is what the AWS configuration of this machine gives"}
	}
	if loaded.Region == "" {
		if b.cfg.Endpoint == "" && loaded.BaseEndpoint == nil {
			return nil, &state.BackendError{Trouble: state.Refused, Where: b.where, Err: errors.New("no region is known"), Hint: "set region in the backend block, or AWS_REGION"}
		}
		loaded.Region = "us-east-1" // what other servers call theirs
	}
	b.client = s3.NewFromConfig(loaded, func(o *s3.Options) {
		if b.cfg.Endpoint != "" {
			o.BaseEndpoint = aws.String(b.cfg.Endpoint)
		}
		o.UsePathStyle = b.cfg.UsePathStyle
		// Other servers do not know the checksums that Amazon has added since.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		if b.cfg.MaxRetries > 0 {
			o.RetryMaxAttempts = b.cfg.MaxRetries
		}
	})
	return b.client, nil
}

// Read gets the state.
func (b *Backend) Read(ctx context.Context) ([]byte, error) {
	o, err := b.get(ctx, b.cfg.Key)
	return o.data, err
}

// lockKey is the lock beside the state, by the name that Terraform gives it.
func (b *Backend) lockKey() string { return b.cfg.Key + ".tflock" }

func (b *Backend) encryption(in *s3.PutObjectInput) {
	switch {
	case b.cfg.KMSKeyID != "":
		in.ServerSideEncryption, in.SSEKMSKeyId = types.ServerSideEncryptionAwsKms, aws.String(b.cfg.KMSKeyID)
	case b.cfg.Encrypt:
		in.ServerSideEncryption = types.ServerSideEncryptionAes256
	}
}
