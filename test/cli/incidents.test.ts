/** What a person does with incidents at a terminal, against the routes of the API. */

import { describe, expect, test } from 'vitest';
import { createIncidentStore, type IncidentRecord } from '../../shared/alerts/incidents.ts';
import { ACCOUNT_ID, createApiUnderTest, listen } from '../api/api-under-test.ts';
import { aClock } from '../builders.ts';
import { anIncident } from '../store/mutes-contract.ts';
import { runSubcommand } from './bridge-on-this-machine.ts';

const ID = '0123456789abcdef0123456789abcdef';
const LINE = `${ID}  2026-01-15T11:58:00.000Z  failing  start_compute in quiet-pond-12345678  1         `;

async function aBridge(...incidents: readonly Partial<IncidentRecord>[]) {
  const api = createApiUnderTest({ upstreamBaseUrl: 'https://upstream.test', upstreamKey: 'a-key' });
  const store = createIncidentStore(api.memory, ACCOUNT_ID, { clock: aClock(() => Date.now()) });
  for (const fields of incidents) {
    const incident = anIncident(fields);
    await store.change(incident.incident_id, () => incident);
  }
  const environment = {
    OPERATIONS_BRIDGE_URL: await listen(api),
    OPERATIONS_BRIDGE_TOKEN: await api.issueToken({ client_id: 'an-operator' }),
  };
  return (...args: readonly string[]) => runSubcommand(['incidents', ...args], { environment });
}

describe('incidents at a terminal', () => {
  test('are listed, acknowledged and withdrawn', async () => {
    const incidents = await aBridge({});

    const listed = await incidents('list');
    const acknowledged = await incidents('acknowledge', ID, '--reason', 'I look at it');
    const shown = await incidents('list', '--json');
    const withdrawn = await incidents('withdraw', ID);

    expect(listed.output).toBe(`${LINE}  -`);
    expect(acknowledged.output).toBe(`${LINE}  an-operator`);
    expect(shown.json()).toMatchObject({
      incident_id: ID,
      acknowledged: { client_id: 'an-operator', reason: 'I look at it' },
    });
    expect(withdrawn.output).toBe(`${LINE}  -`);
  });

  test('that were given up end when they are acknowledged', async () => {
    const incidents = await aBridge({ state: 'given_up', gravity: 'given_up' });

    await incidents('acknowledge', ID);

    expect((await incidents('list')).notes).toBe('There is no open incident.');
    expect((await incidents('list', '--ended')).output).toContain(ID);
    await expect(incidents('acknowledge', ID)).rejects.toThrow(/409.*has ended/);
  });
});
