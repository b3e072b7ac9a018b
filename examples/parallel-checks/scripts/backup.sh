#!/bin/sh
# TODO: ask before an old backup is overwritten
set -eu
tar -czf "$1.tar.gz" "$1"
