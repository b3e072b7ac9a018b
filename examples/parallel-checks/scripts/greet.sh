#!/bin/sh
set -eu
echo "hello ${1:-world}"
