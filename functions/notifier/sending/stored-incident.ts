/** Defines what a channel remembers of an incident, as it was read from the table. */

import type { Attribute, Key } from '../../../shared/store/table.ts';
import type { Incident } from '../deciding/messages/incident.ts';

/** An item's revision is a number, and undefined when there is no item. */
export type Revision = Attribute | undefined;

export interface StoredIncident {
  readonly key: Key;
  readonly revision: Revision;
  readonly incident: Incident;
  /** When false, the incident cannot be read and is left as it is, for a person to look at. */
  readonly isReadable: boolean;
}

/** The keys are the names of the incidents. */
export type StoredIncidents = ReadonlyMap<string, StoredIncident>;

export interface IncidentMemory {
  /** Resolves to all these incidents. One of which nothing is known is empty. */
  readMany(channel: string, names: Iterable<string>): Promise<StoredIncidents>;
  /** Writes the change. When another writer was faster, the change is applied to what that writer left. */
  change(channel: string, found: StoredIncident, change: (incident: Incident) => Incident): Promise<void>;
}
