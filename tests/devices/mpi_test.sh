#!/bin/bash
# Transports and sharded sessions on 1 to 4 ranks, each a process. Cases that need more ranks do nothing.
program=tests/devices/mpi_ranks
. tests/devices/mpirun.sh $program
for n in 1 2 3 4; do
  ranks $n $program --no-colors || exit 1
done
