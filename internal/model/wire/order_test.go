package wire

import "testing"

func TestConversationLast(t *testing.T) {
	for in, want := range map[string]string{
		`{"max_tokens":1,"messages":[{"a":"}"}],"model":"m","tools":[1, 2]}`: `{"max_tokens":1,"model":"m","tools":[1, 2],"messages":[{"a":"}"}]}`,
		`{"input":"x","model":"é\n"}`:                                        `{"model":"é\n","input":"x"}`,
		`{"model":"m"}`:                                                      `{"model":"m"}`,
		`{}`:                                                                 `{}`,
		`[1]`:                                                                `[1]`,
		`{"messages":[`:                                                      `{"messages":[`,
		`{"a":1} x`:                                                          `{"a":1} x`,
		``:                                                                   ``,
	} {
		if got := string(conversationLast([]byte(in))); got != want {
			t.Errorf("%s: got %s", in, got)
		}
	}
}
