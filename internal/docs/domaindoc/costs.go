package main

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
)

// costsText is what TestCosts has counted.
//
//go:embed costs.tsv
var costsText string

// cost holds the counts of one operation on an entity of some size.
type cost struct {
	Sent, Received int
}

// costs looks up the counts for the page.
type costs struct {
	all   map[string]cost
	trips map[string]int
}

func key(what string, size int, layout any, path string) string {
	return fmt.Sprintf("%s/%d/%v/%s", what, size, layout, path)
}

func readCosts() (costs, error) {
	r := csv.NewReader(strings.NewReader(costsText))
	r.Comma = '\t'
	rows, err := r.ReadAll()
	if err != nil {
		return costs{}, fmt.Errorf("costs.tsv: %w", err)
	}
	c := costs{map[string]cost{}, map[string]int{}}
	for _, row := range rows[1:] {
		var n [4]int
		for i, field := range []string{row[1], row[4], row[5], row[6]} {
			if n[i], err = strconv.Atoi(field); err != nil {
				return costs{}, fmt.Errorf("costs.tsv: %w", err)
			}
		}
		k := key(row[0], n[0], row[2], row[3])
		c.all[k], c.trips[k] = cost{n[2], n[3]}, n[1]
	}
	return c, nil
}

// Of returns the cost of an operation, or an error if it was not counted.
func (c costs) Of(what string, size int, layout any, path string) (cost, error) {
	found, ok := c.all[key(what, size, layout, path)]
	if !ok {
		return cost{}, fmt.Errorf("costs.tsv has no %s", key(what, size, layout, path))
	}
	return found, nil
}

// Trips returns the number of round trips of an operation.
func (c costs) Trips(what string, size int, layout any, path string) (int, error) {
	if _, err := c.Of(what, size, layout, path); err != nil {
		return 0, err
	}
	return c.trips[key(what, size, layout, path)], nil
}

// bytes formats a number of bytes in a readable unit.
func bytes(n int) string {
	switch {
	case n < 1_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000:
		return fmt.Sprintf("%.1f KB", float64(n)/1_000)
	default:
		return fmt.Sprintf("%.0f KB", float64(n)/1_000)
	}
}
