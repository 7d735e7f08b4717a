import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parseEventPattern } from '../../shared/events/event-pattern.ts';
import { SUBJECT_NAMES, subjectOf } from '../../shared/events/subscription/subscription.ts';
import { runSubcommand } from './bridge-on-this-machine.ts';

const FAILURES = ['subscribe', '--failed', '--project', 'icy-hat-70322459'];

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'subscribe-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

describe('operations-bridge subscribe', () => {
  test('prints the file, and says on the error output what it delivers and how to deploy it', async () => {
    const { code, output, notes } = await runSubcommand([
      ...FAILURES,
      '--to',
      'sqs',
      '--as',
      'cloudformation',
    ]);

    expect(code).toBe(0);
    expect(output).toMatch(
      /^# Delivers each failed attempt.*\n[\s\S]*\n {2}DeadLettersUrl:\n {4}Value: !Ref DeadLetters$/,
    );
    expect(output).toContain('project_id: [icy-hat-70322459]');
    expect(notes.split('\n')).toEqual([
      'Delivers each failed attempt of an operation, and each operation that was given up with an error, where project is icy-hat-70322459, to a new SQS queue.',
      'Deploy it with:',
      expect.stringMatching(
        /^ {2}aws cloudformation deploy --template-file (failures-sqs-[0-9a-f]{8})\.yaml --stack-name \1 --capabilities CAPABILITY_IAM$/,
      ),
    ]);
  });

  test('names two subscriptions differently by default when their events or targets differ', async () => {
    const fileOf = async (...args: readonly string[]) => {
      const { json } = await runSubcommand(['subscribe', '--failed', '--as', 'cli', '--json', ...args]);
      return (json() as { file: string }).file;
    };

    expect(await fileOf('--to', 'sqs')).toBe('failures-sqs.sh');
    expect(await fileOf('--to', 'email')).toBe('failures-email.sh');
    const ofA = await fileOf('--to', 'sqs', '--project', 'a-1');
    expect(ofA).toMatch(/^failures-sqs-[0-9a-f]{8}\.sh$/);
    expect(await fileOf('--to', 'sqs', '--project', 'a-1')).toBe(ofA);
    expect(await fileOf('--to', 'sqs', '--project', 'b-2')).not.toBe(ofA);
    expect(await fileOf('--to', 'sqs', '--no-replays')).not.toBe('failures-sqs.sh');
  });

  test('writes the file to --output, and does not overwrite it', async () => {
    const path = join(newFolder(), 'mine.tf');
    const args = [...FAILURES, '--to', 'lambda', '--as', 'terraform', '--output', path];
    const { output } = await runSubcommand(args);
    const written = readFileSync(path, 'utf8');
    writeFileSync(path, 'work');

    expect(output).toBe('');
    expect(written).toContain('resource "aws_lambda_permission" "failures_lambda_');
    await expect(runSubcommand(args)).rejects.toThrow(
      /mine\.tf", which exists; remove it, or name another file\.$/,
    );
    expect(readFileSync(path, 'utf8')).toBe('work');
  });

  test('says so when the file cannot be written', async () => {
    const path = join(newFolder(), 'absent', 'mine.tf');

    await expect(
      runSubcommand([...FAILURES, '--to', 'sqs', '--as', 'cdk', '--output', path]),
    ).rejects.toThrow(/cannot be written \(ENOENT\); name another file\.$/);
  });

  test('prints everything as JSON', async () => {
    const what = ['--commands', '--status', 'failed', '--status', 'incomplete', '--account', 'main'];
    const file = ['--to', 'email', '--as', 'cli', '--name', 'lost', '--bus', 'my-bus', '--json'];
    const { json, output } = await runSubcommand(['subscribe', ...what, '--no-replays', ...file]);

    expect(output.split('\n')).toHaveLength(1);
    expect(json()).toMatchObject({
      file: 'lost.sh',
      form: 'cli',
      target: 'email',
      deploy: ["EMAIL='<address>' sh lost.sh"],
      pattern: {
        source: ['operations-bridge'],
        'detail-type': ['Command Settled'],
        'replay-name': [{ exists: false }],
        resources: [{ exists: false }],
        detail: { account_id: ['main'], outcome: ['failed', 'incomplete'] },
      },
      text: expect.stringContaining("BUS_NAME='my-bus'"),
    });
  });

  test.each(SUBJECT_NAMES)('has an option for %s', async (subject) => {
    const { detailTypes, flag } = subjectOf(subject);
    const { json } = await runSubcommand(['subscribe', `--${flag}`, '--to', 'sqs', '--as', 'cdk', '--json']);
    const { pattern, file } = json() as { pattern: Record<string, unknown>; file: string };

    expect(pattern['detail-type'] ?? []).toEqual(detailTypes);
    expect(() => parseEventPattern(pattern)).not.toThrow();
    expect(file).toMatch(/^[a-z-]+\.ts$/);
  });

  test.each([
    [
      ['--to', 'sqs', '--as', 'cdk'],
      /^Say with one of these options what the subscriber gets: --failed, --ended,/,
    ],
    [['--failed', '--ended', '--to', 'sqs', '--as', 'cdk'], /^Say with one of these options/],
    [['--failed', '--to', 'sns', '--as', 'cdk'], /Allowed choices are sqs, lambda, eventbus, https, email/],
    [
      ['--failed', '--to', 'sqs', '--as', 'pulumi'],
      /Allowed choices are cdk, cloudformation, terraform, cli/,
    ],
    [['--failed', '--as', 'cdk'], /Required option '--to <target>' not specified/],
    [['--failed', '--status', 'failed', '--to', 'sqs', '--as', 'cdk'], /decides by itself/],
    [
      ['--failed', '--name', '$(id)', '--to', 'sqs', '--as', 'cli'],
      /^--name is "\$\(id\)"; it takes up to 40/,
    ],
    ...['alerts', 'commands', 'the-bus', 'the-bus-alerts'].map((name): [string[], RegExp] => [
      ['--failed', '--name', name, '--bus', 'the-bus', '--to', 'sqs', '--as', 'cli'],
      new RegExp(`^The name "${name}" belongs to the bridge itself.*; choose another name\\.$`),
    ]),
    [['--failed', '--bus', 'a b', '--to', 'sqs', '--as', 'cli'], /^--bus is "a b"; it takes the name/],
  ])('refuses %j with a sentence', async (args, sentence) => {
    await expect(runSubcommand(['subscribe', ...args])).rejects.toThrow(sentence);
  });
});
