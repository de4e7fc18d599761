// SPDX-License-Identifier: Apache-2.0
// Random runs as TOML, with every kind of node and most keys. Nearly all are
// valid.

#ifndef PONIENTE_TESTS_CONFIG_RANDOM_RUN_H_
#define PONIENTE_TESTS_CONFIG_RANDOM_RUN_H_

#include <random>
#include <string>

#include "absl/strings/str_cat.h"

namespace poniente::testing {

// Writes runs over the stores of SmallStores, a store d of documents with their
// scores d.f32 and a table d.order, a raw file r.bin of u8 with its loss mask
// m.bin, and sources that are only numbers of tokens.
class RandomRun {
 public:
  explicit RandomRun(uint64_t seed) : random_(seed) {}

  std::string Text() {
    const std::string steps =
        Chance(2) ? absl::StrCat("steps = ", 40 + Below(60), "\n") : "";
    ends_ = !steps.empty();
    std::string data = absl::StrCat("[data]\nseed = ", Below(1000), "\n", steps,
                                    "batch_size = ", 1 + Below(8),
                                    "\nseq_len = ", 10 + Below(10), "\n");
    if (Chance(3)) data += "max_seq_len = 40\n";
    if (Chance(4)) data += "sample_overlap = 1\n";
    if (Chance(5)) data += "journal = \"changes.journal\"\n";
    if (Chance(5)) data += "last_batch = \"drop\"\n";
    if (Chance(2)) data += "shares_of = \"tokens\"\n";
    // Refused where a source below is packed, or states overlap.
    const bool holds_out = Chance(6);
    if (holds_out) data += "hold_out = { windows = 0.2, seed = 3 }\n";
    if (Chance(8)) data += "budget = { experiment = 2e3, target = 3000 }\n";
    std::string nodes;
    has_shared_ = false;
    if (Chance(2)) {
      nodes = "[data.nodes]\nshared = " + Node(1) + "\n";
      has_shared_ = true;
    }
    is_mixture_ = !Chance(4);
    if (is_mixture_) {
      if (Chance(3)) data += "weight_rule = \"sizes\"\n";
      if (Chance(3)) data += "temperature = 1.5\n";
      if (Chance(3)) data += "group_items = 8\n";
      data += absl::StrCat("block_size = ", 8 + Below(20), "\n");
      nodes = absl::StrCat("[data.mixture]\nx = ", Component(),
                           "\n\"y z\" = ", Component(), "\n", nodes);
    } else {
      data += Chance(2) ? absl::StrCat("flat = { x = ", Node(2),
                                       ", y = ", Node(2), " }\n")
                        : "path = \"a\"\nfilter = { fraction = 0.3 }\n";
    }
    return absl::StrCat(data, nodes, Evals(holds_out), Stages(), Runtime());
  }

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }
  bool Chance(uint64_t n) { return Below(n) == 0; }

  std::string Modifiers() {
    std::string keys;
    if (Chance(4)) keys += ", filter = { fraction = 0.5, seed = 3 }";
    if (Chance(5)) keys += ", filter = { scores = \"s.npy\" }";  // refused
    if (keys.find("scores") != std::string::npos) keys.clear();
    if (Chance(5)) keys += absl::StrCat(", slice = [1, ", 5 + Below(40), "]");
    if (Chance(5)) keys += absl::StrCat(", take = ", 2 + Below(30));
    if (Chance(6)) keys += ", repeat = 2";
    return keys;
  }

  std::string Shuffle() {
    switch (Below(8)) {
      case 0:
        return ", shuffle = true";
      case 1:
        return absl::StrCat(", era_shuffle = ", 2 + Below(9));
      case 2:
        return ", block_shuffle = { chunk_items = 3, window_chunks = 2 }";
      default:
        return "";
    }
  }

  std::string Leaf() {
    switch (Below(8)) {
      case 6:
        return absl::StrCat(
            "path = \"r.bin\", dtype = \"u8\", loss_mask = ",
            Chance(2) ? "\"m.bin\"" : "{ path = \"./m.bin\", no_loss = -1 }");
      case 0:
        return Chance(3) ? "path = \"a\", fill_in_the_middle = { prefix = 1, "
                           "middle = 2, suffix = 3, min_tokens = 8 }"
                         : "path = \"a\"";
      case 3:
        return "path = \"a\", pack_documents = { chunk_documents = 3, "
               "shuffle_chunks = 2 }";
      case 7:
        if (Chance(2)) return "path = \"d\"";
        return absl::StrCat(
            "path = \"d\", order_documents = { ",
            Chance(2) ? "table = \"d.order\""
                      : "scores = \"./d.f32\", direction = \"descending\"",
            Chance(3)   ? ", bucket_items = 7"
            : Chance(3) ? ", buckets = 2"
                        : "",
            " }",
            Chance(3) ? ", documents = { scores = \"d.f32\", at_least = 5 }"
                      : "");
      case 1:
        return "path = \"./b\", tokenizer = \"proof\", vocab_size = 250";
      case 2:
        return "path = \"c\", overlap = 1";
      default:
        return absl::StrCat("tokens = ", 500 + Below(3000));
    }
  }

  // An inline table.
  std::string Node(int depth) {
    const uint64_t kind = depth >= 3 ? 0 : Below(6);
    if (kind == 3) {
      return absl::StrCat(
          "{ flat = { p = ", Node(depth + 1), ", q = ", Node(depth + 1), " }",
          Chance(2) ? absl::StrCat(", seed = ", Below(9)) : "", " }");
    }
    if (kind == 4) {
      return absl::StrCat("{ concat = [", Node(depth + 1), ", { name = \"n\", ",
                          Leaf(), " }]", Modifiers(), " }");
    }
    if (kind == 5) {
      const std::string stages =
          Chance(2) ? absl::StrCat(
                          ", stages = [{ start_sample = ", 5 + Below(50),
                          Chance(2) ? ", weights = { u = 3 } }]"
                                    : ", temperature = 2, ramp_samples = 40, "
                                      "ramp_temperature = true }]")
                    : "";
      return absl::StrCat("{ mixture = { u = { weight = 1, ", Leaf(),
                          " }, v = { weight = 0.3, ", Leaf(),
                          " } }, take = ", 20 + Below(100), ", block_size = 16",
                          stages, " }");
    }
    if (has_shared_ && Chance(3)) return "{ use = \"shared\" }";
    return absl::StrCat("{ ", Leaf(), Modifiers(), Shuffle(), " }");
  }

  std::string Component() {
    std::string node = Node(1);
    node.insert(
        1, absl::StrCat(" weight = ", 1 + Below(5), ".", Below(1000), ","));
    if (Chance(4)) node.insert(1, " loss_weight = 0.25,");
    if (Chance(6)) node.insert(1, " max_epochs = 1000,");
    return node;
  }

  std::string Evals(bool holds_out) {
    std::string text;
    if (Chance(4)) {
      absl::StrAppend(&text, "[data.eval.\"own one\"]\npath = \"c\"\n",
                      Chance(2) ? "shuffle = false\n" : "max_samples = 7\n",
                      Chance(2) ? "every_steps = 3\nseed = 8\n" : "");
    }
    if (Chance(5) && has_shared_) {
      text += "[data.eval.used]\nuse = \"shared\"\nbatch_size = 3\n";
    }
    if (holds_out && Chance(2)) {
      absl::StrAppend(&text, "[data.eval.held]\nheld_out = ",
                      Chance(2) ? "true" : "[\"x\"]", "\nseq_len = 40\n");
    }
    return text;
  }

  std::string Stages() {
    std::string text;
    uint64_t step = 5;
    for (uint64_t i = Below(4); i > 0; --i, step += 3 + Below(10)) {
      const bool by_share = ends_ && Chance(3);
      absl::StrAppend(&text, "[[data.stages]]\n",
                      by_share ? absl::StrCat("start_share = 0.", step, "\n")
                               : absl::StrCat("start_step = ", step, "\n"));
      if (Chance(2)) absl::StrAppend(&text, "name = \"s\\\"", i, "\"\n");
      if (Chance(2)) text += "lr_scale = 0.1\n";
      if (Chance(3)) text += "numbers = { rope = 1e6, \"b c\" = 0.25 }\n";
      if (Chance(3))
        absl::StrAppend(&text, "batch_size = ", 1 + Below(9), "\n");
      if (!is_mixture_) continue;
      if (Chance(2)) text += "weights = { x = 0.25, \"y z\" = 2 }\n";
      if (Chance(3)) text += "temperature = 2\n";
      if (Chance(3)) text += "ramp_samples = 64\nramp_blocks = 1\n";
      if (Chance(15)) text += "ramp_temperature = true\n";  // or refused
    }
    if (Chance(3)) {
      absl::StrAppend(&text, "[[data.seq_lens]]\nstart_step = ", 7 + Below(9),
                      "\nseq_len = 20\n");
    }
    if (Chance(4)) {
      absl::StrAppend(&text,
                      "[[data.batch_sizes]]\nstart_sample = ", 100 + Below(50),
                      "\nbatch_size = 3\n");
    }
    return text;
  }

  std::string Runtime() {
    std::string text = "[runtime]\n";
    if (Chance(3)) text += "io = \"pread\"\n";
    if (Chance(3)) {
      text += "tensors = [\"labels\"]\ntoken_type = \"i64\"\n";
    } else if (Chance(4)) {
      text += "tensors = [\"loss_weights\", \"positions\"]\n";
    }
    if (Chance(4)) text += "catalogs = []\ncache_bytes = 1000000\n";
    if (Chance(3)) text += "prefetch_batches = 7\nwaits_for_held = true\n";
    return text;
  }

  std::mt19937_64 random_;
  bool ends_ = false;
  bool is_mixture_ = false;
  bool has_shared_ = false;
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_CONFIG_RANDOM_RUN_H_
