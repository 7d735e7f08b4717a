/** Writes the tables of docs/deploy/subscribe.md from what the command offers. */

import { TARGET_KINDS } from '../../../shared/events/subscription/subscription-order.ts';
import { SUBJECT_NAMES, subjectOf } from '../../../shared/events/subscription/subscription-subjects.ts';
import { type GeneratedFile, withSections } from './generated-section.ts';

const PAGE = 'docs/deploy/subscribe.md';

export function subscriptionDocs(): readonly GeneratedFile[] {
  return [withSections(PAGE, { subjects: subjectTable(), targets: targetTable() })];
}

function subjectTable(): string {
  const rows = SUBJECT_NAMES.map((name) => {
    const { flag, meaning, detailTypes } = subjectOf(name);
    const types = detailTypes.length === 0 ? 'all' : detailTypes.join(', ');
    return `| \`--${flag}\` | \`${name}: true\` | ${meaning} | ${types} |`;
  });
  return [
    '| option | in `BridgeSubscription` | what the subscriber gets | detail types |',
    '|---|---|---|---|',
    ...rows,
  ].join('\n');
}

/** What permits the rule to deliver there, as the files have it. */
const PERMISSIONS: Readonly<Record<keyof typeof TARGET_KINDS, string>> = {
  sqs: 'the policy of the queue allows `sqs:SendMessage` for `events.amazonaws.com`, from this rule only',
  lambda:
    'a permission of the function allows `lambda:InvokeFunction` for `events.amazonaws.com`, from this rule only',
  eventbus:
    'a role that rules of this account use may `events:PutEvents` there; a bus of another account must allow this account, too',
  https:
    'a role that rules of this account use may `events:InvokeApiDestination`; the key comes from Secrets Manager or the environment',
  email:
    'the policy of the topic allows `sns:Publish` for `events.amazonaws.com`, from this rule only; the first mail has a link to confirm',
};

function targetTable(): string {
  const rows = Object.entries(TARGET_KINDS).map(
    ([kind, meaning]) => `| \`${kind}\` | ${meaning} | ${PERMISSIONS[kind as keyof typeof TARGET_KINDS]} |`,
  );
  return ['| `--to` | target | permission |', '|---|---|---|', ...rows].join('\n');
}
