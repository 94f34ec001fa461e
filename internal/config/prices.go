package config

import (
	"cmp"
	_ "embed"
	"strings"
	"sync"

	"pawl"
	"pawl/internal/pattern"
	"pawl/internal/strictyaml"
)

//go:embed models.yaml
var modelsYAML []byte

// known is what is known of a model.
type known struct {
	provider, name string
	price          pawl.Price
	maxOutput      int
}

// knownModels are the models of the embedded list. They must not be changed.
var knownModels = sync.OnceValue(func() []known {
	var out []known
	_, err := strictyaml.Read("models.yaml", modelsYAML, func(m *strictyaml.Map) {
		strictyaml.List(m.Need("models", ""), "model", &out, func(m *strictyaml.Map, k *known) {
			m.Need("provider", "").Word(&k.provider, providerNames...)
			m.Need("name", "").Text(&k.name)
			m.Need("input", "").Dollars(&k.price.Input, 1000)
			m.Need("output", "").Dollars(&k.price.Output, 1000)
			m.Need("cache_read", "").Dollars(&k.price.CacheRead, 1000)
			m.Need("cache_write", "").Dollars(&k.price.CacheWrite, 1000)
			m.Need("max_output", "").Int(&k.maxOutput, 1024, 1_000_000)
		})
	})
	if err != nil {
		panic(err) // the list is part of the program
	}
	return out
})

// snapshot matches the date of a model's snapshot at the end of its name.
var snapshot = pattern.Of(`-(\d{8}|\d{4}-\d{2}-\d{2})$`)

// Output limits of a reply, in tokens: more is reserved for nothing.
const (
	usualOutput   = 16_000
	unknownOutput = 8192
	outputFloor   = 1024
)

// choose completes a tier's model with its price and its limit on output.
func (v *values) choose(mo *model, list []known) pawl.ModelChoice {
	out := pawl.ModelChoice{Provider: mo.provider, Name: mo.name, MaxOutput: mo.maxOutput}
	free := v.providers[mo.provider].free()
	k := lookUp(list, mo.provider, mo.name)
	if d := v.delegate(mo.provider); d != nil {
		out.Agent, out.Plan, out.Hides, out.Hears = true, mo.plan, d.Hides, d.Hears
		free = v.providers[d.Provider].free()
		k = d.lookUp(list, mo.name)
		out.MaxOutput = cmp.Or(out.MaxOutput, d.MaxOutput)
	}
	switch {
	case out.MaxOutput != 0:
	case k != nil:
		out.MaxOutput = min(usualOutput, k.maxOutput)
	case mo.provider == "script":
		out.MaxOutput = usualOutput
	default:
		out.MaxOutput = unknownOutput
	}
	switch {
	case mo.price != nil:
		out.Price = pawl.Price{Input: mo.price.input, Output: mo.price.output, CacheRead: mo.price.cacheRead, CacheWrite: mo.price.cacheWrite}
	case free:
	case k != nil:
		out.Price = k.price
	default:
		out.Price, out.PriceGuess = dearest(list), true
	}
	return out
}

// lookUp finds what an agent's name of a model stands for. Agents that call models of many providers
// write the provider before the name.
func (d *Delegate) lookUp(list []known, name string) *known {
	name = cmp.Or(d.Aliases[name], name)
	if k := lookUp(list, d.Provider, name); k != nil {
		return k
	}
	provider, rest, _ := strings.Cut(name, "/")
	return lookUp(list, provider, rest)
}

// lookUp finds a model by its name, with or without the date of a snapshot.
// The two OpenAI protocols reach the same models.
func lookUp(list []known, provider, name string) *known {
	if provider == "openai-chat" {
		provider = "openai"
	}
	undated := snapshot.ReplaceAllString(name, "")
	for i, k := range list {
		if k.provider == provider && (k.name == name || k.name == undated) {
			return &list[i]
		}
	}
	return nil
}

// dearest is more than any known model costs.
func dearest(list []known) pawl.Price {
	var p pawl.Price
	for _, k := range list {
		p.Input = max(p.Input, k.price.Input)
		p.Output = max(p.Output, k.price.Output)
		p.CacheRead = max(p.CacheRead, k.price.CacheRead)
		p.CacheWrite = max(p.CacheWrite, k.price.CacheWrite)
	}
	return p
}
