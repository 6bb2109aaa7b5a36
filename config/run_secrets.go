package config

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// readSecrets reads which variable gets which secret.
func (s *session) readSecrets(r *reader, run *Run) {
	f := r.get("secrets")
	if !f.usable() {
		return
	}
	ty := f.val.Type()
	if !ty.IsObjectType() && !ty.IsMapType() {
		r.fail(f.rng, "wrong type", "`secrets` is a map from a variable's name to a secret, such as secrets = { HF_TOKEN = secret.hf }; this is %s", friendly(f.val))
		return
	}
	run.Secrets = map[string]*Secret{}
	for it := f.val.ElementIterator(); it.Next(); {
		k, v := it.Element()
		name := k.AsString()
		switch {
		case v.IsNull():
			continue
		case v.Type() != secretType:
			r.fail(f.rng, "not a secret", "`secrets` takes secret blocks, and the value of %s is %s; what is no secret belongs into `env`", name, friendly(v))
			continue
		case !r.variableName(f.rng, name):
			continue
		}
		if _, twice := run.Env[name]; twice || slices.Contains(run.Late, "env "+name) {
			r.fail(f.rng, "set twice", "the variable %s is set in `secrets` and in `env` (%s)", name, place(attrOr(run.AttrRanges, "env", run.Range)))
			continue
		}
		run.Secrets[name] = v.EncapsulatedValue().(*Secret)
	}
}

// variableName checks the name of a variable of the job's environment.
func (r *reader) variableName(rng hcl.Range, name string) bool {
	switch {
	case !envName.MatchString(name):
		r.fail(rng, "not a name of a variable", "%s is no name of an environment variable: letters, digits and _, not beginning with a digit", quote(name))
	case strings.HasPrefix(name, "OVERBRAINER_"):
		r.fail(rng, "name in use", "names that begin with OVERBRAINER_ are set by overbrainer; %s needs another", name)
	default:
		return true
	}
	return false
}
