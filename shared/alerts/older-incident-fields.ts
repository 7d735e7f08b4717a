/** The fields of an incident in which versions before 2026-11 kept its notices. Today each notice has an item of its own. */

import * as z from 'zod';

export const olderIncidentFields = z.object({
  /** Notices that wait to be reported. */
  pending: z.array(z.unknown()).default([]),
  /** Ids of notices that were reported, so that a copy of one is recognised. */
  told_ids: z.array(z.string()).default([]),
});
