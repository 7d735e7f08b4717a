/** What a channel remembers of an incident, as it was read from the table. */

import type { Attribute, Key } from '../../../shared/store/table.ts';
import type { Incident } from '../deciding/incident.ts';

/** An item's revision as it was read: a number; undefined when there is no item. */
export type Revision = Attribute | undefined;

export interface StoredIncident {
  readonly key: Key;
  readonly revision: Revision;
  readonly incident: Incident;
  /** An incident that cannot be read is left as it is, for a person to look at. */
  readonly isReadable: boolean;
}

/** By name of the incident. */
export type StoredIncidents = ReadonlyMap<string, StoredIncident>;

export interface IncidentMemory {
  /** An incident of which nothing is known is in the result as well, empty. */
  readMany(channel: string, names: Iterable<string>): Promise<StoredIncidents>;
  /** Writes the change. When another writer was faster, the change is applied to what that writer left. */
  change(channel: string, found: StoredIncident, change: (incident: Incident) => Incident): Promise<void>;
}
