package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/unwatch/unwatch/internal/probe"
	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/profilefile"
)

// config reads the files of the flags: the profile, the password, the authorities.
func (f *probeFlags) config(env func(string) (string, bool)) (probe.Config, error) {
	cfg := probe.Config{Username: f.username, Timeout: f.timeout, Budget: f.budget, Risky: f.risky, Prefix: f.prefix}
	if f.timeout <= 0 || f.budget <= 0 {
		return cfg, errors.New("-timeout and -budget must be above 0")
	}
	var err error
	if f.output.name != "" {
		if _, err = profileName(f.output.name); err != nil {
			return cfg, err
		}
	}
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
	if f.output.name != "" && profilefile.IsPath(f.profile) {
		return nil, errors.New("-o: a profile can be written with a base that has a NAME, and -profile is a file")
	}
	return profilefile.Open(f.profile)
}

// profileName derives the name of a profile from that of its file.
func profileName(file string) (string, error) {
	ending := filepath.Ext(file)
	name := strings.TrimSuffix(filepath.Base(file), ending)
	if ending != ".yaml" && ending != ".yml" || name == "" || name != strings.ToLower(name) || strings.ContainsAny(name, " \t@") {
		return "", fmt.Errorf("-o: want a file in lower case that ends in .yaml or .yml, such as our-codis.yaml: %q", file)
	}
	return name, nil
}
