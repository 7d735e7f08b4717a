/** Formats the events of a run, which show their account from the moment at which there is more than one. */

import type { DeliveredEvent } from '../aws/services/deliveries.ts';
import { eventHeading, eventLine, type LineStyle } from './event-line.ts';

/** The returned function gives a line, and before it a heading when the columns have changed. */
export function createEventLines(
  style: LineStyle,
): (event: Pick<DeliveredEvent, 'detail-type' | 'detail'>) => readonly string[] {
  const accountIds = new Set<unknown>();
  return (event) => {
    const knownCount = accountIds.size;
    accountIds.add(event.detail['account_id']);
    const showsAccount = accountIds.size > 1;
    const line = eventLine(event, style, showsAccount);
    return showsAccount && knownCount === 1 ? [eventHeading(true), line] : [line];
  };
}
