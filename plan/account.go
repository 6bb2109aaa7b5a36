package plan

import (
	"sort"

	"github.com/overbrainer/overbrainer/providers"
)

// account is what a provider's account holds, read once.
type account struct {
	pods         *providers.PodList // nil: not looked at
	volumes      []providers.Volume
	hasVolumes   bool
	secrets      []providers.Secret
	templates    []providers.Template
	hasTemplates bool
}

// account reads pods, secrets and volumes of a provider, each once.
func (b *builder) account(provider string) *account {
	if a := b.accounts[provider]; a != nil {
		return a
	}
	a := &account{}
	b.accounts[provider] = a
	if b.in.Pods != nil {
		list, err := b.in.Pods(b.ctx, provider)
		if err != nil {
			b.warn("the pods of "+provider+" could not be read", "The plan is made without comparing the state with what exists: "+err.Error())
		} else {
			sort.Slice(list.Pods, func(i, j int) bool { return list.Pods[i].ID < list.Pods[j].ID })
			a.pods = &list
		}
	}
	if b.in.Secrets != nil && a.pods != nil {
		list, err := b.in.Secrets(b.ctx, provider)
		if err != nil {
			b.warn("the account secrets of "+provider+" could not be read", err.Error())
		}
		a.secrets = list
	}
	if b.in.Volumes != nil && b.usesVolumes() {
		list, err := b.in.Volumes(b.ctx, provider)
		switch {
		case providers.Is(err, providers.Unimplemented):
		case err != nil:
			b.warn("the network volumes of "+provider+" could not be read", err.Error())
		default:
			a.volumes, a.hasVolumes = list, true
		}
	}
	return a
}

// usesVolumes reports whether anything hangs on network volumes.
func (b *builder) usesVolumes() bool {
	if len(b.in.Config.Volumes) > 0 {
		return true
	}
	for _, t := range b.in.Config.Targets {
		if t.VolumeID != "" {
			return true
		}
	}
	for _, r := range b.st.Resources {
		if r.Volume != nil {
			return true
		}
	}
	return false
}

// template finds a pod template, nil if it is not known.
func (b *builder) template(provider, id string) (*providers.Template, bool) {
	a := b.account(provider)
	if !a.hasTemplates && b.in.Templates != nil {
		list, err := b.in.Templates(b.ctx, provider)
		if err != nil {
			b.warn("the templates of "+provider+" could not be read", err.Error())
			return nil, false
		}
		a.templates, a.hasTemplates = list, true
	}
	for i := range a.templates {
		if a.templates[i].ID == id {
			return &a.templates[i], true
		}
	}
	return nil, a.hasTemplates
}

func (a *account) volume(id string) *providers.Volume {
	for i := range a.volumes {
		if a.volumes[i].ID == id {
			return &a.volumes[i]
		}
	}
	return nil
}

// pod finds a pod in the list that was read.
func (a *account) pod(id string) *providers.Pod {
	if a.pods == nil {
		return nil
	}
	for i := range a.pods.Pods {
		if a.pods.Pods[i].ID == id {
			return &a.pods.Pods[i]
		}
	}
	return nil
}
