// SPDX-License-Identifier: Apache-2.0
// Random runs as TOML, with every kind of node and every key. Nearly all are
// valid.

#ifndef PONIENTE_TESTS_CONFIG_RANDOM_RUN_H_
#define PONIENTE_TESTS_CONFIG_RANDOM_RUN_H_

#include <initializer_list>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"

namespace poniente::testing {

// Writes runs over the stores of SmallStores, a store d of documents with their
// scores d.f32, a table d.order, and selections d.bits and d.chosen, a raw file
// r.bin of u8 with its loss mask m.bin, and sources that are only numbers of
// tokens.
class RandomRun {
 public:
  explicit RandomRun(uint64_t seed) : random_(seed) {}

  std::string Text() {
    const std::string steps =
        Chance(2) ? absl::StrCat(Chance(8) ? "total_tokens = 200" : "steps = ",
                                 40 + Below(60), "\n")
                  : "";
    ends_ = !steps.empty();
    std::string data = absl::StrCat("[data]\nseed = ", Below(1000), "\n", steps,
                                    "batch_size = ", 1 + Below(8),
                                    "\nseq_len = ", 10 + Below(10), "\n");
    if (Chance(3)) data += "max_seq_len = 40\n";
    if (Chance(4))
      data += "sample_overlap = 1\n";
    else if (Chance(9))
      data += "trim = true\n";
    if (Chance(5)) data += "journal = \"changes.journal\"\n";
    if (Chance(5)) data += "last_batch = \"drop\"\n";
    if (!Chance(8)) {
      data += OneOf({"shares_of = \"tokens\"\n", "shares_of = \"steps\"\n"});
    }
    // Refused where a source below is packed, or states overlap.
    const bool holds_out = Chance(6);
    if (holds_out) data += "hold_out = { windows = 0.2, seed = 3 }\n";
    if (Chance(8)) {
      absl::StrAppend(&data, "budget = { experiment = 2e3, target = 3000",
                      OneOf({"", ", seed = 4"}), " }\n");
    }
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
      if (Chance(9)) data += "stop = \"all_exhausted\"\n";
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
  const char* OneOf(std::initializer_list<const char*> texts) {
    return texts.begin()[Below(texts.size())];
  }

  std::string Modifiers() {
    std::string keys;
    if (Chance(4)) keys += ", filter = { fraction = 0.5, seed = 3 }";
    if (Chance(5)) keys += ", filter = { scores = \"s.npy\" }";  // refused
    if (keys.find("scores") != std::string::npos) keys.clear();
    if (Chance(5)) keys += absl::StrCat(", slice = [1, ", 5 + Below(40), "]");
    if (Chance(5)) keys += absl::StrCat(", take = ", 2 + Below(30));
    if (Chance(6)) keys += ", repeat = 2";
    if (Chance(60)) keys += ", order = { scores = \"s.npy\" }";  // refused
    return keys;
  }

  std::string Shuffle() {
    switch (Below(8)) {
      case 0:
        return ", shuffle = true";
      case 1:
        return absl::StrCat(", era_shuffle = ", 2 + Below(9));
      case 2:
        return OneOf(
            {", block_shuffle = { chunk_items = 3, window_chunks = 2 }",
             ", block_shuffle = { chunk_tokens = 90 }",
             ", block_shuffle = true"});
      default:
        return "";
    }
  }

  std::string Leaf() {
    switch (Below(8)) {
      case 6:
        return absl::StrCat(
            "path = \"r.bin\", dtype = \"u8\"",
            OneOf({", format = \"raw\"", "", ", document_end = 114",
                   ", document_begin = 114", ", across_shards = true"}),
            OneOf({", loss_mask = \"m.bin\"",
                   ", loss_mask = { path = \"./m.bin\", no_loss = -1 }",
                   ", loss_mask = { path = \"m.bin\", loss = 1 }", ""}));
      case 0:
        return OneOf(
            {"path = \"a\"", "path = \"a\"", "path = \"a\", growing = true",
             "path = \"a\", fill_in_the_middle = { prefix = 1, middle = 2, "
             "suffix = 3, min_tokens = 8 }",
             "path = \"d\", fill_in_the_middle = { rate = 0.25, spm_rate = "
             "1.0, "
             "prefix = 1, middle = 2, suffix = 3, pieces = \"whole\" }",
             "path = \"d\", fill_in_the_middle = false"});
      case 3:
        return OneOf(
            {"path = \"a\", pack_documents = { chunk_documents = 3, "
             "shuffle_chunks = 2 }",
             "path = \"d\", pack_documents = { long_documents = \"truncate\", "
             "parts = 3, index_file = \"d.lengths\" }",
             "path = \"d\", pack_documents = { align = 2, max_documents = 4, "
             "overlap = 1, shuffle = false, end_of_document = \"drop\" }",
             "path = \"d\", pack_documents = true"});
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
            OneOf({"", "", ", documents = { scores = \"d.f32\", at_least = 5 }",
                   ", documents = { scores = \"d.f32\", format = \"f32\", "
                   "at_least = { quantile = 0.25 } }",
                   ", documents = { scores = \"d.f32\", at_least = { sigmas = "
                   "-0.5 }, invert = true }",
                   ", documents = { bitmap = \"d.bits\" }",
                   ", documents = { indices = \"d.chosen\" }",
                   ", hold_out = { documents = 0.25, invert = true }"}));
      case 1:
        return "path = \"./b\", tokenizer = \"proof\", vocab_size = 250";
      case 2:
        if (Chance(20)) return Refused();
        return "path = \"c\", overlap = 1";
      default:
        return absl::StrCat("tokens = ", 500 + Below(3000));
    }
  }

  // What cannot be opened here, but states what nothing else does.
  const char* Refused() {
    return OneOf({"hf_name = \"o/n\", hf_config = \"c\", hf_split = \"test\"",
                  "path = \"c\", column = \"ids\", glob = \"*.arrow\"",
                  "path = \"c\", loss_mask = { column = \"mask\", glob = "
                  "\"*.parquet\" }"});
  }

  // A stage of the mixture of u and v.
  std::string NestedStage() {
    std::string stage =
        OneOf({"start_sample = 9", "start_sample = 31", "start_sample = 50",
               "start_step = 4", "start_step = 6", "start_token = 700",
               "start_share = 0.25", "share = 1.0"});
    stage += OneOf(
        {", weights = { u = 3 }", ", weights = { u = 3 }, weights_sum = 3.3",
         ", temperature = 2, ramp_samples = 40, ramp_temperature = true",
         ", weights = { v = 2 }, ramp_samples = 6, ramp_blocks = 1",
         ", weights = { v = 2 }, ramp_steps = 9", ", name = \"n\"",
         ", weights = { v = 2 }, ramp_tokens = 400",
         ", weights = { v = 2 }, ramp_share = 0.5",
         ", weights = { v = 2 }, ramp_samples = 8, ramp_centred = true",
         ", thresholds = { u = 0.5 }"});
    return stage;
  }

  std::string NestedStages() {
    if (!Chance(4)) return absl::StrCat("{ ", NestedStage(), " }");
    return OneOf(
        {"{ share = 0.25, weights = { u = 2 } }, "
         "{ share = 0.75, weights = { v = 3 } }",
         "{ share = 0.5 }, { share = 0.25, name = \"n\" }, "
         "{ share = 0.25, weights = { u = 4 }, ramp_share = 0.0625 }"});
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
          Chance(2)   ? absl::StrCat(", stages = [", NestedStages(), "]")
          : Chance(4) ? ", weights_sum = 1.3"
                      : "";
      return absl::StrCat("{ mixture = { u = { weight = 1, ", Leaf(),
                          " }, v = { weight = 0.3, ", Leaf(),
                          " } }, take = ", 20 + Below(100), ", block_size = 16",
                          stages, " }");
    }
    if (has_shared_ && Chance(3)) return "{ use = \"shared\" }";
    return absl::StrCat("{ ", Leaf(), Modifiers(), Shuffle(), " }");
  }

  // Endless, so that its stages may start at places in the run.
  std::string OpenMixture() {
    return absl::StrCat(
        "{ mixture = { u = { weight = 1, ", Leaf(), " }, v = { weight = 0.3, ",
        Leaf(), " } }, block_size = 16, stages = [", NestedStages(), "] }");
  }

  std::string Component() {
    std::string node =
        Chance(6) ? "{ path = \"d\", documents = { scores = \"d.f32\", "
                    "at_least = 5 } }"
        : ends_ && Chance(8) ? OpenMixture()
                             : Node(1);
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
                      OneOf({"shuffle = false\n", "max_samples = 7\n",
                             "max_tokens = 300\n"}),
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

  std::string StartOfStage(uint64_t step) {
    if (ends_ && Chance(3)) return absl::StrCat("start_share = 0.", step, "\n");
    if (Chance(9)) return absl::StrCat("start_sample = ", 9 * step, "\n");
    if (Chance(9)) return absl::StrCat("start_token = ", 99 * step, "\n");
    return absl::StrCat("start_step = ", step, "\n");
  }

  // In sixteenths of the run, whose sums are exact.
  std::string StagesByShare() {
    std::string text;
    for (uint64_t left = 16; left > 0;) {
      const uint64_t share = 1 + Below(left);
      left -= share;
      absl::StrAppend(&text, "[[data.stages]]\nshare = ",
                      static_cast<double>(share) / 16, "\n");
      if (Chance(3)) absl::StrAppend(&text, "name = \"left ", left, "\"\n");
      if (Chance(3)) text += "lr_scale_end = 0.5\n";
      if (is_mixture_ && Chance(2)) text += "weights = { x = 0.5 }\n";
    }
    return text;
  }

  std::string Stages() {
    std::string text;
    if (ends_ && Chance(9)) return StagesByShare();
    uint64_t step = 5;
    for (uint64_t i = Below(4); i > 0; --i, step += 3 + Below(10)) {
      absl::StrAppend(&text, "[[data.stages]]\n", StartOfStage(step));
      if (Chance(2)) absl::StrAppend(&text, "name = \"s\\\"", i, "\"\n");
      if (Chance(2)) text += "lr_scale = 0.1\n";
      if (ends_ && Chance(4)) text += "lr_scale_end = 0.05\n";
      if (Chance(9)) text += "seq_len = 20\n";
      if (Chance(20)) text += "fim_rates = { x = 0.75 }\n";  // or refused
      if (Chance(20)) text += "thresholds = { x = 2.5 }\n";  // or refused
      if (Chance(3)) text += "numbers = { rope = 1e6, \"b c\" = 0.25 }\n";
      if (Chance(3))
        absl::StrAppend(&text, "batch_size = ", 1 + Below(9), "\n");
      if (!is_mixture_) continue;
      if (Chance(2)) {
        absl::StrAppend(&text, "weights = { x = 0.25, \"y z\" = 2 }\n",
                        OneOf({"", "", "weights_sum = 2.25\n"}));
      }
      if (Chance(3)) text += "temperature = 2\n";
      if (Chance(3)) {
        text +=
            OneOf({"ramp_samples = 64\nramp_blocks = 1\n",
                   "ramp_samples = 64\nramp_blocks = 1\n", "ramp_steps = 9\n",
                   "ramp_tokens = 900\n", "ramp_share = 0.0625\n",
                   "ramp_steps = 6\nramp_centred = true\n"});
      }
      if (Chance(15)) text += "ramp_temperature = true\n";  // or refused
    }
    if (Chance(3)) {
      absl::StrAppend(
          &text, "[[data.seq_lens]]\n",
          OneOf({"start_step = 7", "start_step = 12", "start_sample = 90",
                 "start_token = 2000", "start_share = 0.5"}),
          "\nseq_len = 20\n");
    }
    if (Chance(4)) {
      absl::StrAppend(
          &text, "[[data.batch_sizes]]\n",
          OneOf({"start_sample = 100", "start_sample = 130", "start_step = 11",
                 "start_token = 1500", "start_share = 0.25"}),
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
    if (Chance(4))
      text += "catalogs = []\ncache_bytes = 1000000\n";
    else if (Chance(60))
      text += "catalogs = [\"none\"]\n";  // refused
    if (Chance(3)) text += "prefetch_batches = 7\nwaits_for_held = true\n";
    for (const char* const line :
         {"verify_checksums = \"always\"", "attention_across_documents = true",
          "loss_across_documents = true", "restart_positions = false",
          "max_documents = 50", "device = \"cuda:1\"", "widen_on_device = true",
          "prefetch_bytes = 12345", "max_held = 9",
          "report_every_steps = 10"}) {
      if (Chance(9)) absl::StrAppend(&text, line, "\n");
    }
    if (Chance(20))
      text += "even_work = true\nlinear_cost = 6\n";          // or refused
    if (Chance(20)) text += "labels_beyond_sample = true\n";  // or refused
    return text;
  }

  std::mt19937_64 random_;
  bool ends_ = false;
  bool is_mixture_ = false;
  bool has_shared_ = false;
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_CONFIG_RANDOM_RUN_H_
