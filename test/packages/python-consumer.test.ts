/** Runs the Python consumer of docs/bindings.md with the system's Python, beside the TypeScript package as its measure. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import type * as z from 'zod';
import { createDuplicateFilter } from '../../infra/packages/events/duplicate-filter.ts';
import { parseBridgeEvent } from '../../infra/packages/events/parse-bridge-event.ts';
import { createSequenceGuard } from '../../infra/packages/events/sequence-guard.ts';
import { verifySignature } from '../../infra/packages/events/verify-signature.ts';
import { ROOT } from '../../infra/release/root.ts';
import { commandSettled, eventCatalog, operationStateChanged } from '../../shared/events/catalog.ts';

const FOLDER = join(ROOT, 'docs/examples');
const isMissing = spawnSync('python3', ['--version']).status !== 0;
const reason = 'not checked: this machine has no python3';

function python(program: string, input: unknown): unknown {
  const script = `import json, sys\nimport bridge_consumer as consumer\ninput = json.load(sys.stdin)\n${program}`;
  const { status, stdout, stderr } = spawnSync('python3', ['-B', '-c', script], {
    cwd: FOLDER,
    encoding: 'utf8',
    input: JSON.stringify(input),
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

const changed = (fields: Partial<typeof operationStateChanged.example>) => ({
  source: 'operations-bridge',
  'detail-type': operationStateChanged.detailType,
  detail: { ...operationStateChanged.example, of_the_future: 1, ...fields },
});
const STREAM = [
  changed({ id: 'a', sequence: 1, status: 'running' }),
  changed({ id: 'c', sequence: 3, status: 'finished' }),
  changed({ id: 'b', sequence: 2, status: 'failed' }),
  changed({ id: 'c', sequence: 3, status: 'finished' }),
  changed({ id: 'd', sequence: 1, operation_id: 'another' }),
  changed({ id: 'e', sequence: 1, account_id: 'another' }),
  { ...changed({ id: 'f', sequence: 9 }), source: 'aws.ec2' },
  { source: 'operations-bridge', 'detail-type': commandSettled.detailType, detail: commandSettled.example },
  { source: 'operations-bridge', 'detail-type': 'Of The Future', detail: {} },
];

test('the Python consumer finds the same events to be news as the TypeScript package', ({ skip }) => {
  if (isMissing) return skip(reason);
  const isDuplicate = createDuplicateFilter();
  const isOutdated = createSequenceGuard();
  const expected = STREAM.map((event) => {
    const parsed = parseBridgeEvent(event);
    if (parsed === undefined || isDuplicate(parsed.detail.id)) return false;
    return !isOutdated(parsed);
  });

  const said = python('print(json.dumps([consumer.handle(event) for event in input]))', STREAM) as unknown[];

  expect(said.map((sentence) => sentence !== null)).toEqual(expected);
  expect(said[0]).toBe('start_compute of solitary-cell-58208823 is running, 0 failed');
});

test('its Lambda handler gives back only the messages that failed', ({ skip }) => {
  if (isMissing) return skip(reason);
  const incomplete = changed({ id: 'g' });
  const bodies = [JSON.stringify(STREAM[0]), 'no JSON', JSON.stringify({ ...incomplete, detail: {} })];
  const Records = bodies.map((body, place) => ({ messageId: `m${place}`, body }));

  const answer = python(
    'import contextlib\nwith contextlib.redirect_stdout(sys.stderr): answer = consumer.handler(input)\nprint(json.dumps(answer))',
    { Records },
  );

  expect(answer).toEqual({ batchItemFailures: [{ itemIdentifier: 'm1' }, { itemIdentifier: 'm2' }] });
});

test('it requires only fields that its events always have', () => {
  const source = readFileSync(join(FOLDER, 'bridge_consumer.py'), 'utf8');
  const table = /REQUIRED = \{([\s\S]*?)\n\}/.exec(source)?.[1] ?? '';
  const rows = [...table.matchAll(/"([^"]+)": \(([^)]*)\)/g)];
  const requiredOf = (detailType: string | undefined) => {
    const definition = eventCatalog.find((each) => each.detailType === detailType);
    const fields = Object.entries<z.ZodType>(definition?.detail.shape ?? {});
    return fields.filter(([, field]) => !field.safeParse(undefined).success).map(([name]) => name);
  };

  expect(rows).toHaveLength(2);
  for (const [, detailType, names = ''] of rows)
    expect(requiredOf(detailType)).toEqual(
      expect.arrayContaining([...names.matchAll(/"(\w+)"/g)].map(([, name]) => name)),
    );
});

test('it accepts and refuses the same signatures as the TypeScript package', ({ skip }) => {
  if (isMissing) return skip(reason);
  const secret = `whsec_${Buffer.from('a secret of thirty-two bytes....').toString('base64')}`;
  const other = `whsec_${Buffer.from('another secret of 32 bytes......').toString('base64')}`;
  const body = JSON.stringify({ hello: 'wörld' });
  const signed = (at: Date) => ({
    'Webhook-Id': 'evt_1',
    'Webhook-Timestamp': String(Math.floor(at.getTime() / 1_000)),
    'Webhook-Signature': `v1,bm90IHRoaXMgb25l ${new Webhook(secret).sign('evt_1', at, body)}`,
  });
  const now = signed(new Date());
  const requests = [
    { body, headers: now, secrets: [secret] },
    { body, headers: now, secrets: [other, secret] },
    { body, headers: now, secrets: [other] },
    { body: `${body} `, headers: now, secrets: [secret] },
    { body, headers: { ...now, 'Webhook-Id': 'evt_2' }, secrets: [secret] },
    { body, headers: {}, secrets: [secret] },
    { body, headers: signed(new Date(Date.now() - 360_000)), secrets: [secret] },
  ];
  const isGenuine = (request: (typeof requests)[number]) => {
    try {
      const headers = request.headers as Record<string, string>;
      return verifySignature(request.body, headers, request.secrets) !== undefined;
    } catch {
      return false;
    }
  };

  const verdicts = python(
    `
def genuine(request):
    try:
        return consumer.verify_signature(request["body"].encode(), request["headers"], request["secrets"]) is not None
    except consumer.SignatureError:
        return False
print(json.dumps([genuine(request) for request in input]))`,
    requests,
  );

  expect(verdicts).toEqual([true, true, false, false, false, false, false]);
  expect(verdicts).toEqual(requests.map(isGenuine));
});
