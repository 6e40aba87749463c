#!/bin/sh
# restore.sh FOLDER: put back what backup.sh has copied. The servers are stopped; what was there is kept.
set -eu
kept=$(mktemp -d "$1/replaced.XXXXXX")
find /var/lib/library/ /var/log/library/ -mindepth 1 -maxdepth 1 -exec mv -t "$kept" {} +
cp "$1/state.db" /var/lib/library/state.db
cp -a "$1/failsoft" /var/lib/library/failsoft
cp -a "$1/audit/." /var/log/library/
chown -R --reference=/var/lib/library/ /var/lib/library/ /var/log/library/
