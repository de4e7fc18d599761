// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/plan_item_flow.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace poniente::internal {
namespace {

using Segment = ItemDraws::Segment;

double EndOf(std::span<const Segment> segments, size_t u) {
  return u + 1 < segments.size()
             ? static_cast<double>(segments[u + 1].first_ordinal)
             : HUGE_VAL;
}

// The draws that read a place: r. In the rest of an epoch from which places are
// dropped, their mean over all places of the rest.
double DrawsPerPlace(const Segment& segment) {
  const auto r = static_cast<double>(segment.parts.count);
  if (segment.dropped == nullptr) return r;
  const double kept = static_cast<double>(segment.dropped->kept()) * r -
                      static_cast<double>(segment.kept_before);
  const double places = static_cast<double>(*segment.view.length) -
                        static_cast<double>(segment.parts_before) / r;
  return kept / places;
}

// The place J / r (docs/index-math.md 2.7) of a draw of the segment, counted
// through all epochs: e * Q + b_u + (n - n_u) / r. In doubles, since plans need
// no exact part.
double PlacesBefore(const Segment& segment, double ordinal) {
  const auto length = static_cast<double>(segment.view.length.value_or(0));
  return static_cast<double>(segment.epoch) * length +
         static_cast<double>(segment.parts_before) / segment.parts.count +
         (ordinal - static_cast<double>(segment.first_ordinal)) /
             DrawsPerPlace(segment);
}

// Whether the place is whole and the first one of a group of G places.
bool BeginsGroup(const Segment& segment, double places) {
  if (segment.parts.count == 1) return true;
  if (places != std::floor(places)) return false;
  const double rest = SplitEpochs(places, segment.view.length).rest;
  return std::fmod(rest, static_cast<double>(segment.group)) == 0;
}

struct Ordinal {
  double at = 0;
  // Whether this is the first draw of its place; otherwise it is that of the
  // place's group, whose parts have an order of their own.
  bool is_first = true;
};

// Returns the first draw of the view that reads at or after `places`; nullopt
// if there is none.
std::optional<Ordinal> OrdinalAt(const ItemDraws& draws, uint32_t view,
                                 double places) {
  const std::span<const Segment> segments = draws.segments();
  for (size_t u = 0; u < segments.size(); ++u) {
    const Segment& segment = segments[u];
    if (segment.view.number != view) continue;
    const auto first = static_cast<double>(segment.first_ordinal);
    const double passed = PlacesBefore(segment, first);
    double from = std::max(places, passed);
    const bool is_first = BeginsGroup(segment, from);
    // Parts come in the order of their group: back to p, where it begins.
    if (segment.parts.count > 1) {
      const double rest = SplitEpochs(from, segment.view.length).rest;
      from -= std::fmod(rest, static_cast<double>(segment.group));
    }
    // n = n_u + (places - places before the segment) * r.
    const double ordinal = first + (from - passed) * DrawsPerPlace(segment);
    if (ordinal < EndOf(segments, u)) return Ordinal{ordinal, is_first};
  }
  return std::nullopt;
}

}  // namespace

// Cuts each interval of draws at the segments, and turns the ends of the pieces
// into places.
Flow FlowOfDraws(const ItemDraws& draws, uint32_t view, bool is_permuted,
                 const Flow& ordinals) {
  const std::span<const Segment> segments = draws.segments();
  Flow flow;
  flow.parts = ordinals.parts;
  flow.marks.resize(ordinals.marks.size());
  flow.chunk = ordinals.chunk;
  double last = 0;
  for (size_t i = 0; i < ordinals.intervals(); ++i) {
    const FlowMark& from = ordinals.marks[2 * i];
    const FlowMark& to = ordinals.marks[2 * i + 1];
    double read = 0;
    double parts = 1;
    FlowMark* const begin = &flow.marks[2 * i];
    FlowMark* const end = &flow.marks[2 * i + 1];
    *begin = {last, from.is_exact, from.is_prefix};
    *end = {last, to.is_exact, to.is_prefix};
    for (size_t u = 0; u < segments.size(); ++u) {
      const Segment& segment = segments[u];
      if (segment.view.number != view) continue;
      const auto first = static_cast<double>(segment.first_ordinal);
      // The draws [a, b) of the interval that lie in this segment.
      const double a = std::max(from.at, first);
      const double b = std::min(to.at, EndOf(segments, u));
      if (a >= b) continue;
      if (read == 0) begin->at = PlacesBefore(segment, a);
      begin->is_prefix &= BeginsGroup(segment, begin->at);
      end->at = PlacesBefore(segment, b);
      end->is_prefix &= BeginsGroup(segment, end->at);
      // Draws per place: r; the mean over several segments, and where places
      // are dropped.
      parts = read == 0 && segment.dropped == nullptr
                  ? segment.parts.count
                  : (read + b - a) / (end->at - begin->at);
      read += b - a;
      if (segment.parts.count > 1) {
        flow.chunk = std::max(flow.chunk, static_cast<double>(segment.group));
      }
    }
    flow.parts[i] *= parts;
    last = end->at;
  }
  for (const Segment& segment : segments) {
    if (segment.view.number != view) continue;
    flow.per_epoch = segment.view.length;
  }
  if (!is_permuted || !flow.per_epoch.has_value()) return flow;
  const auto length = static_cast<double>(*flow.per_epoch);
  for (FlowMark& mark : flow.marks) {
    // A permuted epoch has read a known set of items only at its end.
    mark.is_prefix &= std::fmod(mark.at, length) == 0;
  }
  flow.chunk = length;
  return flow;
}

double SkippedPlaces(const ItemDraws& draws, uint32_t view, double drawn) {
  const std::span<const Segment> segments = draws.segments();
  double skipped = 0;
  for (size_t u = 0; u + 1 < segments.size(); ++u) {
    const Segment& next = segments[u + 1];
    const auto first = static_cast<double>(next.first_ordinal);
    if (segments[u].view.number != view) continue;
    if (drawn <= first) break;
    // Of the set that another view passes over (2.8).
    if (next.view.number != view) {
      skipped += static_cast<double>(next.left_out);
      continue;
    }
    // The group that a change of length leaves: b_(u+1) minus the places drawn
    // (docs/index-math.md 2.7).
    skipped += PlacesBefore(next, first) - PlacesBefore(segments[u], first);
  }
  return skipped;
}

std::optional<Reached> OrdinalsOf(const ItemDraws& draws, uint32_t view,
                                  const Reached& places) {
  const std::optional<Ordinal> earliest =
      OrdinalAt(draws, view, places.earliest);
  if (!earliest.has_value()) return std::nullopt;
  return Reached{earliest->at, places.all_later && earliest->is_first};
}

}  // namespace poniente::internal
