package driver

import (
	"sync/atomic"
	"time"
)

// Kind selects the compare-and-set of a driver. The values are those of lockupdate.Commit.
type Kind uint8

// The kinds of drivers.
const (
	Lua Kind = iota
	IFEQ
	DELIFEQ
	VX
	CAS
)

// Options tune a Driver.
type Options struct {
	Kind           Kind
	MasterReads    bool // plain reads are answered by a master
	NotifyRedisson bool
}

// New returns the driver of a kind.
func New(o Options) Driver {
	read := "getex" // a write command, so that a proxy sends it to the master
	if o.MasterReads {
		read = "get"
	}
	switch o.Kind {
	case IFEQ:
		return &native{read: read, swap: setIf("ifeq"), drop: dropBy("delex", "ifeq"), keepsTTL: true, unit: time.Millisecond}
	case DELIFEQ:
		return &native{read: read, swap: setIf("ifeq"), drop: dropBy("delifeq"), keepsTTL: true, unit: time.Millisecond}
	case VX:
		return &native{read: "get", swap: setIf("vx"), drop: dropBy("delvx"), unit: time.Second}
	case CAS:
		return &native{read: "get", swap: swapByCAS, drop: dropBy("cad"), unit: time.Second}
	}
	return lua{masterReads: o.MasterReads, notifyRedisson: o.NotifyRedisson, withoutKeepTTL: new(atomic.Bool)}
}
