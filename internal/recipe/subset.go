package recipe

import (
	"fmt"
	"slices"
	"text/template/parse"

	"github.com/DataDog/datadog-agent/pkg/template/text"
)

// callable are the functions a template may call: those that can neither make
// text larger nor take long.
var callable = []string{"and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "index", "len"}

// maxRanges is how deep a range may stand in others.
const maxRanges = 2

// subset reports what a template uses beyond if, with, range over what it is
// shown, and the functions above. A repository's templates are run by the
// harness itself, so they must end soon whatever they say.
func subset(t *template.Template) error {
	if t.Tree == nil {
		return nil
	}
	if len(t.Templates()) > 1 {
		return fmt.Errorf("template: %s: define, block and template are not available", t.Name())
	}
	c := subsetChecker{t: t.Tree}
	c.node(t.Root, 0)
	return c.err
}

type subsetChecker struct {
	t   *parse.Tree
	err error
}

func (c *subsetChecker) refuse(n parse.Node, what string) {
	if c.err == nil {
		where, _ := c.t.ErrorContext(n)
		c.err = fmt.Errorf("template: %s: %s", where, what)
	}
}

func (c *subsetChecker) node(n parse.Node, ranges int) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, in := range n.Nodes {
				c.node(in, ranges)
			}
		}
	case *parse.IfNode:
		c.branch(&n.BranchNode, ranges)
	case *parse.WithNode:
		c.branch(&n.BranchNode, ranges)
	case *parse.RangeNode:
		c.overData(n)
		if ranges++; ranges > maxRanges {
			c.refuse(n, "range stands in too many others")
		}
		c.branch(&n.BranchNode, ranges)
	case *parse.ActionNode:
		c.node(n.Pipe, ranges)
	case *parse.PipeNode:
		for _, command := range n.Cmds {
			for _, arg := range command.Args {
				c.node(arg, ranges)
			}
		}
	case *parse.IdentifierNode:
		if !slices.Contains(callable, n.Ident) {
			c.refuse(n, "the function "+n.Ident+" is not available")
		}
	case *parse.ChainNode:
		c.node(n.Node, ranges)
	case *parse.TemplateNode:
		c.refuse(n, "template is not available")
	}
}

func (c *subsetChecker) branch(b *parse.BranchNode, ranges int) {
	c.node(b.Pipe, ranges)
	c.node(b.List, ranges)
	c.node(b.ElseList, ranges)
}

// overData reports a range over anything but data, such as a number.
func (c *subsetChecker) overData(n *parse.RangeNode) {
	if len(n.Pipe.Cmds) == 1 {
		switch arg := n.Pipe.Cmds[0].Args[0].(type) {
		case *parse.FieldNode:
			return
		case *parse.VariableNode:
			if len(arg.Ident) > 1 { // a field of a variable; a variable alone may be a number
				return
			}
		}
	}
	c.refuse(n, "range goes over fields of the data only")
}
