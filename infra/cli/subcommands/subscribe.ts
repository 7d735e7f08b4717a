/** `operations-bridge subscribe` writes a complete subscription as a file: rule, target, permission, dead-letter queue. */

import {
  defaultName,
  FILE_FORMS,
  type FileForm,
  faultsOf,
  isBusName,
  isSubscriptionName,
  nameFaults,
  SUBJECT_NAMES,
  type SubjectName,
  type Subscription,
  subjectOf,
  subscriptionPattern,
  subscriptionSummary,
  TARGET_KINDS,
  type TargetKind,
} from '../../../shared/events/subscription/subscription.ts';
import { splitFigures } from '../../../shared/runtime/telemetry.ts';
import { UsageError } from '../../process/command.ts';
import { type FilterValues, filterRows, readFilters } from '../filters.ts';
import { type Asked, acting, type OptionRow, writeNewFile } from './subcommand.ts';

const FILTERS = ['project', 'account', 'action', 'status'] as const;

/** The subjects look at the status of an operation, the state of a compute or the outcome of a command. */
const STATUSES = [
  ...splitFigures.TransitionsByStatus,
  'active',
  'idle',
  'succeeded',
  'incomplete',
  'refused',
  'expired',
  'unknown',
];

interface SubscribeValues extends FilterValues<(typeof FILTERS)[number]>, Readonly<Record<string, unknown>> {
  readonly replays: boolean;
  readonly to: TargetKind;
  readonly as: FileForm;
  readonly name?: string;
  readonly bus: string;
  readonly output?: string;
  readonly json?: true;
}

export const subscribeSubcommand = acting<SubscribeValues>({
  usage: 'subscribe',
  summary: 'Writes a complete subscription to the events of a bridge, as a file to deploy.',
  description:
    'The file has the rule, its target, the permission for the rule to send there, a dead-letter queue and the retry policy. ' +
    'It goes to the standard output, or to --output. Nothing is deployed, and no connection is needed. ' +
    'A status is that of an operation, the state of a compute or the outcome of a command.',
  examples: [
    'operations-bridge subscribe --failed --project icy-hat-70322459 --to sqs --as cloudformation --output failures.yaml',
    'operations-bridge subscribe --ended --action create_branch --to lambda --as terraform',
    'operations-bridge subscribe --commands --status failed --status incomplete --to email --as cli',
  ],
  exitCodes: { succeeded: 'the file is written' },
  options: [
    ...SUBJECT_NAMES.map((name): OptionRow => [`--${subjectOf(name).flag}`, subjectOf(name).meaning]),
    ...filterRows('events', FILTERS),
    ['--no-replays', 'leaves out the copies of past events that a replay sends'],
    ['--to <target>', 'where the events go', Object.keys(TARGET_KINDS)],
    ['--as <form>', 'how the file is written', Object.keys(FILE_FORMS)],
    ['--name <name>', 'names the rule, its queues and the file; otherwise events, filters and target do'],
    ['--bus <name>', 'the bus of the bridge: "name" in bridge.config.ts', 'operations-bridge'],
    ['--output <file>', 'writes a new file instead of the standard output'],
    ['--json', 'prints the pattern, the text of the file and how to deploy it as JSON'],
  ],
  act: subscribe,
});

async function subscribe({ values, print, note }: Asked<SubscribeValues>): Promise<void> {
  const subscription = readSubscription(values, note);
  const { to: target, as: form, bus: busName } = values;
  const [pattern, summary] = [subscriptionPattern(subscription), subscriptionSummary(subscription, target)];
  const name = values.name ?? defaultName(subscription.subject, pattern, target);
  checkNames(name, busName);
  const { subscriptionFile } = await import('../../../shared/events/subscription/subscription-file.ts');
  const { fileName, text, deploy } = subscriptionFile({ name, busName, pattern, target, summary }, form);
  const path = values.output;
  if (path !== undefined) writeNewFile(path, text);
  if (values.json)
    print(JSON.stringify({ file: path ?? fileName, form, target, summary, pattern, deploy, text }));
  else if (path === undefined) print(text.trimEnd());
  note(
    [
      summary,
      'Deploy it with:',
      ...deploy.map((line) => `  ${line.replaceAll(fileName, path ?? fileName)}`),
    ].join('\n'),
  );
}

function readSubscription(values: SubscribeValues, note: (sentence: string) => void): Subscription {
  const subject = readSubject(values);
  const chosen = readFilters(values, FILTERS, note, { status: STATUSES });
  const subscription: Subscription = {
    subject,
    projects: chosen['project_id'] ?? [],
    accounts: chosen['account_id'] ?? [],
    actions: chosen['action'] ?? [],
    statuses: chosen['status'] ?? [],
    replays: values.replays ? 'included' : 'left_out',
  };
  const faults = faultsOf(subscription);
  if (faults.length > 0) throw new UsageError(faults.join(' '));
  return subscription;
}

function readSubject(values: SubscribeValues): SubjectName {
  const [subject, ...others] = SUBJECT_NAMES.filter(
    (name) => values[camelCase(subjectOf(name).flag)] === true,
  );
  if (subject !== undefined && others.length === 0) return subject;
  const flags = SUBJECT_NAMES.map((name) => `--${subjectOf(name).flag}`).join(', ');
  throw new UsageError(`Say with one of these options what the subscriber gets: ${flags}.`);
}

function checkNames(name: string, busName: string): void {
  if (!isSubscriptionName(name))
    throw new UsageError(
      `--name is "${name}"; it takes up to 40 letters, digits and single dashes, and begins with a letter.`,
    );
  if (!isBusName(busName))
    throw new UsageError(
      `--bus is "${busName}"; it takes the name of an event bus, such as operations-bridge.`,
    );
  const faults = nameFaults(name, busName);
  if (faults.length > 0) throw new UsageError(faults.join(' '));
}

/** The library names the value of `--ready-branches` so. */
function camelCase(flag: string): string {
  return flag.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
