/** Reports in the terminal which rules lose events, without a line for each event. */

import type { DeliveredEvent } from '../aws/services/deliveries.ts';

/** The 1st, 10th, 100th, ... lost event of a rule makes a line, because a target that is broken loses all of them. */
export function createDropReports(
  print: (line: string) => void,
): (event: DeliveredEvent, rule: string, reason: string) => void {
  const counts = new Map<string, number>();
  return (event, rule, reason) => {
    const count = (counts.get(rule) ?? 0) + 1;
    counts.set(rule, count);
    if (!Number.isInteger(Math.log10(count))) return;
    const which = count === 1 ? `the event ${event.id}` : `${count} events`;
    print(`rule ${rule}: ${which} did not reach the target: ${reason}`);
  };
}
