/** Deliberate mistakes in the notifier, each a change of production text; its tests must notice every one. */

import type { Mutant } from '../simulation/mutants.ts';

const SEND = 'functions/notifier/send-untold.ts';
const STORE = 'functions/notifier/alert-store.ts';
const NOTIFY = 'functions/notifier/notify.ts';
const INCIDENT = 'shared/alerts/incident.ts';

export const mutants: readonly Mutant[] = [
  {
    name: 'failed-is-told',
    mistake: 'a message that the channel did not take counts as told',
    file: SEND,
    find: "if (result.kind === 'failed') {",
    replace: "if (result.kind === 'failed' && false) {",
  },
  {
    name: 'refused-is-lost',
    mistake: 'what a channel refuses for good is kept nowhere',
    file: SEND,
    find: 'await store.park(channel.name, notices, result.reason);',
    replace: '',
  },
  {
    name: 'told-is-not-noted',
    mistake: 'a message that went out is not noted',
    file: SEND,
    find: 'if (stored !== undefined) await store.noteTold(channel.name, stored, told, thread);',
    replace: '',
  },
  {
    name: 'send-without-claim',
    mistake: 'a notifier sends although another one holds the channel',
    file: SEND,
    find: 'if (claimed === undefined) return undefined;',
    replace: 'if (claimed === undefined) return channel.send(message.message).then(() => undefined);',
  },
  {
    name: 'no-rest',
    mistake: 'a channel that asked for a pause gets none',
    file: SEND,
    find: 'not_before_ms: nowMs + pauseMs,',
    replace: 'not_before_ms: 0,',
  },
  {
    name: 'unconditional-incident',
    mistake: 'two notifiers overwrite what the other one stored',
    file: STORE,
    find: '        condition: unchangedSince(revision),',
    replace: '',
  },
  {
    name: 'copies-are-news',
    mistake: 'a copy of an event is told again',
    file: INCIDENT,
    find: "if (isKnown) return 'known';",
    replace: '',
  },
  {
    name: 'told-clears-all',
    mistake: 'what came in while a message went out is forgotten',
    file: INCIDENT,
    find: 'pending: incident.pending.filter(({ id }) => !ids.has(id)),',
    replace: 'pending: [],',
  },
  {
    name: 'replays-alert',
    mistake: 'a replay wakes people',
    file: NOTIFY,
    find: "if (event['replay-name'] !== undefined) return;",
    replace: '',
  },
  {
    name: 'lost-in-the-queue',
    mistake: 'a message that could not be stored is taken for handled',
    file: NOTIFY,
    find: 'batchItemFailures.push({ itemIdentifier: messageId });',
    replace: '',
  },
];
