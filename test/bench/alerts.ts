/**
 * `npm run bench -- alerts` lets the poller and the notifier watch the simulated service for a day of virtual time, and
 * prints how often people are interrupted, for what, and what they were not notified of.
 */

import { parseArgs } from 'node:util';
import { runCommand } from '../../infra/process/command.ts';
import { OUTAGE, type Watched, watchAccount } from '../notifier/people/account-under-watch.ts';
import { needOf, troubleMs } from '../notifier/people/what-needs-a-person.ts';

const HELP = `npm run bench -- alerts [options]
  --hours N       hours of virtual time (24)
  --projects N    projects of the account (80)
  --sessions N    sessions an hour of an average project (2)
  --seed N        seed of the world (7)
  --outage N      share of the projects that a fault of the service hits in the middle of the time (0)`;

/** Reports of the last minutes may still be gathered. */
const GATHERED_MS_MAX = 40 * 60_000;

await runCommand(async () => {
  const { values } = parseArgs({
    options: {
      hours: { type: 'string', default: '24' },
      projects: { type: 'string', default: '80' },
      sessions: { type: 'string', default: '2' },
      seed: { type: 'string', default: '7' },
      outage: { type: 'string', default: '0' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return console.log(HELP);
  const hours = Number(values.hours);
  const watched = await watchAccount({
    seed: Number(values.seed),
    projectCount: Number(values.projects),
    sessionsPerHour: Number(values.sessions),
    minutes: 60 * hours,
    requestsPerMinute: 60,
    hasPager: true,
    outageShare: Number(values.outage),
  });
  print(watched, hours);
});

function print(watched: Watched, hours: number): void {
  const { sent, truth, startMs, endMs } = watched;
  const notices = sent.flatMap(({ message }) => message.flat());
  const named = new Set(
    notices.flatMap(({ operation_id }) => (operation_id?.startsWith(OUTAGE) ? [] : (operation_id ?? []))),
  );
  const needed = new Map(
    truth.flatMap((operation) => {
      const need = needOf(operation, endMs);
      return need === undefined ? [] : [[operation.operation_id, need] as const];
    }),
  );
  const began = truth.filter(({ created_at_ms }) => created_at_ms >= startMs);
  const missed = began.filter(({ operation_id }) => {
    const need = needed.get(operation_id);
    return need !== undefined && need.atMs < endMs - GATHERED_MS_MAX && !named.has(operation_id);
  });
  const inVain = [...named].filter((id) => !needed.has(id));
  const troubled = began.filter((operation) => troubleMs(operation, endMs) > 0);
  console.log(`${hours} hours: ${truth.length} operations, ${troubled.length} of them with a failed attempt`);
  const rings = sent.filter(({ hasRung }) => hasRung).map(({ atMs }) => atMs);
  console.log(`messages: ${sent.length}; rings: ${rings.length}, at most ${mostInAnHour(rings)} in an hour`);
  console.log(`operations that were named: ${named.size}, of which ${inVain.length} did not need a person`);
  console.log(`operations that needed a person and were not named: ${missed.length}`);
  for (const { operation_id, action, states } of missed)
    console.log(`  ${action} ${operation_id}: ${states.map(({ status }) => status).join(' ')}`);
  printCauses(watched);
}

/** The pager gets everything without gathering. The simulated service has no common cause but the outage. */
function printCauses({ paged }: Watched): void {
  const alerts = paged.flatMap(({ message }) => message.flat());
  const failures = alerts.filter(({ severity }) => severity !== 'info');
  for (const isOutage of [false, true]) {
    const own = failures.filter(
      ({ operation_id }) => (operation_id?.startsWith(OUTAGE) ?? false) === isOutage,
    );
    if (isOutage && own.length === 0) continue;
    const claims = own.filter(({ alike: others }) => others?.is_service);
    console.log(
      `${isOutage ? 'alerts of the outage' : 'other alerts'} on the pager: ${own.length}, of which ${claims.length} say "probably the service"`,
    );
  }
}

function mostInAnHour(times: readonly number[]): number {
  const counts = times.map(
    (fromMs) => times.filter((atMs) => atMs >= fromMs && atMs < fromMs + 3_600_000).length,
  );
  return Math.max(0, ...counts);
}
