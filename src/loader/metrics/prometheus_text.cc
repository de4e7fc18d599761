// SPDX-License-Identifier: Apache-2.0
// Writes Prometheus' text format 0.0.4. It consists of families: first the help
// and the type of a family, then its series. No series may appear twice.

#include <algorithm>
#include <charconv>
#include <map>
#include <variant>

#include "absl/strings/str_cat.h"
#include "poniente/metrics.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

using internal::Absl;
using Member = std::variant<uint64_t LoaderMetrics::*, double LoaderMetrics::*>;

// A series. The series of one family are consecutive in kSeries and differ only
// in `label` and `member`.
struct Series {
  std::string_view name;
  std::string_view help;
  Member member;
  std::string_view label = {};
};

// Names that end in _total are counters, all others are gauges.
constexpr Series kSeries[] = {
    {"next_step", "Step that the next Next() gives.",
     &LoaderMetrics::next_step},
    {"steps_total", "Batches handed out.", &LoaderMetrics::steps},
    {"startup_seconds_total",
     "Waits for first batches: of the run, of a Seek, after an error.",
     &LoaderMetrics::startup_seconds},
    {"startups_total", "First batches handed out.", &LoaderMetrics::startups},
    {"stall_seconds_total", "Waits for all other batches.",
     &LoaderMetrics::stall_seconds},
    {"stalls_total", "Batches that were not ready when asked for.",
     &LoaderMetrics::stalls},
    {"consumer_seconds_total", "Time between a batch and the next Next().",
     &LoaderMetrics::consumer_seconds},
    {"last_stall_seconds", "Wait for the last batch.",
     &LoaderMetrics::last_stall_seconds},
    {"longest_stall_seconds", "Longest wait for a batch so far.",
     &LoaderMetrics::longest_stall_seconds},
    {"waiting_seconds", "How long a Next() that still waits has waited.",
     &LoaderMetrics::waiting_seconds},
    {"batches", "Batches in the queue.", &LoaderMetrics::batches_ready,
     "state=\"ready\""},
    {"batches", "Batches in the queue.", &LoaderMetrics::batches_under_way,
     "state=\"under_way\""},
    {"batches_fetched_total", "Batches made.", &LoaderMetrics::batches_fetched},
    {"batches_dropped_total", "Batches made that nobody took.",
     &LoaderMetrics::batches_dropped},
    {"fetch_errors_total", "Fetches that failed.",
     &LoaderMetrics::fetch_errors},
    {"fetch_seconds_total", "Where the time of the batches made went.",
     &LoaderMetrics::length_seconds, "part=\"length\""},
    {"fetch_seconds_total", "Where the time of the batches made went.",
     &LoaderMetrics::resolve_seconds, "part=\"resolve\""},
    {"fetch_seconds_total", "Where the time of the batches made went.",
     &LoaderMetrics::read_seconds, "part=\"read\""},
    {"fetch_seconds_total", "Where the time of the batches made went.",
     &LoaderMetrics::decode_seconds, "part=\"decode\""},
    {"fetching_seconds_total", "Time with a fetch under way.",
     &LoaderMetrics::fetching_seconds},
    {"cpu_seconds_total", "CPU time of the loader's thread.",
     &LoaderMetrics::cpu_seconds},
    {"kernel_seconds_total", "Of it, time in the kernel.",
     &LoaderMetrics::kernel_seconds},
    {"cpu_wait_seconds_total",
     "Time that the loader's thread was ready to run and had no core.",
     &LoaderMetrics::cpu_wait_seconds},
    {"asked_bytes_total", "Bytes asked for.", &LoaderMetrics::bytes_asked},
    {"read_bytes_total", "Bytes read.", &LoaderMetrics::bytes_read},
};

// Returns the length of the UTF-8 character at the beginning of `text`; 0 if
// there is none.
size_t CharacterBytes(std::string_view text) {
  const auto byte = [text](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(0);
  const size_t bytes = first < 0x80         ? 1
                       : first >> 5 == 0x06 ? 2
                       : first >> 4 == 0x0e ? 3
                       : first >> 3 == 0x1e ? 4
                                            : 0;
  for (size_t i = 1; i < bytes; ++i) {
    if (byte(i) >> 6 != 2) return 0;
  }
  // Overlong encodings, surrogates, and codes above the last character.
  const bool is_wrong =
      (bytes == 2 && first < 0xc2) || (first == 0xe0 && byte(1) < 0xa0) ||
      (first == 0xed && byte(1) >= 0xa0) || (first == 0xf0 && byte(1) < 0x90) ||
      (first == 0xf4 && byte(1) >= 0x90) || first > 0xf4;
  return is_wrong ? 0 : bytes;
}

// Returns a label's value. Replaces bytes that are not UTF-8 by U+FFFD, because
// Prometheus would refuse the whole text because of them.
std::string LabelValue(std::string_view text) {
  std::string value;
  while (!text.empty()) {
    const size_t bytes = CharacterBytes(text);
    if (bytes == 0) {
      value += "\xef\xbf\xbd";
    } else if (text[0] == '\n') {
      value += "\\n";
    } else if (text[0] == '"' || text[0] == '\\') {
      value += '\\';
      value += text[0];
    } else {
      value += text.substr(0, bytes);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return value;
}

std::string LabelName(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    name += is_letter || (is_digit && !name.empty()) ? c : '_';
  }
  return name.empty() ? "_" : name;
}

std::string Number(uint64_t value) { return std::to_string(value); }
// Returns the shortest text that is parsed as exactly this number.
std::string Number(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

class Writer {
 public:
  // Begins a family, unless it is the current one.
  void Family(std::string_view name, std::string_view help) {
    if (name == family_) return;
    family_ = name;
    const bool is_counter = name.ends_with("_total");
    absl::StrAppend(&text_, "# HELP poniente_loader_", Absl(name), " ",
                    Absl(help), "\n# TYPE poniente_loader_", Absl(name),
                    is_counter ? " counter\n" : " gauge\n");
  }
  void Add(const std::string& common, std::string_view label,
           const std::string& number) {
    std::string labels = common;
    if (!common.empty() && !label.empty()) labels += ',';
    labels += label;
    if (!labels.empty()) labels = absl::StrCat("{", labels, "}");
    absl::StrAppend(&text_, "poniente_loader_", Absl(family_), labels, " ",
                    number, "\n");
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string_view family_;
  std::string text_;
};

std::string Common(const MetricLabels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    absl::StrAppend(&text, text.empty() ? "" : ",", LabelName(name), "=\"",
                    LabelValue(value), "\"");
  }
  return text;
}

// Returns the values of `count` by label. A series may appear only once, so
// sources with equal labels are added up; of epochs, the latest is returned.
std::map<std::string, uint64_t> BySource(const LoaderMetrics& metrics,
                                         uint64_t SourceMetrics::*count) {
  std::map<std::string, uint64_t> values;
  for (const SourceMetrics& source : metrics.sources) {
    uint64_t& value =
        values[absl::StrCat("source=\"", LabelValue(source.path), "\"")];
    value = count == &SourceMetrics::epoch ? std::max(value, source.*count)
                                           : value + source.*count;
  }
  return values;
}

// Returns the sums of the datasets' seconds by labels, which may be equal as
// those of sources.
std::map<std::string, double> ByDataset(const LoaderMetrics& metrics) {
  std::map<std::string, double> sums;
  for (const DatasetTime& dataset : metrics.datasets) {
    sums[absl::StrCat("source=\"", LabelValue(dataset.path), "\",dataset=\"",
                      LabelValue(dataset.name), "\"")] += dataset.seconds;
  }
  return sums;
}

void AddDatasets(std::span<const LabelledMetrics> loaders, Writer* writer) {
  for (const LabelledMetrics& loader : loaders) {
    for (const auto& [label, seconds] : ByDataset(loader.metrics)) {
      writer->Family("dataset_seconds_total",
                     "Time with a call of a dataset that is not read from "
                     "files.");
      writer->Add(Common(loader.labels), label, Number(seconds));
    }
  }
}

}  // namespace

std::string PrometheusText(const LoaderMetrics& metrics,
                           const MetricLabels& labels) {
  const LabelledMetrics one = {metrics, labels};
  return PrometheusText(std::span(&one, 1));
}

std::string PrometheusText(std::span<const LabelledMetrics> loaders) {
  Writer writer;
  const auto add_sources = [&](std::string_view name, std::string_view help,
                               uint64_t SourceMetrics::*count) {
    writer.Family(name, help);
    for (const LabelledMetrics& loader : loaders) {
      for (const auto& [label, sum] : BySource(loader.metrics, count)) {
        writer.Add(Common(loader.labels), label, Number(sum));
      }
    }
  };
  add_sources("samples_total", "Samples handed out.", &SourceMetrics::samples);
  add_sources("tokens_total", "Tokens handed out.", &SourceMetrics::tokens);
  add_sources("source_epoch", "Latest epoch of the samples handed out.",
              &SourceMetrics::epoch);
  add_sources("source_restarts_total", "Times that the source began again.",
              &SourceMetrics::restarts);
  for (const Series& series : kSeries) {
    writer.Family(series.name, series.help);
    for (const LabelledMetrics& loader : loaders) {
      const std::string number = std::visit(
          [&](auto m) { return Number(loader.metrics.*m); }, series.member);
      writer.Add(Common(loader.labels), series.label, number);
    }
  }
  AddDatasets(loaders, &writer);
  writer.Family("read_amplification_ratio", "Bytes read per byte asked for.");
  for (const LabelledMetrics& loader : loaders) {
    if (loader.metrics.bytes_asked == 0) continue;
    writer.Add(Common(loader.labels), "",
               Number(loader.metrics.read_amplification()));
  }
  return writer.Take();
}

}  // namespace poniente
