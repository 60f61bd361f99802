#!/bin/bash
# A model whose weights exceed a process's memory runs on four processes, and not on one.
. tests/devices/mpirun.sh loader/tenon-mpi
export TENON_BIN=.
said=$(timeout -k 5 120 examples/sharded/run 2>&1) || { echo "ends with $?: $said"; exit 1; }
grep -qE 'tenon-mpi: .*(memory|cannot be mapped)' <<< "$said" || { echo "one process does not say why it fails: $said"; exit 1; }
grep -q '^x16: ' <<< "$said" || { echo "no output: $said"; exit 1; }
