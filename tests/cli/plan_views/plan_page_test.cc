// SPDX-License-Identifier: Apache-2.0
// The page of `poniente plan --html`, in a real browser: headless Chromium.
// Where there is none these tests are skipped, unless PONIENTE_REQUIRE_BROWSER
// is set, as CI does. PONIENTE_WRITE_IMAGES=1 puts the pictures into
// docs/images.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/plan_views/plan_html.h"
#include "poniente/mixture_plan.h"
#include "tests/analysis/curriculum.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::cli {
namespace {

using testing::Curriculum;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ReadFile;
using testing::TempDir;

// What a page shows, as its <html> element and its list of shares say.
struct Shown {
  std::string dom;
  std::string log;

  // The value of an attribute of <html>; "" without.
  std::string Of(const std::string& attribute) const {
    const std::string head = dom.substr(0, dom.find("<head"));
    std::smatch found;
    const std::regex wanted(absl::StrCat("data-", attribute, "=\"([^\"]*)\""));
    return std::regex_search(head, found, wanted) ? found[1].str() : "";
  }
  double Number(const std::string& attribute) const {
    return std::atof(Of(attribute).c_str());
  }
  // Share and tokens of a source.
  std::pair<double, double> Source(const std::string& name) const {
    std::smatch found;
    const std::regex wanted(
        absl::StrCat("<li data-source=\"", name,
                     "\" data-share=\"([^\"]*)\" data-tokens=\"([^\"]*)\""));
    if (!std::regex_search(dom, found, wanted)) return {-1, -1};
    return {std::atof(found[1].str().c_str()),
            std::atof(found[2].str().c_str())};
  }
};

class PlanPageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v chromium >/dev/null 2>&1") == 0) return;
    ASSERT_EQ(std::getenv("PONIENTE_REQUIRE_BROWSER"), nullptr)
        << "there is no chromium, which this machine must have: sh "
           "cmake/install_packages.sh ci";
    GTEST_SKIP() << "there is no chromium: the plan's page is not looked at; "
                    "sh cmake/install_packages.sh ci";
  }

  std::string WritePage(const PlannedRun& plan, const std::string& title) {
    std::ofstream(dir_.path("page.html")) << PlanPage(plan, title);
    return dir_.path("page.html");
  }

  // A window of a phone's width, which the browser itself does not get down to.
  std::string WritePhone(const std::string& page, const std::string& hash,
                         int height) {
    std::ofstream(dir_.path("phone.html"))
        << "<!doctype html><html><body style='margin:0'><iframe "
           "style='display:block;width:390px;border:0;height:"
        << height << "px' src='file://" << page << hash
        << "'></iframe><script>onload = () => Object.assign("
           "document.documentElement.dataset, frames[0].document."
           "documentElement.dataset)</script></body></html>";
    return dir_.path("phone.html");
  }

  Shown Browse(const std::string& arguments, const std::string& url) {
    const std::string command = absl::StrCat(
        "timeout 120 chromium --headless=new --no-sandbox --disable-gpu "
        "--hide-scrollbars --no-first-run --allow-file-access-from-files "
        "--enable-logging=stderr --virtual-time-budget=5000 --user-data-dir=",
        dir_.path("profile"), " ", arguments, " 'file://", url, "' >",
        dir_.path("dom"), " 2>", dir_.path("log"));
    EXPECT_EQ(std::system(command.c_str()), 0) << ReadFile(dir_.path("log"));
    return {ReadFile(dir_.path("dom")), ReadFile(dir_.path("log"))};
  }

  Shown Open(const std::string& url, int width = 1280) {
    return Browse(absl::StrCat("--dump-dom --window-size=", width, ",900"),
                  url);
  }

  static void ExpectHealthy(const Shown& shown) {
    EXPECT_EQ(shown.Of("ready"), "yes");
    EXPECT_EQ(shown.Of("errors"), "0");
    EXPECT_EQ(shown.Of("overflow"), "0");
    EXPECT_THAT(shown.log, Not(HasSubstr("CONSOLE")));
  }

  // A picture of so many pixels, of which some differ.
  void Take(const std::string& name, const std::string& arguments,
            const std::string& url, int width, int height) {
    std::string to = dir_.path(name);
    if (std::getenv("PONIENTE_WRITE_IMAGES") != nullptr) {
      std::filesystem::create_directories(PONIENTE_SOURCE_DIR "/docs/images");
      to = absl::StrCat(PONIENTE_SOURCE_DIR "/docs/images/", name);
    }
    Browse(absl::StrCat(arguments, " --screenshot=", to,
                        " --window-size=", width, ",", height),
           url);
    const std::string png = ReadFile(to);
    ASSERT_GT(png.size(), 20000u);
    EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
    const auto size_at = [&](size_t at) {
      uint32_t value = 0;
      for (size_t i = 0; i < 4; ++i) {
        value = value << 8 | static_cast<unsigned char>(png[at + i]);
      }
      return static_cast<int>(value);
    };
    EXPECT_EQ(size_at(16), width);
    EXPECT_EQ(size_at(20), height);
  }

  TempDir dir_;
};

TEST_F(PlanPageTest, ShowsTheMixtureOfAnyStep) {
  const Curriculum curriculum(Curriculum::Options(RunPoint::ShareOfTokens));
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, curriculum.Plan());
  const Schedule& schedule = curriculum.schedule();
  const MixturePlan& mixture = *schedule.mixture();
  const std::string page = WritePage(plan, "curriculum.toml");
  for (const uint64_t step :
       {uint64_t{0}, uint64_t{123}, plan.stages[1].first_step - 1,
        plan.stages[1].first_step, uint64_t{2'000'001},
        plan.stages[3].first_step, plan.steps - 1}) {
    SCOPED_TRACE(step);
    const Shown shown = Open(absl::StrCat(page, "#step=", step));
    ExpectHealthy(shown);
    const StepPlan at = schedule.At(step);
    EXPECT_EQ(shown.Of("step"), absl::StrCat(step));
    EXPECT_EQ(shown.Of("stage"), at.stage_name);
    EXPECT_EQ(shown.Of("seq-len"), absl::StrCat(at.seq_len));
    EXPECT_EQ(shown.Of("batch-size"), absl::StrCat(at.batch_size));
    EXPECT_NEAR(shown.Number("lr-scale"), at.lr_scale, 1e-4);
    for (uint32_t c = 0; c < mixture.names().size(); ++c) {
      const auto [share, tokens] = shown.Source(mixture.names()[c]);
      EXPECT_NEAR(share, at.weights[c], 1e-6) << mixture.names()[c];
      double read = 0;
      for (const PlannedStage& stage : schedule.stages()) {
        const uint64_t begin = schedule.FirstSample(stage.start_step);
        const uint64_t end =
            std::min(at.first_sample, schedule.FirstSample(*stage.end_step));
        if (end <= begin) break;
        read += static_cast<double>(mixture.Count(c, end) -
                                    mixture.Count(c, begin)) *
                schedule.At(stage.start_step).seq_len;
      }
      EXPECT_NEAR(tokens, read, 1e-5 * read + 3e6) << mixture.names()[c];
    }
  }
}

TEST_F(PlanPageTest, TablesSayWhatThePlanSays) {
  const Curriculum curriculum(Curriculum::Options(RunPoint::ShareOfTokens));
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, curriculum.Plan());
  const Shown shown = Open(WritePage(plan, "curriculum.toml"));
  ExpectHealthy(shown);
  const auto row = [&](const std::string& name) {
    const size_t at =
        shown.dom.find(absl::StrCat("data-source=\"", name, "\"><td>"));
    return shown.dom.substr(at, shown.dom.find("</tr>", at) - at);
  };
  for (const PlannedRunSource& source : plan.sources) {
    const std::string text = row(source.path);
    EXPECT_THAT(text, HasSubstr(absl::StrCat(
                          ">", std::round(source.total_tokens() / 1e8) / 10)));
    const double epochs = std::round(*source.epochs * 100) / 100;
    EXPECT_THAT(text, HasSubstr(absl::StrCat(">", epochs, "<")));
  }
  EXPECT_THAT(row("math"), HasSubstr(">1494.8 B<"));
  EXPECT_THAT(shown.dom, HasSubstr("4.21\xC3\x97"));
  // Nothing is packed.
  EXPECT_THAT(shown.dom, HasSubstr("<section id=\"packing\" hidden"));
}

TEST_F(PlanPageTest, SaysHowDocumentsArePacked) {
  const Curriculum curriculum(Curriculum::Options(RunPoint::ShareOfTokens));
  ASSERT_OK_AND_ASSIGN(PlannedRun plan, curriculum.Plan());
  plan.sources[1].packing = PackingSummary{.windows = 1'000'000,
                                           .window_tokens = 4096,
                                           .documents = 5'000'000,
                                           .tokens = 4'095'000'000,
                                           .placed_tokens = 4'094'000'000,
                                           .split_documents = 1234,
                                           .truncated_documents = 0,
                                           .truncated_tokens = 0,
                                           .dropped_documents = 17,
                                           .dropped_tokens = 1'000'000,
                                           .pieces = 5'001'234,
                                           .max_pieces = 321};
  // Another, which has two lengths.
  plan.sources[2].packing = plan.sources[1].packing;
  plan.sources[2].other_packings = {
      PackingSummary{.windows = 125'000,
                     .window_tokens = 32'768,
                     .documents = 5'000'000,
                     .placed_tokens = 4'096'000'000,
                     .max_pieces = 2'000}};
  const Shown shown = Open(WritePage(plan, "packed.toml"));
  ExpectHealthy(shown);
  EXPECT_THAT(shown.dom, HasSubstr("<section id=\"packing\"><h2>"));
  EXPECT_THAT(shown.dom,
              HasSubstr(absl::StrCat("<td>", plan.sources[2].path,
                                     " at 4,096</td><td>1,000,000</td>")));
  EXPECT_THAT(shown.dom,
              HasSubstr(absl::StrCat("<td>", plan.sources[2].path,
                                     " at 32,768</td><td>125,000</td>"
                                     "<td>0.000%</td><td>5,000,000</td>")));
  const std::string& path = plan.sources[1].path;
  EXPECT_THAT(shown.dom,
              HasSubstr(absl::StrCat(
                  "<tr data-packed=\"", path, "\"><td>", path,
                  "</td><td>1,000,000</td><td>0.049%</td><td>5,000,000</td>"
                  "<td>1,234</td><td>0</td><td>17</td><td>321</td></tr>")));
}

TEST_F(PlanPageTest, FitsAPhone) {
  const Curriculum curriculum(Curriculum::Options(RunPoint::ShareOfTokens));
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, curriculum.Plan());
  const std::string page = WritePage(plan, "curriculum.toml");
  const Shown shown = Open(WritePhone(page, "#step=123", 900));
  // Tables are wider: they scroll, and say so.
  EXPECT_GT(shown.Number("wide"), 0);
  EXPECT_EQ(shown.Of("width"), "390");
  EXPECT_EQ(shown.Of("step"), "123");
  ExpectHealthy(shown);
}

TEST_F(PlanPageTest, NamesNeverBecomeMarkup) {
  const std::string pwn = "document.documentElement.dataset.pwned=1";
  ScheduleOptions options;
  options.steps = 50;
  options.batch_size = 16;
  options.seq_len = 32768;
  options.max_seq_len = 32768;
  options.mixture.block_size = 16;
  options.stages = {{.start = RunPoint::Step(0),
                     .name = absl::StrCat("<img src=x onerror=", pwn, ">")}};
  std::vector<MixtureComponent<TokenWindow>> components;
  for (const std::string& name :
       {absl::StrCat("</script><script>", pwn, "</script>"),
        absl::StrCat("\"><svg onload=", pwn, ">"), std::string("a'&amp;b"),
        std::string("{{style}}\xE2\x80\xA8{{plan}}"),
        std::string("\xFF not UTF-8")}) {
    options.components.push_back({name, 1});
    components.push_back(
        {name, DeclaredWindows(name, 1'000'000, 32768).value(), 1});
  }
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  ASSERT_OK_AND_ASSIGN(const auto root,
                       MixtureDataset<TokenWindow>::Create(
                           std::move(components), schedule.mixture_options()));
  ASSERT_OK_AND_ASSIGN(
      const PlannedRun plan,
      MakePlan(*root, schedule, {}, LastBatch::kKeep, std::nullopt));
  const Shown shown =
      Open(WritePage(plan, absl::StrCat("</title><script>", pwn, "</script>")));
  ExpectHealthy(shown);
  EXPECT_EQ(shown.Of("pwned"), "");
  EXPECT_THAT(shown.dom, HasSubstr("a'&amp;amp;b"));
}

TEST_F(PlanPageTest, ManySourcesAreDrawnAsOthersAndListedInFull) {
  ScheduleOptions options;
  options.steps = 1000;
  options.batch_size = 512;
  options.seq_len = 1024;
  options.stages = {{.start = RunPoint::Step(0)},
                    {.start = RunPoint::Step(500),
                     .name = "late",
                     .weights = {{"source 1", 2000}},
                     .ramp = RunPoint::Step(100)}};
  std::vector<MixtureComponent<TokenWindow>> components;
  for (int i = 0; i < 40; ++i) {
    const std::string name = absl::StrCat("source ", i);
    options.components.push_back({name, 1.0 + i});
    components.push_back(
        {name, DeclaredWindows(name, 10'000'000, 1024).value(), 1.0 + i});
  }
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  ASSERT_OK_AND_ASSIGN(const auto root,
                       MixtureDataset<TokenWindow>::Create(
                           std::move(components), schedule.mixture_options()));
  ASSERT_OK_AND_ASSIGN(
      const PlannedRun plan,
      MakePlan(*root, schedule, {}, LastBatch::kKeep, std::nullopt));
  const Shown shown =
      Open(absl::StrCat(WritePage(plan, "many"), "#step=537&axis=steps"));
  ExpectHealthy(shown);
  EXPECT_THAT(shown.dom, HasSubstr("32 others"));
  for (int i = 0; i < 40; ++i) {
    EXPECT_THAT(shown.dom, HasSubstr(absl::StrCat("<tr title=\"source ", i,
                                                  "\" data-source")));
  }
  // Within a ramp.
  const uint32_t number = *schedule.mixture()->Find("source 1");
  EXPECT_NEAR(shown.Source("source 1").first, schedule.At(537).weights[number],
              0.01);
}

TEST_F(PlanPageTest, ManySourcesThatReadTheSameAreNamedOnce) {
  ScheduleOptions options;
  options.steps = 1000;
  options.batch_size = 1024;
  options.seq_len = 64;
  std::vector<MixtureComponent<TokenWindow>> components;
  for (int i = 0; i < 300; ++i) {
    const std::string name = absl::StrCat("a/b ", i);
    options.components.push_back({name, 1});
    components.push_back(
        {name, DeclaredWindows(name, 10'000'000, 64).value(), 1});
  }
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  ASSERT_OK_AND_ASSIGN(const auto root,
                       MixtureDataset<TokenWindow>::Create(
                           std::move(components), schedule.mixture_options()));
  ASSERT_OK_AND_ASSIGN(
      const PlannedRun plan,
      MakePlan(*root, schedule, {}, LastBatch::kKeep, std::nullopt));
  const Shown shown = Open(WritePage(plan, "many"));
  ExpectHealthy(shown);
  EXPECT_THAT(shown.dom, HasSubstr("show the 256 largest of 300 sources"));
  EXPECT_THAT(shown.dom, HasSubstr(" +7<title>"));
  // A name keeps its slashes.
  EXPECT_THAT(shown.dom, HasSubstr("</i>a/b 299</td>"));
}

TEST_F(PlanPageTest, OneSourceIsOne) {
  ScheduleOptions options;
  options.steps = 10;
  options.batch_size = 4;
  options.seq_len = 8;
  ASSERT_OK_AND_ASSIGN(const Schedule schedule, Schedule::Create(options));
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan,
                       MakePlan(*DeclaredWindows("one", 8000, 8).value(),
                                schedule, {}, LastBatch::kKeep, std::nullopt));
  const Shown shown = Open(WritePage(plan, "one"));
  ExpectHealthy(shown);
  EXPECT_THAT(shown.dom, HasSubstr(", 1 source.<"));
}

TEST_F(PlanPageTest, NeedsNoNetworkAndIsWorthAPicture) {
  const Curriculum curriculum(Curriculum::Options(RunPoint::ShareOfTokens));
  ASSERT_OK_AND_ASSIGN(const PlannedRun plan, curriculum.Plan());
  const std::string page = WritePage(plan, "curriculum.toml");
  const std::string text =
      absl::StrReplaceAll(ReadFile(page), {{"http://www.w3.org/2000/svg", ""}});
  for (const char* reference :
       {"http:", "https:", "//cdn", "@import", "url(", "src=", "fetch("}) {
    EXPECT_THAT(text, Not(HasSubstr(reference)));
  }
  // All of it.
  const std::string hash = "#step=1900000";
  const auto height_of = [](const Shown& shown) {
    return std::clamp(std::atoi(shown.Of("height").c_str()), 2000, 6000);
  };
  Take("plan_wide.png", "", page + hash, 1280, height_of(Open(page + hash)));
  const int height = height_of(Open(WritePhone(page, hash, 900)));
  Take("plan_phone.png", "--blink-settings=preferredColorScheme=0",
       WritePhone(page, hash, height), 390, height);
}

}  // namespace
}  // namespace poniente::cli
