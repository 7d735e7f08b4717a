import { describe, expect, test } from 'vitest';
import { createRelayLedger } from '../../shared/protocol/relay-records.ts';
import { anOperation, aRecord } from '../builders.ts';

const three = (id: string, project_id = anOperation().project_id) =>
  aRecord(
    { id, project_id, status: 'scheduling' },
    { id, project_id, status: 'running' },
    { id, project_id, status: 'finished' },
  );

describe('the claim on a record', () => {
  test('is given to one, and again once it was released', () => {
    const ledger = createRelayLedger();
    const record = three('a');

    expect(ledger.claim(record)).toBe(true);
    expect(ledger.claim(record)).toBe(false);
    ledger.release(record);
    expect(ledger.claim(record)).toBe(true);
  });

  test('is on the item, whatever was read of it', () => {
    const ledger = createRelayLedger();
    ledger.claim(three('a'));

    expect(ledger.claim(aRecord({ id: 'a' }))).toBe(false);
  });

  test('is on nothing but this item: neither on another operation nor on one with that id in another project', () => {
    const ledger = createRelayLedger();
    ledger.claim(three('a'));

    expect(ledger.claim(three('b'))).toBe(true);
    expect(ledger.claim(three('a', 'loud-lake-12345678'))).toBe(true);
  });
});

describe('what was acknowledged', () => {
  test('is known of a copy that was read before', () => {
    const ledger = createRelayLedger();
    const record = three('a');

    ledger.noteAcknowledged(record, { through: 2, derived: 2 });

    expect(ledger.asKnown(record)).toEqual({ ...record, published: 2 });
  });

  test('says nothing of another record, which stays the very same', () => {
    const ledger = createRelayLedger();
    ledger.noteAcknowledged(three('a'), { through: 3, derived: 3 });
    const other = three('b');

    expect(ledger.asKnown(other)).toBe(other);
  });

  test('is never taken back by a slower acknowledgement of less', () => {
    const ledger = createRelayLedger();
    const record = three('a');

    ledger.noteAcknowledged(record, { through: 3, derived: 3 });
    ledger.noteAcknowledged(record, { through: 1, derived: 1 });

    expect(ledger.asKnown(record).published).toBe(3);
  });

  test('does not take back what the table knows better', () => {
    const ledger = createRelayLedger();
    const record = { ...three('a'), published: 3 };
    ledger.noteAcknowledged(record, { through: 2, derived: 2 });

    expect(ledger.asKnown(record)).toBe(record);
  });

  test('is never more than a copy holds: what a newer revision adds is not published', () => {
    const ledger = createRelayLedger();
    ledger.noteAcknowledged(three('a'), { through: 3, derived: 3 });
    const early = aRecord({ id: 'a', status: 'scheduling' });

    expect(ledger.asKnown(early)).toEqual({ ...early, published: 1 });
  });

  test('is remembered of the latest ten thousand records', () => {
    const ledger = createRelayLedger();
    const record = three('a');
    const named = (place: number) => ({ ...record, operation_id: `other-${place}` });
    ledger.noteAcknowledged(record, { through: 3, derived: 3 });
    ledger.noteAcknowledged(named(0), { through: 3, derived: 3 });
    for (let place = 1; place < 9_999; place++)
      ledger.noteAcknowledged(named(place), { through: 3, derived: 3 });

    expect(ledger.asKnown(record).published).toBe(3);
    ledger.noteAcknowledged(record, { through: 3, derived: 3 });
    ledger.noteAcknowledged(named(9_999), { through: 3, derived: 3 });

    expect(ledger.asKnown(record).published).toBe(3);
    expect(ledger.asKnown(named(1)).published).toBe(3);
    expect(ledger.asKnown(named(0)).published).toBe(0);
  });
});
