package config

import "regexp"

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// secret reads a secret block: where its value will be, not the value.
func (s *session) secret(d *decl) {
	r := s.reader(d, nil)
	secret := &Secret{Name: d.name, Range: d.rng, AttrRanges: attrRanges(d.block.Body)}
	var set []string
	for _, name := range []string{"env", "file", "command"} {
		if f := r.get(name); f.set || f.bad {
			set = append(set, name)
		}
	}
	switch {
	case len(set) == 0:
		r.fail(d.rng, "no source", `%s needs exactly one of env = "NAME", file = "PATH" and command = ["PROGRAM", "ARGUMENT"]`, d.addr())
	case len(set) > 1:
		r.fail(d.rng, "several sources", "%s has %s; exactly one says where the value is read", d.addr(), list(set))
	}
	env, f := r.name("env")
	if f.usable() && !envName.MatchString(env) {
		r.fail(f.rng, "not a name of a variable", "`env` is the name of an environment variable, such as \"HF_TOKEN\", not its value")
	}
	secret.Env = env
	secret.File, _ = r.name("file")
	if f := r.get("command"); f.usable() {
		argv, ok := r.strings(f)
		if !ok || len(argv) == 0 || argv[0] == "" {
			r.fail(f.rng, "not a command", "`command` is a program with its arguments, such as %s", `["pass", "show", "hf"]`)
		}
		secret.Command = argv
	}
	// A faulty block is kept, so that what refers to it gives no second fault.
	s.p.cfg.Secrets[d.name] = secret
}
