#!/bin/sh
# Ends with 1 and says why when add.sh is wrong.
sum=$(sh ./add.sh 2 3)
if [ "$sum" != 5 ]; then
  echo "add.sh 2 3 gave $sum, not 5" >&2
  exit 1
fi
echo "all tests passed"
