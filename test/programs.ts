/**
 * Starts the programs that measure and test the whole: `npm run bench -- micro` starts the subject `micro` of `bench`. Without a
 * subject a family starts its main program. What follows belongs to the program.
 */

type Program = () => Promise<unknown>;

/** The main program of a family has no name. */
const MAIN = '';

export const programs: Readonly<Record<string, Readonly<Record<string, Program>>>> = {
  bench: {
    [MAIN]: () => import('./bench/run.ts'),
    alerts: () => import('./bench/alerts.ts'),
    api: () => import('./bench/api.ts'),
    cold: () => import('./bench/cold.ts'),
    drain: () => import('./bench/drain.ts'),
    lanes: () => import('./bench/lanes/measure-lane.ts'),
    'lanes-virtual': () => import('./bench/lanes/run-virtual.ts'),
    micro: () => import('./bench/micro.ts'),
    naive: () => import('./bench/naive.ts'),
  },
  cost: {
    [MAIN]: async () => console.log((await import('../infra/cli/docs/cost-docs.ts')).costPage()),
    count: async () => (await import('./bench/cost/count-calls.ts')).countAll(),
  },
  'crash-test': {
    [MAIN]: () => import('./crash/run.ts'),
    listen: () => import('./crash/listen/run.ts'),
  },
  simulate: {
    [MAIN]: () => import('./simulation/run.ts'),
    repairs: () => import('./simulation/wide/replay-repairs.ts'),
  },
};

if (import.meta.main) {
  const [family = '', first = MAIN] = process.argv.slice(2);
  const subjects = programs[family] ?? {};
  const subject = first.startsWith('-') ? MAIN : first;
  const program = Object.hasOwn(subjects, subject) ? subjects[subject] : undefined;
  // The program finds its arguments where it would find them if it had been started itself.
  process.argv.splice(2, subject === MAIN ? 1 : 2);
  if (program === undefined) {
    const names = Object.keys(subjects).filter((name) => name !== MAIN);
    console.error(`npm run ${family} has no subject ${subject}; it has ${names.join(', ')}.`);
    process.exitCode = 2;
  } else if (process.argv.includes('--help') && family === 'simulate')
    console.log(
      'npm run simulate -- --seeds 20000, or --seed 526 with --world close or wide, and --trace for each step.',
    );
  else await program();
}
