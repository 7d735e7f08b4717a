import { simulateWide } from './simulate-wide.ts';
const [from, count, ...only] = process.argv.slice(2);
for (let seed = Number(from); seed < Number(from) + Number(count); seed++) {
  const r = await simulateWide(seed);
  const rules = [...Map.groupBy(r.violations, (v) => v.rule)].filter(([k]) => only.length === 0 || only.includes(k));
  if (rules.length === 0) continue;
  const p = r.plan;
  const on = Object.entries(p.faults).filter(([k]) => r.fired.has(k as never)).map(([k]) => k);
  console.log(`${seed} gap=${(p.gapMs/86400000)|0}${p.isAsleep?'asleep':''} lease=${p.isLeased} bf=${p.backfill} sweep=${p.sweepIntervalMs===100000} linger=${p.lingerMs} ops=${p.operationCount} pr=${p.projectCount} cap=${p.operationPageMax}/${p.projectPageMax}\n   ${on.join(' ')}`);
  for (const [rule, vs] of rules) console.log(`   ** ${rule} x${vs.length}: ${vs[0]!.operation_id.slice(-12)} ${vs[0]!.detail.slice(0, 260)}`);
}
