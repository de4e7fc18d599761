// SPDX-License-Identifier: Apache-2.0
#include "bench/fio.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "util/status_macros.h"

namespace poniente::bench {
namespace {

// For the shell; and fio takes a bare colon for the end of a file's name.
std::string QuotedFileName(const std::string& path) {
  return absl::StrCat(
      "'", absl::StrReplaceAll(path, {{":", "\\:"}, {"'", "'\\''"}}), "'");
}

// What a command prints, if it succeeds.
absl::StatusOr<std::string> OutputOf(const std::string& command) {
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return absl::UnavailableError("popen failed");
  std::string output;
  std::array<char, 4096> part;
  while (const size_t got = std::fread(part.data(), 1, part.size(), pipe)) {
    output.append(part.data(), got);
  }
  if (pclose(pipe) != 0) {
    return absl::UnavailableError(absl::StrCat("failed: ", command));
  }
  return output;
}

}  // namespace

std::string FioCommand(const FioJob& job) {
  return absl::StrFormat(
      "fio --name=byte_reader_bench --filename=%s --size=%d "
      "--ioengine=io_uring --rw=randread --bs=8k --iodepth=%d --direct=%d "
      "--invalidate=%d --randrepeat=0 --time_based --runtime=%dms "
      "--output-format=json",
      QuotedFileName(job.path), job.bytes, job.depth, job.direct, job.evict,
      static_cast<int>(1000 * job.seconds));
}

absl::StatusOr<Sample> RunFio(const FioJob& job) {
  if (std::system("command -v fio > /dev/null 2>&1") != 0) {
    return absl::UnavailableError("fio is not installed");
  }
  PONIENTE_ASSIGN_OR_RETURN(const std::string output,
                            OutputOf(FioCommand(job)));
  using nlohmann::json;
  // Warnings may come first.
  const size_t start = output.find('{');
  const json report = json::parse(
      output.substr(start == std::string::npos ? output.size() : start),
      /*cb=*/nullptr, /*allow_exceptions=*/false);
  const auto figure = [&](const char* pointer) {
    return report.is_object() ? report.value(json::json_pointer(pointer), 0.0)
                              : 0.0;
  };
  Sample sample;
  sample.reads_per_second = figure("/jobs/0/read/iops");
  if (sample.reads_per_second == 0) {
    return absl::UnavailableError("fio's report tells no reads");
  }
  // Percentages of the time it ran.
  const double cpu = figure("/jobs/0/usr_cpu") + figure("/jobs/0/sys_cpu");
  sample.cpu_microseconds = 1e6 * cpu / 100 / sample.reads_per_second;
  return sample;
}

}  // namespace poniente::bench
