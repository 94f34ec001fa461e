package class

import (
	"slices"
	"strings"
	"testing"

	"pawl"
)

// rustTests returns the test parts of a source file, without what is around them.
func rustTests(t *testing.T, source string) []string {
	t.Helper()
	tree, err := readRust([]byte(source))
	if err != nil {
		t.Fatalf("%v:\n%s", err, source)
	}
	var out strings.Builder
	tree.write(&out)
	if tree.class == "" && out.String() != string(endLine(trimBOM([]byte(source)))) {
		t.Errorf("read and written again it is\n%s\nwant\n%s", out.String(), source)
	}
	var found []string
	var walk func(n *node)
	walk = func(n *node) {
		if n.class == pawl.ClassTest {
			found = append(found, squeeze(n.text))
		}
		for _, p := range n.parts {
			walk(p)
		}
	}
	walk(tree)
	return found
}

func TestRustItems(t *testing.T) {
	const test = "#[cfg(test)] mod t { }"
	for source, want := range map[string][]string{
		"":           nil,
		"fn a() { }": nil,
		"fn a() { }\n\n// about\n" + test + "\nfn b() { }":                                                          {"// about " + test},
		"#!/usr/bin/env run\n" + test:                                                                               {test},
		"#![allow(x)]\n#![cfg_attr(test, y)]\n" + test:                                                              {test},
		"fn a<'a>(x: &'a str) -> char { '{' }\n" + test:                                                             {test},
		"const A: char = '\\''; const B: u8 = b'}'; const C: char = '\\u{7d}';\n" + test:                            {test},
		"const A: char = 'ä'; const B: &str = \"\\\"{\"; const C: &[u8] = b\"{\";\n" + test:                         {test},
		"const A: &str = r\"\\\"; const B: &str = r##\"a\"# { \"##;\n" + test:                                       {test},
		"const A: &str = cr#\"{\"#; fn r#fn() { let r#type = 1; }\n" + test:                                         {test},
		"/* { /* \" */ ' */ // {\nfn a() { /* } */ }\n" + test:                                                      {test},
		"struct A(u8);\nstruct B { x: [u8; { 3 }] }\nenum C { D { x: u8 } }\n" + test:                               {test},
		"pub(crate) const fn a() -> u8 { 1 }\npub const A: B = B { x: 1 };\n" + test:                                {test},
		"const _: () = { assert!(true); };\nstatic X: [u8; 2] = [{ 1 }, 2];\n" + test:                               {test},
		"use a::{b, c::{d}};\nextern crate x;\nextern \"C\" { fn y(); }\n" + test:                                   {test},
		"macro_rules! m { ($x:expr) => { { $x } }; }\nthread_local! { static A: u8 = 1 }\nfoo!(a, { b });\n" + test: {test},
		"unsafe impl<T> Send for A<T> where T: Fn(u8) -> [u8; 2] { }\nauto trait X { }\n" + test:                    {test},
		"type A = [u8; { 3 }];\nunion U { a: u8 }\nasync unsafe fn f() { }\n" + test:                                {test},
		"trait A { #[cfg(test)] fn x(); }\n" + test:                                                                 {test},
		"impl A { #[cfg(test)] fn x() { } fn y() { } #[cfg(test)] const Z: u8 = 1; }":                               {"#[cfg(test)] fn x() { }", "#[cfg(test)] const Z: u8 = 1;"},
		"mod a { mod b { #[test] fn x() { } } fn y() { } }":                                                         {"#[test] fn x() { }"},
		"mod a { #![cfg(test)] fn x() { } } fn y() { }":                                                             {"mod a { #![cfg(test)] fn x() { } }"},
		"#[cfg(test)]\nmod tests;\n#[cfg(test)] #[path = \"x.rs\"] mod x;":                                          {"#[cfg(test)] mod tests;", "#[cfg(test)] #[path = \"x.rs\"] mod x;"},
		"#[cfg(test)] use a::{b, c};\n#[cfg(test)] pub(crate) static X: u8 = { 1 };":                                {"#[cfg(test)] use a::{b, c};", "#[cfg(test)] pub(crate) static X: u8 = { 1 };"},
		"#[cfg(test)] macro_rules! m { () => { } }\n#[cfg(test)] foo! { x }":                                        {"#[cfg(test)] macro_rules! m { () => { } }", "#[cfg(test)] foo! { x }"},
		"#[test]\n#[should_panic(expected = \"]\")]\nfn x() { }":                                                    {"#[test] #[should_panic(expected = \"]\")] fn x() { }"},
		"#[tokio::test(flavor = \"multi_thread\")] async fn x() { }":                                                {"#[tokio::test(flavor = \"multi_thread\")] async fn x() { }"},
		"#[rstest]\n#[case(1)]\nfn x(#[case] a: u8) { }":                                                            {"#[rstest] #[case(1)] fn x(#[case] a: u8) { }"},
		"proptest! { #[test] fn x(a in 0..1) { } }\nquickcheck! { fn y() { } }":                                     {"proptest! { #[test] fn x(a in 0..1) { } }", "quickcheck! { fn y() { } }"},
		"#[cfg(not(test))] fn a() { }\n#[cfg(any(test, unix))] fn b() { }\n#[cfg(unix)] fn c() { }":                 nil,
		"#[cfg( all( unix , test ) )] fn a() { }":                                                                   {"#[cfg( all( unix , test ) )] fn a() { }"},
		"#[cfg(any(test, feature = \"test-utils\"))] fn a() { }":                                                    {"#[cfg(any(test, feature = \"test-utils\"))] fn a() { }"},
		"#[cfg(any())] fn a() { }\n#[cfg(feature = \"latency\")] fn b() { }":                                        nil,
		"#[cfg_attr(test, derive(Debug))] struct A;\n#[contest] fn b() { }\n#[a::latest] fn c() { }":                nil,
		"fn a() { #[cfg(test)] let x = 1; #[cfg(test)] fn inner() { } }":                                            nil,
		"#![cfg(test)]\nfn x() { }":                                                                                 nil,
		"\uFEFF" + test:                                                                                             {test},
	} {
		if strings.HasPrefix(source, "#![cfg(test)]") {
			if tree, err := readRust([]byte(source)); err != nil || tree.class != pawl.ClassTest {
				t.Errorf("a file for tests is %v, error %v", tree, err)
			}
			continue
		}
		got := rustTests(t, source)
		if !slices.Equal(got, want) {
			t.Errorf("%s\n\thas tests %q, want %q", source, got, want)
		}
	}
}

func TestRustBroken(t *testing.T) {
	for _, source := range []string{"fn a() {", "fn a() { )", "}", "/* a", "\"a", "fn a() { r#\"a\" }", "const A: char = '\\", "#[cfg(test)", "mod a { fn b() }}", "impl A { ( }", "mod a { #![cfg(test)] ( }"} {
		if _, err := readRust([]byte(source)); err == nil {
			t.Errorf("%q can be read", source)
		}
	}
}

func FuzzReadRust(f *testing.F) {
	f.Add(rustBase)
	f.Add("mod a { #![cfg(test)] } #[cfg(any(test,))] r#x")
	f.Fuzz(func(t *testing.T, source string) {
		tree, err := readRust([]byte(source))
		if err != nil || tree.class != "" {
			return
		}
		var out strings.Builder
		tree.write(&out)
		if out.String() != string(endLine(trimBOM([]byte(source)))) {
			t.Errorf("read and written again %q is %q", source, out.String())
		}
	})
}
