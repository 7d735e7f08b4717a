/** `operations-bridge incidents` shows what fails, and says that a person takes care of it. */

import * as z from 'zod';
import { parseInteger, UsageError } from '../../process/command.ts';
import { type FilterValues, filterRows, noteNothing, queryOf, readFilters } from '../filters.ts';
import { type Columns, rowPrinter, showPages } from '../pages.ts';
import { type Asked, asking, group, type OptionRow } from './subcommand.ts';

const FILTERS = ['project', 'action'] as const;

interface ListValues extends FilterValues<(typeof FILTERS)[number]> {
  readonly ended?: true;
  readonly limit: string;
}

const PATH = '/bridge/v1/incidents';

const JSON_ROW: OptionRow = ['--json', 'prints each incident as a line of JSON'];

const incident = z.looseObject({
  incident_id: z.string(),
  project_id: z.string().optional(),
  action: z.string().optional(),
  state: z.string(),
  began_at: z.string(),
  failing_operation_count: z.number(),
  acknowledged: z.looseObject({ client_id: z.string(), at: z.string() }).optional(),
});

const page = z.looseObject({ incidents: z.array(incident), cursor: z.string().optional() });

type Incident = z.output<typeof incident>;

const COLUMNS: Columns<Incident> = {
  INCIDENT: ({ incident_id }) => incident_id,
  SINCE: ({ began_at }) => began_at,
  STATE: ({ state }) => state.replaceAll('_', ' '),
  WHAT: ({ project_id, action = 'an unknown action' }) =>
    project_id === undefined ? 'the account' : `${action} in ${project_id}`,
  OPERATIONS: ({ project_id, failing_operation_count: count }) =>
    project_id === undefined ? undefined : count,
  'ACKNOWLEDGED BY': ({ acknowledged }) => acknowledged?.client_id,
};

/** This many pages hold 20,000 incidents. */
const PAGES_MAX = 200;

const list = asking<ListValues>({
  usage: 'list',
  summary: 'Shows the incidents that have not ended, the newest first.',
  examples: ['operations-bridge incidents list --project icy-hat-70322459 --json'],
  options: [
    JSON_ROW,
    ['--ended', 'those that have ended, instead'],
    ...filterRows('incidents', FILTERS),
    ['--limit <n>', 'number of incidents, up to 1000', '50'],
  ],
  async act(asked) {
    const { connect, note, values } = asked;
    const most = parseInteger('limit', values.limit, { min: 1, max: 1_000 });
    const { ended } = values;
    const chosen = readFilters(values, FILTERS, note);
    const choice = { state: ended ? 'ended' : 'open', ...queryOf(chosen) };
    const client = await connect();
    const { count, hasMore } = await showPages(
      { most, pagesMax: PAGES_MAX },
      async (part) => {
        const query = { ...choice, ...part };
        const { incidents: rows, cursor } = await client.read({ method: 'GET', path: PATH, query }, page);
        return { rows, cursor };
      },
      rowPrinter(COLUMNS, asked),
    );
    if (count === 0) await noteNothing(ended ? 'ended incident' : 'open incident', { client, chosen, note });
    if (hasMore) note('There are more incidents; --limit reaches them.');
  },
});

const acknowledge = asking<{ readonly reason?: string }>({
  usage: 'acknowledge <id>',
  summary: 'Says that a person takes care of an incident.',
  description:
    'It needs a token with alerts:mute. Further failures of the incident and its reminders wake no one until it ends or gets worse. An incident that was given up ends.',
  examples: [
    'operations-bridge incidents acknowledge 0123456789abcdef0123456789abcdef --reason "I look at it"',
  ],
  options: [JSON_ROW, ['--reason <text>', 'what people should know about it']],
  act: (asked) => change(asked, 'POST', JSON.stringify({ reason: asked.values.reason })),
});

const withdraw = asking({
  usage: 'withdraw <id>',
  summary: 'Withdraws the acknowledgement of an incident that has not ended.',
  description: 'It needs a token with alerts:mute. What fails then wakes people again.',
  examples: ['operations-bridge incidents withdraw 0123456789abcdef0123456789abcdef'],
  options: [JSON_ROW],
  act: (asked) => change(asked, 'DELETE'),
});

async function change(asked: Asked<unknown>, method: string, body?: string): Promise<void> {
  const [id = ''] = asked.args;
  if (!/^[0-9a-f]{32}$/.test(id))
    throw new UsageError(`"${id}" is no id of an incident; "operations-bridge incidents list" shows them.`);
  const request = { method, path: `${PATH}/${id}/acknowledgement`, ...(body !== undefined && { body }) };
  const client = await asked.connect();
  rowPrinter(COLUMNS, asked)([await client.read(request, incident)]);
}

export const incidentsSubcommand = group(
  {
    usage: 'incidents',
    summary: 'Shows what fails, and says that a person takes care of it.',
    examples: [
      'operations-bridge incidents list',
      'operations-bridge incidents acknowledge 0123456789abcdef0123456789abcdef --reason "I look at it"',
    ],
  },
  [list, acknowledge, withdraw],
);
