package peers

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/unwatch/unwatch/bench/internal/stats"
	"github.com/unwatch/unwatch/lock"
)

// section is an Impl that updates a file of its key under a lock. Sections that overlap lose updates, so the
// stored counts show whether the lock is exclusive.
//
// A file has the process of the last section, the end of that section, and the document.
type section struct {
	unseen
	locks   lock.Locker
	dir     string // of the files; its name is part of the locks' names
	process int64

	mu        sync.Mutex
	handovers stats.Histogram
}

func openSection(open func(Options) (lock.Locker, error)) func(Options) (Impl, error) {
	return func(o Options) (Impl, error) {
		locks, err := open(o)
		return &section{locks: locks, dir: o.Dir, process: int64(os.Getpid())}, err
	}
}

const (
	headerSize = 16
	fileSize   = 1024 // more than any document; zeros follow the document
)

func (s *section) Update(ctx context.Context, key string, fn func([]byte) ([]byte, error)) error {
	asked := time.Now()
	return s.locks.WithLock(ctx, filepath.Base(s.dir)+":"+key, func(context.Context) error {
		began := time.Now()
		file, err := os.OpenFile(filepath.Join(s.dir, key), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		process, ended, old, err := read(file)
		if err != nil {
			return err
		}
		if process != s.process && ended.After(asked) {
			s.handedOver(began.Sub(ended))
		}
		if _, err := file.WriteAt(header(s.process, time.Time{}), 0); err != nil {
			return err
		}
		next, err := fn(old)
		if err != nil {
			return err
		}
		_, err = file.WriteAt(append(header(s.process, time.Now()), next...), 0)
		return err
	})
}

func (s *section) Close() error {
	if c, ok := s.locks.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func (s *section) handedOver(took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handovers.Add(took)
}

// Handovers returns the times from the end of a section to the start of one in this process that waited for it.
func (s *section) Handovers() *stats.Histogram {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all stats.Histogram
	all.Merge(&s.handovers)
	return &all
}

// Last reports whether this process had the last section of the key, or has it.
func (s *section) Last(key string) bool {
	file, err := os.Open(filepath.Join(s.dir, key))
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	process, _, _, err := read(file)
	return err == nil && process == s.process
}

// Document returns the document of a key, or nil for an absent key.
func Document(dir, key string) ([]byte, error) {
	file, err := os.Open(filepath.Join(dir, key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	_, _, doc, err := read(file)
	return doc, err
}

func header(process int64, ended time.Time) []byte {
	text := binary.BigEndian.AppendUint64(make([]byte, 0, fileSize), uint64(process))
	return binary.BigEndian.AppendUint64(text, uint64(ended.UnixNano()))
}

func read(file *os.File) (process int64, ended time.Time, doc []byte, err error) {
	text := make([]byte, fileSize)
	n, err := file.ReadAt(text, 0)
	if !errors.Is(err, io.EOF) || n < headerSize {
		if errors.Is(err, io.EOF) {
			err = nil // no section has ended yet
		}
		return 0, time.Time{}, nil, err
	}
	process = int64(binary.BigEndian.Uint64(text))
	ended = time.Unix(0, int64(binary.BigEndian.Uint64(text[8:])))
	if n > headerSize {
		doc = bytes.Clone(text[headerSize:n])
	}
	return process, ended, doc, nil
}
