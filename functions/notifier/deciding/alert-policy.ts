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

/** A route says which channels report which projects. The first route that matches a notice decides. */
const routeTo = <Name extends string>(channelNames: readonly [Name, ...Name[]]) =>
  z.object({
    /** Without it the route covers all projects, and the account itself. */
    project_ids: z.array(z.string()).min(1).optional(),
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
  return z.object({
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
}

export type AlertPolicy = z.output<ReturnType<typeof alertPolicyFor<string>>>;
