/**
 * Holds the style of the console. All sizes, spaces and colours are the ones named at the top: five sizes of text,
 * seven spaces, one accent, and four tones that say how something is.
 */

export const STYLE = `
:root { color-scheme: light dark;
--text-xs: .8125rem; --text-s: .875rem; --text-m: .9375rem; --text-l: 1.125rem; --text-xl: 1.5rem;
--space-1: .25rem; --space-2: .5rem; --space-3: .75rem; --space-4: 1rem; --space-5: 1.5rem; --space-6: 2rem; --space-7: 3rem;
--ground: #f6f7f9; --card: #fff; --soft: #eef0f4; --line: #dcdfe6; --text: #16191f; --quiet: #586070; --accent: #1f52d1; --on-accent: #fff;
--good: #14692f; --bad: #b3231a; --busy: #805000; --calm: #586070; --bad-ground: #fdf0ee; --radius: 8px; }
@media (prefers-color-scheme: dark) { :root {
--ground: #101216; --card: #181b21; --soft: #20242c; --line: #2d323c; --text: #e6e8ec; --quiet: #a2abba; --accent: #93b4ff; --on-accent: #0d1424;
--good: #7fd095; --bad: #f5a59d; --busy: #ecc172; --calm: #a2abba; --bad-ground: #2c1a1a; } }
*, ::before, ::after { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: var(--text-m)/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; font-variant-numeric: tabular-nums; }
a { color: var(--accent); text-underline-offset: .15em; } a:not(:hover):not(p a):not(.crumbs a):not(footer a):not(dd a):not(td a):not(main li a) { text-decoration: none; } td a:not(:hover), main li a:not(:hover) { text-decoration: underline; text-decoration-thickness: 1px; text-decoration-color: color-mix(in srgb, currentColor 40%, transparent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.only-read { position: absolute; left: -999rem; } .skip { position: absolute; left: -999px; } .skip:focus { left: var(--space-4); top: var(--space-2); background: var(--card); padding: var(--space-2); z-index: 1; }
header.top { background: var(--card); border-bottom: 1px solid var(--line); }
header.top > div { max-width: 72rem; margin: 0 auto; padding: var(--space-2) var(--space-4); display: flex; flex-wrap: wrap; gap: var(--space-2) var(--space-4); align-items: center; }
header.top .name { font-weight: 650; color: inherit; margin-right: auto; } header.top form { margin: 0; display: flex; gap: var(--space-2); align-items: center; }
header.top nav { order: 1; flex-basis: 100%; display: flex; flex-wrap: wrap; gap: 0 var(--space-4); font-size: var(--text-s); }
header.top nav a { padding: var(--space-1) 0; color: var(--quiet); } header.top nav a:hover { color: var(--text); } header.top nav a[aria-current] { color: var(--text); font-weight: 600; box-shadow: inset 0 -2px var(--accent); }
.search input { width: 16rem; max-width: 100%; }
main, footer.bottom { max-width: 72rem; margin: 0 auto; padding: var(--space-4); }
footer.bottom { margin-top: var(--space-6); color: var(--quiet); font-size: var(--text-s); border-top: 1px solid var(--line); display: flex; flex-wrap: wrap; gap: var(--space-2) var(--space-5); justify-content: space-between; } footer.bottom a { color: inherit; }
h1 { margin: var(--space-2) 0 var(--space-1); font-size: var(--text-xl); line-height: 1.25; overflow-wrap: anywhere; } h2 { margin: var(--space-6) 0 var(--space-2); font-size: var(--text-l); line-height: 1.3; } h3 { margin: var(--space-4) 0 var(--space-1); font-size: var(--text-m); }
p { margin: var(--space-1) 0 var(--space-3); max-width: 46rem; } .quiet, dt, th, .crumbs { color: var(--quiet); } .crumbs { font-size: var(--text-s); margin: 0; overflow-wrap: anywhere; }
code, pre, .id { font: var(--text-xs)/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.card, table, .empty, .notice { background: var(--card); border: 1px solid var(--line); border-radius: var(--radius); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: var(--space-3); margin: var(--space-3) 0; } .card { padding: var(--space-3) var(--space-4); color: var(--quiet); font-size: var(--text-s); } .card b { display: block; font-size: var(--text-xl); font-weight: 600; line-height: 1.3; color: var(--text); } .card.bad b { color: var(--bad); } .card a { color: inherit; }
.empty, .notice { padding: var(--space-4); margin: var(--space-2) 0; color: var(--quiet); max-width: none; } .notice { border-left: 3px solid var(--accent); color: var(--text); } .notice.bad { border-left-color: var(--bad); background: var(--bad-ground); }
table { width: 100%; border-collapse: separate; border-spacing: 0; font-size: var(--text-s); } th, td { padding: var(--space-2) var(--space-3); text-align: left; vertical-align: top; } td { border-top: 1px solid var(--line); overflow-wrap: anywhere; } th { font-weight: 600; font-size: var(--text-xs); white-space: nowrap; } th a { color: inherit; } th[aria-sort] a { color: var(--text); } td.number, th.number { text-align: right; } tbody tr:hover td { background: var(--soft); }
.scroll { overflow-x: auto; } .scroll svg { min-width: 40rem; } figcaption:last-child { margin: var(--space-2) 0 0; } figure + table, form + figure, form + table { margin-top: var(--space-3); }
.badge { white-space: nowrap; font-weight: 600; } .good { color: var(--good); } .bad { color: var(--bad); } .busy { color: var(--busy); } .calm, .odd { color: var(--calm); } .notice.bad { color: var(--text); }
.verdict { display: flex; flex-wrap: wrap; gap: var(--space-2) var(--space-4); align-items: baseline; font-size: var(--text-l); }
dl.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: var(--space-3) var(--space-5); margin: var(--space-4) 0; } dl.facts div { min-width: 0; } dt { font-size: var(--text-xs); } dd { margin: 0; overflow-wrap: anywhere; }
pre { margin: var(--space-2) 0; padding: var(--space-3); background: var(--soft); border-radius: var(--radius); overflow: auto; max-height: 28rem; white-space: pre-wrap; }
details { margin: var(--space-1) 0; } summary { cursor: pointer; width: fit-content; } ul.plain { list-style: none; margin: 0; padding: 0; } ul.plain li { padding: var(--space-1) 0; }
.row { display: flex; flex-wrap: wrap; gap: var(--space-2) var(--space-3); align-items: center; margin: var(--space-2) 0; } .row form { margin: 0; } .row > div { min-width: 0; max-width: 100%; }
form.filter { display: flex; flex-wrap: wrap; gap: var(--space-2) var(--space-3); align-items: end; margin: var(--space-3) 0; } form.filter > div { min-width: 0; max-width: 100%; } label { display: block; font-size: var(--text-xs); color: var(--quiet); }
@supports selector(::details-content) { @media (min-width: 44.01rem) { details.filter > summary { display: none; } details.filter::details-content { content-visibility: visible; } } }
input, select, textarea, button, .button { font: inherit; font-size: var(--text-s); padding: var(--space-1) var(--space-3); min-height: 2.1rem; border: 1px solid var(--line); border-radius: var(--radius); background: var(--card); color: var(--text); max-width: 100%; } input, select, textarea { border-color: var(--quiet); } button, .button { cursor: pointer; text-decoration: none; display: inline-flex; align-items: center; } button:hover, .button:hover { background: var(--soft); } button.do, .button.do { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
input[type=radio], input[type=checkbox] { min-height: 0; padding: 0; } fieldset { border: 1px solid var(--line); border-radius: var(--radius); background: var(--card); margin: var(--space-3) 0; padding: var(--space-2) var(--space-4) var(--space-3); min-width: 0; } legend { font-weight: 600; padding: 0 var(--space-1); } .choices > label { font-size: var(--text-s); color: var(--text); padding: var(--space-1) 0; }
kbd { font: var(--text-xs) ui-monospace, monospace; border: 1px solid var(--line); border-radius: 4px; padding: 0 .3em; }
.sign { max-width: 30rem; margin: var(--space-7) auto; } .sign input { width: 100%; margin: var(--space-1) 0 var(--space-4); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: var(--space-3); } figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: var(--radius); padding: var(--space-3) var(--space-4); min-width: 0; } figcaption { font-size: var(--text-s); color: var(--quiet); margin-bottom: var(--space-2); } figcaption b { color: var(--text); }
svg { display: block; width: 100%; height: auto; } svg text { fill: var(--quiet); font: 12px system-ui, sans-serif; } svg .axis { stroke: var(--line); } svg .p50 { stroke: var(--accent); fill: none; stroke-width: 1.5; } svg .p95 { stroke: var(--busy); fill: none; stroke-width: 1.5; stroke-dasharray: 4 3; }
svg .bar { fill: var(--calm); } svg .bar.good { fill: var(--good); } svg .bar.bad { fill: var(--bad); } svg .bar.busy { fill: var(--busy); } svg .bar.accent { fill: var(--accent); } svg .bar.faint { fill: var(--line); } svg.share { height: 10px; border-radius: 5px; }
.legend .accent { color: var(--accent); } .legend { display: flex; flex-wrap: wrap; gap: var(--space-1) var(--space-4); font-size: var(--text-s); margin: var(--space-2) 0; padding: 0; list-style: none; }
@media (max-width: 44rem) {
header.top .who { display: none; } header.top .search { order: 2; flex-basis: 100%; } .search input { flex: 1; width: auto; min-width: 0; } header.top nav { overflow-x: auto; flex-wrap: nowrap; } header.top nav a { white-space: nowrap; padding: var(--space-2) 0; }
button, .button, input, select { min-height: 2.6rem; }
table.stack thead { position: absolute; left: -999rem; } table.stack tr { display: flex; flex-wrap: wrap; justify-content: space-between; padding: var(--space-2) 0; border-top: 1px solid var(--line); } table.stack tbody tr:first-child { border-top: 0; } table.stack td { display: block; border: 0; padding: .1rem var(--space-3); text-align: left; } table.stack td:empty { display: none; } table.stack td:has(details, form, pre), table.stack td:first-child:has(.id) { flex-basis: 100%; } table.stack td[data-label]:not(:empty)::before { content: attr(data-label) " "; color: var(--quiet); } }
@media (prefers-reduced-motion: no-preference) { .fresh { animation: fresh 2s; } @keyframes fresh { from { background: var(--soft); } } }
`;
