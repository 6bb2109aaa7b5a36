package providertest

import (
	"testing"

	"github.com/overbrainer/overbrainer/providers"
)

func testSecrets(t *testing.T, s *suite) {
	if !s.description.Has(providers.CapSecrets) {
		t.Skip("no secrets")
	}
	p := s.Provider
	first, err := p.PutSecret(s.ctx, "overbrainer_host_key_a", "b25l")
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.PutSecret(s.ctx, "overbrainer_host_key_a", "dHdv")
	if err != nil || again.ID != first.ID || again.Name != first.Name {
		t.Errorf("second put: %+v, %v; first was %+v", again, err, first)
	}
	other, err := p.PutSecret(s.ctx, "overbrainer_host_key_ab", "dHJp")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = p.DeleteSecret(s.ctx, other.ID) }()
	for name, want := range map[string]int{"": 2, "overbrainer_host_key_a": 1, "overbrainer_host_key": 0} {
		if got, err := p.ListSecrets(s.ctx, name); err != nil || len(got) != want {
			t.Errorf("list %q: %+v, %v", name, got, err)
		}
	}
	for i, want := range []bool{true, false} {
		if existed, err := p.DeleteSecret(s.ctx, first.ID); err != nil || existed != want {
			t.Errorf("delete %d: %v, %v", i+1, existed, err)
		}
	}
}

func testVolumes(t *testing.T, s *suite) {
	if !s.description.Has(providers.CapVolumes) {
		t.Skip("no volumes")
	}
	p := s.Provider
	c, err := p.Catalog(s.ctx, providers.CatalogQuery{Cloud: providers.Secure, GPUCount: 1})
	if err != nil {
		t.Fatal(err)
	}
	var with, without string
	for _, d := range c.DataCenters {
		if len(d.VolumeTypes) > 0 {
			with = d.ID
		} else {
			without = d.ID
		}
	}
	v, err := p.CreateVolume(s.ctx, providers.CreateVolume{Name: "corpus", SizeGB: 20, DataCenter: with})
	if err != nil {
		t.Fatal(err)
	}
	if v.ID == "" || v.SizeGB != 20 || v.DataCenter != with || v.Type == "" {
		t.Errorf("made %+v", v)
	}
	if got, err := p.GetVolume(s.ctx, v.ID); err != nil || got != v {
		t.Errorf("read %+v, %v", got, err)
	}
	if got, err := p.ResizeVolume(s.ctx, v.ID, 30); err != nil || got.SizeGB != 30 {
		t.Errorf("grown %+v, %v", got, err)
	}
	_, err = p.ResizeVolume(s.ctx, v.ID, 10)
	wantKind(t, "shrink", err, providers.Rejected, providers.Invalid)
	if without != "" {
		_, err = p.CreateVolume(s.ctx, providers.CreateVolume{Name: "x", SizeGB: 20, DataCenter: without})
		wantKind(t, "create where there are none", err, providers.Rejected, providers.Invalid)
	}
	_, err = p.GetVolume(s.ctx, "nosuchvolume")
	wantKind(t, "unknown volume", err, providers.NotFound)
	if all, err := p.ListVolumes(s.ctx); err != nil || len(all) != 1 {
		t.Errorf("list %+v, %v", all, err)
	}
	for i, want := range []bool{true, false} {
		if existed, err := p.DeleteVolume(s.ctx, v.ID); err != nil || existed != want {
			t.Errorf("delete %d: %v, %v", i+1, existed, err)
		}
	}
}

func testTemplates(t *testing.T, s *suite) {
	if !s.description.Has(providers.CapTemplates) {
		t.Skip("no templates")
	}
	list, err := s.Provider.ListTemplates(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, x := range list {
		if x.ID == "" || seen[x.ID] {
			t.Errorf("template %q is empty or listed twice", x.ID)
		}
		seen[x.ID] = true
	}
}

// testAbsent checks that parts which the description does not name say so.
func testAbsent(t *testing.T, s *suite) {
	for capability, call := range map[providers.Capability]func() error{
		providers.CapVolumes:   func() error { _, err := s.Provider.ListVolumes(s.ctx); return err },
		providers.CapSecrets:   func() error { _, err := s.Provider.ListSecrets(s.ctx, ""); return err },
		providers.CapTemplates: func() error { _, err := s.Provider.ListTemplates(s.ctx); return err },
	} {
		if !s.description.Has(capability) {
			wantKind(t, string(capability), call(), providers.Unimplemented)
		}
	}
}

// testText checks that environment values come through whatever they hold.
func testText(t *testing.T, s *suite) {
	req := s.request(t)
	req.Env["SCRIPT"] = "#!/bin/sh\nprintf '%s\\n' \"$1\" | sed 's/[{}]//g' # ünïcode \u2028 </script>\t"
	made, err := s.Provider.CreatePod(s.ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	if existed, err := s.Provider.DeletePod(s.ctx, made.ID); err != nil || !existed {
		t.Errorf("delete: %v, %v", existed, err)
	}
}
