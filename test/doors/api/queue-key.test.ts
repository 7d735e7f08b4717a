/** Commands that wait are sealed with the key of the queue, and one that it does not open is told as not sent. */

import { describe, expect, test } from 'vitest';
import { PEPPER, QUEUE_KEY } from '../../api/api-under-test.ts';
import { PROJECT_ID } from '../../api/sample-requests.ts';
import { openApi } from './api-door.ts';

const RESTART = `/api/v2/projects/${PROJECT_ID}/endpoints/ep-little-smoke-851426/restart`;
const answer = () => Response.json({ operations: [] });
/** A first command for a project asks the upstream whether there is one. */
const isCommand = ({ method }: { readonly method: string }) => method !== 'GET';

describe('a command that was sealed with another key, as the pepper sealed it before an upgrade,', () => {
  test.each([PEPPER, `${QUEUE_KEY}-before`])(
    'ends as failed and not sent, for its caller, for subscribers and in a metric: %#',
    async (queueKey) => {
      const measured: string[] = [];
      const before = await openApi(answer, { queueKey });
      const accepted = await before.ask('POST', RESTART, { prefer: 'respond-async' });
      const after = await openApi(answer, {
        memory: before.api.memory,
        onMeasure: (metric) => measured.push(metric),
      });

      await after.work();

      const { body } = await after.ask('GET', accepted.headers.get('location') ?? '');
      expect(accepted.status).toBe(202);
      expect(body.command).toMatchObject({
        state: 'failed',
        reason: 'The bridge can no longer open the request. It was not sent.',
      });
      expect(after.publishedOf('Command Settled')).toMatchObject([{ outcome: 'failed' }]);
      expect(measured).toContain('CommandsUnworkable');
      expect([...before.upstream.sent, ...after.upstream.sent].filter(isCommand)).toEqual([]);
    },
  );
});

test('what a command behind it sends goes out, and its answer can be read', async () => {
  const before = await openApi(answer, { queueKey: PEPPER });
  await before.ask('POST', RESTART, { prefer: 'respond-async' });
  const after = await openApi(answer, { memory: before.api.memory });
  const accepted = await after.ask('POST', RESTART, { prefer: 'respond-async' });

  await after.work();

  const { body } = await after.ask('GET', accepted.headers.get('location') ?? '');
  expect(body.command).toMatchObject({ state: 'succeeded', answer: { status: 200 } });
  expect(JSON.parse(body.command.answer.body)).toEqual({ operations: [] });
  expect(after.upstream.sent.filter(isCommand)).toHaveLength(1);
});
