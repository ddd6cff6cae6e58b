package main

import (
	"errors"

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

func (f *probeFlags) lookup() (*proxycompat.Profile, error) {
	if f.output != "" && custom.IsPath(f.profile) {
		return nil, errors.New("-o: a profile can be written with a base that has a NAME, and -profile is a file")
	}
	return custom.Open(f.profile)
}
