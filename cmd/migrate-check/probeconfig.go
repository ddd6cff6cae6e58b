package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/custom"
	"github.com/unwatch/unwatch/proxycompat/probe"
)

func (f *probeFlags) usesTLS() bool {
	return f.tls || f.tlsCA != "" || f.tlsSkip || f.tlsCert != "" || f.tlsKey != ""
}

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
	if f.username != "" && cfg.Password == "" {
		return cfg, errors.New("-username needs -password-env or -password-file")
	}
	if !f.usesTLS() {
		return cfg, nil
	}
	cfg.TLS = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: f.tlsSkip} // it is asked for by name
	if f.tlsCA != "" {
		if cfg.TLS.RootCAs, err = authorities(f.tlsCA); err != nil {
			return cfg, err
		}
	}
	if f.tlsCert == "" && f.tlsKey == "" {
		return cfg, nil
	}
	if f.tlsCert == "" || f.tlsKey == "" {
		return cfg, errors.New("-tls-cert and -tls-key need each other")
	}
	own, err := tls.LoadX509KeyPair(f.tlsCert, f.tlsKey)
	if err != nil {
		return cfg, fmt.Errorf("-tls-cert: %w", err)
	}
	cfg.TLS.Certificates = []tls.Certificate{own}
	return cfg, nil
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

func (f *probeFlags) password(env func(string) (string, bool)) (string, error) {
	switch {
	case f.passwordEnv != "" && f.passwordFile != "":
		return "", errors.New("-password-env or -password-file, not both")
	case f.passwordEnv != "":
		password, set := env(f.passwordEnv)
		if !set || password == "" {
			return "", fmt.Errorf("-password-env: the environment has no %s, or it is empty", f.passwordEnv)
		}
		return password, nil
	case f.passwordFile != "":
		data, err := os.ReadFile(f.passwordFile)
		if err != nil {
			return "", fmt.Errorf("-password-file: %w", err)
		}
		line, _, _ := strings.Cut(string(data), "\n")
		if line = strings.TrimSuffix(line, "\r"); line == "" {
			return "", fmt.Errorf("-password-file: the first line of %s is empty", f.passwordFile)
		}
		return line, nil
	}
	return "", nil
}

func authorities(file string) (*x509.CertPool, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("-tls-ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("-tls-ca: %s has no certificate in PEM", file)
	}
	return pool, nil
}
