// SPDX-License-Identifier: Apache-2.0
#include "config/write/node_options_writer.h"

#include <cstdint>

#include "config/write/toml_text.h"

namespace poniente::internal {

std::string PackingText(const NodePacking& packing, bool is_resolved,
                        const std::string& index_file) {
  const PackingOptions& options = packing.options;
  const PackingOptions usual;
  const bool all = is_resolved && packing.is_packed;
  if (!all && options == usual) return Boolean(packing.is_packed);
  Keys keys;
  if (all || options.long_documents != usual.long_documents) {
    keys.AddText("long_documents", LongDocumentsName(options.long_documents));
  }
  if (all || options.end_of_document != usual.end_of_document) {
    keys.AddText("end_of_document", EndOfDocumentName(options.end_of_document));
  }
  const auto add = [&](const char* key, uint32_t value, uint32_t otherwise) {
    if (all || value != otherwise) keys.Add(key, value);
  };
  add("align", options.align, usual.align);
  add("max_documents", options.max_documents, usual.max_documents);
  add("overlap", options.overlap, usual.overlap);
  add("parts", options.parts, usual.parts);
  if (all || options.shuffle != usual.shuffle) {
    keys.Add("shuffle", Boolean(options.shuffle));
  }
  add("chunk_documents", options.chunk_documents, usual.chunk_documents);
  if (options.chunk_documents > 0) {
    add("shuffle_chunks", options.shuffle_chunks, usual.shuffle_chunks);
  }
  if (!index_file.empty()) {
    keys.AddText("index_file", index_file);
  }
  return keys.Inline();
}

std::string InfillingText(const NodeInfilling& infilling, bool is_resolved) {
  if (!infilling.is_infilled) return Boolean(false);
  const InfillingOptions& options = infilling.options;
  const InfillingOptions usual;
  Keys keys;
  if (is_resolved || options.rate != usual.rate) {
    keys.Add("rate", Float(options.rate));
  }
  if (is_resolved || options.spm_rate != usual.spm_rate) {
    keys.Add("spm_rate", Float(options.spm_rate));
  }
  keys.Add("prefix", uint64_t{options.prefix});
  keys.Add("middle", uint64_t{options.middle});
  keys.Add("suffix", uint64_t{options.suffix});
  if (is_resolved || options.pieces != usual.pieces) {
    keys.AddText("pieces", InfilledPiecesName(options.pieces));
  }
  if (is_resolved || options.min_tokens != usual.min_tokens) {
    keys.Add("min_tokens", uint64_t{options.min_tokens});
  }
  return keys.Inline();
}

}  // namespace poniente::internal
