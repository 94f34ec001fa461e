// Package secret finds secrets in text and takes them out of it. It knows two kinds: what gitleaks'
// default rules describe (keys of cloud providers, tokens, private keys), and the values that it is
// given, such as those of the variables that hold the user's keys.
//
// [Find] says what is in a file. A [Redactor] puts marks such as [redacted:aws-access-token] in
// the place of what it finds; it is used where text becomes durable or is shown. [Marks] counts
// them, for those who must not write one over a secret.
//
// The rules are data (rules.json, written by tools/gitleaks); the matching is ours, because that of
// gitleaks reads 1 MB a second. A rule is tried only where one of its keywords is, which the rules'
// own expressions almost always begin with. docs/decisions/036-secrets.md says what follows from this.
package secret
