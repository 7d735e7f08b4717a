/** `operations-bridge mutes` shows which alerts wait and why, and has alerts wait for a time. */

import * as z from 'zod';
import { MUTE_MS_MAX, MUTE_MS_MIN } from '../../../shared/alerts/mutes.ts';
import { parseDuration, UsageError } from '../../process/command.ts';
import { type Chosen, checkProjects, type FilterValues, filterRows, readFilters } from '../filters.ts';
import { type Columns, rowPrinter } from '../pages.ts';
import { type Asked, asking, group, type OptionRow, REQUIRED } from './subcommand.ts';

const FILTERS = ['project', 'action', 'incident'] as const;

interface AddValues extends FilterValues<(typeof FILTERS)[number]> {
  readonly all?: true;
  readonly for: string;
  readonly reason: string;
}

const PATH = '/bridge/v1/mutes';

const JSON_ROW: OptionRow = ['--json', 'prints each mute as a line of JSON'];

const mute = z.looseObject({
  mute_id: z.string(),
  project_id: z.string().optional(),
  action: z.string().optional(),
  incident_id: z.string().optional(),
  reason: z.string(),
  client_id: z.string(),
  until: z.string(),
  configured: z.literal(true).optional(),
  project_ids: z.array(z.string()).optional(),
});

type Mute = z.output<typeof mute>;

const COLUMNS: Columns<Mute> = {
  MUTE: ({ mute_id }) => mute_id,
  UNTIL: ({ until }) => until,
  ALERTS: alertsOf,
  BY: ({ configured, client_id }) => (configured ? 'the configuration' : client_id),
  REASON: ({ configured, reason }) => (configured ? undefined : reason),
};

const list = asking({
  usage: 'list',
  summary: 'Shows the mutes that have not ended; the one that ends first comes first.',
  examples: ['operations-bridge mutes list --json'],
  options: [JSON_ROW],
  async act(asked) {
    const { print, values } = asked;
    const client = await asked.connect();
    const { mutes } = await client.read({ method: 'GET', path: PATH }, z.object({ mutes: z.array(mute) }));
    if (mutes.length === 0 && !values.json) print('Nothing is muted.');
    rowPrinter(COLUMNS, asked)(mutes);
  },
});

const add = asking<AddValues>({
  usage: 'add',
  summary: 'Has alerts wait that fit all the options, or with --all those of the whole account.',
  description:
    'It needs a token with alerts:mute. Each project, with each action, gets a mute of its own. When a mute ends, what still fails is reported, and what has recovered is only counted.',
  examples: [
    'operations-bridge mutes add --project icy-hat-70322459 --for 2h --reason "a migration"',
    'operations-bridge mutes add --action create_branch --for 30m --reason "known, see INC-7"',
  ],
  options: [
    JSON_ROW,
    ...filterRows('alerts', FILTERS),
    ['--all', 'all alerts of the account'],
    ['--for <d>', 'how long, from 1m to 720h', REQUIRED],
    ['--reason <text>', 'why; people see it beside the mute', REQUIRED],
  ],
  async act(asked) {
    const { connect, note, values } = asked;
    const duration_seconds = muteSecondsOf(values.for);
    const chosen = readFilters(values, FILTERS, note);
    if (!(await isMeant(chosen, asked))) return note('Nothing was muted.');
    const client = await connect();
    await checkProjects(client, chosen, note);
    const show = rowPrinter(COLUMNS, asked);
    for (const scope of scopesIn(chosen)) {
      const body = JSON.stringify({ ...scope, duration_seconds, reason: values.reason });
      show([await client.read({ method: 'POST', path: PATH, body }, mute)]);
    }
  },
});

/** A mute of the whole account must be asked for by its name, or confirmed. Throws `UsageError`. */
async function isMeant(chosen: Chosen, { values, confirm }: Asked<AddValues>): Promise<boolean> {
  const isAll = Object.keys(chosen).length === 0;
  if (values.all && !isAll)
    throw new UsageError('--all mutes the whole account; leave it out, or leave the filters out.');
  if (values.all || !isAll) return true;
  if (confirm === undefined)
    throw new UsageError('Name a project, an action or an incident; --all mutes the whole account.');
  return confirm(`Mute all alerts of the account for ${values.for}?`);
}

/** A mute has at most one project, one action and one incident. */
function scopesIn(chosen: Chosen): readonly object[] {
  return Object.entries(chosen).reduce<readonly object[]>(
    (scopes, [field, texts = []]) =>
      scopes.flatMap((scope) => texts.map((text) => ({ ...scope, [field]: text }))),
    [{}],
  );
}

/** Throws `UsageError` for what is no duration, and for one that no mute can have. */
function muteSecondsOf(text: string): number {
  const durationMs = parseDuration('for', text);
  if (durationMs >= MUTE_MS_MIN && durationMs <= MUTE_MS_MAX) return durationMs / 1_000;
  throw new UsageError(`--for is "${text}"; a mute lasts from 1m to 720h.`);
}

const remove = asking({
  usage: 'remove <id>',
  summary: 'Ends a mute now; what still fails is reported within a minute.',
  description: 'It needs a token with alerts:mute.',
  examples: ['operations-bridge mutes remove 2f6d3a54-1d3b-4f5c-9a2b-1f0f4f3f9f10'],
  options: [JSON_ROW],
  async act({ args: [id = ''], connect, show }) {
    if (!/^[\w-]{1,100}$/.test(id))
      throw new UsageError(`"${id}" is no id of a mute; "operations-bridge mutes list" shows them.`);
    const lifted = await (await connect()).read({ method: 'DELETE', path: `${PATH}/${id}` }, mute);
    show(lifted, `The mute ${id} has ended.`);
  },
});

export const mutesSubcommand = group(
  {
    usage: 'mutes',
    summary: 'Has alerts wait for a time, and shows which ones wait, until when and why.',
    examples: [
      'operations-bridge mutes add --project icy-hat-70322459 --for 2h --reason "a migration"',
      'operations-bridge mutes list',
    ],
  },
  [list, add, remove],
);

function alertsOf({ configured, project_ids, project_id, action, incident_id }: Mute): string {
  if (configured) return project_ids === undefined ? 'all accounts' : `all in ${project_ids.join(', ')}`;
  const place =
    project_id === undefined ? (action ?? 'the whole account') : `${action ?? 'all'} in ${project_id}`;
  return incident_id === undefined ? place : `incident ${incident_id} (${place})`;
}
