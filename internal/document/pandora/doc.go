// Package pandora makes the documents of the Pandora loop of any run with a list of tasks:
// the plan ([PlanDocument]), what the reviews found ([ValidationDocument]), the message at
// the end ([CompletionMessage]), the course of the run ([Trace]), the list of tasks for a
// file ([TasksFile]) and what the tasks taught ([Learnings]).
//
// Headings name the run's recipe, so that they are Pandora's own for the recipe pandora.
// The same run makes the same bytes, and every text in them is safe to print.
package pandora
