package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/unwatch/unwatch/internal/live"
)

// connectFlags are the flags for the user, the password and TLS of a connection.
type connectFlags struct {
	passwordEnv   string
	passwordFile  string
	username      string
	tls           bool
	tlsCA         string
	tlsCert       string
	tlsKey        string
	tlsServerName string
	tlsSkip       bool

	known *string // the password, once it was read: the file may be a pipe
}

func (f *connectFlags) register(flags *flag.FlagSet) {
	flags.StringVar(&f.passwordEnv, "password-env", "", "the environment variable `VAR` has the password")
	flags.StringVar(&f.passwordFile, "password-file", "", "the first line of `FILE` is the password")
	flags.StringVar(&f.username, "username", "", "AUTH as `USER`, which most proxies refuse")
	flags.BoolVar(&f.tls, "tls", false, "speak TLS")
	flags.StringVar(&f.tlsCA, "tls-ca", "", "trust the authorities in this PEM `FILE`; implies -tls")
	flags.StringVar(&f.tlsCert, "tls-cert", "", "show the certificate in this PEM `FILE`; implies -tls, needs -tls-key")
	flags.StringVar(&f.tlsKey, "tls-key", "", "the key of that certificate is in this PEM `FILE`")
	flags.StringVar(&f.tlsServerName, "tls-server-name", "", "expect a certificate of `NAME` (default the host of the address); implies -tls")
	flags.BoolVar(&f.tlsSkip, "tls-skip-verify", false, "trust any certificate; implies -tls")
}

func (f *connectFlags) usesTLS() bool {
	return f.tls || f.tlsCA != "" || f.tlsSkip || f.tlsServerName != "" || f.tlsCert != "" || f.tlsKey != ""
}

// tlsConfig reads the certificates; nil: no TLS.
func (f *connectFlags) tlsConfig() (cfg *tls.Config, err error) {
	if !f.usesTLS() {
		return nil, nil
	}
	cfg = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: f.tlsSkip, ServerName: f.tlsServerName} // it is asked for by name
	if f.tlsCA != "" {
		if cfg.RootCAs, err = authorities(f.tlsCA); err != nil {
			return nil, err
		}
	}
	if f.tlsCert == "" && f.tlsKey == "" {
		return cfg, nil
	}
	if f.tlsCert == "" || f.tlsKey == "" {
		return nil, errors.New("-tls-cert and -tls-key need each other")
	}
	own, err := tls.LoadX509KeyPair(f.tlsCert, f.tlsKey)
	if err != nil {
		return nil, fmt.Errorf("-tls-cert: %w", err)
	}
	cfg.Certificates = []tls.Certificate{own}
	return cfg, nil
}

// password returns the password, which it reads once from the source of the flags; "" without such flags.
func (f *connectFlags) password(env func(string) (string, bool)) (string, error) {
	if f.known == nil {
		password, err := f.readPassword(env)
		if err != nil {
			return "", err
		}
		f.known = &password
	}
	return *f.known, nil
}

func (f *connectFlags) readPassword(env func(string) (string, bool)) (string, error) {
	switch {
	case f.passwordEnv != "" && f.passwordFile != "":
		return "", errors.New("-password-env or -password-file, not both")
	case f.passwordEnv != "":
		password, set := env(f.passwordEnv)
		if !set || password == "" {
			return "", errors.New("-password-env: the environment has no variable of that name, or it is empty; " +
				"it wants the NAME of a variable, and no password")
		}
		return password, nil
	case f.passwordFile != "":
		data, err := os.ReadFile(f.passwordFile)
		if err != nil {
			if failed, ok := errors.AsType[*fs.PathError](err); ok {
				err = failed.Err // without the name, which may be a password
			}
			return "", fmt.Errorf("-password-file: cannot read the file of that name: %w; it wants the name of a FILE, and no password", err)
		}
		line, _, _ := strings.Cut(string(data), "\n")
		if line = strings.TrimSuffix(line, "\r"); line == "" {
			return "", errors.New("-password-file: the first line of the file is empty")
		}
		return line, nil
	case f.username != "":
		return "", errors.New("-username needs -password-env or -password-file")
	}
	return "", nil
}

// address parses an address. If it has no password, it gets that of the flags. what names the address in an error.
func (f *connectFlags) address(what, word string, env func(string) (string, bool)) (live.Address, error) {
	password, err := f.password(env)
	if err != nil {
		return live.Address{}, err
	}
	a, err := live.ParseAddress(word)
	if err != nil { // the error must not repeat a password
		return a, fmt.Errorf("%s: %w", what, err)
	}
	if a.Password == "" {
		a.Username, a.Password = f.username, password
	}
	return a, nil
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
