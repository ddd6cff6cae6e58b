package worker

import "testing"

func TestDocumentCountsAndKeepsItsSize(t *testing.T) {
	var doc []byte
	for i := range 5 {
		var err error
		if doc, err = increment(doc); err != nil {
			t.Fatal(err)
		}
		if len(doc) != documentSize {
			t.Fatalf("%d bytes, want %d: %s", len(doc), documentSize, doc)
		}
		if n, err := Count(doc); err != nil || n != int64(i+1) {
			t.Fatalf("counts %d, %v after %d updates", n, err, i+1)
		}
	}
	if n, err := Count(nil); n != 0 || err != nil {
		t.Errorf("no document counts %d, %v", n, err)
	}
	if _, err := increment([]byte("{")); err == nil {
		t.Error("a broken document was updated")
	}
}
