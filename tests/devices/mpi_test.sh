#!/bin/bash
# Transports and sharded sessions on 1 to 4 ranks, each a process. Cases that need more ranks do nothing.
program=tests/devices/mpi_ranks
. tests/devices/mpirun.sh $program
# As between machines, where no process reads another one's memory.
export OMPI_MCA_btl_vader_single_copy_mechanism=none
for n in 1 2 3 4; do
  ranks $n $program --no-colors || exit 1
done
