/** Takes every event and notes when the transition that it publishes was detected. */

import type { EventBus } from '../../../shared/events/event-bus.ts';
import type { Detections } from './detections.ts';

export interface RecordingBus {
  readonly port: EventBus;
  /** Counts the events, and those that arrived a second time with the same id. */
  readonly counts: { event: number; duplicate: number };
}

export function createRecordingBus(detections: Detections, now: () => number): RecordingBus {
  const counts = { event: 0, duplicate: 0 };
  const ids = new Set<string>();
  const port: EventBus = {
    publish: async (events) =>
      events.map(({ detailType, detail }) => {
        const event = JSON.parse(detail) as { id: string; operation_id: string; status: string };
        counts.event += 1;
        if (ids.has(event.id)) counts.duplicate += 1;
        else if (detailType === 'Operation State Changed')
          detections.note(event.operation_id, event.status, now() / 1_000);
        ids.add(event.id);
        return { kind: 'accepted' };
      }),
  };
  return { counts, port };
}
