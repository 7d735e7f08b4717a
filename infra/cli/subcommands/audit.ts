/** `operations-bridge audit` searches who asked for what, and how it ended. */

import * as z from 'zod';
import { type LineStyle, paint } from '../../local/event-lines.ts';
import { parseInteger } from '../../process/command.ts';
import {
  type FilterValues,
  filterRows,
  noteNothing,
  queryOf,
  readFilters,
  readTimes,
  TIME_ROWS,
} from '../filters.ts';
import { type Columns, rowPrinter, showPages } from '../pages.ts';
import { asking } from './subcommand.ts';

const FILTERS = ['client', 'call', 'project', 'outcome'] as const;

interface AuditValues extends FilterValues<(typeof FILTERS)[number]> {
  readonly account?: string;
  readonly since?: string;
  readonly until?: string;
  readonly limit: string;
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

/** This many pages read the audit of a busy account of more than a month. */
const PAGES_MAX = 2_000;

export const auditSubcommand = asking<AuditValues>({
  usage: 'audit',
  summary: 'Searches the audit: who asked for what, and how it ended, newest first.',
  description: 'It needs a token with audit:read. The audit goes back 400 days.',
  examples: [
    'operations-bridge audit --since 2h --outcome refused --outcome unknown',
    'operations-bridge audit --client ci --project icy-hat-70322459 --limit 500 --json',
  ],
  options: [
    ['--account <id>', 'the audit of this account, also of a removed one; it needs accounts:read, too'],
    ...filterRows('requests', FILTERS),
    ...TIME_ROWS,
    ['--limit <n>', 'number of records, up to 10000', '50'],
    ['--json', 'prints each record as a line of JSON'],
  ],
  async act(asked) {
    const { connect, note, clock, values } = asked;
    const most = parseInteger('limit', values.limit, { min: 1, max: 10_000 });
    const chosen = readFilters(values, FILTERS, note);
    const { since: from, until } = readTimes(values, clock.now());
    const choice = { account_id: values.account, ...queryOf(chosen), from, until };
    const client = await connect();
    let unreadable = 0;
    const { count, hasMore } = await showPages(
      { most, pagesMax: PAGES_MAX },
      async (part) => {
        const request = { method: 'GET', path: '/bridge/v1/audit', query: { ...choice, ...part } };
        const page = await client.read(request, auditPage);
        unreadable += page.unreadable;
        return { rows: page.records, cursor: page.cursor };
      },
      rowPrinter(columnsFor(asked), asked),
    );
    if (count === 0) await noteNothing('record', { client, chosen, note });
    if (hasMore) note('There are more records; --until and --limit reach them.');
    if (unreadable > 0) note(`${unreadable} records cannot be read by this version of the bridge.`);
  },
});

function columnsFor(style: LineStyle): Columns<AuditRecord> {
  return {
    'RECEIVED AT': ({ received_at }) => received_at,
    CLIENT: ({ client_id }) => client_id,
    CALL: ({ call }) => call,
    ABOUT: ({ project_id, resource = {} }) =>
      [project_id, ...Object.values(resource)].filter((id) => id !== undefined).join(' ') || undefined,
    OUTCOME: ({ outcome = 'open', status }) => {
      const ended = `${outcome}${status === undefined ? '' : ` ${status}`}`;
      return outcome === 'done' ? ended : paint(outcome === 'refused' ? 'yellow' : 'red', ended, style);
    },
    'REQUEST ID': ({ request_id }) => request_id,
  };
}
