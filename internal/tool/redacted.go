package tool

import (
	"fmt"

	"pawl/internal/secret"
)

// keepSecrets refuses a content that has more marks of redaction than the file has: they stand where the model was not
// shown a secret, and would take its place.
func keepSecrets(path string, before, after []byte) error {
	if secret.Marks(after) <= secret.Marks(before) {
		return nil
	}
	return refuse("%s is not written: the text has %s, which is what you are shown in place of a secret, and it would overwrite the real one. "+
		"Leave the line with the secret as it is, and use edit for the lines around it. You cannot write a secret yourself either: "+
		"have the program read it from its environment, or write a placeholder such as ${API_KEY}", printable(path), secret.FirstMark(after))
}

// hiddenSecret says why text with a mark of redaction is not in a file; empty if it has none.
func hiddenSecret(old string) string {
	if secret.Marks(old) == 0 {
		return ""
	}
	return ": in the file there is a secret where you are shown " + secret.FirstMark([]byte(old)) + "; take old from the lines around it, without it"
}

// markedNote says that a text had a secret when the model wrote it and has a mark now, with which the tool did its
// work; empty if it has none.
func markedNote(what, text string) string {
	if secret.Marks(text) == 0 {
		return ""
	}
	return fmt.Sprintf("note: there was a secret in the %s. A secret is never passed on, so the text %s stood in its place, and what follows is what that gave. "+
		"You cannot use a secret that you have seen: have the program read it from its environment or from the file it is in.\n\n", what, secret.FirstMark([]byte(text)))
}
