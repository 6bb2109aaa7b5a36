package config

import (
	"context"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Load reads and checks a project's configuration. The Config is never nil, so
// that its Files can show where a fault is; with errors it is not to be used
// for anything else. All diagnostics are safe to show.
func Load(ctx context.Context, dir string, opt Options) (*Config, hcl.Diagnostics) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	if opt.Limit == 0 {
		opt.Limit = defaultLimit
	}
	cfg := &Config{
		Dir: abs, Project: opt.Project, files: map[string]*hcl.File{},
		Providers: map[string]*Provider{}, Variables: map[string]*Variable{}, Secrets: map[string]*Secret{},
		Outputs: map[string]*OutputBlock{}, Volumes: map[string]*Volume{}, Targets: map[string]*Target{}, Caps: map[string]*Cap{},
	}
	if cfg.Project == "" {
		cfg.Project = ProjectName(abs)
	}
	p := &program{
		dir: abs, opt: &opt, cfg: cfg, forms: schemas(), decls: map[string]*decl{}, info: map[hclsyntax.Expression]*exprInfo{},
		volumes: map[*decl][]*Volume{}, targets: map[*decl][]*Target{}, caps: map[*decl]*Cap{}, runs: map[*decl][]*runInstance{},
		sets: map[string]*uploadSet{}, found: map[string]existing{}, files: newTree(abs),
	}
	cfg.prog = p
	// Evaluations after Load are bounded by time only.
	defer func() { p.ctx = context.WithoutCancel(ctx) }()
	p.ctx = ctx
	p.functions = p.table()
	sources, diags := readSources(abs, opt.Sources)
	if len(opt.Extra) > 0 {
		diags = append(diags, checkSizes(opt.Extra)...)
		sources = maps.Clone(sources)
		maps.Copy(sources, opt.Extra)
	}
	if diags.HasErrors() {
		return cfg, tidy(diags)
	}
	cfg.Sources, cfg.Digest = sources, digest(sources)
	return cfg, tidy(append(diags, p.load(sources)...))
}

// load goes through the stages. Each needs what the one before it found out,
// so a stage with errors is the last where the next would only repeat them.
func (p *program) load(sources map[string][]byte) hcl.Diagnostics {
	var diags hcl.Diagnostics
	var bodies []*hclsyntax.Body
	for _, name := range sorted(sources) {
		file, more := parse(name, sources[name])
		diags = append(diags, more...)
		p.cfg.files[name] = file.file
		p.partial = p.partial || file.broken
		bodies = append(bodies, file.bodies...)
	}
	diags = append(diags, p.declare(bodies)...)
	if p.partial {
		return diags
	}
	diags = append(diags, p.link()...)
	diags = append(diags, p.sort()...)
	s := p.newSession(nil, nil)
	p.base = s
	diags = append(diags, s.bounds(s.everything)...)
	s.forgetLate()
	return append(diags, s.diags...)
}

// forgetLate drops what hangs on runs and volumes: every later session computes
// that itself, and of ten thousand runs it takes a hundred megabytes.
func (s *session) forgetLate() {
	late := func(d *decl) bool { return d.late }
	maps.DeleteFunc(s.values, func(d *decl, _ cty.Value) bool { return d.late })
	maps.DeleteFunc(s.ctxs, func(info *exprInfo, _ *hcl.EvalContext) bool { return slices.ContainsFunc(info.refs, late) })
}

// everything evaluates all blocks, each after what it refers to.
func (s *session) everything() {
	s.settings()
	s.variables()
	for _, d := range s.p.ofKind("secret") {
		s.secret(d)
	}
	s.providers()
	for _, d := range s.p.order {
		if d.bad {
			s.p.broken(d)
			continue
		}
		switch d.kind {
		case "local":
			s.value(d)
		case "volume":
			s.volumeBlock(d)
		case "target":
			s.targetBlock(d)
		case "cap":
			s.capBlock(d)
		case "run":
			s.runBlock(d)
		case "output":
			s.outputBlock(d)
		case "check":
			s.checkBlock(d)
		}
	}
	s.validations()
	s.sameVolumes()
	s.changes()
	slices.SortStableFunc(s.p.cfg.Runs, func(a, b *Run) int { return strings.Compare(a.Name, b.Name) })
}

// broken keeps a block of a circle from being missed where it is referred to.
func (p *program) broken(d *decl) { d.failed = true }

// repeatedRef finds a reference to a whole block that has several instances.
func (p *program) repeatedRef(travs []hcl.Traversal, kind string) *decl {
	for _, trav := range travs {
		if len(trav) != 2 || trav.RootName() != kind {
			continue
		}
		if step, ok := trav[1].(hcl.TraverseAttr); ok {
			if d := p.decls[kind+"."+step.Name]; d != nil && d.repeated {
				return d
			}
		}
	}
	return nil
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// ProjectName is the project's name that a directory gives: its last part in
// lower case, with - for what is no letter and no digit.
func ProjectName(dir string) string {
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(filepath.Base(dir)), "-"), "-")
	if name == "" {
		return "project"
	}
	return name
}
