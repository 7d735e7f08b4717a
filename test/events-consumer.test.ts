/** The helpers of subscribers, by the path under which they import them. */

import { createDuplicateFilter, parseBridgeEvent } from 'operations-bridge/events';
import { describe, expect, test } from 'vitest';
import { eventCatalog, operationStateChanged } from '../shared/events/catalog.ts';

const anEvent = (fields: object = {}) => ({
  source: 'operations-bridge',
  'detail-type': 'Operation State Changed',
  detail: eventCatalog.find(({ detailType }) => detailType === 'Operation State Changed')?.example,
  ...fields,
});

describe('parseBridgeEvent', () => {
  test.each(eventCatalog)('knows $detailType', ({ detailType, example }) => {
    expect(
      parseBridgeEvent({ source: 'operations-bridge', 'detail-type': detailType, detail: example }),
    ).toEqual({ detailType, detail: example, replayName: undefined });
  });

  test('tells replays, and leaves other sources and unknown types alone', () => {
    expect(parseBridgeEvent(anEvent({ 'replay-name': 'r' }))?.replayName).toBe('r');
    for (const other of [
      anEvent({ source: 'aws.ec2' }),
      anEvent({ 'detail-type': 'Of The Future' }),
      {},
      null,
      'x',
    ])
      expect(parseBridgeEvent(other)).toBeUndefined();
  });

  test('takes fields that are new, and refuses an event that lacks one', () => {
    const { detail } = anEvent();
    expect(parseBridgeEvent(anEvent({ detail: { ...detail, of_the_future: 1 } }))?.detailType).toBe(
      'Operation State Changed',
    );
    expect(() => parseBridgeEvent(anEvent({ detail: { ...detail, operation_id: undefined } }))).toThrow(
      /operation_id/,
    );
  });
});

test('the detail type tells the fields, also to the compiler', () => {
  const event = parseBridgeEvent(anEvent());

  if (event?.detailType !== 'Operation State Changed') throw new Error('another type');
  expect(event.detail.sequence).toBe(operationStateChanged.example.sequence);
});

test('a copy is seen as one, as long as its id is remembered', () => {
  const isDuplicate = createDuplicateFilter(2);

  expect(['a', 'b', 'a', 'c', 'a'].map(isDuplicate)).toEqual([false, false, true, false, false]);
});
