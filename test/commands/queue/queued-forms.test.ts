import { describe, expect, test } from 'vitest';
import { openRequest, REQUEST_BYTES_MAX, sealRequest } from '../../../shared/commands/queue-store.ts';
import {
  emptyLine,
  leaveLine,
  lineHeldBy,
  lineWith,
  lineWithout,
  type ProjectLine,
  type QueuedCommand,
} from '../../../shared/commands/queued-command.ts';
import { createSecret } from '../../../shared/runtime/secret.ts';
import { NOON_MS } from '../../builders.ts';

const PEPPER = createSecret('a-pepper');

describe('a sealed request', () => {
  test.each(['POST', 'PUT', 'PATCH', 'DELETE'] as const)('opens with its method: %s', (method) => {
    const parts = { method, path: '/projects/{project_id}', query: {} };
    const sealed = sealRequest(parts, PEPPER, 'command-1') ?? '';

    expect(openRequest(sealed, PEPPER, 'command-1')).toEqual(parts);
  });

  test('has at most 256,000 bytes before it is sealed', () => {
    const partsOf = (text: string) => ({ method: 'POST', path: '/', query: { text } }) as const;
    const spare = REQUEST_BYTES_MAX - JSON.stringify(partsOf('')).length;

    expect(sealRequest(partsOf('x'.repeat(spare)), PEPPER, 'command-1')).toBeDefined();
    expect(sealRequest(partsOf('x'.repeat(spare + 1)), PEPPER, 'command-1')).toBeUndefined();
    expect(sealRequest(partsOf('é'.repeat(spare)), PEPPER, 'command-1')).toBeUndefined();
  });
});

describe('a line', () => {
  const line = lineWith(emptyLine('main', 'bold-sound-12345678'), {
    command_id: 'a',
    deadline_at_ms: NOON_MS,
    client_id: 'deployer',
  });
  const waiting = lineHeldBy(line as ProjectLine, { waiting_for: ['op-1'], not_before_ms: 0 }) as ProjectLine;

  test('waits for nothing before its first command is to be sent', () => {
    expect(line).toMatchObject({ revision: 1, waiting_for: [], not_before_ms: 0 });
  });

  test('goes on waiting when a command that started nothing leaves it', () => {
    expect(lineWithout(waiting, 'a')).toMatchObject({ entries: [], waiting_for: ['op-1'] });
    expect(lineWithout(waiting, 'a', [])).toMatchObject({ waiting_for: ['op-1'] });
    expect(lineWithout(waiting, 'a', ['op-2'])).toMatchObject({ waiting_for: ['op-2'] });
  });

  test('is written again when it waits for less', () => {
    const two = lineHeldBy(waiting, { waiting_for: ['op-1', 'op-2'], not_before_ms: 0 }) as ProjectLine;

    expect(lineHeldBy(two, { waiting_for: ['op-1'], not_before_ms: 0 })).toMatchObject({
      waiting_for: ['op-1'],
    });
  });
});

describe('a command that leaves the line', () => {
  test('has no reason when its state says everything', () => {
    const command = { state: 'sent', revision: 2, request: 'sealed' } as unknown as QueuedCommand;

    expect(leaveLine(command, { state: 'succeeded' }, NOON_MS)).toStrictEqual({
      state: 'succeeded',
      revision: 3,
      left_line_at: '2026-01-15T12:00:00.000Z',
    });
  });
});
