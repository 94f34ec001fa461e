package command

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// sameFailures are pairs of outputs of one failure, in two checkouts and at two times.
var sameFailures = []struct{ name, a, b string }{
	{"Go assertion", "    login_test.go:42: want 3, got 4\n--- FAIL: TestLogin (0.00s)", "    login_test.go:57: want 3, got 4\n--- FAIL: TestLogin (1.34s)"},
	{"Go panic",
		"panic: runtime error: index out of range [5] with length 3 [recovered, repanicked]\n\ngoroutine 19 [running]:\ntesting.tRunner.func1.2({0x55a740, 0x6cac90})\n\t/usr/local/go/src/testing/testing.go:1974 +0x232\npanic({0x55a740?, 0x6cac90?})\n\t/usr/local/go/src/runtime/panic.go:860 +0x13a\nexample.com/shop/cart.Total(0x1b5a4bd26488?)\n\t/home/ana/shop/cart/cart.go:33 +0x2\nexit status 2",
		"panic: runtime error: index out of range [5] with length 3 [recovered, repanicked]\n\ngoroutine 7 [running]:\ntesting.tRunner.func1.2({0x66b840, 0x7dbda0})\n\t/opt/go1.26/src/testing/testing.go:1980 +0x111\npanic({0x66b840?, 0x7dbda0?})\n\t/opt/go1.26/src/runtime/panic.go:861 +0x13b\nexample.com/shop/cart.Total(0x2887a1c488?)\n\t/builds/42/shop/cart/cart.go:35 +0x4\nexit status 2"},
	{"Go nil pointer", "[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x52e302]", "[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x61aa10]"},
	{"Go test timeout", "panic: test timed out after 30s\n\trunning tests:\n\t\tTestHang (30s)\n\ngoroutine 5 [running]:\ntesting.(*M).startAlarm.func1()\n\t/usr/local/go/src/testing/testing.go:2802 +0x354", "panic: test timed out after 30s\n\trunning tests:\n\t\tTestHang (29s)\n\ngoroutine 88 [running]:\ntesting.(*M).startAlarm.func1()\n\t/usr/lib/go/src/testing/testing.go:2803 +0x354"},
	{"Go compile error", "# example.com/shop/cart [example.com/shop/cart.test]\n./cart_test.go:12:9: undefined: Totl", "# example.com/shop/cart [example.com/shop/cart.test]\n./cart_test.go:19:2: undefined: Totl"},
	{"Go race", "WARNING: DATA RACE\nWrite at 0x00c000124018 by goroutine 8:\n  example.com/shop.Add()\n      /home/a/shop/add.go:10 +0x44", "WARNING: DATA RACE\nWrite at 0x00c0002ff0a8 by goroutine 31:\n  example.com/shop.Add()\n      /root/wt/002/shop/add.go:12 +0x4c"},
	{"Python traceback",
		"Traceback (most recent call last):\n  File \"/home/ana/shop/cart.py\", line 12, in total\n    return sum(items)\nTypeError: unsupported operand type(s) for +: 'int' and 'str'",
		"Traceback (most recent call last):\n  File \"/tmp/checkout-8123/cart.py\", line 15, in total\n    return sum(items)\nTypeError: unsupported operand type(s) for +: 'int' and 'str'"},
	{"Python object", "E       AssertionError: assert <shop.Cart object at 0x7fe3c2990b90> is None", "E       AssertionError: assert <shop.Cart object at 0x7f6cdb357650> is None"},
	{"pytest location and summary", "tests/test_cart.py:31: AssertionError\n=========== 1 failed, 12 passed in 0.42s ===========", "tests/test_cart.py:29: AssertionError\n=========== 1 failed, 14 passed in 3.10s ==========="},
	{"pytest temporary folder", "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/pytest-of-ana/pytest-3/test_save0/out.json'", "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/pytest-of-root/pytest-41/test_save0/out.json'"},
	{"unittest", "AssertionError: 1 != 2\n\n----------------------------------------------------------------------\nRan 4 tests in 0.001s\n\nFAILED (failures=1)", "AssertionError: 1 != 2\n\n----------------------------------------------------------------------\nRan 6 tests in 0.104s\n\nFAILED (failures=1)"},
	{"jest",
		"  ● cart › adds\n\n    expect(received).toBe(expected) // Object.is equality\n\n    Expected: 3\n    Received: 2\n\n    > 3 |   expect(sum(1, 1)).toBe(3);\n        |                     ^\n\n      at Object.toBe (src/cart.test.js:3:38)\n\nTests:       1 failed, 4 passed, 5 total\nTime:        0.599 s",
		"  ● cart › adds\n\n    expect(received).toBe(expected) // Object.is equality\n\n    Expected: 3\n    Received: 2\n\n    > 9 |   expect(sum(1, 1)).toBe(3);\n        |                     ^\n\n      at Object.toBe (src/cart.test.js:9:38)\n\nTests:       1 failed, 6 passed, 7 total\nTime:        1.2 s, estimated 2 s"},
	{"vitest in colour", "\x1b[31m×\x1b[39m src/a.test.ts > sum > adds\x1b[32m 4\x1b[2mms\x1b[22m\x1b[39m\nAssertionError: expected 2 to be 3", "× src/a.test.ts > sum > adds 11ms\nAssertionError: expected 2 to be 3"},
	{"rustc", "error[E0308]: mismatched types\n  --> src/lib.rs:12:22\n   |\n12 | pub fn bad() -> u8 { \"x\" }\n   |                      ^^^ expected `u8`, found `&str`", "error[E0308]: mismatched types\n  --> src/lib.rs:14:22\n   |\n14 | pub fn bad() -> u8 { \"x\" }\n   |                      ^^^ expected `u8`, found `&str`"},
	{"Rust panic", "thread 'tests::adds' (15512) panicked at src/lib.rs:8:27:\nassertion `left == right` failed: sum\n  left: 4\n right: 5\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace", "thread 'tests::adds' (32233) panicked at src/lib.rs:11:27:\nassertion `left == right` failed: sum\n  left: 4\n right: 5"},
	{"tsc", "src/a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.", "src/a.ts(31,17): error TS2322: Type 'string' is not assignable to type 'number'."},
	{"tsc for a terminal", "src/a.ts:1:7 - error TS2322: Type 'string' is not assignable to type 'number'.\n\nFound 2 errors in 1 file.", "src/a.ts:4:9 - error TS2322: Type 'string' is not assignable to type 'number'.\n\nFound 3 errors in 2 files."},
	{"golangci-lint", "internal/a.go:42:15: Error return value of `f.Close` is not checked (errcheck)\n1 issues:", "internal/a.go:40:2: Error return value of `f.Close` is not checked (errcheck)\n3 issues:"},
	{"gcc", "/home/a/shop/src/x.c:1:32: error: 'total' undeclared (first use in this function)", "/tmp/pawl-gate/abc12/src/x.c:7:9: error: 'total' undeclared (first use in this function)"},
	{"Java", "java.lang.AssertionError: expected:<3> but was:<4> for com.acme.Cart@1b6d3586\n\tat com.acme.CartTest.adds(CartTest.java:31)", "java.lang.AssertionError: expected:<3> but was:<4> for com.acme.Cart@4554617c\n\tat com.acme.CartTest.adds(CartTest.java:33)"},
	{"eslint", "/home/a/shop/src/a.js\n  1:7  error  'x' is assigned a value but never used  no-unused-vars\n\n✖ 1 problem (1 error, 0 warnings)", "/builds/9/shop/src/a.js\n  31:12  error  'x' is assigned a value but never used  no-unused-vars\n\n✖ 4 problems (1 error, 3 warnings)"},
	{"port in use", "Error: listen EADDRINUSE: address already in use 127.0.0.1:43211", "Error: listen EADDRINUSE: address already in use 127.0.0.1:40001"},
	{"connection", "dial tcp 127.0.0.1:41234->127.0.0.1:5432: connect: connection refused", "dial tcp 127.0.0.1:50912->127.0.0.1:5432: connect: connection refused"},
	{"log line", "2026-11-21T08:16:30.242852482Z ERROR request 6f1c2a34-98b7-4f6e-8d5c-0a1b2c3d4e5f failed after 12.5ms", "2026-11-22T19:01:02Z ERROR request 00000000-1111-4222-8333-444455556666 failed after 1m2.5s"},
	{"glog", "E1121 08:16:30.123456   12345 server.go:88] cannot open store", "E1122 19:06:31.654321     777 server.go:90] cannot open store"},
	{"commit", "error: object a1b2c3d4e5f60718293a4b5c6d7e8f9012345678 is missing", "error: object ffeeddccbbaa99887766554433221100aabbccdd is missing"},
	{"Windows", `C:\Users\ana\shop\src\cart.ts(3,5): error TS2304: Cannot find name 'total'.`, `D:\agent\_work\7\s\src\cart.ts(9,1): error TS2304: Cannot find name 'total'.`},
	{"timeout", "command timed out after 2m0s (pid 4711)", "command timed out after 1m30s (pid 99)"},
	{"random seed", "Randomized with seed 41231\n  1) Cart adds an item\nexpected: 3\n     got: 4", "Randomized with seed 9\n  1) Cart adds an item\nexpected: 3\n     got: 4"},
	{"carriage returns", "downloading 10%\rdownloading 99%\rerror: checksum mismatch\r\n", "downloading 55%\rerror: checksum mismatch\n"},
	{"mktemp", "cp: cannot stat '/tmp/tmp.Ab12Cd34Ef/cart.txt': No such file or directory", "cp: cannot stat '/tmp/tmp.Zz98Yy76Xx/cart.txt': No such file or directory"},
	{"npm", "> shop@1.0.0 test\n> node run.js\n\nError: no database\nnpm error A complete log of this run can be found in: /home/a/.npm/_logs/2026-11-21T08_16_30_123Z-debug-0.log", "> shop@1.1.0 test\n> node run.js\n\nError: no database"},
}

func TestNormaliseSameFailure(t *testing.T) {
	for _, tt := range sameFailures {
		t.Run(tt.name, func(t *testing.T) {
			a, b := Normalise(tt.a), Normalise(tt.b)
			if a != b {
				t.Errorf("one failure, two texts:\n%s\n---\n%s", a, b)
			}
			if a == "" {
				t.Error("nothing is left of the failure")
			}
		})
	}
}

func TestNormaliseKeepsFailuresApart(t *testing.T) {
	tests := []struct{ name, a, b string }{
		{"what was compared", "cart_test.go:42: want 3, got 4", "cart_test.go:42: want 3, got 5"},
		{"message", "undefined: Totl", "undefined: Total"},
		{"file", "/home/a/shop/cart.go:3:1: syntax error", "/home/a/shop/shop.go:3:1: syntax error"},
		{"exception", "ValueError: boom", "TypeError: boom"},
		{"expected value", "    Expected: 3\n    Received: 2", "    Expected: 4\n    Received: 2"},
		{"test", "FAIL: TestLogin", "FAIL: TestLogout"},
		{"rule", "a.go:1:1: x is unused (unused)", "a.go:1:1: x is unused (deadcode)"},
		{"rustc code", "error[E0308]: mismatched types", "error[E0277]: mismatched types"},
		{"where a panic is", "panic: boom\n\ngoroutine 1 [running]:\nexample.com/a.F(0x1)\n\t/a/f.go:1 +0x1", "panic: boom\n\ngoroutine 1 [running]:\nexample.com/a.G(0x1)\n\t/a/g.go:1 +0x1"},
		{"web route", "GET /api/users: want 200, got 404", "GET /api/carts: want 200, got 404"},
		{"index", "index out of range [5] with length 3", "index out of range [4] with length 3"},
	}
	seen := map[string]string{}
	for _, tt := range sameFailures {
		n := Normalise(tt.a)
		if other, ok := seen[n]; ok {
			t.Errorf("%s and %s are one text: %s", other, tt.name, n)
		}
		seen[n] = tt.name
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if a, b := Normalise(tt.a), Normalise(tt.b); a == b {
				t.Errorf("two failures, one text: %s", a)
			}
		})
	}
}

func TestNormaliseTexts(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"\n----\n   \n", ""},
		{"/home/a/shop/cart.go:3:9: want 3, got 4", "cart.go: want 3, got 4"},
		{"see https://example.com:8443/a/b.html", "see https://example.com/a/b.html"},
		{"at 2026-11-21 08:16:30 (0.05s)", "at <time> (<time>)"},
		{"main_test.go:9: the page has 12 errors", "main_test.go: the page has # error"},
		{"a\na\nb", "a\nb"},
		{"bad \xff byte", "bad \uFFFD byte"},
		// A stack is reduced to the program's own first frame. What follows the stack is text again.
		{"panic: boom\n\ngoroutine 1 [running]:\nruntime.gopanic(0x1)\n\t/go/panic.go:1 +0x1\nexample.com/a.F(0x1)\n\t/a/f.go:1 +0x1\n" +
			"example.com/a.G(0x1)\n\t/a/g.go:2 +0x2\ncreated by main.start\n\t/a/m.go:1\n\nexample.com/a.H(0x2) is wrong\n",
			"panic: boom\nin example.com/a.F\nexample.com/a.H(0x#) is wrong"},
		{"goroutine 7 [select]:\nexample.com/a.F(0x1)\nit is stuck\nexample.com/a.G(0x1)\n", "in example.com/a.F\nit is stuck\nexample.com/a.G(0x#)"},
	}
	for _, tt := range tests {
		if got := Normalise(tt.in); got != tt.want {
			t.Errorf("Normalise(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestNormaliseIsShort(t *testing.T) {
	got := Normalise(strings.Repeat("the müller account cannot be opened; ", 100))
	if len(got) > maxNormalised || len(got) < maxNormalised-10 || !utf8.ValidString(got) {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

func FuzzNormalise(f *testing.F) {
	for _, tt := range sameFailures {
		f.Add(tt.a)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Normalise(text)
		if len(got) > maxNormalised || !utf8.ValidString(got) || strings.Contains(got, "\x1b[") {
			t.Errorf("Normalise(%q) = %q", text, got)
		}
	})
}
