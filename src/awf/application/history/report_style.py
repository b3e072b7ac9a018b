"""How a report looks, by day and by night, wide and narrow; and the filter, without which it works as well."""

from __future__ import annotations

__all__ = ["SCRIPT", "STYLE"]

STYLE = """
:root { color-scheme: light dark; --ground: #fff; --panel: #f6f7f9; --ink: #1d2433; --soft: #566072; --rule: #dde1e8;
  --link: #1c5fb0; --good: #1f7a3f; --bad: #b3261e; --warn: #8a5a00; --busy: #1c5fb0; --idle: #6b7484;
  --good-soft: #e3f4e8; --bad-soft: #fdecea; --warn-soft: #fff3d8; --busy-soft: #e5effb; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #12151c; --panel: #1b202a; --ink: #e6e9f0; --soft: #a4adbd; --rule: #323948;
    --link: #7db4f5; --good: #62c483; --bad: #f0857b; --warn: #e2b450; --busy: #7db4f5; --idle: #8c96a8;
    --good-soft: #16301f; --bad-soft: #3a1c1b; --warn-soft: #33290f; --busy-soft: #172b42; }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
body { margin: 0 auto; padding: 1.25rem clamp(.75rem, 3vw, 2rem) 3rem; max-width: 76rem; background: var(--ground);
  color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
a { color: var(--link); }
h1, h2, h3, p, ul, ol, dl, pre { margin: 0; }
h1 { font-size: 1.6rem; line-height: 1.25; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin-bottom: .6rem; }
h3 { font-size: .95rem; margin: .8rem 0 .4rem; }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; font-size: .86em; }
code { overflow-wrap: anywhere; }
pre { padding: .6rem .75rem; max-height: 26rem; overflow: auto; background: var(--panel); border: 1px solid var(--rule);
  border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.45; tab-size: 4; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip { position: absolute; left: -99rem; } .skip:focus { position: static; }
.cut { color: var(--soft); font-style: italic; }
.status { display: inline-block; flex: none; }
.sign { display: inline-grid; place-items: center; width: 1.35em; height: 1.35em; border-radius: 50%; font-size: .8em;
  font-weight: 700; color: var(--ground); background: var(--idle); }
.status.success > .sign, .status.completed > .sign { background: var(--good); }
.status.failed > .sign { background: var(--bad); }
.status.cancelled > .sign, .status.interrupted > .sign, .status.unfinished > .sign, .status.waiting > .sign { background: var(--warn); }
.status.running > .sign { background: var(--busy); }

.verdict { padding: 1.1rem 1.25rem; border: 1px solid var(--rule); border-left: 6px solid var(--idle); border-radius: 8px;
  background: var(--panel); display: grid; gap: .65rem; }
.verdict.completed { border-left-color: var(--good); } .verdict.failed { border-left-color: var(--bad); }
.verdict.cancelled, .verdict.interrupted, .verdict.waiting { border-left-color: var(--warn); }
.verdict.running { border-left-color: var(--busy); }
.verdict > * { min-width: 0; }
.verdict pre { background: var(--ground); max-height: 13rem; }
.verdict h2 { margin: .3rem 0 -.2rem; font-size: .95rem; color: var(--soft); font-weight: 600; }
.badge { display: flex; gap: .5rem; align-items: center; }
.reason { font-size: 1.1rem; font-weight: 600; overflow-wrap: anywhere; white-space: pre-line; }
.verdict.failed .reason { color: var(--bad); }
.hint { display: block; }
.commands { list-style: none; padding: 0; display: grid; gap: .3rem; }
.commands li { display: flex; flex-wrap: wrap; gap: .15rem .8rem; align-items: baseline; }
.commands code { padding: .12rem .5rem; border: 1px solid var(--rule); border-radius: 5px; background: var(--ground); user-select: all; }
.commands span { color: var(--soft); }
.facts { display: flex; flex-wrap: wrap; gap: .5rem 1.75rem; }
.facts > div { min-width: 0; max-width: 100%; }
.facts dt { font-size: .78rem; color: var(--soft); } .facts dd { margin: 0; overflow-wrap: anywhere; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; padding: .8rem .2rem; }
section { padding-top: .9rem; margin-top: .6rem; border-top: 1px solid var(--rule); }

.timeline { list-style: none; padding: 0; }
.timeline li, .scale { display: grid; grid-template-columns: minmax(7rem, 24%) 1fr 6.5rem; gap: .75rem; align-items: center; }
.timeline li { padding: .1rem 0; }
.timeline a { padding-left: calc(var(--depth) * .9rem); color: inherit; text-decoration: none; overflow: hidden;
  text-overflow: ellipsis; white-space: nowrap; }
.timeline a:hover { text-decoration: underline; }
.track { position: relative; height: .95rem; border-radius: 3px; background: var(--panel); }
.bar { position: absolute; top: 0; bottom: 0; min-width: 3px; border-radius: 3px; background: var(--idle); }
.bar.success { background: var(--good); opacity: .8; } .bar.failed { background: var(--bad); }
.bar.cancelled, .bar.unfinished { background: var(--warn); } .bar.running { background: var(--busy); }
.length { font-size: .85rem; color: var(--soft); text-align: right; white-space: nowrap; }
.scale { font-size: .78rem; color: var(--soft); margin-top: .25rem; }
.scale > span { grid-row: 1; grid-column: 2; text-align: left; }
.scale > span + span { text-align: center; } .scale > span + span + span { text-align: right; }

.steps { list-style: none; padding: 0; display: grid; gap: .35rem; }
.steps > li, .steps details { min-width: 0; }
.steps .steps { margin: .35rem .5rem .5rem clamp(.5rem, 2vw, 1.4rem); }
.step { border: 1px solid var(--rule); border-radius: 7px; }
.step.failed { border-color: var(--bad); } .step.failed.handled { border-color: var(--rule); border-left: 3px solid var(--bad); }
summary { cursor: pointer; overflow-wrap: anywhere; }
.step > summary, .tool > summary { display: flex; flex-wrap: wrap; gap: .2rem .6rem; align-items: center;
  position: relative; padding: .4rem 1.9rem .4rem .7rem; }
.step > summary::-webkit-details-marker, .tool > summary::-webkit-details-marker { display: none; }
.step > summary::after, .tool > summary::after { content: "▸"; position: absolute; right: .7rem; top: .4rem; color: var(--soft); }
.step[open] > summary::after, .tool[open] > summary::after { content: "▾"; }
.step > summary:hover { background: var(--panel); border-radius: 7px; }
.kind { font-size: .78rem; color: var(--soft); }
.detail { color: var(--soft); max-width: 100%; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; flex: 0 1 auto; }
summary .notes { margin-left: auto; font-size: .85rem; color: var(--soft); }
.body { display: grid; gap: .6rem; padding: .3rem .8rem .8rem; }
.body > * { min-width: 0; }
.caption { font-size: .8rem; color: var(--soft); margin-bottom: -.45rem; }
.error { color: var(--bad); overflow-wrap: anywhere; } .error .hint { color: var(--ink); }
.retries { padding-left: 1.2rem; }
.transcript { display: grid; gap: .5rem; padding-left: .7rem; border-left: 3px solid var(--rule); }
.transcript > * { min-width: 0; }
.said { display: grid; gap: .15rem; } .said pre { font-family: inherit; font-size: .95em; }
.speaker { font-size: .8rem; color: var(--soft); }
.said.person pre { background: var(--busy-soft); }
.thought summary, .attempt summary { color: var(--soft); font-size: .9rem; } .thought pre { font-style: italic; font-family: inherit; }
.tool { border: 1px solid var(--rule); border-radius: 6px; } .tool.failed { border-color: var(--bad); }
.tool > *:not(summary) { margin: .4rem .7rem; } .tool > .caption { margin-bottom: 0; }
.wide, .diagram { overflow: auto; }
table { border-collapse: collapse; width: 100%; min-width: 38rem; }
th, td { padding: .35rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule); }
th { font-size: .8rem; color: var(--soft); font-weight: 600; }
ul.notes { padding-left: 1.1rem; } .warning strong { color: var(--warn); }
.diagram { max-height: 85vh; border: 1px solid var(--rule); border-radius: 7px; }
.diagram svg { display: block; margin: 0 auto; max-width: none; }
footer { margin-top: 1.5rem; padding-top: .8rem; border-top: 1px solid var(--rule); color: var(--soft); font-size: .85rem;
  display: grid; gap: .3rem; }
.filter { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; margin-bottom: .6rem; }
.filter input[type=search] { font: inherit; padding: .25rem .5rem; min-width: min(18rem, 100%); color: inherit;
  background: var(--ground); border: 1px solid var(--rule); border-radius: 5px; }
[hidden] { display: none !important; }
@media (max-width: 40rem) {
  .timeline li { grid-template-columns: 1fr auto; gap: 0 .5rem; }
  .timeline .track { grid-column: 1 / -1; grid-row: 2; } .scale { grid-template-columns: 1fr; }
  .scale > span { grid-column: 1; }
  .verdict { padding: .9rem; } summary .notes { margin-left: 0; }
}
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
@media print { .filter, nav, .skip { display: none; } pre, .diagram { max-height: none; } }
""".strip()

SCRIPT = """
(function () {
  var section = document.getElementById("steps");
  if (!section) { return; }
  var steps = Array.prototype.slice.call(section.querySelectorAll("details.step"));
  var form = document.createElement("div"), words = document.createElement("input");
  var label = document.createElement("label"), only = document.createElement("input");
  form.className = "filter"; words.type = "search"; words.placeholder = "Find in steps";
  words.setAttribute("aria-label", "Find in steps"); only.type = "checkbox";
  label.appendChild(only); label.appendChild(document.createTextNode(" only what did not succeed"));
  form.appendChild(words); form.appendChild(label);
  section.insertBefore(form, section.children[1]);
  function apply() {
    var wanted = words.value.toLowerCase();
    steps.forEach(function (step) {
      var fits = (!wanted || step.textContent.toLowerCase().indexOf(wanted) >= 0) &&
        (!only.checked || !step.matches(".success, .skipped") || step.querySelector(".step:not(.success):not(.skipped)"));
      step.parentNode.hidden = !fits;
    });
  }
  words.addEventListener("input", apply);
  only.addEventListener("change", apply);
  function unfold() {
    var step = location.hash && document.getElementById(location.hash.slice(1));
    while (step) { if (step.tagName === "DETAILS") { step.open = true; } step = step.parentElement; }
  }
  window.addEventListener("hashchange", unfold);
  unfold();
})();
""".strip()
