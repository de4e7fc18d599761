// SPDX-License-Identifier: Apache-2.0
// Sets one field of each plain struct of the public headers by a designated
// initialiser, as programs do. Compiled with -Wall -Wextra -Werror: a member
// without a default initialiser would be an error here.

#include <poniente/diff.h>
#include <poniente/extend/infilled_dataset.h>
#include <poniente/extend/opened_component.h>
#include <poniente/extend/piecewise_items.h>
#include <poniente/item_loader.h>
#include <poniente/plan.h>
#include <poniente/poniente.h>
#include <poniente/trace.h>

namespace {

using poniente::TokenWindow;

// How data is read, and what is written.
[[maybe_unused]] const poniente::ByteReaderOptions kReader = {
    .verify = poniente::VerifyChecksums::kAlways};
[[maybe_unused]] const poniente::BlockChecksums kChecksums = {.block_bytes = 8};
[[maybe_unused]] const poniente::ExpectedFile kExpected = {.bytes = 8};
[[maybe_unused]] const poniente::ByteFile kFile = {.path = "tokens.bin"};
[[maybe_unused]] const poniente::ReadRequest kRequest = {.offset = 8};
[[maybe_unused]] const poniente::BackendCounters kBackend = {.requests = 1};
[[maybe_unused]] const poniente::ReadCounters kReads = {.blocks_verified = 1};
[[maybe_unused]] const poniente::TokenStoreOptions kStore = {.io = kReader};
[[maybe_unused]] const poniente::TokenSourceOptions kSource = {.glob = "*.bin"};
[[maybe_unused]] const poniente::LossMaskFiles kMask = {.path = "mask.npy"};
[[maybe_unused]] const poniente::LossMaskArray kMaskArray = {.offset = 8};
[[maybe_unused]] const poniente::LossMaskRange kMaskRange = {.bytes = 8};
[[maybe_unused]] const poniente::LossMaskEncoding kEncoding = {.value = -100};
[[maybe_unused]] const poniente::DocumentDelimiter kDelimiter = {.id = 2};
[[maybe_unused]] const poniente::Vocabulary kVocabulary = {.size = 257};
[[maybe_unused]] const poniente::TokenStoreWriterOptions kWriter = {
    .vocabulary = kVocabulary};
[[maybe_unused]] const poniente::TokenStoreFacts kFacts = {.tokens = 8};
[[maybe_unused]] const poniente::TokenRange kRange = {.end = 8};
[[maybe_unused]] const poniente::WindowRule kRule = {.overlap = 1};
[[maybe_unused]] const poniente::TokenArray kArray = {.offset = 8};
[[maybe_unused]] const poniente::CatalogEntry kEntry = {.tokens = 8};
[[maybe_unused]] const poniente::CatalogFinding kFinding = {
    .kind = poniente::CatalogFinding::Kind::kNew};
[[maybe_unused]] const poniente::StoreCatalog::Written kWritten = {.stores = 1};
[[maybe_unused]] const poniente::Scores kScores = {
    .values = std::vector<float>{0.5f}};

// Trees.
[[maybe_unused]] const poniente::InMemoryOptions kMemory = {.name = "numbers"};
[[maybe_unused]] const poniente::NamedDataset<TokenWindow> kNamed = {.view = 1};
[[maybe_unused]] const poniente::MixtureComponent<TokenWindow> kComponent = {
    .weight = 0.5};
[[maybe_unused]] const poniente::ComponentView<TokenWindow> kView = {.start =
                                                                         8};
[[maybe_unused]] const poniente::ComponentWithViews<TokenWindow> kViews = {
    .component = {}};
[[maybe_unused]] const poniente::Successor<TokenWindow> kSuccessor = {.start =
                                                                          8};
[[maybe_unused]] const poniente::HeldOut<TokenWindow> kHeldOut = {.train =
                                                                      nullptr};
[[maybe_unused]] const poniente::ShuffleOptions kShuffle = {
    .kind = poniente::ShuffleKind::kNone};
[[maybe_unused]] const poniente::BlockShuffleOptions kBlocks = {.window_chunks =
                                                                    8};
[[maybe_unused]] const poniente::FlatMixtureOptions kFlat = {.seed = 1};
[[maybe_unused]] const poniente::OrderOptions kOrder = {.buckets = 8};
[[maybe_unused]] const poniente::MixtureOptions kMixture = {.block_size = 8};
[[maybe_unused]] const poniente::MixtureDecision kDecision = {.start = 8};
[[maybe_unused]] const poniente::MixtureStage kStage = {.start = 8};
[[maybe_unused]] const poniente::SeqLenChange kChange = {.seq_len = 8};
[[maybe_unused]] const poniente::WeightedComponent kWeighted = {.weight = 0.5};
[[maybe_unused]] const poniente::TreeLeaf kLeaf = {.is_plain = false};
[[maybe_unused]] const poniente::LeafPosition kLeafPosition = {.leaf = 1};
[[maybe_unused]] const poniente::DatasetTree::Epochs kEpochs = {.last = 1};
[[maybe_unused]] const poniente::SampleOrigin kOrigin = {.sample = 8};
[[maybe_unused]] const poniente::Reading kReading = {.step = 8};

// Nodes of one's own.
[[maybe_unused]] const poniente::LengthState kLength = {.readable = 8};
[[maybe_unused]] const poniente::NamedNode kNode = {.view = 1};
[[maybe_unused]] const poniente::NodeIdentity kIdentity = {.is_order = true};
[[maybe_unused]] const poniente::MadeMap kMap = {.is_final = false};
[[maybe_unused]] const poniente::Position kPosition = {.epoch = 1};
[[maybe_unused]] const poniente::ChildPosition kChild = {.child = 1};
[[maybe_unused]] const poniente::IndexSpan kSpan = {.first = kPosition};
[[maybe_unused]] const poniente::FoundPart kPart = {.part_begin = 8};
[[maybe_unused]] const poniente::ItemPiece kPiece = {.document = 1};
[[maybe_unused]] const poniente::PieceOfItem kPieceOfItem = {.item = 1};
[[maybe_unused]] const poniente::MapOptions kMapped = {.parallel = 2};
[[maybe_unused]] const poniente::MapBatchesOptions kMappedBatches = {
    .group_items = 8};
[[maybe_unused]] const poniente::CacheOptions<TokenWindow> kCache = {
    .max_items = 8};
[[maybe_unused]] const poniente::PackingOptions kPacking = {.align = 8};
[[maybe_unused]] const poniente::PackingSummary kPacked = {.windows = 8};
[[maybe_unused]] const poniente::InfillingOptions kInfilling = {.rate = 0.9};
[[maybe_unused]] const poniente::PieceEnds kPieceEnds = {.is_whole = false};
[[maybe_unused]] const poniente::InfilledSource kInfilled = {.path = "code"};
[[maybe_unused]] const poniente::InfillingRate kRate = {.rate = 0.5};
[[maybe_unused]] const poniente::MaskedDocuments kMasked = {.path = "code"};
[[maybe_unused]] const poniente::ServedPiece kServed = {.begin = 8};
[[maybe_unused]] const poniente::OpenedComponent kOpened = {.infilled = {}};

// A run.
[[maybe_unused]] const poniente::RunPoint kPoint = {.count = 8};
[[maybe_unused]] const poniente::ScheduleStage kScheduleStage = {.lr_scale =
                                                                     0.5};
[[maybe_unused]] const poniente::BatchSizeStage kBatchSize = {.batch_size = 8};
[[maybe_unused]] const poniente::SeqLenStage kSeqLen = {.seq_len = 8};
[[maybe_unused]] const poniente::ScheduleOptions kSchedule = {.steps = 8};
[[maybe_unused]] const poniente::StepPlan kPlan = {.step = 8};
[[maybe_unused]] const poniente::PlannedStage kPlanned = {.start_step = 8};
[[maybe_unused]] const poniente::Stretch kStretch = {.first_step = 8};
[[maybe_unused]] const poniente::BatchShare kShare = {.end = 8};
[[maybe_unused]] const poniente::LoaderOptions kLoader = {.ranks = 8};
[[maybe_unused]] const poniente::LoaderSource kLoaderSource = {.path =
                                                                   "numbers"};
[[maybe_unused]] const poniente::ConfigSource kConfigSource = {.tokens = 8};
[[maybe_unused]] const poniente::Device kDevice = {.ordinal = 1};
[[maybe_unused]] const poniente::Ranks kRanks = {.ranks = 8};
[[maybe_unused]] const poniente::SampleProvenance kProvenance = {.sample = 8};
[[maybe_unused]] const poniente::TensorView kTensor = {.dimensions = 2};
[[maybe_unused]] const poniente::SourceMetrics kSourceMetrics = {.samples = 8};
[[maybe_unused]] const poniente::LoaderMetrics kMetrics = {.steps = 8};
[[maybe_unused]] const poniente::LabelledMetrics kLabelled = {.metrics =
                                                                  kMetrics};
[[maybe_unused]] const poniente::SourceLoss kLoss = {.loss = 0.5};
[[maybe_unused]] const poniente::ItemLoaderOptions<int> kItemLoader = {
    .batch_size = 8};
[[maybe_unused]] const poniente::DocumentRules kDocuments = {.loss_across =
                                                                 true};
[[maybe_unused]] const poniente::SampleSharing kSharing = {.even_work = true};
[[maybe_unused]] const poniente::ContextRank kContextRank = {.ranks = 2};
[[maybe_unused]] const poniente::ContextChunk kChunk = {.end = 8};
[[maybe_unused]] const poniente::DocumentPart kDocumentPart = {.tokens = 8};
[[maybe_unused]] const poniente::ContextSlice kContextSlice = {.max_seqlen = 8};
[[maybe_unused]] const poniente::DatasetTime kDatasetTime = {.seconds = 0.5};
[[maybe_unused]] const poniente::SteerOptions kSteer = {.keeps_prefetched =
                                                            true};
[[maybe_unused]] const poniente::RunChange kRunChange = {.path = "small"};
[[maybe_unused]] const poniente::JournalEntry kJournalEntry = {.number = 8};
[[maybe_unused]] const poniente::ComponentText kComponentText = {.name =
                                                                     "late"};
[[maybe_unused]] const poniente::NumberRange kNumbers = {.end = 8};
[[maybe_unused]] const poniente::StepChange kStepChange = {.mixture = "small"};
[[maybe_unused]] const poniente::PlannedChange kPlannedChange = {.step = 8};

// A run as a description, and what is asked of it.
[[maybe_unused]] const poniente::Run kRun = {.seed = 8, .batch_size = 8};
[[maybe_unused]] const poniente::RunStage kStageOfRun = {.lr_scale = 0.5};
[[maybe_unused]] const poniente::NodeFilter kFilter = {.at_least = 0.5};
[[maybe_unused]] const poniente::NodeOrder kNodeOrder = {.buckets = 8};
[[maybe_unused]] const poniente::NodeSlice kSlice = {.end = 8};
[[maybe_unused]] const poniente::NodeMixture kNodeMixture = {.block_size = 8};
[[maybe_unused]] const poniente::NodePart kNodePart = {.name = "part"};
[[maybe_unused]] const poniente::NodeComponent kNodeComponent = {.weight = 0.5};
[[maybe_unused]] const poniente::SourceFiles kFiles = {.column = "ids"};
[[maybe_unused]] const poniente::SourceLocation kLocation = {.line = 8};
[[maybe_unused]] const poniente::PlannedRun kPlannedRun = {.steps = 8};
[[maybe_unused]] const poniente::PlannedRunStage kRunStage = {.samples = 8};
[[maybe_unused]] const poniente::PlannedRunSource kRunSource = {.depth = 8};
[[maybe_unused]] const poniente::PlannedRunStretch kRunStretch = {.seq_len = 8};
[[maybe_unused]] const poniente::PlannedRunSeries kSeries = {.points = {}};
[[maybe_unused]] const poniente::AttentionSaved kSaved = {.longest = 8};
[[maybe_unused]] const poniente::FirstRepeat kRepeat = {.step = 8};
[[maybe_unused]] const poniente::TracedDocument kDocument = {.number = 8};
[[maybe_unused]] const poniente::TracedSample kTracedSample = {.view = 1};
[[maybe_unused]] const poniente::TracedStep kStep = {.stage_name = "stage"};
[[maybe_unused]] const poniente::TracedReading kTraced = {.item = 8};
[[maybe_unused]] const poniente::StepRange kSteps = {.end = 8};
[[maybe_unused]] const poniente::RunDiff kDiff = {.differences = {}};
[[maybe_unused]] const poniente::RunDifference kDifference = {.what = "seed"};
[[maybe_unused]] const poniente::ComparedSamples kCompared = {.steps = 8};
[[maybe_unused]] const poniente::FirstDifference kFirst = {.step = 8};
[[maybe_unused]] const poniente::NodePacking kNodePacking = {.is_packed =
                                                                 false};
[[maybe_unused]] const poniente::NodeHoldOut kNodeHoldOut = {.documents = 0.1};
[[maybe_unused]] const poniente::NodeInfilling kNodeInfilling = {.is_infilled =
                                                                     false};
[[maybe_unused]] const poniente::RunEval kEval = {.name = "late"};
[[maybe_unused]] const poniente::RunBudget kBudget = {.seed = 8};
[[maybe_unused]] const poniente::ComputedThreshold kComputed = {.value = 0.5};
[[maybe_unused]] const poniente::PlannedEval kPlannedEval = {.samples = 8};
[[maybe_unused]] const poniente::PlannedEvalSource kEvalSource = {.path =
                                                                      "late"};
[[maybe_unused]] const poniente::PlannedRunChange kPlannedRunChange = {.step =
                                                                           8};
[[maybe_unused]] const poniente::HeldOutBy kHeldOutBy = {.is_held_out = true};

}  // namespace
