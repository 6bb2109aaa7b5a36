package config

import (
	"errors"
	"fmt"
	"strings"

	goversion "github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// settings reads the overbrainer block.
func (s *session) settings() {
	set := &s.p.cfg.Settings
	set.Backend.Type = "local"
	set.RequiredProviders = map[string]ProviderRequirement{}
	if len(s.p.main) == 0 {
		return
	}
	block := s.p.main[0]
	set.Range = headerRange(block)
	if v, diag := constant(block.Body, "required_version", cty.String); diag != nil {
		s.report(diag)
	} else if v != nil && !v.IsNull() {
		set.RequiredVersion = v.AsString()
		s.requireVersion(set.RequiredVersion, block.Body.Attributes["required_version"].Expr.Range())
	}
	if attr := block.Body.Attributes["required_providers"]; attr != nil {
		s.requiredProviders(attr)
	}
	backend, diags := backendOf(block)
	set.Backend = backend
	for _, d := range diags {
		s.report(d)
	}
}

// requireVersion holds this program's version against a constraint.
func (s *session) requireVersion(text string, rng hcl.Range) {
	constraint, err := goversion.NewConstraint(text)
	if err != nil {
		s.report(at(rng, "not a constraint", fmt.Sprintf("%s is no version constraint: write it as \">= 0.1\" or \"~> 1.2\"", quote(text))))
		return
	}
	have, err := goversion.NewVersion(s.p.opt.Version)
	if err != nil {
		if s.p.opt.Version != "" {
			s.report(warnAt(rng, "required_version is not checked", fmt.Sprintf("this is a build without a version (%s), so nobody knows whether it fits %s", s.p.opt.Version, text)))
		}
		return
	}
	if !constraint.Check(have.Core()) {
		s.report(at(rng, "other version required", fmt.Sprintf("this is overbrainer %s, and the configuration requires %s", s.p.opt.Version, text)))
	}
}

func (s *session) requiredProviders(attr *hclsyntax.Attribute) {
	v, diags := attr.Expr.Value(nil)
	fail := func(detail string) {
		s.report(at(attr.Expr.Range(), "required_providers not valid", detail+`; write required_providers = { runpod = { version = ">= 0.1" } }`))
	}
	if diags.HasErrors() || v.IsNull() || !v.Type().IsObjectType() {
		fail("it is a map of constant values")
		return
	}
	ranges := entryRanges(attr.Expr)
	for name, entry := range v.AsValueMap() {
		req, err := providerRequirement(entry)
		if err != nil {
			fail("`" + name + "`: " + err.Error())
			continue
		}
		req.Range = ranges[name]
		s.p.cfg.Settings.RequiredProviders[name] = req
	}
}

func providerRequirement(v cty.Value) (ProviderRequirement, error) {
	var req ProviderRequirement
	if v.IsNull() {
		return req, nil
	}
	if v.Type() == cty.String {
		req.Version = v.AsString()
	} else if !v.Type().IsObjectType() {
		return req, errors.New("it is a map with version and source")
	} else {
		for name, part := range v.AsValueMap() {
			text, err := convert.Convert(part, cty.String)
			if err != nil || text.IsNull() {
				return req, fmt.Errorf("%s is a string", name)
			}
			switch name {
			case "version":
				req.Version = text.AsString()
			case "source":
				req.Source = text.AsString()
			default:
				return req, errors.New(hint(fmt.Sprintf("there is no `%s`", name), didYouMean(name, []string{"version", "source"}, "")))
			}
		}
	}
	if strings.TrimSpace(req.Version) != "" {
		if _, err := goversion.NewConstraint(req.Version); err != nil {
			return req, fmt.Errorf("%s is no version constraint", quote(req.Version))
		}
	}
	return req, nil
}

// entryRanges gives the place of each value of a map that is written out.
func entryRanges(expr hclsyntax.Expression) map[string]hcl.Range {
	ranges := map[string]hcl.Range{}
	object, ok := expr.(*hclsyntax.ObjectConsExpr)
	if !ok {
		return ranges
	}
	for _, item := range object.Items {
		if key, diags := item.KeyExpr.Value(nil); !diags.HasErrors() && key.Type() == cty.String && key.IsKnown() && !key.IsNull() {
			ranges[key.AsString()] = item.ValueExpr.Range()
		}
	}
	return ranges
}

// requireProvider holds a provider's version against its constraint.
func (s *session) requireProvider(name string) {
	req := s.p.cfg.Settings.RequiredProviders[name]
	if s.p.opt.ProviderVersion == nil || strings.TrimSpace(req.Version) == "" {
		return
	}
	text := s.p.opt.ProviderVersion(name)
	have, err := goversion.NewVersion(text)
	if err != nil {
		return // a build without a version
	}
	constraint, err := goversion.NewConstraint(req.Version)
	if err == nil && !constraint.Check(have.Core()) {
		s.report(at(req.Range, "other provider version required", fmt.Sprintf("provider %s here is %s, and the configuration requires %s; install a release that fits and run overbrainer init -upgrade, or change the constraint",
			quote(name), text, quote(req.Version))))
	}
}
