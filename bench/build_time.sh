#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sh bench/build_time.sh FOLDER: what building costs, in seconds of processor
# time and of the clock: the library (all layers, libponiente.a), the tool on top
# of it, and one file of a user's that includes <poniente/poniente.h>, beside the
# least that such a file can cost: <absl/status/statusor.h>, whose types are the
# interface's; and a user's program with a run, a loader and a coroutine,
# compiled and linked against the installed package. FOLDER is made, and must not
# be there.
set -eu
export LC_ALL=C
folder=${1:?"usage: sh bench/build_time.sh FOLDER"}
mkdir "$folder"
folder=$(cd "$folder" && pwd)
cd "$(dirname "$0")/.."
cxx=${CXX:-c++}

# Sets `used`: seconds that this shell's commands have had of processors.
measure_processors() {
  times >"$folder/times"
  used=$(awk -f cmake/processor_seconds.awk "$folder/times")
}

# measure NAME COMMAND...
measure() {
  name=$1
  shift
  measure_processors
  from=$used
  clock=$(date +%s.%N)
  "$@" >"$folder/log" 2>&1 || { tail -n 20 "$folder/log"; exit 1; }
  measure_processors
  echo "$name|$from|$used|$clock|$(date +%s.%N)" | awk -F '|' '
    { printf "%-44s %7.1f s of processors %7.1f s\n", $1, $3 - $2, $5 - $4 }'
}

cmake -S . -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS_RELEASE=-O2 -DPONIENTE_BUILD_TESTS=OFF \
  -DPONIENTE_BUILD_EXAMPLES=OFF >"$folder/configure.log"
measure 'library' ninja -C "$folder/build" poniente_static
measure 'tool' ninja -C "$folder/build" poniente_tool

echo '#include <poniente/poniente.h>' >"$folder/user.cc"
echo '#include <absl/status/statusor.h>' >"$folder/status.cc"
compile() { "$cxx" -std=c++20 -O2 -Iinclude -c "$1" -o "$folder/user.o"; }
compile_all() { for _ in 1 2 3 4 5; do compile "$@"; done; }
compile "$folder/user.cc"  # once, so that the headers are in memory
measure 'user.cc, five times' compile_all "$folder/user.cc"
measure 'absl/status/statusor.h alone, five times' \
  compile_all "$folder/status.cc"

# As target_precompile_headers(trainer PRIVATE <poniente/poniente.h>) does it.
cp "$folder/user.cc" "$folder/all.h"
measure 'poniente.h precompiled, once' "$cxx" -std=c++20 -O2 -Iinclude \
  -x c++-header "$folder/all.h" -o "$folder/all.h.gch"
precompiled() {
  for _ in 1 2 3 4 5; do
    "$cxx" -std=c++20 -O2 -Iinclude -include "$folder/all.h" \
      -c "$folder/user.cc" -o "$folder/user.o"
  done
}
measure 'user.cc with it, five times' precompiled

cmake --install "$folder/build" --prefix "$folder/prefix" >"$folder/log"
mkdir "$folder/program"
cat >"$folder/program/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(program LANGUAGES CXX)
find_package(poniente REQUIRED)
add_executable(program program.cc)
target_link_libraries(program PRIVATE poniente::poniente)
EOF
cat >"$folder/program/program.cc" <<'EOF'
#include <poniente/poniente.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <iostream>

poniente::Task<> Train(poniente::Loader* loader, uint64_t* tokens) {
  while (true) {
    absl::StatusOr<poniente::Batch> batch = co_await loader->Next();
    if (absl::IsOutOfRange(batch.status())) co_return absl::OkStatus();
    if (!batch.ok()) co_return batch.status();
    *tokens += batch->tokens<uint32_t>().size();
  }
}

int main() {
  using namespace poniente;
  Run run = {.seed = 42, .batch_size = 4, .seq_len = 32, .steps = 1000};
  run.data = Mixture({{"web", 0.7, Source("web")},
                      {"small", 0.3, Flat({{"a", Source("a")},
                                           {"b", Source("b")}})}});
  run.stages = {{.start = Steps(500), .weights = {{"web", 0.2}}}};
  auto loader = OpenLoader(run);
  if (!loader.ok()) return std::cerr << loader.status() << '\n', 1;
  boost::asio::io_context context;
  uint64_t tokens = 0;
  boost::asio::co_spawn(context, Train(loader->get(), &tokens),
                        [](std::exception_ptr, absl::Status status) {
                          std::cout << status << '\n';
                        });
  context.run();
  std::cout << tokens << " tokens\n";
}
EOF
cmake -S "$folder/program" -B "$folder/program/build" -G Ninja \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O2 \
  -DCMAKE_PREFIX_PATH="$folder/prefix" >"$folder/log"
measure 'program, compiled and linked' ninja -C "$folder/program/build"
rm -r "$folder"
