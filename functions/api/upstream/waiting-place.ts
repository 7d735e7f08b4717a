/** Takes a place of a caller in which one request waits, before the first of its waits, and gives it back after the last. */

import type { Caller } from '../../../shared/callers/authorize.ts';
import type { PatientCallers } from '../serving/patient-callers.ts';

export interface WaitingPlace {
  /** Resolves to false when the caller has as many commands waiting as it may have, or when the table does not answer. */
  take(): Promise<boolean>;
  /** Begins one of several waits: resolves to undefined without a place, and the end of the wait keeps the place. */
  beginWait(): Promise<(() => Promise<void>) | undefined>;
  giveBack(): Promise<void>;
}

/** The place becomes free by itself after `forMs`, in case this process dies. */
export function waitingPlace(patient: PatientCallers, caller: Caller, forMs: number): WaitingPlace {
  let release: (() => Promise<void>) | undefined;
  const take = async () => {
    release ??= await patient.tryWait(caller, 'commands', forMs).catch(() => undefined);
    return release !== undefined;
  };
  return {
    take,
    beginWait: async () => ((await take()) ? async () => {} : undefined),
    giveBack: async () => release?.(),
  };
}
