import { simulateWide } from './simulate-wide.ts';
const [from, count, verbose] = process.argv.slice(2);
const rules = new Map<string, number[]>();
const fired = new Map<string, number>();
const t = performance.now();
let req = 0;
for (let seed = Number(from); seed < Number(from) + Number(count); seed++) {
  const t1 = performance.now();
  const r = await simulateWide(seed, verbose === 'trace' ? { trace: (l) => console.log(new Date(l.atMs).toISOString(), l.who, l.what, l.why) } : {});
  const ms = performance.now() - t1;
  if (ms > 400) console.log('slow', seed, ms | 0, r.requestCount, r.eventCount);
  req += r.requestCount;
  for (const [k, n] of r.fired) fired.set(k, (fired.get(k) ?? 0) + n);
  for (const rule of new Set(r.violations.map((v) => v.rule))) rules.set(rule, [...(rules.get(rule) ?? []), seed]);
  if (verbose === 'v' || verbose === 'trace') { console.log(JSON.stringify(r.plan)); for (const v of r.violations) console.log(seed, v.rule, v.operation_id, v.detail.slice(0, 300)); }
}
console.log('ms per seed', (performance.now() - t) / Number(count), 'requests', req / Number(count));
for (const [rule, seeds] of rules) console.log(rule, seeds.length, seeds.slice(0, 12).join(' '));
console.log([...fired].map(([k, n]) => `${k}:${n}`).join(' '));
