/**
 * Lists deliberate mistakes in the notifier, each as a change of production text. The notifier's tests must notice
 * every one.
 */

import type { NamedMutant } from '../mutation/named-mutant.ts';

const SEND = 'functions/notifier/sending/send-due.ts';
const MESSAGE = 'functions/notifier/sending/send-message.ts';
const PLAN = 'functions/notifier/sending/turn.ts';
const WAITING = 'functions/notifier/alert-store.ts';
const MEMORY = 'functions/notifier/channel-memory.ts';
const NOTIFY = 'functions/notifier/notify.ts';
const MESSAGES = 'functions/notifier/sending/plan-messages.ts';
const PACE = 'functions/notifier/deciding/waking.ts';
const INCIDENT = 'functions/notifier/deciding/incident.ts';
const STANDING = 'functions/notifier/deciding/incident-record.ts';
const ROUTE = 'functions/notifier/deciding/policy.ts';
const PAGERDUTY = 'functions/notifier/channels/pagerduty-events.ts';
const RECORD = 'shared/alerts/incidents.ts';

const MUTES_TESTS = 'test/notifier/mutes.test.ts';
const PAGERDUTY_TESTS = 'test/doors/alerts/alerts.test.ts';
const NOTIFY_TESTS = 'test/notifier/notify.test.ts';
const PLAN_TESTS = 'test/notifier/deciding/messages/message-plan.test.ts';
const CRASH_TESTS = 'test/notifier/sending/crash.test.ts';
const INTERLEAVING_TESTS = 'test/notifier/sending/interleaving.test.ts';
const LOSS_TESTS = 'test/notifier/sending/no-alert-is-lost.slow.test.ts';

export const mutants: readonly NamedMutant[] = [
  {
    name: 'failed-counts-as-reported',
    mistake: 'a message that the channel did not take counts as reported',
    file: MESSAGE,
    find: "if (result.kind === 'failed') return isEdit ? leaveList(turn, result) : rest(turn, result);",
    replace:
      "if (result.kind === 'failed') return noteSent(turn, { left, isEdit, waiting: message.flat().map((notice, place) => ({ sk: sks[place] ?? '', stored_at_ms: 0, notice })), incidents }, { kind: 'sent' });",
    tests: NOTIFY_TESTS,
  },
  {
    name: 'refused-is-lost',
    mistake: 'what a channel refuses for good is kept nowhere',
    file: MESSAGE,
    find: "if (notices.length > 0) await store.ends.park(channel.name, notices, left.reason ?? '');",
    replace: '',
    tests: NOTIFY_TESTS,
  },
  {
    name: 'reported-is-not-noted',
    mistake: 'the notices of a message that went out are not noted',
    file: MESSAGE,
    find: "await store.ends.settle(channel.name, sks, { outcome: 'reported' });",
    replace: '',
    tests: NOTIFY_TESTS,
  },
  {
    name: 'begun-is-forgotten',
    mistake: 'a message that was sent is noted only by those who sent it',
    file: SEND,
    find: 'if (!(await finishMessage(turn))) return;',
    replace: '',
    tests: CRASH_TESTS,
  },
  {
    name: 'send-without-claim',
    mistake: 'a notifier sends although another one holds the channel',
    file: MEMORY,
    find: '...conditionOf(next.revision),',
    replace: '',
    tests: NOTIFY_TESTS,
  },
  {
    name: 'no-rest',
    mistake: 'a channel that asked for a pause gets none',
    file: MESSAGE,
    find: 'not_before_ms: deps.clock.now() + pauseMs,',
    replace: 'not_before_ms: 0,',
    tests: NOTIFY_TESTS,
  },
  {
    name: 'endless-rest',
    mistake: 'a channel may ask to be left alone for a day',
    file: PACE,
    find: 'return Math.min(PAUSE_MS_MAX, Math.max(ownMs, retryAfterMs));',
    replace: 'return Math.max(ownMs, retryAfterMs);',
    tests: LOSS_TESTS,
    testName: 'is tried again within minutes',
  },
  {
    name: 'no-pace',
    mistake: 'messages of a storm go out all at once',
    file: PACE,
    find: 'pace.messageCountMax - countedSends(sentAtMs, pace, nowMs).length',
    replace: 'pace.messageCountMax',
    tests: NOTIFY_TESTS,
  },
  {
    name: 'worst-anywhere',
    mistake: 'the worst line of a storm stands anywhere',
    file: MESSAGES,
    find: '.toSorted(byWorst);',
    replace: ';',
    tests: PLAN_TESTS,
  },
  {
    name: 'same-window-for-ever',
    mistake: 'what fails all day is reported every five minutes',
    file: INCIDENT,
    find: 'Math.min(2 * lastMs, WINDOW_MS_MAX)',
    replace: 'lastMs',
    tests: LOSS_TESTS,
    testName: 'sends few messages although it fails every minute',
  },
  {
    name: 'nobody-is-reminded',
    mistake: 'what goes on failing is never brought to mind',
    file: INCIDENT,
    find: "...(standingOf(operations) === 'failing' && { remind_at_ms: atMs + REMINDER_MS }),",
    replace: '',
    tests: LOSS_TESTS,
    testName: 'is brought to mind once a day',
  },
  {
    name: 'late-is-news',
    mistake: 'a failure that comes after the end of its operation counts as a new one',
    file: STANDING,
    find: 'return isOlder(notice, known);',
    replace: 'return false;',
    tests: LOSS_TESTS,
    testName: 'a failure that comes after the recovery of its operation',
  },
  {
    name: 'unconditional-incident',
    mistake: 'a notice that is there already is stored once more',
    file: 'shared/alerts/incidents.ts',
    find: "condition: { kind: 'absent', name: 'notice' } as const,",
    replace: '',
    tests: NOTIFY_TESTS,
  },
  {
    name: 'lagging-index',
    mistake: 'a notice that was sent is sent again while the index still shows it',
    file: WAITING,
    find: "if (pending === undefined || item['outcome'] !== undefined) return [];",
    replace: 'if (pending === undefined) return [];',
    tests: INTERLEAVING_TESTS,
  },
  {
    name: 'one-bad-item',
    mistake: 'an incident that cannot be read stops its channel',
    file: MEMORY,
    find: 'if (!parsed.success) onUnreadable(key);',
    replace: "if (!parsed.success) throw new Error('unreadable');",
    tests: LOSS_TESTS,
    testName: 'keeps no other alert of its channel back',
  },
  {
    name: 'mute-forgets',
    mistake: 'what is muted when it is looked at is taken for sent',
    file: PLAN,
    find: 'return found.filter((one) => !isCopy(one) && mutedUntilMs(one.notice, policy, nowMs) === 0);',
    replace: 'return found.filter((one) => !isCopy(one)).slice(1);',
    tests: NOTIFY_TESTS,
  },
  {
    name: 'no-default-route',
    mistake: 'routes of projects drop what is about the account',
    file: ROUTE,
    find: "return { channels: 'every', isDefault: true };",
    replace: 'return { channels: [], isDefault: true };',
    tests: LOSS_TESTS,
    testName: 'alerts about the account go to every channel',
  },
  {
    name: 'replays-alert',
    mistake: 'a replay wakes people',
    file: NOTIFY,
    find: "if (event['replay-name'] !== undefined || event.resources.some(isReplay)) return undefined;",
    replace: '',
    tests: NOTIFY_TESTS,
  },
  {
    name: 'gathered-wakes',
    mistake: 'an alert that was being gathered wakes people although what was given up is acknowledged',
    file: STANDING,
    find: 'if (!isOpen(record) && !wasBefore(notice, acknowledged.at)) return false;',
    replace: 'if (!isOpen(record)) return false;',
    tests: MUTES_TESTS,
    testName: 'an alert that is being gathered',
  },
  {
    name: 'ended-for-ever',
    mistake: 'an acknowledgement holds back what happened after the incident had ended',
    file: STANDING,
    find: 'if (!isOpen(record) && !wasBefore(notice, acknowledged.at)) return false;',
    replace: '',
    tests: MUTES_TESTS,
    testName: 'could not be recorded',
  },
  {
    name: 'given-up-is-not-announced',
    mistake: 'the acknowledgement of what was given up reaches no pager',
    file: RECORD,
    find: 'const next = { ...record, acknowledged, announce_until, revision: record.revision + 1 };',
    replace: 'const next = { ...record, acknowledged, revision: record.revision + 1 };',
    tests: MUTES_TESTS,
    testName: 'a pager that a person answers',
  },
  {
    name: 'all-is-acknowledged',
    mistake: 'what became worse joins the page that a person may have acknowledged',
    file: PAGERDUTY,
    find: 'const isWorse = page !== undefined && gravity !== page.gravity;',
    replace: 'const isWorse = false as boolean;',
    tests: PAGERDUTY_TESTS,
    testName: 'worse-page',
  },
  {
    name: 'first-of-each',
    mistake: 'a message shows how an operation stood before',
    file: 'functions/notifier/deciding/waking.ts',
    find: 'own.toSorted(byAge).at(-1)',
    replace: 'own.toSorted(byAge).at(0)',
    tests: 'test/notifier/deciding/messages/latest-of-each.test.ts',
  },
  {
    name: 'resolved-by-the-first',
    mistake: 'the page of a common cause is resolved when the first of its operations has ended',
    file: 'shared/alerts/channel-apps.ts',
    find: "if (found.every((record) => record?.state === 'recovered')) return 'resolve';",
    replace: "if (found.some((record) => record?.state === 'recovered')) return 'resolve';",
    tests: PAGERDUTY_TESTS,
    testName: 'common-cause-ends',
  },
  {
    name: 'stall-is-harmless',
    mistake: 'a stall is held back because a person has acknowledged a failure that may heal',
    file: 'functions/notifier/deciding/incident-record.ts',
    find: "return notice.kind === 'stalled' ? 'stalled' : 'failing';",
    replace: "return 'failing';",
    tests: 'test/notifier/deciding/incidents/incident-record.test.ts',
  },
  {
    name: 'edited-every-minute',
    mistake: 'a message that names who takes care of its incident is edited again and again',
    file: 'functions/notifier/sending/upkeep.ts',
    find: 'return isSameCare(thread.care, care) ? undefined : care;',
    replace: 'return care;',
    tests: 'test/notifier/care.test.ts',
  },
  {
    name: 'forgets-who',
    mistake: 'a message no longer names who has acknowledged its incident when it is edited later',
    file: 'functions/notifier/sending/upkeep.ts',
    find: 'return { ...thread, care: careOf(record, policy.stored_mutes ?? [], clock.now()) };',
    replace: 'return { ...thread, care: {} };',
    tests: 'test/notifier/care.test.ts',
    testName: 'at its end as well',
  },
  {
    name: 'three-are-the-service',
    mistake: 'an alert blames the service because three projects fail, however often they usually do',
    file: 'shared/alerts/common-cause.ts',
    find: 'return projectCount >= PROJECTS_MIN && chanceOfAtLeast(projectCount, MARGIN * usualCount) < CHANCE_MAX;',
    replace: 'return projectCount >= PROJECTS_MIN;',
    tests: 'test/notifier/context.test.ts',
  },
  {
    name: 'lost-in-the-queue',
    mistake: 'a message that could not be stored is taken for handled',
    file: NOTIFY,
    find: 'batchItemFailures.push({ itemIdentifier: messageId });',
    replace: '',
    tests: NOTIFY_TESTS,
  },
];
