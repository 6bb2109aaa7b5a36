package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Backend says where the state is kept.
type Backend struct {
	Type string // "local" unless configured
	// Values by attribute, as written: string, bool, int or []string. What is
	// left out has no entry.
	Values map[string]any
	Range  hcl.Range
}

// backendAttr is one argument of a backend block.
type backendAttr struct {
	typ    cty.Type
	secret bool
	// public gives what of a secret one may be written down, and whether that is
	// all of it; nil: nothing may.
	public func(string) (public string, whole bool)
}

// backends are the places where a state can be kept, with their arguments by
// the names that Terraform's backends have.
func backends() map[string]map[string]backendAttr {
	text, flag, number := backendAttr{typ: cty.String}, backendAttr{typ: cty.Bool}, backendAttr{typ: cty.Number}
	list, secret := backendAttr{typ: stringList}, backendAttr{typ: cty.String, secret: true}
	return map[string]map[string]backendAttr{
		"local": {},
		"http": {
			"address": text, "update_method": text, "lock_address": text, "lock_method": text,
			"unlock_address": text, "unlock_method": text, "username": text, "password": secret,
			"skip_cert_verification": flag, "client_ca_certificate_pem": text, "client_certificate_pem": text,
			"client_private_key_pem": secret, "retry_max": number, "retry_wait_min": number, "retry_wait_max": number,
		},
		"s3": {
			"bucket": text, "key": text, "region": text, "endpoint": text, "use_path_style": flag,
			"profile": text, "shared_config_files": list, "shared_credentials_files": list,
			"access_key": secret, "secret_key": secret, "token": secret,
			"encrypt": flag, "kms_key_id": text, "max_retries": number,
		},
		"pg": {"conn_str": {typ: cty.String, secret: true, public: publicConnStr}, "schema_name": text, "skip_schema_creation": flag, "skip_table_creation": flag},
	}
}

// Public gives the values that may be written down, without what is secret.
func (b Backend) Public() map[string]any {
	out := map[string]any{}
	for name, v := range b.Values {
		attr := backends()[b.Type][name]
		if !attr.secret {
			out[name] = v
		} else if text, ok := v.(string); ok && attr.public != nil {
			if public, _ := attr.public(text); public != "" {
				out[name] = public
			}
		}
	}
	return out
}

// Withheld names the arguments that Public leaves out, wholly or in part.
func (b Backend) Withheld() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(b.Values)) {
		attr := backends()[b.Type][name]
		text, ok := b.Values[name].(string)
		if !ok || !attr.secret || text == "" {
			continue
		}
		whole := false
		if attr.public != nil {
			_, whole = attr.public(text)
		}
		if !whole {
			out = append(out, name)
		}
	}
	return out
}

// Secrets gives the values that nothing may show.
func (b Backend) Secrets() []string {
	var out []string
	for name, v := range b.Values {
		if text, ok := v.(string); ok && backends()[b.Type][name].secret {
			out = append(out, text)
		}
	}
	return out
}

// ReadBackend reads no more of a project than where its state is: a
// configuration with faults elsewhere, or none at all, has one too. sources,
// where not nil, stand for the files of the directory.
func ReadBackend(dir string, sources map[string][]byte) (Backend, hcl.Diagnostics) {
	none := Backend{Type: "local"}
	texts, diags := readSources(dir, sources)
	if len(texts) == 0 {
		return none, nil
	}
	if diags.HasErrors() {
		return none, tidy(diags)
	}
	for _, name := range sorted(texts) {
		file, more := parse(name, texts[name])
		for _, body := range file.bodies {
			for _, block := range body.Blocks {
				if block.Type == "overbrainer" {
					backend, diags := backendOf(block)
					return backend, tidy(diags)
				}
			}
		}
		// What could not be read may have said it.
		diags = append(diags, more...)
	}
	return none, tidy(diags)
}

// backendOf reads the backend block of an overbrainer block.
func backendOf(settings *hclsyntax.Block) (Backend, hcl.Diagnostics) {
	for _, block := range settings.Body.Blocks {
		if block.Type == "backend" && len(block.Labels) == 1 {
			return readBackend(block)
		}
	}
	return Backend{Type: "local"}, nil
}

func readBackend(block *hclsyntax.Block) (Backend, hcl.Diagnostics) {
	name := block.Labels[0]
	out := Backend{Type: name, Values: map[string]any{}, Range: headerRange(block)}
	known, ok := backends()[name]
	if !ok {
		names := slices.Sorted(maps.Keys(backends()))
		return out, hcl.Diagnostics{at(block.LabelRanges[0], "unknown backend",
			hint(fmt.Sprintf("this version keeps its state in no backend called %s", quote(name)), didYouMean(name, names, "")))}
	}
	var diags hcl.Diagnostics
	for _, attr := range sortedAttrs(block.Body) {
		form, ok := known[attr]
		if !ok {
			names := slices.Sorted(maps.Keys(known))
			diags = append(diags, at(block.Body.Attributes[attr].NameRange, "unknown argument",
				hint(fmt.Sprintf("the %s backend has no argument `%s`", name, attr), didYouMean(attr, names, ""))))
			continue
		}
		v, diag := constant(block.Body, attr, form.typ)
		if diag != nil {
			diags = append(diags, diag)
			continue
		}
		if !v.IsNull() {
			out.Values[attr] = plainValue(*v)
		}
	}
	return out, diags
}

// plainValue gives a value of one of the types of backendAttr as Go has it.
func plainValue(v cty.Value) any {
	switch v.Type() {
	case cty.String:
		return v.AsString()
	case cty.Bool:
		return v.True()
	case cty.Number:
		n, _ := v.AsBigFloat().Int64()
		return int(n)
	}
	var out []string
	for _, e := range v.AsValueSlice() {
		if !e.IsNull() {
			out = append(out, e.AsString())
		}
	}
	return out
}
