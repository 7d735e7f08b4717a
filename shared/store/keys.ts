/** The only place where table keys are spelled. */

import type { Key } from './table.ts';

/** Which partitions of the table are whose: a role gets its own and no other. */
export const PARTITIONS = {
  /** Accounts, projects, operations, commands. */
  protocol: 'A#*',
  readRequests: 'READ#*',
  alerts: 'ALERT#*',
  tokens: 'TOKEN#*',
  idempotency: 'IDEMPOTENCY#*',
  audit: 'AUDIT#*',
  usage: 'USAGE#*',
  callers: 'CALLER#*',
} as const;

const OPERATION_PREFIX = 'OP#';
const COMMAND_PREFIX = 'CMD#';

export function accountKey(accountId: string): Key {
  return { pk: `A#${accountId}`, sk: 'ACCOUNT' };
}

export function leaseKey(accountId: string): Key {
  return { pk: `A#${accountId}`, sk: 'LEASE' };
}

export function accountStatusKey(accountId: string): Key {
  return { pk: `A#${accountId}`, sk: 'STATUS' };
}

export function projectKey(accountId: string, projectId: string): Key {
  return { pk: `A#${accountId}#P#${projectId}`, sk: 'PROJECT' };
}

export function operationKey(accountId: string, projectId: string, operationId: string): Key {
  return { ...projectKey(accountId, projectId), sk: `${OPERATION_PREFIX}${operationId}` };
}

export function commandKey(accountId: string, projectId: string, requestId: string): Key {
  return { ...projectKey(accountId, projectId), sk: `${COMMAND_PREFIX}${requestId}` };
}

export function parkedKey(journalKey: Key, revision: number): Key {
  return { pk: journalKey.pk, sk: `PARKED#${journalKey.sk}#${revision}` };
}

/** Partition of the work index: everything of the account that still has to be read or published. */
export function workOf(accountId: string): string {
  return accountId;
}

/** Partition of the list index: the account's projects, by id. */
export function projectsListOf(accountId: string): string {
  return `PROJECTS#${accountId}`;
}

/** How much of the account's rate limit commands have used. */
export function commandUsageKey(accountId: string): Key {
  return { pk: `USAGE#${accountId}`, sk: 'COMMANDS' };
}

/** Somebody asks for a fresh reading of the project. */
export function readRequestKey(accountId: string, projectId: string): Key {
  return { pk: `READ#${accountId}`, sk: projectId };
}

/** Partition of the work index: projects of which a fresh reading is asked. */
export function readRequestsOf(accountId: string): string {
  return `READ#${accountId}`;
}

/** Partition of the work index: entries that the bus refused for good. */
export function parkedWorkOf(accountId: string): string {
  return `PARKED#${accountId}`;
}

export function operationIdOf(key: Key): string | undefined {
  return key.sk.startsWith(OPERATION_PREFIX) ? key.sk.slice(OPERATION_PREFIX.length) : undefined;
}

export function isCommandKey(key: Key): boolean {
  return key.sk.startsWith(COMMAND_PREFIX);
}

export function projectIdOf(key: Key, accountId: string): string | undefined {
  const prefix = `A#${accountId}#P#`;
  return key.pk.startsWith(prefix) ? key.pk.slice(prefix.length) : undefined;
}

/** What a channel remembers of one incident. */
export function alertIncidentKey(channel: string, incident: string): Key {
  return { pk: `ALERT#${channel}`, sk: `INCIDENT#${incident}` };
}

/** One alert on one channel, from its coming in until long after it was sent. */
export function alertNoticeKey(channel: string, noticeId: string): Key {
  return { pk: `ALERT#${channel}`, sk: `NOTICE#${noticeId}` };
}

/** Notices that a channel refused for good. */
export function alertParkedKey(channel: string, noticeId: string): Key {
  return { pk: `ALERT#${channel}`, sk: `PARKED#${noticeId}` };
}

/** Who sends on a channel at present, and what it sent lately. */
export function alertChannelKey(channel: string): Key {
  return { pk: `ALERT#${channel}`, sk: 'CHANNEL' };
}

/** Partition of the work index: incidents of the channel in which older versions left notices waiting. */
export function alertWorkOf(channel: string): string {
  return `ALERT#${channel}`;
}

/** Partition of the list index: what waits on the channel, by severity, or incidents that are brought to mind, by time. */
export function alertListOf(channel: string, part: 'critical' | 'warning' | 'info' | 'reminders'): string {
  return `ALERT#${channel}#${part}`;
}

export function tokenKey(tokenId: string): Key {
  return { pk: `TOKEN#${tokenId}`, sk: 'TOKEN' };
}

/** Partition of the list index: the account's tokens, by the time of their creation. */
export function tokensListOf(accountId: string): string {
  return `TOKENS#${accountId}`;
}

/** One command that a caller sent with an Idempotency-Key. `keyHash`: of caller and key, so that neither stands here. */
export function idempotencyKey(keyHash: string): Key {
  return { pk: `IDEMPOTENCY#${keyHash}`, sk: 'COMMAND' };
}

/** What a caller holds at once, on all instances. `clientHash`: of the caller's name. */
export function heldPlacesKey(accountId: string, clientHash: string, kind: string): Key {
  return { pk: `CALLER#${accountId}#${clientHash}`, sk: `HELD#${kind}` };
}

/** A session of the console that was ended before its time. */
export function endedSessionKey(sessionId: string): Key {
  return { pk: `CALLER#SESSION#${sessionId}`, sk: 'ENDED' };
}

export function auditKey(accountId: string, requestId: string): Key {
  return { pk: `AUDIT#${accountId}#${requestId}`, sk: 'AUDIT' };
}

/** Partition of the list index: what was asked of an account, by time. */
export function auditListOf(accountId: string): string {
  return `AUDIT#${accountId}`;
}
