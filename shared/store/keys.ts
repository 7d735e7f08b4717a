/** Spells every key of the table. No other file does. */

import type { Key } from './table.ts';

/** Partitions have these prefixes, by subject. A role gets access to the partitions of its own subjects only. */
export const PARTITIONS = {
  /** Holds accounts, projects, operations, commands, branches and computes. */
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
  /** Holds how long operations have taken, by day. */
  insights: 'INSIGHTS#*',
  /** Holds which alerts people have muted. */
  mutes: 'MUTES#*',
  /** Holds what fails, whatever channels report of it, and who has acknowledged it. */
  incidents: 'INCIDENTS#*',
  /** Holds which accounts have new work for the poller. */
  lanes: 'LANES#*',
  /** Holds the accounts that were added, paused or removed while the bridge runs. */
  accounts: 'ACCOUNTS#*',
} as const;

/** The id of every item of a self-test. No account, token, caller or channel has it, because theirs have no capitals. */
export const SELF_TEST_ID = 'SELF-TEST';

/** The item of this partition on which a function tries what its role allows. It never exists. */
export function selfTestKey(partition: keyof typeof PARTITIONS): Key {
  return { pk: PARTITIONS[partition].replace('*', SELF_TEST_ID), sk: SELF_TEST_ID };
}

const OPERATION_PREFIX = 'OP#';
const COMMAND_PREFIX = 'CMD#';
const BRANCH_PREFIX = 'BRANCH#';
const COMPUTE_PREFIX = 'COMPUTE#';

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

export function branchKey(accountId: string, projectId: string, branchId: string): Key {
  return { ...projectKey(accountId, projectId), sk: `${BRANCH_PREFIX}${branchId}` };
}

export function computeKey(accountId: string, projectId: string, endpointId: string): Key {
  return { ...projectKey(accountId, projectId), sk: `${COMPUTE_PREFIX}${endpointId}` };
}

export function parkedKey(journalKey: Key, revision: number): Key {
  return { pk: journalKey.pk, sk: `PARKED#${journalKey.sk}#${revision}` };
}

/** The partitions of these subjects belong to one account each, whose id follows. */
const SUBJECTS_OF_ACCOUNTS = ['A', 'READ', 'QUEUE', 'USAGE', 'INSIGHTS', 'MUTES', 'INCIDENTS', 'CALLER'];

/**
 * Says whether the item goes with the records of the account: all but its audit, its own mark, and what expires by itself.
 * A token names its account in an attribute.
 */
export function isOfAccount({ pk }: Key, accountIdInItem: string | undefined, accountId: string): boolean {
  const [subject = '', id] = pk.split('#');
  if (subject === 'TOKEN') return accountIdInItem === accountId;
  return SUBJECTS_OF_ACCOUNTS.includes(subject) && id === accountId;
}

/** Says whether the item is a record of an account. An index by `account_id` shows items of other partitions, too. */
export function isRecordKey({ pk }: Key): boolean {
  return pk.startsWith('A#');
}

/** Names the partition of the work index with everything of the account that still has to be read or published. */
export function workOf(accountId: string): string {
  return accountId;
}

/** Names the partition of the list index with the account's projects, by id. */
export function projectsListOf(accountId: string): string {
  return `PROJECTS#${accountId}`;
}

/** This item is the ledger of the account's rate limit: what callers were permitted, and the poller's part. */
export function ledgerKey(accountId: string): Key {
  return { pk: `USAGE#${accountId}`, sk: 'COMMANDS' };
}

/**
 * This item holds how long the operations took that ended on one day (`2026-01-15`, UTC): those of a project, or those
 * of the whole account.
 */
export function insightsKey(accountId: string, projectId: string | undefined, day: string): Key {
  const pk = `INSIGHTS#${accountId}`;
  return { pk: projectId === undefined ? pk : `${pk}#P#${projectId}`, sk: `DAY#${day}` };
}

/** This item counts what began and what failed in one hour of the account (`2026-01-15T12`, UTC). */
export function hourCountsKey(accountId: string, hour: string): Key {
  return { pk: `INSIGHTS#${accountId}`, sk: `HOUR#${hour}` };
}

/** This item holds names of projects. There is a fixed number of them, each with a place of its own. */
export function projectNamesKey(accountId: string, place: number): Key {
  return { pk: `A#${accountId}`, sk: `NAMES#${String(place).padStart(2, '0')}` };
}

/** This item holds a caller's wish for a fresh reading of the project. */
export function wishKey(accountId: string, projectId: string): Key {
  return { pk: `READ#${accountId}`, sk: projectId };
}

/** Names the partition of the work index with the projects of which callers wish for a fresh reading. */
export function wishesOf(accountId: string): string {
  return `READ#${accountId}`;
}

const REPAIR_PREFIX = 'REPAIR#';

/** This item is the latest repair of the project: what a caller asked for, and how far the poller has come. */
export function repairKey(accountId: string, projectId: string): Key {
  return { pk: `READ#${accountId}`, sk: `${REPAIR_PREFIX}${projectId}` };
}

/** Names the partition of the work index with the account's repairs that have not ended. */
export function repairsOf(accountId: string): string {
  return `READ#${accountId}#REPAIRS`;
}

/** This item is the latest replay of the account: which events are published again, and how far that has come. */
export function replayKey(accountId: string): Key {
  return { pk: `READ#${accountId}`, sk: 'REPLAY#CHOICE' };
}

export function repairProjectIdOf({ sk }: Key): string | undefined {
  return sk.startsWith(REPAIR_PREFIX) ? sk.slice(REPAIR_PREFIX.length) : undefined;
}

/** Names the partition of the work index with the entries that the bus refused for good. */
export function parkedWorkOf(accountId: string): string {
  return `PARKED#${accountId}`;
}

export function operationIdOf(key: Key): string | undefined {
  return key.sk.startsWith(OPERATION_PREFIX) ? key.sk.slice(OPERATION_PREFIX.length) : undefined;
}

/** Says which record of a project has the key. The id of a project's own record is that of the project. */
export interface RecordName {
  readonly kind: 'project' | 'operation' | 'command' | 'branch' | 'compute';
  readonly projectId: string;
  readonly id: string;
}

const RECORD_PREFIXES = {
  [OPERATION_PREFIX]: 'operation',
  [COMMAND_PREFIX]: 'command',
  [BRANCH_PREFIX]: 'branch',
  [COMPUTE_PREFIX]: 'compute',
} as const;

/** Returns undefined for an item that is no record of one of the account's projects. */
export function recordNameOf(key: Key, accountId: string): RecordName | undefined {
  const projectId = projectIdOf(key, accountId);
  if (projectId === undefined) return undefined;
  if (key.sk === projectKey(accountId, projectId).sk) return { kind: 'project', projectId, id: projectId };
  for (const [prefix, kind] of Object.entries(RECORD_PREFIXES))
    if (key.sk.startsWith(prefix)) return { kind, projectId, id: key.sk.slice(prefix.length) };
  return undefined;
}

export function isCommandKey(key: Key): boolean {
  return key.sk.startsWith(COMMAND_PREFIX);
}

export function projectIdOf(key: Key, accountId: string): string | undefined {
  const prefix = `A#${accountId}#P#`;
  return key.pk.startsWith(prefix) ? key.pk.slice(prefix.length) : undefined;
}

/** A channel remembers one incident in this item. */
export function alertIncidentKey(channel: string, incident: string): Key {
  return { pk: `ALERT#${channel}`, sk: `INCIDENT#${incident}` };
}

/** This item is one alert on one channel, from its arrival until long after it was sent. */
export function alertNoticeKey(channel: string, noticeId: string): Key {
  return { pk: `ALERT#${channel}`, sk: `NOTICE#${noticeId}` };
}

/** This item is a notice that a channel refused for good. */
export function alertParkedKey(channel: string, noticeId: string): Key {
  return { pk: `ALERT#${channel}`, sk: `PARKED#${noticeId}` };
}

/** This item says which process sends on a channel at present, and what it sent recently. */
export function alertChannelKey(channel: string): Key {
  return { pk: `ALERT#${channel}`, sk: 'CHANNEL' };
}

/** Names the partition of the work index with incidents of the channel in which older versions left notices waiting. */
export function alertWorkOf(channel: string): string {
  return `ALERT#${channel}`;
}

/**
 * Names the partition of the list index with what waits on the channel, by severity, or with incidents to remind of,
 * by time.
 */
export function alertListOf(
  channel: string,
  part: 'critical' | 'warning' | 'info' | 'reminders' | 'told',
): string {
  return `ALERT#${channel}#${part}`;
}

/** This item has the mutes of the configuration, which cover all accounts. No channel has this name. */
export const CONFIGURED_MUTES_KEY: Key = { pk: 'ALERT#configuration', sk: 'MUTES' };

/** This item is one mute of alerts. */
export function muteKey(accountId: string, muteId: string): Key {
  return { pk: `MUTES#${accountId}`, sk: `MUTE#${muteId}` };
}

/** Names the partition of the list index with the account's mutes that have not been lifted, by their end. */
export function mutesListOf(accountId: string): string {
  return `MUTES#${accountId}`;
}

/** This partition of the work index has the mutes of all accounts. */
export const MUTES_WORK = 'MUTES';

/** This item is one incident of the account, which all channels share. */
export function incidentKey(accountId: string, incidentId: string): Key {
  return { pk: `INCIDENTS#${accountId}`, sk: `INCIDENT#${incidentId}` };
}

/** This partition of the work index has the open incidents of all accounts that people have acknowledged. */
export const ACKNOWLEDGED_WORK = 'ACKNOWLEDGED';

/** Names the partition of the list index with the account's open incidents, by their begin, or its ended ones, by their end. */
export function incidentsListOf(accountId: string, state: 'open' | 'ended'): string {
  return `INCIDENTS#${accountId}#${state}`;
}

/** This partition has one item for each account that was added, paused or removed while the bridge runs. */
export const ACCOUNTS_PARTITION = 'ACCOUNTS#ALL';

export function accountItemKey(accountId: string): Key {
  return { pk: ACCOUNTS_PARTITION, sk: `ACCOUNT#${accountId}` };
}

/** This item changes with every change of an account's item. */
export const ACCOUNTS_STAMP_KEY: Key = { pk: 'ACCOUNTS#STAMP', sk: 'STAMP' };

/** This partition has the nudges of the last minutes in the order of time. */
export const NUDGES_PARTITION = 'LANES#NUDGES';

/** This item says that there was new work for the poller of the account at that time, in milliseconds since the epoch. */
export function nudgeKey(atMs: number, accountId: string): Key {
  return { pk: NUDGES_PARTITION, sk: `${new Date(atMs).toISOString()}#${accountId}` };
}

export function nudgedAccountIdOf(sortKey: string): string | undefined {
  return sortKey.split('#')[1];
}

/** Says whether the item is what a caller asks of the poller: a wish for a reading, a repair or a replay. */
export function isReadRequestKey({ pk }: Key): boolean {
  return pk.startsWith('READ#');
}

/** Returns the account whose poller has to do with the item, or undefined when no poller has. */
export function accountIdOfWork({ pk }: Key): string | undefined {
  const [subject, accountId] = pk.split('#');
  return subject === 'A' || subject === 'READ' ? accountId : undefined;
}

export function tokenKey(tokenId: string): Key {
  return { pk: `TOKEN#${tokenId}`, sk: 'TOKEN' };
}

/** Names the partition of the list index with the account's tokens, by the time of their creation. */
export function tokensListOf(accountId: string): string {
  return `TOKENS#${accountId}`;
}

/**
 * This item is a command that was sent with an Idempotency-Key. `keyHash` hashes caller and key, so that neither is
 * stored.
 */
export function idempotencyKey(keyHash: string): Key {
  return { pk: `IDEMPOTENCY#${keyHash}`, sk: 'COMMAND' };
}

/** This is the item of a command that was accepted and is sent when its turn comes. */
export function queuedCommandKey(accountId: string, commandId: string): Key {
  return { pk: `QUEUE#${accountId}#C#${commandId}`, sk: 'COMMAND' };
}

/** This item is the task of a workflow that waits for the end of what the request has asked for. */
export function callbackKey(accountId: string, requestId: string): Key {
  return { pk: `QUEUE#${accountId}#C#${requestId}`, sk: 'CALLBACK' };
}

/** This partition of the work index has the account's callbacks that have not ended. */
export function callbacksOf(accountId: string): string {
  return `QUEUE#${accountId}#CALLBACKS`;
}

export function callbackRequestIdOf({ pk }: Key): string | undefined {
  return pk.split('#')[3];
}

/** This item holds the order of a project's queued commands. */
export function projectLineKey(accountId: string, projectId: string): Key {
  return { pk: `QUEUE#${accountId}#P#${projectId}`, sk: 'LINE' };
}

/** Returns the project of a line, or undefined when the key is not one of the account's lines. */
export function lineProjectIdOf({ pk }: Key, accountId: string): string | undefined {
  const prefix = `QUEUE#${accountId}#P#`;
  return pk.startsWith(prefix) ? pk.slice(prefix.length) : undefined;
}

/** This item says whether all commands of the account are held. */
export function freezeKey(accountId: string): Key {
  return { pk: `QUEUE#${accountId}`, sk: 'FREEZE' };
}

/** This partition of the work index has the account's lines that are not empty. */
export function linesOf(accountId: string): string {
  return `QUEUE#${accountId}`;
}

/** This partition of the work index has the account's commands that wait in a line. */
export function queuedCommandsOf(accountId: string): string {
  return `QUEUED#${accountId}`;
}

/** This partition of the list index has the account's queued commands, by the time of their acceptance. */
export function commandsListOf(accountId: string): string {
  return `COMMANDS#${accountId}`;
}

/** This item counts what a caller holds at once on all instances. `clientHash` is the hash of the caller's name. */
export function heldPlacesKey(accountId: string, clientHash: string, kind: string): Key {
  return { pk: `CALLER#${accountId}#${clientHash}`, sk: `HELD#${kind}` };
}

/** This item says that an event of a webhook was taken, so that a copy of it changes nothing. */
export function webhookEventKey(eventId: string): Key {
  return { pk: `CALLER#WEBHOOK#${eventId}`, sk: 'TAKEN' };
}

/** This item is a console session that was ended before it expired. */
export function endedSessionKey(sessionId: string): Key {
  return { pk: `CALLER#SESSION#${sessionId}`, sk: 'ENDED' };
}

export function auditKey(accountId: string, requestId: string): Key {
  return { pk: `AUDIT#${accountId}#${requestId}`, sk: 'AUDIT' };
}

/** Names the partition of the list index with the account's audit records, by time. */
export function auditListOf(accountId: string): string {
  return `AUDIT#${accountId}`;
}
