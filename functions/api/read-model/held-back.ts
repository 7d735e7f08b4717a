/** Reads why alerts about an action of a project are held back: a mute covers it, or a person has acknowledged it. */

import { incidentIdOf, incidentOf } from '../../../shared/alerts/incident-key.ts';
import type { Acknowledgement } from '../../../shared/alerts/incidents/incident-record.ts';
import type { IncidentStore } from '../../../shared/alerts/incidents/incident-store.ts';
import { isInScope, type Mute } from '../../../shared/alerts/mutes/mute.ts';
import type { MuteStore } from '../../../shared/alerts/mutes/mute-store.ts';

interface Place {
  readonly project_id: string;
  readonly action: string;
}

export interface HeldBack {
  /** Of the mutes that cover the place, this one ends last. */
  readonly mute: Mute | undefined;
  /** It is undefined once all has recovered. */
  readonly acknowledged: Acknowledgement | undefined;
  /** This incident of the place has not ended, and no person has acknowledged it. It is known once the notifier has seen a failure. */
  readonly unacknowledged_incident: string | undefined;
}

export interface HeldBackReader {
  /** Resolves to the same places in the same order. Mutes of the configuration are not known here. */
  withHeldBack<P extends Place>(places: readonly P[]): Promise<readonly (P & { held_back: HeldBack })[]>;
}

export function createHeldBack(
  accountId: string,
  mutes: Pick<MuteStore, 'readActive'>,
  incidents: Pick<IncidentStore, 'readMany'>,
): HeldBackReader {
  return {
    async withHeldBack(places) {
      if (places.length === 0) return [];
      const subjects = places.map(({ project_id, action }) => {
        const place = { account_id: accountId, project_id, action };
        return { ...place, incident_id: incidentIdOf(incidentOf(place)) };
      });
      const [active, records] = await Promise.all([
        mutes.readActive(),
        incidents.readMany(subjects.map(({ incident_id }) => incident_id)),
      ]);
      const unended = records.filter(({ state }) => state !== 'recovered');
      const incidentsById = new Map(unended.map((one) => [one.incident_id, one]));
      return subjects.map((subject, index) => {
        const incident = incidentsById.get(subject.incident_id);
        const acknowledged = incident?.acknowledged;
        const mute = active.findLast((each) => isInScope(each, subject));
        const unacknowledged_incident = acknowledged === undefined ? incident?.incident_id : undefined;
        const held_back = { mute, acknowledged, unacknowledged_incident };
        return { ...(places[index] as (typeof places)[number]), held_back };
      });
    },
  };
}
