/** `operations-bridge conformance` compares a real account with what the bridge assumes of the upstream. */

import { AppError } from '../../../shared/runtime/errors.ts';
import { createSecret } from '../../../shared/runtime/secret.ts';
import { paint } from '../../local/event-lines.ts';
import { EXIT_CODES, UsageError } from '../../process/command.ts';
import type { Line } from '../examining/conformance-report.ts';
import { operationLines, projectLines, refusalLines } from '../examining/conformance-report.ts';
import type { Evidence } from '../examining/evidence.ts';
import { collectEvidence, createGet, REQUESTS_PER_MINUTE_MAX } from '../examining/evidence.ts';
import { type Asked, acting, writeNewFile } from './subcommand.ts';

interface ConformanceValues {
  readonly upstream: string;
  readonly keyStdin?: true;
  readonly output?: string;
}

const DEFAULT_UPSTREAM = 'https://console.neon.tech/api/v2';

export const conformanceSubcommand = acting<ConformanceValues>({
  usage: 'conformance',
  summary: 'Compares an account of the upstream with what the bridge assumes of it, with reads only.',
  description:
    `It changes nothing and sends at most ${REQUESTS_PER_MINUTE_MAX} requests a minute, about 25 in all. ` +
    'The key comes from UPSTREAM_API_KEY. The report holds counts and forms, and no id, name or key, so it can be sent to others.',
  examples: [
    'UPSTREAM_API_KEY=... operations-bridge conformance',
    'operations-bridge conformance --upstream http://127.0.0.1:4000/api/v2 --key-stdin --output report.json',
  ],
  exitCodes: {
    succeeded: 'nothing is different from what the bridge assumes',
    failed: 'at least one line is different',
  },
  options: [
    ['--upstream <url>', 'the base URL of the API', DEFAULT_UPSTREAM],
    ['--key-stdin', 'reads the API key from the standard input'],
    ['--output <file>', 'also writes the report to a new file, as JSON'],
    ['--json', 'prints the report as JSON'],
  ],
  act: runConformance,
});

async function runConformance(asked: Asked<ConformanceValues>): Promise<void> {
  const { signal, clock, note, print, isColoured, exitWith, values } = asked;
  const get = createGet(parseBaseUrl(values.upstream), await keyOf(asked), asked);
  const onRequest = (count: number) => {
    if (count % REQUESTS_PER_NOTE === 0) note(`${count} requests of about 25`);
  };
  const evidence = await collectEvidence({ get, clock, signal, onRequest });
  refuseWithoutAccess(evidence);
  const lines = [...operationLines(evidence), ...projectLines(evidence), ...refusalLines(evidence)];
  const report = { made_at: new Date(clock.now()).toISOString(), requests: evidence.replies.length, lines };
  if (values.output !== undefined) writeNewFile(values.output, `${JSON.stringify(report, null, 2)}\n`);
  if (values.json) print(JSON.stringify(report));
  else for (const text of textOf(lines, isColoured)) print(text);
  if (lines.some(({ verdict }) => verdict === 'different')) exitWith(EXIT_CODES.failed);
}

const REQUESTS_PER_NOTE = 5;

function parseBaseUrl(text: string): string {
  const url = URL.parse(text);
  const isLocal = url?.protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
  if (url?.protocol === 'https:' || isLocal) return text.replace(/\/+$/, '');
  throw new UsageError(`--upstream is "${text}"; it takes a base URL such as https://host/api/v2.`);
}

async function keyOf({ values, environment, readInput }: Asked<ConformanceValues>) {
  const key = (values.keyStdin ? await readInput() : (environment['UPSTREAM_API_KEY'] ?? '')).trim();
  if (key === '')
    throw new UsageError('There is no API key; put it into UPSTREAM_API_KEY, or use --key-stdin.');
  return createSecret(key);
}

/** Without a list of projects nothing can be judged, and a report would only mislead. */
function refuseWithoutAccess({ projectPages, replies }: Evidence): void {
  if (projectPages.length > 0) return;
  const status = replies[0]?.status ?? 0;
  const advice =
    status === 401 ? 'check UPSTREAM_API_KEY' : 'check --upstream, and whether the key may list projects';
  throw new AppError(
    'projects_unreadable',
    `The projects cannot be listed (the upstream answered ${status}); ${advice}.`,
  );
}

function textOf(lines: readonly Line[], isColoured: boolean): readonly string[] {
  const colours = { seen: 'green', 'not seen': 'gray', different: 'red' } as const;
  const count = (verdict: Line['verdict']) => lines.filter((each) => each.verdict === verdict).length;
  return [
    ...lines.flatMap(({ verdict, assumption, found }) => [
      `${paint(colours[verdict], verdict.padEnd(9), { isColoured })}  ${assumption}`,
      `${' '.repeat(11)}${found}`,
    ]),
    '',
    `${count('seen')} seen, ${count('not seen')} not seen, ${count('different')} different`,
  ];
}
