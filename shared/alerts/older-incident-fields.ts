/**
 * Describes the fields of an incident in which versions before 2026-11 kept its notices. Today each notice has an
 * item of its own.
 */

import * as z from 'zod';

export const olderIncidentFields = z.object({
  /** These notices wait to be reported. */
  pending: z.array(z.unknown()).default([]),
  /** Notices with these ids were reported. They are kept so that a copy is recognized. */
  told_ids: z.array(z.string()).default([]),
});
