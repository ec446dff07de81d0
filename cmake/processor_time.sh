#!/bin/sh
# Runs a command, and writes beside its output how much processor time it took: processor_time.sh OUTPUT COMMAND...
# Whatever else the machine does, that stays much the same (test/style/budget.py reads it).
output=$1
shift
"$@"
status=$?
times >"$output.times"
exit $status
