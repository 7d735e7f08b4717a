/** `operations-bridge subscribe` writes a complete subscription as a file: rule, target, permission, dead-letter queue. */

import { writeFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import {
  FILE_FORMS,
  type FileForm,
  faultsOf,
  isBusName,
  isSubscriptionName,
  SUBJECT_NAMES,
  type SubjectName,
  type Subscription,
  subjectOf,
  subscriptionPattern,
  subscriptionSummary,
  TARGET_KINDS,
  type TargetKind,
} from '../../../shared/events/subscription/subscription.ts';
import { UsageError } from '../../process/command.ts';
import { codeOf } from '../../process/operating-system.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import { createSubcommand } from './subcommand.ts';

interface SubscribeValues extends Readonly<Record<string, unknown>> {
  readonly project?: readonly string[];
  readonly account?: readonly string[];
  readonly action?: readonly string[];
  readonly status?: readonly string[];
  readonly replays: boolean;
  readonly to: TargetKind;
  readonly as: FileForm;
  readonly name?: string;
  readonly bus: string;
  readonly output?: string;
  readonly json?: true;
}

export function subscribeSubcommand(surroundings: Surroundings): Command {
  const command = createSubcommand({
    usage: 'subscribe',
    summary: 'Writes a complete subscription to the events of a bridge, as a file to deploy.',
    description:
      'The file has the rule, its target, the permission for the rule to send there, a dead-letter queue and the retry policy. ' +
      'It goes to the standard output, or to --output. Nothing is deployed, and no connection is needed. ' +
      'A filter that is given several times accepts each of its values.',
    examples: [
      'operations-bridge subscribe --failed --project icy-hat-70322459 --to sqs --as cloudformation --output failures.yaml',
      'operations-bridge subscribe --ended --action create_branch --to lambda --as terraform',
      'operations-bridge subscribe --commands --status failed --status incomplete --to email --as cli',
    ],
    exitCodes: { succeeded: 'the file is written' },
  });
  for (const name of SUBJECT_NAMES) {
    const { flag, meaning } = subjectOf(name);
    command.option(`--${flag}`, meaning);
  }
  return declareFilterOptions(command)
    .addOption(chosenOption('--to <target>', 'where the events go', TARGET_KINDS))
    .addOption(chosenOption('--as <form>', 'how the file is written', FILE_FORMS))
    .option(
      '--name <name>',
      'names the rule, its queues and the file; otherwise they are named after the events',
    )
    .option('--bus <name>', 'the bus of the bridge: "name" in bridge.config.ts', 'operations-bridge')
    .option('--output <file>', 'writes a new file instead of the standard output')
    .option('--json', 'prints the pattern, the text of the file and how to deploy it as JSON')
    .action((values: SubscribeValues) => subscribe(values, surroundings));
}

function declareFilterOptions(command: Command): Command {
  const several = (text: string, before: readonly string[] = []) => [...before, text];
  return command
    .option('--project <id>', 'only events of this project', several)
    .option('--account <id>', 'only events of this account', several)
    .option('--action <action>', 'only operations of this action, such as create_branch', several)
    .option('--status <status>', 'only this status, state of a compute, or outcome of a command', several)
    .option('--no-replays', 'leaves out the copies of past events that a replay sends');
}

function chosenOption(flags: string, description: string, choices: object): Option {
  return new Option(flags, description).choices(Object.keys(choices)).makeOptionMandatory();
}

async function subscribe(values: SubscribeValues, { print, note }: Surroundings): Promise<void> {
  const subscription = readSubscription(values);
  const name = values.name ?? kebabCase(subscription.subject);
  checkNames(name, values.bus);
  const { subscriptionFile } = await import('../../../shared/events/subscription/subscription-file.ts');
  const { to: target, as: form, bus: busName } = values;
  const [pattern, summary] = [subscriptionPattern(subscription), subscriptionSummary(subscription, target)];
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

function readSubscription(values: SubscribeValues): Subscription {
  const subscription: Subscription = {
    subject: readSubject(values),
    projects: values.project ?? [],
    accounts: values.account ?? [],
    actions: values.action ?? [],
    statuses: values.status ?? [],
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
}

/** The library names the value of `--ready-branches` so. */
function camelCase(flag: string): string {
  return flag.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

function kebabCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Throws `UsageError` when the file exists, or cannot be written. */
function writeNewFile(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: 'wx' });
  } catch (error) {
    if (codeOf(error) === 'EEXIST')
      throw new UsageError(`--output is "${path}", which exists; remove it, or name another file.`, {
        cause: error,
      });
    throw new UsageError(
      `--output is "${path}", which cannot be written (${codeOf(error)}); name another file.`,
      {
        cause: error,
      },
    );
  }
}
