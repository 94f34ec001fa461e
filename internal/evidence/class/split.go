package class

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"pawl"
)

// A file with two jobs is read as a tree of texts. What has a class is a leaf; a node holds
// leaves of several classes. Put together again, the texts are the file.
type node struct {
	key         string         // tells it from its siblings; empty for what has no name, such as code between tests
	class       pawl.PathClass // of a leaf; empty for a node that has parts
	text        string         // of a leaf
	open, close string         // around the parts
	sep         string         // between the parts
	frame       bool           // open and close are code
	parts       []*node
}

// format reads a file with two jobs. The error says why it cannot be split. Where parts stand on
// lines of their own, the last one is read as if it ended with a newline.
type format func(data []byte) (*node, error)

// formatOf returns how a file is split by its keys, or nil.
func (c *Classes) formatOf(name string) format {
	read, class := formatByName(name)
	if read == nil || c.Of(name) != class {
		return nil
	}
	if _, ruled := c.ruled(name); ruled {
		return nil
	}
	return read
}

// formatByName returns what a name alone says, and the class that the file must have.
func formatByName(name string) (format, pawl.PathClass) {
	base, ext := path.Base(name), path.Ext(name)
	switch {
	case ext == ".rs":
		return readRust, pawl.ClassCode
	case base == "package.json":
		return keyed(readJSON, packageKeys), pawl.ClassDependency
	case base == "composer.json":
		return keyed(readJSON, composerKeys), pawl.ClassDependency
	case base == "pyproject.toml":
		return keyed(readTOML, pyprojectKeys), pawl.ClassDependency
	case base == "Cargo.toml":
		return keyed(readTOML, cargoKeys), pawl.ClassDependency
	case path.Base(path.Dir(name)) == ".cargo" && (base == "config" || base == "config.toml"):
		return keyed(readTOML, cargoConfigKeys), pawl.ClassDependency
	case base == "setup.cfg":
		return keyed(readINI, setupKeys), pawl.ClassDependency
	case base == "pom.xml":
		return keyed(readXML, pomKeys), pawl.ClassDependency
	case strings.HasSuffix(ext, "proj") || base == "Directory.Build.props":
		return keyed(readXML, projectKeys), pawl.ClassDependency
	}
	return nil, ""
}

func keyed(read func([]byte, keyRules) (*node, error), rules []keyRule) format {
	return func(data []byte) (*node, error) { return read(trimBOM(data), parseKeyRules(rules)) }
}

// endLine returns a text with a newline at its end, so that a part can follow.
func endLine(data []byte) []byte {
	if len(data) == 0 || data[len(data)-1] == '\n' {
		return data
	}
	return append(slices.Clip(data), '\n')
}

func trimBOM(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\uFEFF")) }

// Parts returns the classes whose part of a file differs between base and candidate, in the
// order of [pawl.PathClasses]; nil content means that the file is not there. A file that has two
// jobs and cannot be read counts as a gate input as a whole. Equal contents have none.
func (c *Classes) Parts(name string, base, candidate []byte) []pawl.PathClass {
	if (base == nil) == (candidate == nil) && bytes.Equal(base, candidate) {
		return nil
	}
	if isNewModule(name) && base == nil && c.Of(name) == pawl.ClassDependency {
		return []pawl.PathClass{pawl.ClassGateInput, pawl.ClassDependency}
	}
	b, f, whole := c.trees(name, base, candidate)
	if whole != nil {
		return whole
	}
	was, is := b.texts(), f.texts()
	var differ []pawl.PathClass
	for _, class := range pawl.PathClasses {
		slices.Sort(was[class]) // the order of keys means nothing
		slices.Sort(is[class])
		if !slices.Equal(was[class], is[class]) {
			differ = append(differ, class)
		}
	}
	if differ == nil { // blank lines
		return []pawl.PathClass{c.Of(name)}
	}
	return differ
}

// isNewModule reports whether a go.mod is in a folder, which ./... of the module around it no
// longer has once the go.mod is there.
func isNewModule(name string) bool { return path.Base(name) == "go.mod" && name != "go.mod" }

// trees reads both contents. When the file is not split, it returns the classes of the whole.
func (c *Classes) trees(name string, base, candidate []byte) (b, f *node, whole []pawl.PathClass) {
	read := c.formatOf(name)
	if read == nil {
		return nil, nil, c.whole(name)
	}
	for _, side := range []struct {
		data []byte
		tree **node
	}{{base, &b}, {candidate, &f}} {
		*side.tree = &node{}
		if side.data == nil {
			continue
		}
		tree, err := read(side.data)
		switch {
		case err != nil && path.Ext(name) == ".rs":
			return nil, nil, []pawl.PathClass{pawl.ClassCode, pawl.ClassTest}
		case err != nil:
			return nil, nil, []pawl.PathClass{pawl.ClassGateInput}
		}
		*side.tree = tree
	}
	if b.class != "" || f.class != "" { // #![cfg(test)]
		if b.hasAny(isCodeClass) || f.hasAny(isCodeClass) {
			return nil, nil, []pawl.PathClass{pawl.ClassCode, pawl.ClassTest}
		}
		return nil, nil, []pawl.PathClass{pawl.ClassTest}
	}
	return b, f, nil
}

// texts returns the texts of all leaves by their classes, without what only moves them apart.
func (n *node) texts() map[pawl.PathClass][]string {
	texts := map[pawl.PathClass][]string{}
	var code strings.Builder // what has no key: tests may stand anywhere in it
	n.collect("", texts, &code)
	var lines []string
	for line := range strings.Lines(code.String()) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) > 0 {
		texts[pawl.ClassCode] = append(texts[pawl.ClassCode], strings.Join(lines, "\n"))
	}
	return texts
}

func (n *node) collect(above string, texts map[pawl.PathClass][]string, code *strings.Builder) {
	switch {
	case n.class == pawl.ClassCode && n.key == "":
		code.WriteString(n.text + "\n")
		return
	case n.class != "":
		texts[n.class] = append(texts[n.class], above+"/"+n.key+"\x00"+strings.TrimSpace(n.text))
		return
	case n.frame:
		code.WriteString(n.open + "\n")
	}
	for _, p := range n.parts {
		p.collect(above+"/"+n.key, texts, code)
	}
	if n.frame {
		code.WriteString(n.close + "\n")
	}
}

// Mix returns the file with the parts of the given classes as the base has them and all others as
// the candidate has them; there is false when the result has no such file. The text around the
// parts is of the side that code is from. Where that side has no file: manifests are as the
// other has them if they have a part of the classes that are wanted of it, and source
// files are not there.
func (c *Classes) Mix(name string, base, candidate []byte, fromBase []pawl.PathClass) (data []byte, there bool) {
	ofBase := func(class pawl.PathClass) bool { return slices.Contains(fromBase, class) }
	if isNewModule(name) && base == nil && c.Of(name) == pawl.ClassDependency && ofBase(pawl.ClassGateInput) {
		return nil, false
	}
	b, f, whole := c.trees(name, base, candidate)
	if whole != nil {
		if slices.ContainsFunc(whole, ofBase) {
			return base, base != nil
		}
		return candidate, candidate != nil
	}
	main, other, data, otherData := f, b, candidate, base
	take := ofBase
	if ofBase(pawl.ClassCode) {
		main, other, data, otherData = b, f, base, candidate
		take = func(class pawl.PathClass) bool { return !ofBase(class) }
	}
	if data == nil {
		if otherData != nil && path.Ext(name) != ".rs" && other.hasAny(take) {
			return otherData, true
		}
		return nil, false
	}
	was, wanted := main.texts(), other.texts()
	for _, class := range pawl.PathClasses {
		if take(class) && !slices.Equal(was[class], wanted[class]) {
			var out strings.Builder
			merge(main, other, take).write(&out)
			return []byte(out.String()), true
		}
	}
	return data, true
}

// hasAny reports whether a leaf has a class that is taken.
func (n *node) hasAny(take func(pawl.PathClass) bool) bool {
	return n.class != "" && take(n.class) || slices.ContainsFunc(n.parts, func(p *node) bool { return p.hasAny(take) })
}

// merge returns main with the leaves of the classes that are taken as other has them.
func merge(main, other *node, take func(pawl.PathClass) bool) *node {
	out := *main
	out.parts = nil
	partner := partners(main.parts, other.parts)
	placed := map[*node]*node{} // parts of other, by what stands for them
	for _, p := range main.parts {
		o := partner[p]
		merged := mergePart(p, o, take)
		if merged != nil {
			out.parts = append(out.parts, merged)
		}
		if o != nil {
			placed[o] = merged
		}
	}
	at := -1 // the index of what stands for the part before
	for _, o := range other.parts {
		if merged, ok := placed[o]; ok {
			if merged != nil {
				at = slices.Index(out.parts, merged)
			}
			continue
		}
		added := mergePart(nil, o, take)
		if added == nil {
			continue
		}
		if at < 0 && len(out.parts) > 0 && out.parts[0].key == "" {
			at = 0 // after what has no name, such as the head of a file
		}
		at++
		out.parts = slices.Insert(out.parts, at, added)
	}
	return &out
}

// mergePart returns what becomes of a part of main, which may be nil, and its partner, which may
// be nil too. It returns nil for nothing.
func mergePart(p, o *node, take func(pawl.PathClass) bool) *node {
	none := &node{}
	switch {
	case p == nil && o.class != "":
		if take(o.class) {
			return o
		}
		return nil
	case p == nil:
		frame := *o
		frame.parts = nil
		if merged := merge(&frame, o, take); len(merged.parts) > 0 {
			return merged
		}
		return nil
	case p.class != "" && (take(p.class) || o != nil && o.class != "" && take(o.class)):
		switch {
		case o == nil:
			return nil
		case o.class == "":
			return mergePart(nil, o, take)
		}
		return o
	case p.class != "":
		return p
	case o == nil || o.class != "" && !take(o.class):
		o = none
	case o.class != "":
		return o
	}
	if merged := merge(p, o, take); len(merged.parts) > 0 || len(p.parts) == 0 {
		return merged
	}
	return nil
}

// partners pairs the parts of two nodes that have the same key, the first with the first.
func partners(ours, theirs []*node) map[*node]*node {
	byKey := map[string][]*node{}
	for _, t := range theirs {
		byKey[t.key] = append(byKey[t.key], t)
	}
	pairs := map[*node]*node{}
	for _, p := range ours {
		if list := byKey[p.key]; len(list) > 0 {
			pairs[p], byKey[p.key] = list[0], list[1:]
		}
	}
	return pairs
}

func (n *node) write(out *strings.Builder) {
	if n.class != "" {
		out.WriteString(n.text)
		return
	}
	out.WriteString(n.open)
	for i, p := range n.parts {
		if i > 0 {
			out.WriteString(n.sep)
		}
		p.write(out)
	}
	out.WriteString(n.close)
}
