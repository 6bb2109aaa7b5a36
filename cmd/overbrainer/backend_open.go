package main

import (
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/overbrainer/overbrainer/config"
	"github.com/overbrainer/overbrainer/state"
	"github.com/overbrainer/overbrainer/state/httpstate"
	"github.com/overbrainer/overbrainer/state/pgstate"
	"github.com/overbrainer/overbrainer/state/s3state"
)

// openBackend makes the store of a backend. Nothing is connected yet.
func (a *app) openBackend(b config.Backend, wait time.Duration) (keeper, error) {
	if b.Type == "local" {
		opts := []state.Option{state.HeldBy(holder()), state.Rescue(os.TempDir(), a.err)}
		if wait > 0 {
			opts = append(opts, state.LockTimeout(wait))
		}
		return state.Local(a.dir, version, opts...), nil
	}
	v := backendValues{app: a, values: b.Values}
	a.hide(b.Secrets()...)
	var remote state.Backend
	var err error
	switch b.Type {
	case "http":
		remote, err = v.http()
	case "s3":
		remote, err = v.s3()
	case "pg":
		remote, err = v.pg()
	default:
		return nil, &problem{code: "backend", message: "this version has no backend " + b.Type}
	}
	if err != nil {
		return nil, &problem{code: "backend", message: "backend " + b.Type + ": " + err.Error(), hint: "the backend block is in the overbrainer block of the configuration"}
	}
	return state.Remote(remote, state.RemoteOptions{
		Dir: a.dir, Version: version, Wait: wait, Holder: holder(), TempDir: os.TempDir(), LastResort: a.err,
		Tell: a.tellWait,
	}), nil
}

// backendValues reads a backend block; what it leaves out comes from the
// environment, where it has a variable.
type backendValues struct {
	app    *app
	values map[string]any
}

func (v backendValues) text(name, env string) string {
	if text, ok := v.values[name].(string); ok {
		return text
	}
	if env == "" {
		return ""
	}
	return v.app.environ(env)
}

func (v backendValues) flag(name, env string) bool {
	if on, ok := v.values[name].(bool); ok {
		return on
	}
	on, _ := strconv.ParseBool(v.text(name, env))
	return on
}

func (v backendValues) number(name, env string, otherwise int) int {
	if n, ok := v.values[name].(int); ok {
		return n
	}
	if n, err := strconv.Atoi(v.text(name, env)); err == nil {
		return n
	}
	return otherwise
}

func (v backendValues) list(name string) []string {
	list, _ := v.values[name].([]string)
	return list
}

// hidden is a text that nothing may show.
func (v backendValues) hidden(name, env string) string {
	text := v.text(name, env)
	v.app.hide(text)
	return text
}

func (v backendValues) http() (state.Backend, error) {
	text := func(name string) string { return v.text(name, "OVERBRAINER_HTTP_"+strings.ToUpper(name)) }
	seconds := func(name string, otherwise int) time.Duration {
		return time.Duration(v.number(name, "OVERBRAINER_HTTP_"+strings.ToUpper(name), otherwise)) * time.Second
	}
	return httpstate.New(httpstate.Config{
		Address: text("address"), UpdateMethod: text("update_method"),
		LockAddress: text("lock_address"), LockMethod: text("lock_method"),
		UnlockAddress: text("unlock_address"), UnlockMethod: text("unlock_method"),
		Username: text("username"), Password: v.hidden("password", "OVERBRAINER_HTTP_PASSWORD"),
		SkipCertVerification: v.flag("skip_cert_verification", ""),
		ClientCAPEM:          text("client_ca_certificate_pem"),
		ClientCertPEM:        text("client_certificate_pem"),
		ClientKeyPEM:         v.hidden("client_private_key_pem", "OVERBRAINER_HTTP_CLIENT_PRIVATE_KEY_PEM"),
		RetryMax:             v.number("retry_max", "OVERBRAINER_HTTP_RETRY_MAX", 2),
		RetryWaitMin:         seconds("retry_wait_min", 1), RetryWaitMax: seconds("retry_wait_max", 30),
	})
}

func (v backendValues) s3() (state.Backend, error) {
	// The SDK reads these itself.
	v.app.hide(v.app.environ("AWS_SECRET_ACCESS_KEY"), v.app.environ("AWS_SESSION_TOKEN"))
	return s3state.New(s3state.Config{
		Bucket: v.text("bucket", ""), Key: v.text("key", ""), Region: v.text("region", ""), Endpoint: v.text("endpoint", ""),
		UsePathStyle: v.flag("use_path_style", ""), Profile: v.text("profile", ""),
		AccessKey: v.hidden("access_key", ""), SecretKey: v.hidden("secret_key", ""), Token: v.hidden("token", ""),
		SharedConfigFiles: v.list("shared_config_files"), SharedCredentialsFiles: v.list("shared_credentials_files"),
		Encrypt: v.flag("encrypt", ""), KMSKeyID: v.text("kms_key_id", ""), MaxRetries: v.number("max_retries", "", 0),
	})
}

func (v backendValues) pg() (state.Backend, error) {
	conn := v.hidden("conn_str", "PG_CONN_STR")
	v.app.hide(v.app.environ("PGPASSWORD"), passwordOf(conn))
	return pgstate.New(pgstate.Config{
		ConnStr: conn, SchemaName: v.text("schema_name", "PG_SCHEMA_NAME"),
		SkipSchemaCreation: v.flag("skip_schema_creation", "PG_SKIP_SCHEMA_CREATION"),
		SkipTableCreation:  v.flag("skip_table_creation", "PG_SKIP_TABLE_CREATION"),
	})
}

var keywordPassword = regexp.MustCompile(`(?i)\bpassword\s*=\s*('[^']*'|\S+)`)

// passwordOf finds the password of a connection string, in either of its forms.
func passwordOf(conn string) string {
	if u, err := url.Parse(conn); err == nil && u.User != nil {
		word, _ := u.User.Password()
		return word
	}
	if found := keywordPassword.FindStringSubmatch(conn); found != nil {
		return strings.Trim(found[1], "'")
	}
	return ""
}
