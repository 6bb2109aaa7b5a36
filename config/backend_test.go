package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// What is written down of a backend leads back to it and holds nothing secret.
func TestBackendPublic(t *testing.T) {
	for conn, want := range map[string]string{
		"postgres://127.0.0.1:5432/states?sslmode=disable":                  "postgres://127.0.0.1:5432/states?sslmode=disable",
		"postgresql://ann:s3cr3t@db/states?password=s3cr3t&sslmode=require": "postgresql://ann@db/states?sslmode=require",
		"postgres://ann@db/states?sslpassword=s3cr3t":                       "postgres://ann@db/states",
		"postgres://ann:s3cr3t@one:1,two:2/states":                          "postgres://ann@one:1,two:2/states",
		"host=db port=5432 user=ann password=s3cr3t":                        "host='db' port='5432' user='ann'",
		`password = 's3cr3t \' host=x' host = db dbname='a \' b'`:           `host='db' dbname='a \' b'`,
		`host=/run\ pg password=s3\ cr3t`:                                   `host='/run pg'`,
	} {
		b := Backend{Type: "pg", Values: map[string]any{"conn_str": conn, "schema_name": "sweep"}}
		if got := b.Public(); got["conn_str"] != want || got["schema_name"] != "sweep" {
			t.Errorf("%s is written down as %q, want %q", conn, got["conn_str"], want)
		}
		withheld := b.Withheld()
		if secret := strings.Contains(conn, "cr3t"); secret != slices.Contains(withheld, "conn_str") {
			t.Errorf("%s: withheld %q", conn, withheld)
		}
	}
	for _, conn := range []string{"s3cr3t", "postgres://ann:s3%cr3t@db/states", "password='s3cr3t host=db", "pass word=s3cr3t"} {
		b := Backend{Type: "pg", Values: map[string]any{"conn_str": conn}}
		if got := b.Public(); len(got) != 0 || !reflect.DeepEqual(b.Withheld(), []string{"conn_str"}) {
			t.Errorf("of %s %v is written down, withheld %q", conn, got, b.Withheld())
		}
	}
	b := Backend{Type: "http", Values: map[string]any{"address": "http://x", "password": "s3cr3t"}}
	if got := slices.Collect(maps.Keys(b.Public())); !reflect.DeepEqual(got, []string{"address"}) || !reflect.DeepEqual(b.Withheld(), []string{"password"}) {
		t.Errorf("written down %q, withheld %q", got, b.Withheld())
	}
}
