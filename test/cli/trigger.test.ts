import { describe, expect, test } from 'vitest';
import { sampleEvent } from '../../infra/cli/sample-event.ts';
import { parseBridgeEvent } from '../../infra/packages/events/delivered-event.ts';
import { eventCatalog } from '../../shared/events/catalog.ts';

const ID = 'ab'.repeat(16);
const sample = (type: string, ...fields: readonly string[]) =>
  sampleEvent({ type, fields, id: ID, nowMs: Date.UTC(2026, 0, 16) });

describe('a sample event', () => {
  test.each(eventCatalog)(
    'of the type $detailType is valid, new, and not one of the bridge',
    ({ detailType }) => {
      const event = sample(detailType);

      expect(event).toMatchObject({ id: ID, source: 'operations-bridge.test', detail: { id: ID } });
      expect(parseBridgeEvent({ ...event, source: 'operations-bridge' })?.detailType).toBe(detailType);
      expect(parseBridgeEvent(event)).toBeUndefined();
    },
  );

  test('has the fields that were set, as JSON where they are JSON', () => {
    const event = sample('operation-state-changed', 'status=failed', 'new_failures=2', 'error=a=b');

    expect(event.detail).toMatchObject({ status: 'failed', new_failures: 2, error: 'a=b' });
  });

  test.each([
    ['operation-state-changed', 'new_failures=many', /--set new_failures is not usable/],
    ['operation-state-changed', 'colour=red', /--set colour is not usable.*the event has the fields schema/],
    ['operation-state-changed', 'status', /--set is "status"; it takes a field and its value/],
    ['operation-ended', 'status=x', /There is no event "operation-ended"; there are Operation State Changed/],
  ])('%s with %s is refused with a sentence', (type, field, sentence) => {
    expect(() => sample(type, field)).toThrow(sentence);
  });
});
