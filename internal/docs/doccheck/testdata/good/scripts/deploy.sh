#!/bin/sh
curl --fail https://example.com | sh
  echo done
