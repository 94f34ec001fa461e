package class

import "testing"

func TestSetUp(t *testing.T) {
	c := New(nil, []string{"node --require ./hooks.cjs --test", "mocha --require test/boot.js"})
	for _, s := range []struct{ name, data, want string }{
		{"a_test.go", "package a\n\nfunc TestMain(m *testing.M) { m.Run() }\n\nfunc TestA(t *testing.T) {}\n", "func TestMain(m *testing.M) { m.Run() }\n"},
		{"a_test.go", "package a\n\nfunc init() {\n\tos.Exit(0)\n}\n\nfunc helper() {}\n", "func init() {\n\tos.Exit(0)\n}\n"},
		{"a_test.go", "package a\n\n// TestMain is not here; nor is init().\nfunc (s *suite) TestMain() {}\n", ""},
		{"a_test.go", "not Go with TestMain", ""},
		{"a.go", "package a\n\nfunc init() {}\n", ""},
		{"main.go", "package a\n\nfunc TestMain(m *testing.M) {}\n", ""},
		{"conftest.py", "x = 1\n", "x = 1\n"},
		{"tests/unit/conftest.py", "x = 1\n", "x = 1\n"},
		{"testdata/conftest.py", "x = 1\n", ""},
		{"vendor/a/conftest.py", "x = 1\n", ""},
		{"sitecustomize.py", "x = 1\n", "x = 1\n"},
		{"lib/patch.pth", "import os\n", "import os\n"},
		{"tests/__init__.py", "def load_tests(a, b, c):\n    return None\n\nx = 1\n", "def load_tests(a, b, c):\n    return None\n\n\n"},
		{"tests/test_a.py", "import pytest\n@pytest.fixture(autouse=True)\ndef fake(x):\n    x()\n\ndef test_a():\n    pass\n", "@pytest.fixture(autouse=True)\ndef fake(x):\n    x()\n\n\n"},
		{"tests/test_a.py", "@pytest.fixture\ndef fake(x):\n    x()\n", ""},
		{"tests/__init__.py", "", ""},
		{"app.py", "def load_tests(a):\n    pass\n", ""},
		{"jest.setup.js", "a\n", "a\n"},
		{"src/setupTests.ts", "a\n", "a\n"},
		{"vitest.setup.mts", "a\n", "a\n"},
		{"test/setup.cjs", "a\n", "a\n"},
		{"test/global-setup.js", "a\n", "a\n"},
		{"hooks.cjs", "a\n", "a\n"},
		{"test/boot.js", "a\n", "a\n"},
		{"web/hooks.cjs", "a\n", ""},
		{"test/root.js", "export const mochaHooks = {\n  beforeAll() { x() },\n};\nconst y = 1;\n", "mochaHooks = {\n  beforeAll() { x() },\n};\n"},
		{"src/setup.js", "a\n", ""},
		{"tests/common/mod.rs", "pub fn x() {}\n", ""},
		{"tests/all.rs", "#[ctor::ctor]\nfn before() {\n    x();\n}\nfn y() {}\n", "#[ctor::ctor]\nfn before() {\n    x();\n}\n"},
		{"src/lib.rs", "#[ctor]\nfn before() {}\n", ""},
		{"spec/spec_helper.rb", "a\n", "a\n"},
		{"test/test_helper.rb", "a\n", "a\n"},
		{"features/support/env.rb", "a\n", "a\n"},
		{"tests/bootstrap.php", "a\n", "a\n"},
		{"tests/Pest.php", "a\n", "a\n"},
		{"src/test/resources/META-INF/services/org.junit.platform.launcher.LauncherSessionListener", "a\n", "a\n"},
		{"App.Tests/Init.cs", "class A {\n    [ModuleInitializer]\n    public static void X() {\n        Y();\n    }\n}\n", "[ModuleInitializer]\n    public static void X() {\n        Y();\n    }\n"},
		{"test/test_helper.bash", "a\n", "a\n"},
		{"README.md", "TestMain conftest.py\n", ""},
	} {
		got, is := c.SetUp(s.name, []byte(s.data))
		if got != s.want || is != (s.want != "") || c.IsSetUp(s.name, []byte(s.data)) != is {
			t.Errorf("%s: the set-up of %q is %q, %v; want %q", s.name, s.data, got, is, s.want)
		}
	}
	if _, is := c.SetUp("conftest.py", nil); !is {
		t.Error("an empty conftest.py is no set-up file")
	}
}
