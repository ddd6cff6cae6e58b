package main

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/custom"
	"github.com/unwatch/unwatch/proxycompat/probe"
)

// config reads what the flags name: the profile, the password, the authorities.
func (f *probeFlags) config(env func(string) (string, bool)) (probe.Config, error) {
	cfg := probe.Config{Username: f.username, Timeout: f.timeout, Budget: f.budget, Risky: f.risky, Prefix: f.prefix}
	if f.timeout <= 0 || f.budget <= 0 {
		return cfg, errors.New("-timeout and -budget must be above 0")
	}
	var err error
	if f.profile != "" {
		if cfg.Profile, err = f.lookup(); err != nil {
			return cfg, err
		}
	}
	if cfg.Password, err = f.password(env); err != nil {
		return cfg, err
	}
	cfg.TLS, err = f.tlsConfig()
	return cfg, err
}

// profileIsFile reports whether -profile is a file: the names of ours have no ending.
func (f *probeFlags) profileIsFile() bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(f.profile))
}

func (f *probeFlags) lookup() (*proxycompat.Profile, error) {
	switch {
	case !f.profileIsFile():
		return proxycompat.Lookup(f.profile)
	case f.output != "":
		return nil, errors.New("-o: a profile can be written with a base that has a NAME, and -profile is a file")
	}
	return custom.Load(f.profile)
}
