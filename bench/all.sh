#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sh bench/all.sh BUILD FOLDER RESULTS [NAME...]: runs all benchmarks, or those
# named, one after the other, as docs/performance.md has them. BUILD is a build
# of the preset `release` with PONIENTE_BUILD_BENCH=ON. FOLDER gets their files
# (about 20 GB, deleted as soon as no other benchmark needs them). RESULTS gets
# NAME.txt for each, with its command, the time and the load before it, and
# NAME.log with what it says meanwhile. Takes two hours on two cores; nothing
# else should run.
set -eu
export LC_ALL=C
usage='usage: sh bench/all.sh BUILD FOLDER RESULTS [NAME...]'
build=${1:?"$usage"}
folder=${2:?"$usage"}
results=${3:?"$usage"}
shift 3
wanted=" $* "
mkdir -p "$folder" "$results"

# measure NAME COMMAND...
measure() {
  name=$1
  shift
  case "$wanted" in "  " | *" $name "*) ;; *) return 0 ;; esac
  {
    echo "# $*"
    echo "# $(date -u '+%F %H:%M'), load $(cut -d ' ' -f 1-3 /proc/loadavg)," \
      "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
  } > "$results/$name.txt"
  "$@" >> "$results/$name.txt" 2> "$results/$name.log" ||
    echo "# ended with status $?" >> "$results/$name.txt"
  echo "# $(date -u '+%F %H:%M')" >> "$results/$name.txt"
  echo "$name: $(date -u '+%H:%M')"
}

bench=$build/bench
measure index "$bench/index_bench" 15
measure batches "$bench/batches_bench" "$folder/batches" --rounds 5 \
  --seconds 0.4
rm -rf "$folder/batches"
measure items "$bench/item_bench" --rounds 5 --seconds 0.3
measure fresh-epochs "$bench/loader_bench" "$folder/fresh" \
  --only 'fresh epochs' --size-mib 16384 --rounds 5 --seconds 2
rm -rf "$folder/fresh"
measure packed-batches "$bench/packed_batches_bench" "$folder/packed" \
  --rounds 5 --seconds 0.3
rm -rf "$folder/packed"
measure packed-cold "$bench/packed_cold_bench" "$folder/packed-cold" \
  --rounds 5 --seconds 2.5
rm -rf "$folder/packed-cold"
measure pack "$bench/pack_bench" "$folder/pack" --mib 512 --rounds 5
rm -rf "$folder/pack"
measure raw-files "$bench/raw_files_bench" "$folder/raw" 10000 5
rm -rf "$folder/raw"
measure open-stores "$bench/open_stores_bench" "$folder/open" 10000 5
rm -rf "$folder/open"
measure many-stores "$bench/many_stores_bench" "$folder/many" 10000 20000 5
rm -rf "$folder/many"
measure loader "$bench/loader_bench" "$folder/loader" --rounds 5 --seconds 2
rm -rf "$folder/loader"
mkdir -p "$folder/bytes"  # which that one does not make
measure bytes "$bench/byte_reader_bench" "$folder/bytes" --rounds 5
rm -rf "$folder/bytes"
measure steering "$bench/steering_bench" 10000 300
measure steering-10000 "$bench/steering_bench" 10000 10000
measure drop-1e8 "$bench/drop_bench" "$folder/drop" --documents 1e8 \
  --only log-normal
measure drop-1e7 "$bench/drop_bench" "$folder/drop" --documents 1e7 \
  --only log-normal
rm -rf "$folder/drop"
measure trace "$bench/trace_bench" 15
measure balance "$bench/balance_bench" 9 "$folder/balance"
rm -rf "$folder/balance"
measure packing-1e8 "$bench/packing_bench" 1e8 5
measure packing-1e9 "$bench/packing_bench" 1e9 3
measure length-order-1e7 "$bench/length_order_bench" "$folder/order" \
  --documents 1e7
measure length-order-1e8 "$bench/length_order_bench" "$folder/order" \
  --documents 1e8
measure packed-lookup "$bench/packed_lookup_bench" "$folder/order" \
  --documents 1e8 --rounds 9
rm -rf "$folder/order"
measure build-time sh "$(dirname "$0")/build_time.sh" "$folder/build-time"
