/** Gives the zod schema of each event's detail, by the detail type. */

import type * as z from 'zod';
import { eventCatalog } from '../../../shared/events/catalog.ts';
import type { BridgeEventDetails } from './event-details.ts';

/**
 * Each schema leaves out fields that it does not know, because events gain fields without notice. Do not make it
 * strict.
 */
export const eventSchemas: {
  readonly [Type in keyof BridgeEventDetails]: z.ZodType<BridgeEventDetails[Type]>;
} = schemasOfCatalog();

function schemasOfCatalog() {
  const entries = eventCatalog.map(({ detailType, detail }) => [detailType, detail] as const);
  return Object.fromEntries(entries) as unknown as typeof eventSchemas;
}
