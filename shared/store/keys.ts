/** Every key of the table is spelled here and nowhere else. */

import type { Key } from './table.ts';

/** The prefixes of the table's partitions, by subject. A role gets access to those of its own subjects only. */
export const PARTITIONS = {
  /** Holds accounts, projects, operations and commands. */
  protocol: 'A#*',
  readRequests: 'READ#*',
  alerts: 'ALERT#*',
  tokens: 'TOKEN#*',
  idempotency: 'IDEMPOTENCY#*',
  /** Holds commands that wait in line, the lines themselves, and freezes. */
  queue: 'QUEUE#*',
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

/** The partition of the work index with everything of the account that still has to be read or published. */
export function workOf(accountId: string): string {
  return accountId;
}

/** The partition of the list index with the account's projects, by id. */
export function projectsListOf(accountId: string): string {
  return `PROJECTS#${accountId}`;
}

/** The item that counts how much of the account's rate limit commands have used. */
export function commandUsageKey(accountId: string): Key {
  return { pk: `USAGE#${accountId}`, sk: 'COMMANDS' };
}

/** The item of a caller's request for a fresh reading of the project. */
export function wishKey(accountId: string, projectId: string): Key {
  return { pk: `READ#${accountId}`, sk: projectId };
}

/** The partition of the work index with the projects of which a fresh reading is requested. */
export function wishesOf(accountId: string): string {
  return `READ#${accountId}`;
}

/** The partition of the work index with the entries that the bus refused for good. */
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

/** The item in which a channel remembers one incident. */
export function alertIncidentKey(channel: string, incident: string): Key {
  return { pk: `ALERT#${channel}`, sk: `INCIDENT#${incident}` };
}

/** The item of one alert on one channel, from its arrival until long after it was sent. */
export function alertNoticeKey(channel: string, noticeId: string): Key {
  return { pk: `ALERT#${channel}`, sk: `NOTICE#${noticeId}` };
}

/** The item of a notice that a channel refused for good. */
export function alertParkedKey(channel: string, noticeId: string): Key {
  return { pk: `ALERT#${channel}`, sk: `PARKED#${noticeId}` };
}

/** The item that says which process sends on a channel at present, and what it sent recently. */
export function alertChannelKey(channel: string): Key {
  return { pk: `ALERT#${channel}`, sk: 'CHANNEL' };
}

/** The partition of the work index with incidents of the channel in which older versions left notices waiting. */
export function alertWorkOf(channel: string): string {
  return `ALERT#${channel}`;
}

/** The partition of the list index with what waits on the channel, by severity, or with incidents to remind of, by time. */
export function alertListOf(channel: string, part: 'critical' | 'warning' | 'info' | 'reminders'): string {
  return `ALERT#${channel}#${part}`;
}

export function tokenKey(tokenId: string): Key {
  return { pk: `TOKEN#${tokenId}`, sk: 'TOKEN' };
}

/** The partition of the list index with the account's tokens, by the time of their creation. */
export function tokensListOf(accountId: string): string {
  return `TOKENS#${accountId}`;
}

/** The item of a command that was sent with an Idempotency-Key. `keyHash` hashes caller and key, so that neither is stored. */
export function idempotencyKey(keyHash: string): Key {
  return { pk: `IDEMPOTENCY#${keyHash}`, sk: 'COMMAND' };
}

/** The item of a command that was accepted and is sent when its turn comes. */
export function queuedCommandKey(accountId: string, commandId: string): Key {
  return { pk: `QUEUE#${accountId}#C#${commandId}`, sk: 'COMMAND' };
}

/** The item with the order of a project's queued commands. */
export function projectLineKey(accountId: string, projectId: string): Key {
  return { pk: `QUEUE#${accountId}#P#${projectId}`, sk: 'LINE' };
}

/** The project of a line, by the line's key; undefined when the key is not one of the account's lines. */
export function lineProjectIdOf({ pk }: Key, accountId: string): string | undefined {
  const prefix = `QUEUE#${accountId}#P#`;
  return pk.startsWith(prefix) ? pk.slice(prefix.length) : undefined;
}

/** The item that says whether all commands of the account are held. */
export function freezeKey(accountId: string): Key {
  return { pk: `QUEUE#${accountId}`, sk: 'FREEZE' };
}

/** The partition of the work index with the account's lines that are not empty. */
export function linesOf(accountId: string): string {
  return `QUEUE#${accountId}`;
}

/** The partition of the work index with the account's commands that wait in a line. */
export function queuedCommandsOf(accountId: string): string {
  return `QUEUED#${accountId}`;
}

/** The partition of the list index with the account's queued commands, by the time of their acceptance. */
export function commandsListOf(accountId: string): string {
  return `COMMANDS#${accountId}`;
}

/** The item that counts what a caller holds at once on all instances. `clientHash` is the hash of the caller's name. */
export function heldPlacesKey(accountId: string, clientHash: string, kind: string): Key {
  return { pk: `CALLER#${accountId}#${clientHash}`, sk: `HELD#${kind}` };
}

/** The item of a console session that was ended before it expired. */
export function endedSessionKey(sessionId: string): Key {
  return { pk: `CALLER#SESSION#${sessionId}`, sk: 'ENDED' };
}

export function auditKey(accountId: string, requestId: string): Key {
  return { pk: `AUDIT#${accountId}#${requestId}`, sk: 'AUDIT' };
}

/** The partition of the list index with the account's audit records, by time. */
export function auditListOf(accountId: string): string {
  return `AUDIT#${accountId}`;
}
