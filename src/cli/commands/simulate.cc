// SPDX-License-Identifier: Apache-2.0
// poniente simulate: the I/O locality of a run, before it reads anything.

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "analysis/simulate/io_simulation.h"
#include "analysis/trace/read_trace.h"
#include "cli/arguments.h"
#include "cli/command_line.h"
#include "cli/commands/commands.h"
#include "cli/commands/load_config.h"
#include "cli/screen/console.h"
#include "cli/screen/json.h"
#include "cli/screen/sizes.h"
#include "cli/screen/table.h"
#include "poniente/config.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

using internal::ChunkLocality;
using internal::IoSimulation;
using internal::IoSimulationOptions;
using internal::OrderLocality;
using internal::RunReads;

struct SimulateRequest {
  std::string config;
  std::optional<uint64_t> steps;
  Rank rank;
  IoSimulationOptions options;
};

absl::StatusOr<std::vector<uint64_t>> SizesOf(const Arguments& arguments,
                                              const std::string& name,
                                              std::vector<uint64_t> otherwise,
                                              uint64_t min) {
  const std::optional<std::string> text = arguments.Text(name);
  if (!text) return otherwise;
  const auto sizes = ParseSizes(*text, min, uint64_t{1} << 50);
  if (sizes.ok()) return sizes;
  return internal::Prepend(sizes.status(), absl::StrCat("simulate: --", name));
}

absl::StatusOr<SimulateRequest> ReadRequest(const Arguments& arguments) {
  constexpr uint64_t kMax = uint64_t{1} << 40;
  SimulateRequest request;
  if (arguments.positionals().size() != 1) {
    return absl::InvalidArgumentError(
        "simulate: give one CONFIG; see `poniente simulate --help`");
  }
  request.config = arguments.positionals()[0];
  if (arguments.Has("steps")) {
    PONIENTE_ASSIGN_OR_RETURN(request.steps,
                              arguments.Number("steps", 1, 1, kMax));
  }
  PONIENTE_ASSIGN_OR_RETURN(request.rank, arguments.RankOf("rank"));
  IoSimulationOptions& options = request.options;
  PONIENTE_ASSIGN_OR_RETURN(
      options.chunk_bytes,
      SizesOf(arguments, "chunk-bytes", options.chunk_bytes, 1));
  PONIENTE_ASSIGN_OR_RETURN(
      options.cache_bytes,
      SizesOf(arguments, "cache-bytes", options.cache_bytes, 1));
  if (arguments.Has("block-tokens")) {
    PONIENTE_ASSIGN_OR_RETURN(options.blocks.chunk_tokens,
                              arguments.Number("block-tokens", 1, 1, kMax));
  }
  PONIENTE_ASSIGN_OR_RETURN(
      options.blocks.window_chunks,
      arguments.Number("window-chunks", options.blocks.window_chunks, 1, kMax));
  return request;
}

// As many steps as are worked out in a second or two, and no more than 1000.
uint64_t DefaultSteps(const Schedule& schedule) {
  constexpr uint64_t kSteps = 1000;
  constexpr uint64_t kReads = uint64_t{1} << 20;
  uint64_t steps = 0;
  for (uint64_t reads = 0; steps < kSteps && schedule.Has(steps); ++steps) {
    const StepPlan plan = schedule.At(steps);
    reads += plan.batch_size * (1 + plan.seq_len / 8192);
    if (reads > kReads) break;
  }
  return std::max<uint64_t>(steps, 1);
}

double Ratio(uint64_t a, uint64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

Json SimulationToJson(const ChunkLocality& chunks, uint64_t steps,
                      uint64_t used_bytes,
                      const std::vector<uint64_t>& cache_bytes) {
  Json json;
  json["chunk_bytes"] = chunks.chunk_bytes;
  json["chunks_per_batch"] = Ratio(chunks.asked_chunks, steps);
  json["most_chunks_in_batch"] = chunks.most_chunks_in_batch;
  json["touched_chunks"] = chunks.touched_chunks;
  json["touched_bytes"] = chunks.touched_bytes;
  json["used_share"] = chunks.used_share;
  json["cache_needed_bytes"] = chunks.cache_needed_bytes;
  json["cache_needed_is_at_least"] = chunks.is_at_least;
  json["amplification_without_cache"] =
      Ratio(chunks.fetched_bytes_without_cache, used_bytes);
  json["amplification"] = Json::array();
  for (size_t i = 0; i < cache_bytes.size(); ++i) {
    json["amplification"].push_back(
        {{"cache_bytes", cache_bytes[i]},
         {"amplification", Ratio(chunks.fetched_bytes[i], used_bytes)}});
  }
  json["amplification_if_all_kept"] = Ratio(chunks.touched_bytes, used_bytes);
  return json;
}

Json SimulationToJson(const RunReads& reads, const IoSimulation& simulation,
                      const SimulateRequest& request,
                      const std::vector<std::string>& assumed) {
  Json json;
  json["steps"] = reads.steps();
  json["samples"] = reads.samples();
  json["rank"] = request.rank.rank;
  json["ranks"] = request.rank.ranks;
  json["used_bytes"] = simulation.used_bytes;
  json["files"] = reads.files().size();
  json["token_bytes_assumed"] = assumed;
  json["orders"] = Json::array();
  for (const OrderLocality& order : simulation.orders) {
    Json row;
    row["order"] = order.order;
    row["chunks"] = Json::array();
    for (const ChunkLocality& chunks : order.chunks) {
      row["chunks"].push_back(SimulationToJson(chunks, reads.steps(),
                                               simulation.used_bytes,
                                               request.options.cache_bytes));
    }
    json["orders"].push_back(std::move(row));
  }
  json["left_out"] = Json::array();
  for (const internal::OrderLeftOut& left_out : simulation.left_out) {
    json["left_out"].push_back(
        {{"order", left_out.order},
         {"why", std::string(left_out.status.message())}});
  }
  return json;
}

std::string OrderInWords(const std::string& order) {
  if (order == "configured") return "as configured";
  return order == "full_shuffle" ? "full shuffle" : "block shuffle";
}

std::string CacheNeeded(const ChunkLocality& chunks) {
  if (chunks.cache_needed_bytes == 0) return "none";
  return absl::StrCat(chunks.is_at_least ? ">= " : "",
                      Bytes(static_cast<double>(chunks.cache_needed_bytes)));
}

// Three digits, and no more than there are.
std::string Times(double ratio) {
  const int digits = ratio < 10 ? 2 : ratio < 100 ? 1 : 0;
  return absl::StrFormat("%.*f", digits, ratio);
}

void PrintChunks(const RunReads& reads, const IoSimulation& simulation,
                 const SimulateRequest& request, size_t at) {
  const uint64_t used = simulation.used_bytes;
  std::cout << "\nin chunks of " << BinarySize(request.options.chunk_bytes[at])
            << ":\n";
  std::vector<std::vector<std::string>> rows = {
      {"order", "chunks a batch", "touched", "share used", "cache needed",
       "read/used: no cache"}};
  for (const uint64_t cache : request.options.cache_bytes) {
    rows[0].push_back(BinarySize(cache));
  }
  rows[0].push_back("all kept");
  for (const OrderLocality& order : simulation.orders) {
    const ChunkLocality& chunks = order.chunks[at];
    std::vector<std::string>& row = rows.emplace_back();
    row = {OrderInWords(order.order),
           absl::StrFormat("%.1f", Ratio(chunks.asked_chunks, reads.steps())),
           Bytes(static_cast<double>(chunks.touched_bytes)),
           absl::StrFormat("%.1f%%", 100 * chunks.used_share),
           CacheNeeded(chunks),
           Times(Ratio(chunks.fetched_bytes_without_cache, used))};
    for (const uint64_t fetched : chunks.fetched_bytes) {
      row.push_back(Times(Ratio(fetched, used)));
    }
    row.push_back(Times(Ratio(chunks.touched_bytes, used)));
  }
  PrintTable(rows);
}

void PrintSimulation(const RunReads& reads, const IoSimulation& simulation,
                     const SimulateRequest& request,
                     const std::vector<std::string>& assumed) {
  std::cout << OneLine(request.config) << ": the first "
            << Plural(reads.steps(), "step");
  if (request.rank.ranks > 1) {
    std::cout << " of rank " << request.rank.rank << " of "
              << request.rank.ranks;
  }
  std::cout << " read " << Plural(reads.samples(), "sample") << ", "
            << Bytes(static_cast<double>(simulation.used_bytes)) << ", from "
            << Plural(reads.files().size(), "file") << '\n';
  for (size_t i = 0; i < request.options.chunk_bytes.size(); ++i) {
    PrintChunks(reads, simulation, request, i);
  }
  std::cout << "\n  cache needed: the smallest LRU cache that fetches at most "
               "1 in 20 chunks again in a pass\n";
  for (const internal::OrderLeftOut& left_out : simulation.left_out) {
    std::cout << "  note: no " << OrderInWords(left_out.order) << ": "
              << OneLine(std::string(left_out.status.message())) << '\n';
  }
  if (!assumed.empty()) {
    const size_t shown = std::min<size_t>(assumed.size(), 8);
    std::cout << "  note: for stores that do not exist yet, each id is assumed "
                 "to have the width that the vocabulary needs, or 4 bytes if "
                 "it is not known: "
              << OneLine(absl::StrJoin(
                     assumed.begin(),
                     assumed.begin() + static_cast<ptrdiff_t>(shown), ", "))
              << (shown < assumed.size() ? ", ..." : "") << '\n';
  }
}

}  // namespace

CommandSpec SimulateSpec() {
  return {
      .name = "simulate",
      .brief = "say which parts of the files a run's first steps read",
      .positionals = "CONFIG",
      .summary =
          "Says how the reads of the first steps of the run in the TOML file "
          "CONFIG are\nspread over the files, without reading any: chunks in "
          "each batch, bytes read for\neach byte used with caches of several "
          "sizes, and the cache needed to read each\nchunk once. It does so "
          "for the run as it is, and with a full shuffle or a block\nshuffle "
          "of each source. Sources may be numbers of tokens. "
          "docs/simulate.md\nexplains the figures.",
      .options = {{"io", "", "simulate reads; the only simulation so far"},
                  {"steps", "N",
                   "simulate N steps (default: 1000, or fewer if they are "
                   "large)"},
                  {"rank", "r/R",
                   "only what rank r of R reads (default: all ranks)"},
                  {"chunk-bytes", "LIST",
                   "sizes of chunks (default: 64KiB,1MiB,16MiB)"},
                  {"cache-bytes", "LIST",
                   "sizes of caches (default: 1GiB,16GiB)"},
                  {"block-tokens", "N",
                   "tokens in a chunk of the block shuffle (default: 524288)"},
                  {"window-chunks", "N",
                   "chunks in a window of the block shuffle (default: 1024)"},
                  {"json", "", "print JSON"}},
      .example = "poniente simulate train.toml --io --chunk-bytes 4KiB,1MiB"};
}

int RunSimulate(const std::vector<std::string>& args) {
  const auto read = ReadCommandLine(SimulateSpec(), args);
  if (const int* code = std::get_if<int>(&read)) return *code;
  const Arguments& arguments = std::get<Arguments>(read);
  const absl::StatusOr<SimulateRequest> request = ReadRequest(arguments);
  if (!request.ok()) return FailUsage(std::string(request.status().message()));
  const auto config = LoadConfig(request->config);
  if (!config.ok()) return FailConfig(config.status());
  const auto reads = RunReads::Create(
      *config->dataset(), config->schedule(), config->sources(),
      request->steps.value_or(DefaultSteps(config->schedule())),
      request->rank.rank, request->rank.ranks,
      config->loader_options().sharing);
  if (!reads.ok()) return Fail(reads.status());
  const auto simulation = internal::SimulateIo(**reads, request->options);
  if (!simulation.ok()) return Fail(simulation.status());
  std::vector<std::string> assumed;
  for (const ConfigSource& source : config->sources()) {
    if (source.data == nullptr) assumed.push_back(source.path);
  }
  if (arguments.Has("json")) {
    PrintJson(SimulationToJson(**reads, *simulation, *request, assumed));
  } else {
    PrintSimulation(**reads, *simulation, *request, assumed);
  }
  return kExitOk;
}

}  // namespace poniente::cli
