/** `operations-bridge audit` searches who asked for what, and how it ended. */

import type { Command } from 'commander';
import * as z from 'zod';
import { paint } from '../../local/terminal/event-line.ts';
import { parseInteger } from '../../process/option-values.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import { type BridgeClient, createBridgeClient } from '../connection/bridge-client.ts';
import {
  type ConnectionValues,
  connectionFinder,
  declareConnectionOptions,
} from '../connection/find-connection.ts';
import { parseTime } from '../listening/since.ts';
import { createSubcommand } from './subcommand.ts';

interface AuditValues extends ConnectionValues {
  readonly account?: string;
  readonly client?: string;
  readonly call?: string;
  readonly project?: string;
  readonly outcome?: string;
  readonly from?: string;
  readonly until?: string;
  readonly limit: string;
  readonly json?: true;
}

const auditRecord = z.looseObject({
  received_at: z.string(),
  request_id: z.string(),
  client_id: z.string().optional(),
  call: z.string(),
  project_id: z.string().optional(),
  /** The other ids that the request named, such as that of an account. */
  resource: z.record(z.string(), z.string()).optional(),
  outcome: z.string().optional(),
  status: z.number().optional(),
});

const auditPage = z.looseObject({
  records: z.array(auditRecord),
  cursor: z.string().optional(),
  unreadable: z.number(),
});

type AuditRecord = z.output<typeof auditRecord>;

export function auditSubcommand(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'audit',
    summary: 'Searches the audit: who asked for what, and how it ended, newest first.',
    description: 'It needs a token with audit:read. The audit goes back 400 days.',
    examples: [
      'operations-bridge audit --from 2h --outcome refused',
      'operations-bridge audit --client ci --project icy-hat-70322459 --limit 500 --json',
    ],
  });
  return declareConnectionOptions(command)
    .option('--account <id>', 'the audit of this account, also of a removed one; it needs accounts:read, too')
    .option('--client <id>', 'only what this caller asked for')
    .option('--call <id>', 'only this call, such as restartProjectEndpoint')
    .option('--project <id>', 'only requests about this project')
    .option('--outcome <outcome>', 'only done, refused, unknown or open requests')
    .option('--from <when>', 'only since a time, or 10m, 2h or 7d ago')
    .option('--until <when>', 'only before a time')
    .option('--limit <n>', 'number of records, up to 10000', '50')
    .option('--json', 'prints each record as a line of JSON')
    .action(async (values: AuditValues) => {
      const client = createBridgeClient(await connectionFinder(values, surroundings), surroundings);
      await printAudit(client, values, surroundings);
    });
}

/** The largest page of the bridge. */
const PAGE_MAX = 100;

/** A page with filters may be empty; this many of them read the audit of a busy account of more than a month. */
const PAGES_MAX = 2_000;

async function printAudit(
  client: BridgeClient,
  values: AuditValues,
  { clock, print, note, isColoured }: Surroundings,
): Promise<void> {
  const most = parseInteger('limit', values.limit, { min: 1, max: 10_000 });
  const query = {
    account_id: values.account,
    client_id: values.client,
    call: values.call,
    project_id: values.project,
    outcome: values.outcome,
    from: values.from && parseTime('from', values.from, clock.now()),
    until: values.until && parseTime('until', values.until, clock.now()),
    limit: Math.min(most, PAGE_MAX),
  };
  let [count, unreadable] = [0, 0];
  let cursor: string | undefined;
  for (let pages = 0; pages < PAGES_MAX && count < most; pages++) {
    const page = await client.read(
      { method: 'GET', path: '/bridge/v1/audit', query: { ...query, cursor } },
      auditPage,
    );
    for (const record of page.records.slice(0, most - count))
      print(values.json ? JSON.stringify(record) : lineOf(record, isColoured));
    count += page.records.length;
    unreadable += page.unreadable;
    cursor = page.cursor;
    if (cursor === undefined) break;
  }
  if (cursor !== undefined) note(`There are more records; --until and --limit reach them.`);
  if (unreadable > 0) note(`${unreadable} records cannot be read by this version of the bridge.`);
}

function lineOf(record: AuditRecord, isColoured: boolean): string {
  const {
    received_at,
    client_id = '-',
    call,
    project_id,
    resource = {},
    outcome = 'open',
    status,
    request_id,
  } = record;
  const ended = `${outcome}${status === undefined ? '' : ` ${status}`}`.padEnd(12);
  const shown =
    outcome === 'done' ? ended : paint(outcome === 'refused' ? 'yellow' : 'red', ended, { isColoured });
  const about = [project_id, ...Object.values(resource)].filter((id) => id !== undefined).join(' ') || '-';
  return [received_at, client_id.padEnd(16), call.padEnd(28), about.padEnd(28), shown, request_id].join('  ');
}
