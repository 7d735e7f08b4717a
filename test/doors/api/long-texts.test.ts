/** A stranger's text in an answer of the upstream costs a caller no more than its length. */

import { expect, test } from 'vitest';
import { PROJECT_ID } from '../../api/sample-requests.ts';
import { isInProportion, LENGTHS, LONG_TEXTS, textOf, timesOfPlain } from '../long-texts.ts';
import { openApi } from './api-door.ts';

const RESTART = `/api/v2/projects/${PROJECT_ID}/endpoints/ep-little-smoke-851426/restart`;

const OPERATION = {
  id: 'op-1',
  project_id: PROJECT_ID,
  action: 'start_compute',
  status: 'failed',
  failures_count: 1,
  created_at: '2026-01-15T12:00:00Z',
  updated_at: '2026-01-15T12:00:00Z',
};

const texts = Object.entries(LONG_TEXTS).flatMap(([name, part]) =>
  LENGTHS.map((length) => [length, name, part] as const),
);

test.each(texts)('a project whose name has %i characters of %s is read', async (length, _name, part) => {
  let text = '';
  const { as } = await openApi(() => Response.json({ project: { id: PROJECT_ID, name: text } }));
  const ask = await as({ scopes: ['projects:read'] });
  const read = async (name: string) => {
    text = name;
    return ask('GET', `/api/v2/projects/${PROJECT_ID}`);
  };

  expect(isInProportion(await timesOfPlain(read, part, length))).toBe(true);
  expect((await read(textOf(part, length))).status).toBe(200);
});

test.each(texts)(
  'an operation whose error has %i characters of %s is recorded',
  async (length, _name, part) => {
    let error = '';
    const { ask } = await openApi(() => Response.json({ operations: [{ ...OPERATION, error }] }));
    const send = async (text: string) => {
      error = text;
      return ask('POST', RESTART);
    };

    expect(isInProportion(await timesOfPlain(send, part, length))).toBe(true);
  },
);
