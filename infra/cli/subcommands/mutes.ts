/** `operations-bridge mutes` shows which alerts wait and why, and has alerts wait for a time. */

import * as z from 'zod';
import { MUTE_MS_MAX, MUTE_MS_MIN } from '../../../shared/alerts/mutes.ts';
import { parseDuration, UsageError } from '../../process/command.ts';
import { asking, group, type OptionRow, REQUIRED } from './subcommand.ts';

interface AddValues {
  readonly project?: string;
  readonly action?: string;
  readonly incident?: string;
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

const list = asking({
  usage: 'list',
  summary: 'Shows the mutes that have not ended; the one that ends first comes first.',
  examples: ['operations-bridge mutes list --json'],
  options: [JSON_ROW],
  async act({ connect, show, print, values }) {
    const client = await connect();
    const { mutes } = await client.read({ method: 'GET', path: PATH }, z.object({ mutes: z.array(mute) }));
    if (mutes.length === 0 && !values.json) print('Nothing is muted.');
    for (const each of mutes) show(each, lineOf(each));
  },
});

const add = asking<AddValues>({
  usage: 'add',
  summary: 'Has alerts wait: all of the account, or those that fit all the options.',
  description:
    'It needs a token with alerts:mute. When the mute ends, what still fails is reported, and what has recovered is only counted.',
  examples: [
    'operations-bridge mutes add --project icy-hat-70322459 --for 2h --reason "a migration"',
    'operations-bridge mutes add --action create_branch --for 30m --reason "known, see INC-7"',
  ],
  options: [
    JSON_ROW,
    ['--project <id>', 'only alerts about this project'],
    ['--action <action>', 'only alerts about this action, such as start_compute'],
    ['--incident <id>', 'only alerts of this incident'],
    ['--for <duration>', 'how long, from 1m to 720h', REQUIRED],
    ['--reason <text>', 'why; people see it beside the mute', REQUIRED],
  ],
  async act({ connect, show, values }) {
    const { project: project_id, action, incident: incident_id, reason } = values;
    const duration_seconds = muteSecondsOf(values.for);
    const body = JSON.stringify({ project_id, action, incident_id, duration_seconds, reason });
    const added = await (await connect()).read({ method: 'POST', path: PATH, body }, mute);
    show(added, lineOf(added));
  },
});

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

/** Returns a line such as `<id>  until 2026-01-15T13:00:00.000Z  start_compute in icy-hat  by ci: a migration`. */
function lineOf({ mute_id, until, client_id, reason, ...scope }: Mute): string {
  if (scope.configured) return `${mute_id}  until ${until}  ${configuredWords(scope)}  by the configuration`;
  return `${mute_id}  until ${until}  ${scopeWords(scope)}  by ${client_id}: ${reason}`;
}

function configuredWords({ project_ids }: Pick<Mute, 'project_ids'>): string {
  return project_ids === undefined ? 'all accounts' : `all in ${project_ids.join(', ')}`;
}

function scopeWords({
  project_id,
  action,
  incident_id,
}: Pick<Mute, 'project_id' | 'action' | 'incident_id'>): string {
  const place =
    project_id === undefined ? (action ?? 'the whole account') : `${action ?? 'all'} in ${project_id}`;
  return incident_id === undefined ? place : `incident ${incident_id} (${place})`;
}
