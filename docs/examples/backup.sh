#!/bin/sh
# backup.sh FOLDER: a copy of state, keys and audit log in a new folder. The servers go on meanwhile.
set -eu
umask 077
mkdir "$1"
/opt/library/.venv/bin/python - /var/lib/library/state.db "$1/state.db" <<'END'
import sqlite3, sys

live, copy = map(sqlite3.connect, sys.argv[1:])
live.backup(copy)
END
cp -a /var/lib/library/failsoft/ "$1/failsoft"  # before the log: it may be longer than its head says, not shorter
cp -a /var/log/library/ "$1/audit"
