package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pawl"
)

// Preparations sums up how the run's commits were prepared.
type Preparations struct {
	Ran    int           `json:"ran"`              // how often commands ran
	Reused int           `json:"reused,omitempty"` // how often what they had left was used again
	Failed int           `json:"failed,omitempty"` // how often they failed
	Time   time.Duration `json:"time,omitempty"`   // of all commands together
	// Requests went through the egress proxy to Hosts; Received is in bytes. It refused
	// Refused more, to RefusedHosts. Of the hosts the first of each preparation are listed.
	Requests     int64    `json:"requests,omitempty"`
	Received     int64    `json:"received,omitempty"`
	Hosts        []string `json:"hosts,omitempty"`
	Refused      int64    `json:"refused,omitempty"`
	RefusedHosts []string `json:"refused_hosts,omitempty"`
}

// add counts a preparation.
func (p *Preparations) add(b *pawl.Prepared) {
	if b.Reused {
		p.Reused++
		return
	}
	p.Ran++
	if b.Failed != "" {
		p.Failed++
	}
	p.Time += b.Duration
	p.Requests, p.Received, p.Refused = p.Requests+b.Requests, p.Received+b.Received, p.Refused+b.Refused
	p.Hosts, p.RefusedHosts = addHosts(p.Hosts, b.Hosts), addHosts(p.RefusedHosts, b.RefusedHosts)
}

// maxHosts is how many hosts are kept of all preparations.
const maxHosts = 50

func addHosts(all, more []string) []string {
	for _, host := range more {
		if host = line("%s", host); len(all) < maxHosts && !slices.Contains(all, host) {
			all = append(all, host)
		}
	}
	return all
}

// String returns the sums in one line; empty when no command ran.
func (p *Preparations) String() string {
	if p.Ran == 0 {
		return ""
	}
	parts := []string{line("%s in %s", count(p.Ran, "preparation"), pawl.Span(p.Time))}
	if p.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", p.Failed))
	}
	if p.Reused > 0 {
		parts = append(parts, line("%d used again", p.Reused))
	}
	return strings.Join(append(parts, traffic(p.Requests, p.Received, p.Hosts, p.Refused, p.RefusedHosts)...), " · ")
}

// traffic returns what went through the egress proxy, and what it refused.
func traffic(requests, received int64, hosts []string, refused int64, refusedHosts []string) []string {
	var parts []string
	if requests > 0 {
		parts = append(parts, fmt.Sprintf("%s to %s, %s", count(int(requests), "request"), listed(hosts), pawl.Bytes(received).String()))
	}
	if refused > 0 {
		parts = append(parts, fmt.Sprintf("the egress proxy refused %s to %s", count(int(refused), "request"), listed(refusedHosts)))
	}
	return parts
}

// listed joins names. Of many it shows only the first.
func listed(names []string) string {
	const most = 4
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// preparedText returns the line for a preparation.
func preparedText(b *pawl.Prepared) string {
	head := line("Prepared in %s", pawl.Span(b.Duration))
	switch {
	case b.Failed != "":
		head = line("Not prepared: %s", b.Why())
	case b.Reused:
		return "Prepared: what an earlier commit needs is there already"
	}
	return strings.Join(append([]string{head}, traffic(b.Requests, b.Received, b.Hosts, b.Refused, b.RefusedHosts)...), " · ")
}

// applyPreparation counts the preparations of commits.
func (r *Run) applyPreparation(e pawl.Event) {
	if b, ok := e.Body.(*pawl.Prepared); ok {
		r.Preparations.add(b)
	}
}

func (t teller) tellPreparation() string {
	if b, ok := t.e.Body.(*pawl.Prepared); ok {
		return preparedText(b)
	}
	return ""
}

func (k *Look) lookPreparation(e pawl.Event) {
	b, ok := e.Body.(*pawl.Prepared)
	if !ok {
		return
	}
	if b.Reused {
		k.Level = Detail
	}
	if b.Failed != "" {
		k.Tone = ToneBad
	}
}
