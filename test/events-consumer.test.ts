/** Tests the helpers for subscribers through the path from which they import them. */

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
  test.each(eventCatalog)('parses $detailType', ({ detailType, example }) => {
    expect(
      parseBridgeEvent({ source: 'operations-bridge', 'detail-type': detailType, detail: example }),
    ).toEqual({ detailType, detail: example, replayName: undefined });
  });

  test('names the replay of an event, and returns undefined for other sources and unknown types', () => {
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

  test('accepts new fields and throws when a field is missing', () => {
    const { detail } = anEvent();
    expect(parseBridgeEvent(anEvent({ detail: { ...detail, of_the_future: 1 } }))?.detailType).toBe(
      'Operation State Changed',
    );
    expect(() => parseBridgeEvent(anEvent({ detail: { ...detail, operation_id: undefined } }))).toThrow(
      /operation_id/,
    );
  });
});

test('the detail type narrows the fields for the compiler, too', () => {
  const event = parseBridgeEvent(anEvent());

  if (event?.detailType !== 'Operation State Changed') throw new Error('The event has another detail type');
  expect(event.detail.sequence).toBe(operationStateChanged.example.sequence);
});

test('the duplicate filter finds a copy as long as it remembers the id', () => {
  const isDuplicate = createDuplicateFilter(2);

  expect(['a', 'b', 'a', 'c', 'a'].map(isDuplicate)).toEqual([false, false, true, false, false]);
});
