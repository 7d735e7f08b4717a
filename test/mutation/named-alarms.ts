/**
 * Lists one mistake for every metric behind an alarm: the metric is dropped where it is measured. Without it the alarm never fires,
 * and nothing says so.
 */

import type { NamedMutant } from './named-mutant.ts';

const AN_INVOCATION = 'test/poller/account/an-invocation.test.ts';
const POLL_ACCOUNT = 'functions/poller/account/poll-account.ts';
const NOTIFY = 'test/notifier/notify.test.ts';
const TRACES = 'test/api/traces.test.ts';
const WORK_LINE = 'test/commands/line/work-line.test.ts';

/** `statement` measures the metric. It is replaced by nothing, or by code that reads what would be unused without it. */
function dropped(file: string, statement: string, tests: string, replace = ''): NamedMutant {
  const metric = /measure\('(\w+)'/.exec(statement)?.[1] ?? '';
  return {
    name: `${metric}-not-measured`,
    mistake: `the metric ${metric} behind an alarm is dropped`,
    file,
    find: statement,
    replace,
    tests,
  };
}

export const alarmMutants: readonly NamedMutant[] = [
  dropped(
    'functions/commands/callbacks.ts',
    "  if (isGivenUp || trouble === 'AccessDeniedException') telemetry.measure('CallbacksRefused', 1);\n",
    'test/doors/api/callbacks.alone.test.ts',
  ),
  dropped(
    'shared/protocol/relay-records.ts',
    "  telemetry.measure('EventsParked', 1);\n",
    'test/protocol/relay-records.test.ts',
  ),
  dropped(
    'functions/poller/account/status/publish-status.ts',
    "  telemetry.measure(\n    'UnpublishedAgeMs',\n    Number.isFinite(oldestAtMs) ? Math.max(0, clock.now() - oldestAtMs) : 0,\n  );\n",
    'test/poller/account/status/publish-status.test.ts',
  ),
  dropped(
    'functions/poller/account/status/report-bound.ts',
    "      telemetry.measure('BoundMet', 1);\n",
    'test/poller/account/status/report-bound.test.ts',
  ),
  dropped(
    POLL_ACCOUNT,
    "if (isKnown) telemetry.measure('WalkAgeMs', nowMs - (oldestReadingMs(readings, visibleIds) ?? nowMs));",
    AN_INVOCATION,
    'void isKnown;',
  ),
  dropped(POLL_ACCOUNT, "if (health.isKeyRejected) telemetry.measure('KeyRejected', 1);", AN_INVOCATION),
  dropped(
    'functions/poller/account/status/publish-status.ts',
    "telemetry.measure('UpstreamThrottledPercent', (100 * throttledCount) / requestCount);",
    AN_INVOCATION,
    'void 0;',
  ),
  dropped(
    'functions/poller/lane/run-lane.ts',
    "    if (setAside.has(accountId)) deps.telemetry.measure('AccountsSetAside', 1);\n",
    'test/poller/lane/run-lane.test.ts',
    '    void accountId;\n',
  ),
  dropped(
    'functions/poller/project/poll-project.ts',
    "telemetry.measure('PublishDelayMs', Math.max(0, clock.now() - changedAtMs));",
    'test/poller/project/measure-published.test.ts',
    'void clock;',
  ),
  dropped(
    'functions/notifier/sending/send-message.ts',
    "  deps.telemetry.measure('AlertsRefused', 1);\n",
    NOTIFY,
  ),
  dropped(
    'functions/notifier/sweep.ts',
    "  telemetry.measure('ChannelDeafMs', Math.max(...durations));\n",
    NOTIFY,
  ),
  dropped(
    'functions/api/serving/request-audit.ts',
    "  if (reason === 'unauthenticated') telemetry.measure('TokensRefused', 1);\n",
    TRACES,
  ),
  dropped('shared/commands/audit.ts', "telemetry.measure('AuditFailed', 1);", TRACES),
  dropped('shared/upstream/forward.ts', "telemetry.measure('KeyEchoed', 1);", 'test/api/echoed-key.test.ts'),
  dropped(
    'shared/runtime/secret-key-source.ts',
    "telemetry.measure('SecretsUnreadable', 1);",
    'test/doors/poller/secrets-away.test.ts',
  ),
  dropped(
    'shared/store/unreadable.ts',
    "telemetry.measure('ItemsUnreadable', 1);",
    'test/store/unreadable.test.ts',
  ),
  dropped(
    'functions/commands/send-next.ts',
    "  deps.telemetry.measure('CommandsUnworkable', 1);\n",
    WORK_LINE,
  ),
];
