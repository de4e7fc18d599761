// SPDX-License-Identifier: Apache-2.0
#include "pack/pack_state.h"

#include <nlohmann/json.hpp>

namespace poniente::internal {
namespace {

using StateJson = nlohmann::json;

// Any bytes, as a path may hold: an array of numbers in JSON.
StateJson FromBytes(const std::string& bytes) {
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

std::string ToBytes(const StateJson& array) {
  const auto bytes = array.get<std::vector<uint8_t>>();
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace

std::string EncodePackState(const PackWork& work, const PackState& state) {
  StateJson saved = {{"options", work.options},
                     {"inputs", work.inputs},
                     {"input", state.input},
                     {"at", state.begin.at},
                     {"inside_line", state.begin.inside_line},
                     {"lines", state.lines},
                     {"documents_of_input", state.documents_of_input},
                     {"in_document", state.in_document},
                     {"bytes", state.bytes},
                     {"empty", state.empty},
                     {"compressed", state.compressed.count},
                     {"first_compressed", FromBytes(state.compressed.first)},
                     {"binary", state.binary.count},
                     {"first_binary", FromBytes(state.binary.first)},
                     {"bad_lines", state.bad_lines},
                     {"first_bad_line", FromBytes(state.first_bad_line)}};
  if (!work.tokenizer_library.empty()) {
    saved["tokenizer_library"] = work.tokenizer_library;
  }
  return saved.dump();
}

std::optional<SavedPackState> ParsePackState(std::string_view text) {
  // The checksum of the checkpoint covers it: it is as it was written, by this
  // version of the tool or another.
  const StateJson saved = StateJson::parse(text, nullptr, false);
  if (!saved.is_object()) return std::nullopt;
  try {
    SavedPackState result;
    result.work.options = saved.at("options").get<uint64_t>();
    result.work.inputs = saved.at("inputs").get<uint64_t>();
    result.work.tokenizer_library = saved.value("tokenizer_library", "");
    PackState& state = result.state;
    state.input = saved.at("input").get<uint64_t>();
    state.begin.at = saved.at("at").get<uint64_t>();
    state.begin.inside_line = saved.at("inside_line").get<bool>();
    state.lines = saved.at("lines").get<uint64_t>();
    state.documents_of_input = saved.at("documents_of_input").get<uint64_t>();
    state.in_document = saved.at("in_document").get<bool>();
    state.bytes = saved.at("bytes").get<uint64_t>();
    state.empty = saved.at("empty").get<uint64_t>();
    state.compressed = {saved.at("compressed").get<uint64_t>(),
                        ToBytes(saved.at("first_compressed"))};
    state.binary = {saved.at("binary").get<uint64_t>(),
                    ToBytes(saved.at("first_binary"))};
    state.bad_lines = saved.at("bad_lines").get<uint64_t>();
    state.first_bad_line = ToBytes(saved.at("first_bad_line"));
    return result;
  } catch (const StateJson::exception&) {
    return std::nullopt;
  }
}

}  // namespace poniente::internal
