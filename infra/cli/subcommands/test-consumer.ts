/** `operations-bridge test-consumer` plays the cases of docs/examples/consumer-cases.yaml against a consumer in any language. */

import { EXIT_CODES, UsageError } from '../../process/command.ts';
import type { ConsumerPart, ConsumerResult } from '../examining/consumer-cases.ts';
import { type Asked, acting } from './subcommand.ts';

interface ConsumerValues {
  readonly skip?: readonly string[];
}

export const testConsumerSubcommand = acting<ConsumerValues>({
  usage: 'test-consumer <program>',
  summary:
    'Proves that a consumer in any language deals with copies, order, new values, failed effects and signatures.',
  description:
    'It needs no bridge. The program is started for each case, and answers questions on its input, a line of JSON each; ' +
    'docs/examples/consumer-cases.yaml describes them, and docs/examples/consumer_under_test.py is such a program.',
  examples: [
    'operations-bridge test-consumer "python3 docs/examples/consumer_under_test.py" --skip restart',
    'operations-bridge test-consumer "./my-consumer --as-test" --skip order --skip signatures --json',
  ],
  exitCodes: {
    succeeded: 'the consumer did in every case what it must do',
    failed: 'it did otherwise in at least one case',
  },
  options: [
    ['--skip <part>', 'leaves out what the consumer has not: order, restart, signatures', []],
    ['--json', 'prints each result as a line of JSON'],
  ],
  act: testConsumer,
});

async function testConsumer({
  args: [program = ''],
  values,
  ...asked
}: Asked<ConsumerValues>): Promise<void> {
  // Schemas of all events are built when this is loaded.
  const { CONSUMER_PARTS, playConsumerCases } = await import('../examining/consumer-cases.ts');
  const { skip = [] } = values;
  const isPart = (part: string): part is ConsumerPart => CONSUMER_PARTS.some((known) => known === part);
  const unknown = skip.find((part) => !isPart(part));
  if (unknown !== undefined)
    throw new UsageError(`--skip is "${unknown}"; it takes ${CONSUMER_PARTS.join(', ')}.`);
  const results: ConsumerResult[] = [];
  for await (const result of playConsumerCases(skip.filter(isPart), { program, ...asked })) {
    results.push(result);
    asked.print(values.json ? JSON.stringify(result) : lineOf(result));
  }
  const faulty = results.filter(({ fault }) => fault !== undefined).length;
  asked.note(`${results.length - faulty} of ${results.length} cases passed.`);
  if (faulty > 0) asked.exitWith(EXIT_CODES.failed);
}

function lineOf({ title, fault }: ConsumerResult): string {
  return fault === undefined ? `passed  ${title}` : `FAILED  ${title}\n        ${fault}`;
}
