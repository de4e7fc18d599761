// SPDX-License-Identifier: Apache-2.0
#include "bench/runs/packed_run.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/measure/document_lengths.h"
#include "bench/measure/require.h"
#include "poniente/dataset_tree.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/token_store.h"
#include "poniente/token_store_writer.h"

namespace poniente::bench {
namespace {

void AppendWindow(const std::vector<ItemPiece>& pieces, KnownWindows* known) {
  for (const ItemPiece& piece : pieces) {
    known->windows.pieces.push_back(
        {piece.begin, static_cast<uint32_t>(piece.end - piece.begin),
         piece.is_padding()});
    if (!piece.is_padding()) known->pieces_per_window += 1;
  }
  known->windows.ends.push_back(known->windows.pieces.size());
}

// Of windows that have been appended.
void Complete(const DatasetNode& windows, KnownWindows* known) {
  known->max_documents =
      PackedItemsOf(windows)->packing_summary().max_pieces + 1;
  known->pieces_per_window /= static_cast<double>(known->windows.size());
}

template <class T>
void RequireEqual(const T* wanted, std::span<const T> got,
                  const std::string& what) {
  Require(!got.empty() && std::equal(got.begin(), got.end(), wanted),
          absl::StrCat("the loader's ", what,
                       " differ from those of a plain loop"));
}

}  // namespace

void WriteRandomStore(const std::string& path, uint64_t tokens, uint64_t seed) {
  if (std::filesystem::exists(path + "/manifest.json")) return;
  TokenStoreWriterOptions options;
  options.vocabulary = {"bench", 65536};
  const auto writer = Require(TokenStoreWriter::Create(path, options));
  std::mt19937_64 random(seed);
  std::vector<uint32_t> ids;
  for (uint64_t written = 0; written < tokens; written += ids.size()) {
    ids.resize(LogNormalLength(random));
    for (uint32_t& id : ids) id = static_cast<uint16_t>(random());
    Require(writer->BeginDocument(""));
    Require(writer->Append(ids));
    Require(writer->EndDocument());
  }
  Require(writer->Finish().status());
}

PackedRun OpenPackedRun(const std::string& data, const std::string& folder,
                        size_t batch_size, size_t seq_len,
                        PackedTensors tensors) {
  Config config = Require(Config::Parse(
      absl::StrCat(
          "[data]\nseed = 1\nsteps = 1000000000000\nbatch_size = ", batch_size,
          "\nseq_len = ", seq_len, "\npack_documents = true\n", data),
      "bench", folder));
  LoaderOptions options = config.loader_options();
  options.warning_sink = [](std::string_view) {};
  if (tensors == PackedTensors::kAll) {
    options.token_type = TokenType::kI32;
    options.tensors = {BatchTensor::kLabels,      BatchTensor::kLossMask,
                       BatchTensor::kDocumentIds, BatchTensor::kPositions,
                       BatchTensor::kCuSeqlens,   BatchTensor::kDocumentCounts,
                       BatchTensor::kMaxSeqlens};
  }
  auto loader = Require(config.OpenLoader(options));
  return {std::move(config), std::move(loader)};
}

KnownWindows FirstWindows(const std::string& store, size_t seq_len,
                          size_t count) {
  const auto windows =
      Require(Require(TokenStore::Open(store))->PackedWindows(seq_len));
  const PiecewiseItems& pieces = *PiecesOf(*windows);
  KnownWindows known;
  count = std::min<size_t>(count, windows->length_now().readable);
  for (uint64_t w = 0; w < count; ++w) {
    AppendWindow(Require(pieces.Pieces({.index = w})), &known);
  }
  Complete(*windows, &known);
  return known;
}

void RequireLikePlain(const Config& config, const Batch& batch,
                      const uint16_t* ids) {
  const DatasetTree tree(*config.dataset());
  const DatasetNode& leaf = *tree.leaves()[0].node;
  const PiecewiseItems& pieces = *PiecesOf(leaf);
  KnownWindows known;
  for (size_t i = 0; i < batch.num_samples(); ++i) {
    const SampleProvenance& from = batch.provenance(i);
    AppendWindow(
        Require(pieces.Pieces({.index = from.item, .epoch = from.epoch})),
        &known);
  }
  Complete(leaf, &known);
  const size_t n = batch.num_samples();
  const size_t most = known.max_documents;
  Require(most == batch.max_documents(), "another capacity of cu_seqlens");
  std::vector<std::byte> memory(PlainBatch::Bytes(n, batch.seq_len(), most));
  const PlainBatch plain =
      PlainBatch::At(memory.data(), n, batch.seq_len(), most);
  WritePlainBatch(known.windows, 0, n, ids, batch.seq_len(), most, plain);
  RequireEqual(plain.tokens, batch.tokens<int32_t>(), "tokens");
  RequireEqual(plain.labels, batch.labels<int32_t>(), "labels");
  RequireEqual(plain.loss_mask, batch.loss_mask(), "loss_mask");
  RequireEqual(plain.document_ids, batch.document_ids(), "document_ids");
  RequireEqual(plain.positions, batch.positions(), "positions");
  RequireEqual(plain.cu_seqlens, batch.cu_seqlens(), "cu_seqlens");
  RequireEqual(plain.document_counts, batch.document_counts(),
               "document_counts");
  RequireEqual(plain.max_seqlens, batch.max_seqlens(), "max_seqlens");
}

}  // namespace poniente::bench
