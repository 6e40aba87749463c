#!/bin/sh
# redis-backup.sh FOLDER: a copy of Redis' append-only files in a new folder. Redis goes on meanwhile.
set -eu
umask 077
usual=$(redis-cli CONFIG GET auto-aof-rewrite-percentage | tail -n 1)
trap 'redis-cli CONFIG SET auto-aof-rewrite-percentage "$usual" >/dev/null' EXIT
redis-cli CONFIG SET auto-aof-rewrite-percentage 0 >/dev/null  # no file is replaced while it is copied
while redis-cli INFO persistence | grep -q '^aof_rewrite_in_progress:1'; do sleep 1; done
cp -a /var/lib/redis/appendonlydir "$1"
