/**
 * Defines the configured part of the policy: which channels report which projects, what is muted, how long a failure
 * may last before people are woken, and how long notices are collected.
 */

import * as z from 'zod';

/** A failure that ends within this time is only counted; most retries of the upstream succeed within it. */
const PATIENCE_SECONDS = 300;

/** People who have just been interrupted are at the console already, where everything stands without a message. */
const GATHER_SECONDS = 600;

const patienceSeconds = z.number().int().min(0).max(3_600);

const severity = z.enum(['info', 'warning', 'critical']);

/** In a pattern `*` stands for any text. The service allows 64 characters in a name (public contract). */
const projectNames = z
  .array(
    z
      .string()
      .min(1)
      .max(100)
      .regex(/^[^\p{Cc}]*$/u),
  )
  .min(1)
  .max(100);

/** The upstream has no labels, so the policy says which projects have one: those that fit everything listed here. */
const label = z
  .strictObject({
    account_ids: z.array(z.string()).min(1).optional(),
    project_ids: z.array(z.string()).min(1).optional(),
    project_names: projectNames.optional(),
  })
  .refine((lists) => Object.values(lists).some((list) => list !== undefined), {
    error: 'takes at least one of account_ids, project_ids and project_names',
  });

/** A route says which channels report which projects. The first route that matches a notice decides. */
const routeTo = <Name extends string>(channelNames: readonly [Name, ...Name[]]) =>
  z.strictObject({
    /** Without it the route covers all projects, and the account itself. */
    project_ids: z.array(z.string()).min(1).optional(),
    project_names: projectNames.optional(),
    /** These are names of the policy's `labels`. */
    labels: z.array(z.string()).min(1).optional(),
    /** Without it the route leads to every channel that is set up. */
    channels: z.array(z.enum(channelNames)).optional(),
    severity_min: severity.default('info'),
    /** Replaces the policy's `patience_seconds` for what this route covers. */
    patience_seconds: patienceSeconds.optional(),
  });

/** Notices of a mute are kept, and reported when the mute ends. */
const mute = z.object({
  project_ids: z.array(z.string()).min(1).optional(),
  from: z.iso.datetime(),
  until: z.iso.datetime(),
});

/** Returns the schema of a policy whose routes may name these channels. */
export function alertPolicyFor<Name extends string>(channelNames: readonly [Name, ...Name[]]) {
  const policy = z.object({
    labels: z.record(z.string().regex(/^[\w.-]{1,60}$/), label).default({}),
    routes: z.array(routeTo(channelNames)).default([{ severity_min: 'info' }]),
    /** A channel reports nothing below its severity, whatever route leads to it. The end of a failure is not held back. */
    channels: z.partialRecord(z.enum(channelNames), z.strictObject({ severity_min: severity })).default({}),
    mutes: z.array(mute).max(100).default([]),
    /** A failure that lasts longer is reported; a shorter one stands in the hourly digest. 0 reports every failure at once. */
    patience_seconds: patienceSeconds.default(PATIENCE_SECONDS),
    /**
     * After a message, the notices of other incidents are gathered for this long, and for longer while messages keep
     * following. 0 gathers nothing.
     */
    gather_seconds: z.number().int().min(0).max(3_600).default(GATHER_SECONDS),
    /** Further notices of one kind within this time are reported together. */
    window_seconds: z.number().int().min(10).max(3_600).default(300),
  });
  return policy.superRefine(({ routes, labels }, context) => {
    for (const [place, route] of routes.entries()) {
      for (const [position, name] of (route.labels ?? []).entries()) {
        if (Object.hasOwn(labels, name)) continue;
        const message = `is no label of this policy; ${knownLabels(Object.keys(labels))}`;
        context.addIssue({ code: 'custom', path: ['routes', place, 'labels', position], message });
      }
    }
  });
}

function knownLabels(names: readonly string[]): string {
  return names.length === 0 ? 'define it in "labels"' : `"labels" has ${names.join(', ')}`;
}

export type AlertPolicy = z.output<ReturnType<typeof alertPolicyFor<string>>>;
