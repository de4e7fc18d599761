// SPDX-License-Identifier: Apache-2.0
// The page's frame and style; plan_page_script.cc draws.
#include "cli/plan_views/plan_html.h"

namespace poniente::cli {

const char* const kPlanPage = R"page(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>Plan of {{title}}</title>
<style>{{style}}</style>
</head>
<body>
<main>
<header>
<p class="kicker">Poniente &middot; plan</p>
<h1 id="title"></h1>
<p id="summary" class="lead"></p>
</header>
<noscript><p>This page draws its charts with JavaScript, which is switched off here. <code>poniente plan</code> prints the same numbers.</p></noscript>
<ul id="warnings" class="warnings" hidden></ul>
<section id="figures" class="figures"></section>

<section>
<div class="head"><h2>Mixture over time</h2>
<div class="switch" role="group" aria-label="Horizontal axis">
<button id="by-tokens" type="button">tokens</button><button id="by-steps" type="button">steps</button></div></div>
<p class="hint">Share of the tokens of each step. Drag the slider, or point at a chart.</p>
<div class="chart" id="mixture"></div>
<input id="scrubber" type="range" min="0" max="0" value="0" step="1" aria-label="Step">
<div id="readout" class="readout" aria-live="polite"></div>
</section>

<section class="pair">
<div><h2>Tokens read</h2><p class="hint">Of each source, since the first step.</p><div class="chart" id="tokens"></div></div>
<div><h2>Epochs</h2><p class="hint" id="epochs-hint"></p><div class="chart" id="epochs"></div></div>
</section>

<section class="triple">
<div><h2>Sequence length</h2><p class="hint">Tokens per sample.</p><div class="chart" id="lengths"></div></div>
<div><h2>Batch size</h2><p class="hint">Samples per step.</p><div class="chart" id="batches"></div></div>
<div><h2>Learning-rate factor</h2><p class="hint">lr_scale, for the trainer.</p><div class="chart" id="rates"></div></div>
</section>

<section><h2>Stages</h2><div class="scroll"><table id="stages"></table></div><p class="hint sideways">More columns: scroll sideways &rarr;</p></section>
<section><h2>Sources</h2><div class="scroll"><table id="sources"></table></div><p class="hint sideways">More columns: scroll sideways &rarr;</p></section>
<section class="fine"><h2>How to read the numbers</h2><ul id="remarks"></ul></section>
</main>
<script type="application/json" id="plan">{{plan}}</script>
<script>{{script}}</script>
</body>
</html>
)page";

const char* const kPlanStyle = R"style(
:root {
  --paper: #fdfdfb; --ink: #1c2126; --soft: #5b6570; --line: #d9dde1;
  --faint: #eef0f1; --mark: #0b5c8f; --warn: #8a3b00; --warn-paper: #fdf1e6;
  --c0: #0072b2; --c1: #e69f00; --c2: #009e73; --c3: #cc79a7; --c4: #56b4e9;
  --c5: #d55e00; --c6: #b5a418; --c7: #6f5aa8; --others: #9aa3ab;
  --on0: #fff; --on7: #fff;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14181c; --ink: #e6e9ec; --soft: #9aa5b0; --line: #333b43;
    --faint: #20262c; --mark: #7cc4f0; --warn: #ffb877; --warn-paper: #2d2116;
    --c0: #2f93d1; --c1: #e8ab2e; --c2: #1fb389; --c3: #d68fb6; --c4: #7cc6f2;
    --c5: #e8773a; --c6: #cdbb35; --c7: #9584cc; --others: #6d7781;
    --on0: #14181c; --on7: #14181c;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif;
  font-variant-numeric: tabular-nums; -webkit-text-size-adjust: 100%; }
main { max-width: 1120px; margin: 0 auto; padding: 40px 24px 64px; }
h1 { font-size: 28px; line-height: 1.2; font-weight: 600; margin: 2px 0 6px; overflow-wrap: anywhere; }
h2 { font-size: 17px; font-weight: 600; margin: 0; }
section { margin-top: 40px; min-width: 0; }
.kicker { margin: 0; color: var(--soft); font-size: 13px; letter-spacing: .04em; }
.lead { margin: 0; color: var(--soft); }
.hint { margin: 2px 0 8px; color: var(--soft); font-size: 14px; }
.head { display: flex; justify-content: space-between; align-items: baseline; gap: 16px; }
.switch { display: inline-flex; border: 1px solid var(--line); border-radius: 6px; overflow: hidden; }
.switch button { font: inherit; font-size: 13px; padding: 3px 12px; border: 0; background: none; color: var(--soft); cursor: pointer; }
.switch button[aria-pressed=true] { background: var(--faint); color: var(--ink); font-weight: 600; }
.warnings { list-style: none; margin: 20px 0 0; padding: 12px 16px; border-left: 3px solid var(--warn);
  background: var(--warn-paper); border-radius: 0 6px 6px 0; font-size: 15px; }
.warnings li { overflow-wrap: anywhere; }
.warnings li + li { margin-top: 6px; }
.figures { display: grid; grid-template-columns: repeat(4, 1fr); gap: 1px; background: var(--line);
  border: 1px solid var(--line); border-radius: 8px; overflow: hidden; margin-top: 24px; }
.figures div { background: var(--paper); padding: 12px 16px; min-width: 0; }
.figures b { display: block; font-size: 22px; font-weight: 600; line-height: 1.25; }
.figures span { display: block; color: var(--soft); font-size: 13px; line-height: 1.35; }
.pair, .triple { display: grid; gap: 32px; }
.pair { grid-template-columns: 1fr 1fr; } .triple { grid-template-columns: 1fr 1fr 1fr; }
.pair > div, .triple > div { min-width: 0; }
.chart svg { display: block; width: 100%; overflow: hidden; touch-action: pan-y; }
svg text { font-size: 12px; fill: var(--soft); }
svg .name { fill: var(--ink); } svg .inside { font-size: 13px; font-weight: 600; }
svg .grid { stroke: var(--line); stroke-width: 1; } svg .stage { stroke: var(--ink); stroke-opacity: .35; stroke-dasharray: 2 3; }
svg .cursor { stroke: var(--ink); stroke-width: 1.25; }
input[type=range] { display: block; margin: 2px 0 0; accent-color: var(--mark); height: 28px; }
.readout { margin-top: 6px; }
.at { display: flex; flex-wrap: wrap; gap: 2px 18px; color: var(--soft); font-size: 14px; }
.at b { color: var(--ink); font-weight: 600; }
.shares { display: grid; grid-template-columns: repeat(2, 1fr); gap: 2px 40px; margin: 10px 0 0; padding: 0; list-style: none; font-size: 14px; }
.shares li { display: grid; grid-template-columns: 12px minmax(0, 1fr) 90px 58px 84px 52px; gap: 10px; align-items: center; }
.shares i, td i { width: 11px; height: 11px; border-radius: 2px; display: inline-block; }
.shares .n { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.shares .r { text-align: right; color: var(--soft); white-space: nowrap; } .shares .s { text-align: right; font-weight: 600; }
.bar { height: 8px; background: var(--faint); border-radius: 2px; } .bar u { display: block; height: 8px; border-radius: 2px; }
.more { font: inherit; font-size: 14px; margin-top: 8px; padding: 0; border: 0; background: none; color: var(--mark); cursor: pointer; }
.scroll { overflow-x: auto; margin-top: 8px; }
.scroll.wide { border-right: 1px dashed var(--soft); padding-bottom: 6px; }
.sideways { display: none; } .wide + .sideways { display: block; text-align: right; margin: 4px 0 0; }
table { border-collapse: collapse; font-size: 14px; min-width: 100%; }
th { color: var(--soft); font-weight: 500; text-align: right; padding: 4px 0 6px 20px; border-bottom: 1px solid var(--line); white-space: nowrap; }
td { text-align: right; padding: 5px 0 5px 20px; border-bottom: 1px solid var(--faint); white-space: nowrap; }
th { max-width: 110px; overflow: hidden; text-overflow: ellipsis; }
th:first-child, td:first-child { text-align: left; padding-left: 0; position: sticky; left: 0; background: var(--paper); max-width: 260px; overflow: hidden; text-overflow: ellipsis; }
td.note { color: var(--warn); text-align: left; white-space: normal; min-width: 100px; line-height: 1.25; } td .kind { color: var(--soft); font-size: 12px; margin-left: 6px; }
td button { font: inherit; width: 20px; border: 0; padding: 0; background: none; color: var(--soft); cursor: pointer; }
.fine { color: var(--soft); font-size: 14px; } .fine h2 { color: var(--ink); } .fine ul { padding-left: 18px; margin: 8px 0 0; } .fine li { overflow-wrap: anywhere; }
@media (max-width: 860px) { .triple { grid-template-columns: 1fr; } .pair { grid-template-columns: 1fr; } .figures { grid-template-columns: 1fr 1fr; } }
@media (max-width: 640px) {
  main { padding: 24px 16px 48px; } h1 { font-size: 23px; } section { margin-top: 32px; }
  .figures b { font-size: 19px; } .figures div { padding: 10px 12px; }
  .shares { grid-template-columns: minmax(0, 1fr); } .shares li { grid-template-columns: 12px minmax(0, 1fr) 56px 52px 72px 44px; gap: 8px; }
  th:first-child, td:first-child { max-width: 150px; } th, td { padding-left: 14px; }
}
)style";

}  // namespace poniente::cli
