// SPDX-License-Identifier: Apache-2.0
#include "bench/readers/fio.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "bench/readers/command_output.h"
#include "util/status_macros.h"

namespace poniente::bench {
namespace {

// fio takes a bare colon for the end of a name.
std::string Escaped(const std::string& name) {
  return absl::StrReplaceAll(name, {{":", "\\:"}});
}

std::string FileOptions(const FioJob& job) {
  std::string names;
  for (const std::string& file : job.files) {
    absl::StrAppend(&names, names.empty() ? "" : ":", Escaped(file));
  }
  std::string options = "--filename=" + ShellQuoted(names);
  if (!job.folder.empty()) {
    options = absl::StrCat("--directory=", ShellQuoted(Escaped(job.folder)),
                           " ", options);
  }
  if (job.bytes != 0) absl::StrAppend(&options, " --size=", job.bytes);
  return options;
}

}  // namespace

std::string FioCommand(const FioJob& job) {
  return absl::StrFormat(
      "fio --name=%s %s "
      "--ioengine=io_uring --rw=randread %s --iodepth=%d --direct=%d "
      "--invalidate=%d --randrepeat=0 --time_based --runtime=%dms "
      "--output-format=json",
      job.name, FileOptions(job), job.blocks, job.depth, job.direct, job.evict,
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
