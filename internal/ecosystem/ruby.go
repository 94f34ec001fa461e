package ecosystem

import (
	"strings"

	"pawl"
)

var bundler = ecosystem{
	name: "bundler", language: "ruby",
	manifests: []string{"Gemfile", "*.gemspec"}, locks: []string{"Gemfile.lock"},
	is:    func(f folder) bool { return f.has("Gemfile") },
	gates: rubyGates,
	prepare: func(f folder) []string {
		gems := f.text("Gemfile")
		if !strings.Contains(gems, "gem ") && !strings.Contains(gems, "gemspec") {
			return nil
		}
		line := "bundle config set --local path vendor/bundle && "
		if f.has("Gemfile.lock") {
			line += "bundle config set --local frozen true && "
		}
		return []string{line + "bundle install"}
	},
	update:     func(f folder) string { return when(f.has("Gemfile.lock"), "bundle lock") },
	registries: []string{"rubygems.org:443", "index.rubygems.org:443"}, client: (*client).bundler,
}

func rubyGates(f folder) []pawl.GateSpec {
	gems := f.text("Gemfile") + f.text("Gemfile.lock")
	var gates []pawl.GateSpec
	if f.has(".rubocof.yml") || word(gems, "rubocop") {
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateLint, Command: "bundle exec rubocop --format emacs", Optional: true})
	}
	switch {
	case f.has(".rspec") || f.hasFolder("spec") && word(gems, "rspec"):
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateTests, Command: "bundle exec rspec"})
	case f.has("bin/rails") && f.hasFolder("test"):
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateTests, Command: "bin/rails test"})
	case f.has("Rakefile"):
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateTests, Command: "bundle exec rake test"})
	}
	return gates
}
