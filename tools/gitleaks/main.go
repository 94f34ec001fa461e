// Gitleaks writes what internal/secret takes from gitleaks: its default rules, and what it finds in
// texts that are made of them, by which our matching is tested. make rules runs it, after the version in
// go.mod has changed.
//
// It is a module of its own, so that nothing of gitleaks but the rules is linked with Pawl.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/lucasjones/reggen"
	"github.com/spf13/viper"
	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/sources"
)

// The file formats of internal/secret.
type (
	rules struct {
		From  string  `json:"from"`
		Allow []allow `json:"allow"`
		Rules []rule  `json:"rules"`
	}
	rule struct {
		ID       string   `json:"id"`
		Regex    string   `json:"regex,omitempty"`
		Path     string   `json:"path,omitempty"`
		Group    int      `json:"group,omitempty"`
		Entropy  float64  `json:"entropy,omitempty"`
		Keywords []string `json:"keywords,omitempty"`
		Allow    []allow  `json:"allow,omitempty"`
	}
	allow struct {
		Target  string   `json:"target,omitempty"`
		Regexes []string `json:"regexes,omitempty"`
		Paths   []string `json:"paths,omitempty"`
		Words   []string `json:"words,omitempty"`
	}
	// sample is a text and what gitleaks finds in it. The text is stored as base64: scanners of this
	// repository are not to find it.
	sample struct {
		Path  string  `json:"path,omitempty"`
		Text  []byte  `json:"text"`
		Found []found `json:"found"`
	}
	found struct {
		Rule   string `json:"rule"`
		Secret []byte `json:"what"`
		Line   int    `json:"line"`
	}
)

// perRule is how many texts are made for each rule, and tries how many are made to get them.
const (
	perRule = 2
	tries   = 60
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "gitleaks: want the folder to write to: go run . ../../internal/secret")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gitleaks:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	cfg, err := defaults()
	if err != nil {
		return err
	}
	out := rules{From: "gitleaks v8.30.1, MIT License, Copyright (c) 2019 Zachary Rice", Allow: allows(cfg.Allowlists)}
	for _, r := range cfg.GetOrderedRules() {
		if len(r.RequiredRules) > 0 || r.SkipReport {
			return fmt.Errorf("the rule %s depends on others, which internal/secret does not know", r.RuleID)
		}
		out.Rules = append(out.Rules, rule{ID: r.RuleID, Regex: text(r.Regex), Path: text(r.Path), Group: r.SecretGroup, Entropy: r.Entropy,
			Keywords: r.Keywords, Allow: allows(r.Allowlists)})
	}
	if err := write(filepath.Join(dir, "rules.json"), out); err != nil {
		return err
	}
	samples, err := record(cfg)
	if err != nil {
		return err
	}
	return write(filepath.Join(dir, "testdata", "recorded.json"), samples)
}

func defaults() (config.Config, error) {
	v := viper.New()
	v.SetConfigType("toml")
	if err := v.ReadConfig(strings.NewReader(config.DefaultConfig)); err != nil {
		return config.Config{}, err
	}
	var vc config.ViperConfig
	if err := v.Unmarshal(&vc); err != nil {
		return config.Config{}, err
	}
	return vc.Translate()
}

func text(r *regexp.Regexp) string {
	if r == nil {
		return ""
	}
	return r.String()
}

func allows(lists []*config.Allowlist) (out []allow) {
	for _, l := range lists {
		a := allow{Target: l.RegexTarget, Words: slices.Sorted(slices.Values(l.StopWords))}
		for _, r := range l.Regexes {
			a.Regexes = append(a.Regexes, r.String())
		}
		for _, r := range l.Paths {
			a.Paths = append(a.Paths, r.String())
		}
		out = append(out, a)
	}
	return out
}

// record makes texts of each rule, alone and among others, and asks gitleaks what is in them.
func record(cfg config.Config) ([]sample, error) {
	detector := detect.NewDetector(cfg)
	dice := rand.New(rand.NewPCG(1, 2))
	var out []sample
	var all []string
	for _, r := range cfg.GetOrderedRules() {
		if r.Regex == nil {
			continue
		}
		path := ""
		if r.Path != nil {
			path = strings.NewReplacer(`(?i)`, "", `\.(?:tf|hcl)`, "a.tf", `\.ya?ml`, "a.yml", `\.php`, "a.php", `\.`, ".", "$", "").Replace(r.Path.String())
		}
		pattern := regexp.MustCompile(`\\b|\\z|\\B|\(\?[is]\)`).ReplaceAllString(r.Regex.String(), "")
		made, err := reggen.NewGenerator(pattern)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.RuleID, err)
		}
		made.SetSeed(1)
		got := 0
		for range tries {
			if got == perRule {
				break
			}
			secret := made.Generate(6)
			if strings.ContainsRune(secret, 0) || len(secret) > 400 {
				continue
			}
			text := "# " + r.RuleID + "\n" + secret + "\nrest\n"
			if got == 1 && len(r.Keywords) > 0 {
				text = "x: 1\n\t" + r.Keywords[dice.IntN(len(r.Keywords))] + " = '" + secret + "'\n"
			}
			s := ask(detector, path, text)
			if !slices.ContainsFunc(s.Found, func(f found) bool { return f.Rule == r.RuleID }) {
				continue
			}
			got++
			out = append(out, s)
			if path == "" {
				all = append(all, text)
			}
		}
	}
	for range 20 { // many in one text
		var b strings.Builder
		for range 12 {
			b.WriteString(all[dice.IntN(len(all))])
			b.WriteString(strings.Repeat("Some words of no interest, with a token or a key of nothing.\n", dice.IntN(4)))
		}
		out = append(out, ask(detector, "", b.String()))
	}
	return out, nil
}

func ask(detector *detect.Detector, path, text string) sample {
	s := sample{Path: path, Text: []byte(text)}
	for _, f := range detector.Detect(detect.Fragment(sources.Fragment{Raw: text, FilePath: path})) {
		s.Found = append(s.Found, found{f.RuleID, []byte(f.Secret), f.StartLine + 1})
	}
	slices.SortFunc(s.Found, func(a, b found) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return strings.Compare(a.Rule+string(a.Secret), b.Rule+string(b.Secret))
	})
	return s
}

// write writes JSON with an entry a line, so that a change of the version can be read.
func write(path string, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
