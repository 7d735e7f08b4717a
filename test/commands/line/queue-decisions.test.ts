import { describe, expect, test } from 'vitest';
import { decideLineStep } from '../../../functions/commands/line.ts';
import { decideSentOutcome } from '../../../functions/commands/send-next.ts';
import {
  openAnswer,
  openRequest,
  REQUEST_BYTES_MAX,
  sealAnswer,
  sealRequest,
} from '../../../shared/commands/queue-store.ts';
import {
  beginSending,
  COMMAND_STATES,
  emptyLine,
  hasSettled,
  LINE_ENTRIES_MAX,
  leaveLine,
  lineHeldBy,
  lineWith,
  lineWithout,
  nextEntry,
  type ProjectLine,
  type QueuedCommand,
  returnToLine,
  SENDING_MS_MAX,
  standingOf,
} from '../../../shared/commands/queued-command.ts';
import { holdsLock } from '../../../shared/commands/send-command.ts';
import type { Sent } from '../../../shared/commands/send-once.ts';
import { endedWithoutOperations } from '../../../shared/records/command-record.ts';
import { createSecret } from '../../../shared/runtime/secret.ts';
import { UpstreamError } from '../../../shared/upstream/upstream-error.ts';

const NOW_MS = Date.UTC(2026, 0, 15, 12);

const aCommand = (fields: Partial<QueuedCommand> = {}): QueuedCommand => ({
  account_id: 'main',
  command_id: 'command-1',
  project_id: 'bold-sound-12345678',
  client_id: 'deployer',
  call: 'restartEndpoint',
  ids: { project_id: 'bold-sound-12345678', endpoint_id: 'ep-little-smoke-851426' },
  state: 'queued',
  revision: 1,
  accepted_at: '2026-01-15T12:00:00.000Z',
  deadline_at_ms: NOW_MS + 900_000,
  request: 'sealed',
  ...fields,
});

const aLine = (...ids: readonly string[]): ProjectLine =>
  ids.reduce<ProjectLine>(
    (line, command_id, place) =>
      lineWith(line, {
        command_id,
        deadline_at_ms: NOW_MS + 1_000,
        client_id: `app-${place % 3}`,
      }) as ProjectLine,
    emptyLine('main', 'bold-sound-12345678'),
  );

const idsOf = ({ entries }: ProjectLine) => entries.map(({ command_id }) => command_id);

describe('a line', () => {
  test('keeps the order in which commands joined it', () => {
    expect(idsOf(aLine('a', 'b', 'c'))).toEqual(['a', 'b', 'c']);
  });

  test('takes a command once', () => {
    expect(
      lineWith(aLine('a'), { command_id: 'a', deadline_at_ms: NOW_MS, client_id: 'app-0' }),
    ).toBeUndefined();
  });

  test('refuses the command after its hundredth', () => {
    const full = aLine(...Array.from({ length: LINE_ENTRIES_MAX }, (_, place) => `command-${place}`));

    expect(lineWith(full, { command_id: 'one-more', deadline_at_ms: NOW_MS, client_id: 'app-9' })).toBe(
      'full',
    );
  });

  test('waits for the operations of the command that left it', () => {
    const left = lineWithout(aLine('a', 'b'), 'a', ['op-1']);

    expect(left).toMatchObject({ entries: [{ command_id: 'b' }], waiting_for: ['op-1'] });
    expect(lineWithout(aLine('a'), 'b')).toBeUndefined();
  });

  test('is not written again when it waits for the same', () => {
    const hold = { waiting_for: ['op-1', 'op-2'], not_before_ms: 0 };
    const held = lineHeldBy(aLine('a'), hold);

    expect(held).toMatchObject(hold);
    expect(held && lineHeldBy(held, { ...hold, waiting_for: ['op-2', 'op-1'] })).toBeUndefined();
    expect(held && lineHeldBy(held, { ...hold, waiting_for: ['op-1', 'op-3'] })).toBeDefined();
  });

  test('shows a command whose deadline has passed before the first one', () => {
    const line = {
      ...aLine('a'),
      entries: [
        { command_id: 'a', deadline_at_ms: NOW_MS + 1 },
        { command_id: 'b', deadline_at_ms: NOW_MS },
      ],
    };

    expect(nextEntry(line, NOW_MS)?.command_id).toBe('b');
    expect(nextEntry(line, NOW_MS - 1)?.command_id).toBe('a');
  });
});

describe('the next step of a command', () => {
  test.each([
    ['is to be sent while its deadline lies ahead', aCommand(), 'send'],
    ['is its end when the deadline has passed', aCommand({ deadline_at_ms: NOW_MS }), 'expire'],
    ['is left to the process that sends it', beginSending(aCommand(), NOW_MS - SENDING_MS_MAX + 1), 'busy'],
    ['is to settle it when that process is dead', beginSending(aCommand(), NOW_MS - SENDING_MS_MAX), 'lost'],
    ['is to remove its entry when it has left the line', aCommand({ state: 'cancelled' }), 'remove'],
  ] as const)('%s', (_name, command, step) => {
    expect(decideLineStep(command, NOW_MS)).toBe(step);
  });

  test('keeps the sealed request while it may be sent again, and deletes it afterwards', () => {
    const sending = beginSending(aCommand(), NOW_MS);

    expect(returnToLine(sending)).toEqual({ ...aCommand(), revision: 3 });
    const left = leaveLine(sending, { state: 'refused', answer: { status: 404 } }, NOW_MS);
    expect(left).toMatchObject({ state: 'refused', revision: 3, answer: { status: 404 } });
    expect(left).not.toHaveProperty('request');
    expect(left).not.toHaveProperty('sent_until_ms');
  });
});

const answered = (status: number, more: Partial<Extract<Sent, { kind: 'answered' }>> = {}): Sent => ({
  kind: 'answered',
  answer: { status, headers: {}, body: new Uint8Array() },
  ...more,
});

const unanswered = (kind: UpstreamError['kind']): Sent => ({
  kind: 'unanswered',
  failure: new UpstreamError({ kind, method: 'POST', path: '/projects', message: 'It failed.' }),
});

describe('what became of a command that was sent', () => {
  test.each([
    ['runs while its operations are open', answered(201, { operationIds: ['op-1'] }), 'running'],
    ['has succeeded when it started no operation', answered(200), 'succeeded'],
    ['is refused when the answer proves that no work was done', answered(404), 'refused'],
    ['is unknown after a failure that proves nothing', answered(500), 'unknown'],
    ['is refused after a conflict, because it was sent once', answered(409), 'refused'],
    ['is unknown after an answer that it took too long', answered(408), 'unknown'],
    ['is unknown when the answer was lost', unanswered('network'), 'unknown'],
    ['is unknown when the answer came too late', unanswered('timeout'), 'unknown'],
  ] as const)('%s', (_name, sent, state) => {
    expect(decideSentOutcome(sent, true, NOW_MS)).toMatchObject({ kind: 'ended', state });
  });

  test('waits for the operations that hold the lock, and for no time', () => {
    expect(decideSentOutcome(answered(423, { lockedBy: ['op-1'] }), true, NOW_MS)).toEqual({
      kind: 'held',
      waitingFor: ['op-1'],
      pauseMs: 0,
      isLocked: true,
    });
  });

  test('pauses for as long as the upstream asks, and for a while when the holder of the lock is not known', () => {
    const answer = { status: 429, headers: { 'retry-after': '7' }, body: new Uint8Array() };

    expect(decideSentOutcome(answered(429, { answer }), true, NOW_MS)).toMatchObject({ pauseMs: 7_000 });
    expect(decideSentOutcome(answered(423), true, NOW_MS)).toMatchObject({ kind: 'held', pauseMs: 5_000 });
  });

  test('stays in line when nothing was sent, or when the upstream refused the key of the bridge', () => {
    expect(decideSentOutcome(unanswered('cancelled'), false, NOW_MS)).toMatchObject({ kind: 'held' });
    expect(decideSentOutcome(unanswered('unauthorized'), true, NOW_MS)).toMatchObject({ kind: 'held' });
  });

  test('has failed when its form can no longer be sent', () => {
    expect(decideSentOutcome(unanswered('rejected'), false, NOW_MS)).toMatchObject({ state: 'failed' });
  });
});

describe('how far a command is', () => {
  const running = aCommand({ state: 'running' });
  const recordOf = (outcome: 'succeeded' | 'failed' | 'incomplete') =>
    endedWithoutOperations({ ...running, request_id: running.command_id }, outcome, NOW_MS);

  test('is said by its item until its operations have ended, and then by their record', () => {
    expect(standingOf(running, undefined).state).toBe('running');
    expect(standingOf(running, recordOf('succeeded')).state).toBe('succeeded');
    expect(standingOf(running, recordOf('failed')).state).toBe('failed');
    expect(standingOf(aCommand(), recordOf('succeeded')).state).toBe('queued');
  });

  test('is incomplete, with the reason, when the time for its operations is over', () => {
    expect(standingOf(running, recordOf('incomplete'))).toMatchObject({
      state: 'incomplete',
      reason: expect.stringContaining('had not all ended'),
    });
  });

  test('is settled in each state but four', () => {
    const unsettled = COMMAND_STATES.filter((state) => !hasSettled({ state }));

    expect(unsettled).toEqual(['awaiting_approval', 'queued', 'sent', 'running']);
  });
});

describe('a sealed request', () => {
  const pepper = createSecret('a-pepper');
  const parts = {
    method: 'POST',
    path: '/projects/{project_id}/branches',
    query: {},
    body: { a: 1 },
  } as const;

  test('opens for its own command and with its own pepper only', () => {
    const sealed = sealRequest(parts, pepper, 'command-1') ?? '';

    expect(openRequest(sealed, pepper, 'command-1')).toEqual(parts);
    expect(openRequest(sealed, pepper, 'command-2')).toBeUndefined();
    expect(openRequest(sealed, createSecret('another'), 'command-1')).toBeUndefined();
    expect(openAnswer(sealed, pepper, 'command-1')).toBeUndefined();
  });

  test('is not made beyond the bound, which leaves room in an item of the table', () => {
    const body = { text: 'x'.repeat(REQUEST_BYTES_MAX) };
    const fitting = { text: 'x'.repeat(REQUEST_BYTES_MAX - 200) };

    expect(sealRequest({ ...parts, body }, pepper, 'command-1')).toBeUndefined();
    expect(sealRequest({ ...parts, body: fitting }, pepper, 'command-1')?.length).toBeLessThan(380_000);
  });

  test('and a sealed answer show nothing of their text', () => {
    const sealed = sealAnswer('{"endpoint":"ep-1"}', pepper, 'command-1');

    expect(sealed).not.toContain('ep-1');
    expect(openAnswer(sealed, pepper, 'command-1')).toBe('{"endpoint":"ep-1"}');
  });
});

describe('the lock of a project', () => {
  test.each([
    ['scheduling', 'start_compute', true],
    ['running', 'apply_config', true],
    ['cancelling', 'create_branch', true],
    ['failed', 'apply_config', false],
    ['finished', 'start_compute', false],
    ['running', 'check_availability', false],
  ])('an operation that is %s (%s): held is %s', (status, action, isHeld) => {
    expect(holdsLock({ status, action, watch_ended: false })).toBe(isHeld);
  });

  test('is not held by an operation that has vanished', () => {
    expect(holdsLock({ status: 'running', action: 'start_compute', watch_ended: true })).toBe(false);
  });
});
