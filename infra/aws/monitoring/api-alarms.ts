/** Defines the alarms about the API: failing answers, refused tokens, and lost records of the audit. */

import type { Api } from '../resources/api.ts';
import { type AlarmDefinition, FIVE_MINUTES } from './alarm-definition.ts';
import { bridgeMetric, percentage } from './metrics.ts';

/** Strangers call now and then, but this number of calls in five minutes means that tokens are being tried. */
const UNAUTHENTICATED_MAX = 100;

/** One failure among a handful of requests is more than this share, so the alarm needs it twice in a row. */
const API_FAILURES_PERCENT_MAX = 10;

export function apiAlarms(bridgeName: string, { httpApi }: Api): readonly AlarmDefinition[] {
  const period = FIVE_MINUTES;
  const sum = { statistic: 'Sum', period };
  return [
    {
      name: 'api-failing',
      means: `More than ${API_FAILURES_PERCENT_MAX} % of the answers of the API are failures (5xx).`,
      metric: percentage(httpApi.metricServerError(sum), httpApi.metricCount(sum), period),
      threshold: API_FAILURES_PERCENT_MAX,
      periods: 2,
    },
    {
      name: 'tokens-refused',
      means: `More than ${UNAUTHENTICATED_MAX} requests in five minutes came without a valid token.`,
      metric: bridgeMetric('TokensRefused', bridgeName, sum),
      threshold: UNAUTHENTICATED_MAX,
    },
    {
      name: 'audit-failed',
      means: 'A record of the audit could not be written; only the log has what was done.',
      metric: bridgeMetric('AuditFailed', bridgeName, sum),
      threshold: 0,
    },
    {
      name: 'key-echoed',
      means:
        'An answer of the upstream had the key of the account in it. No caller saw it, and calls that answer so fail.',
      metric: bridgeMetric('KeyEchoed', bridgeName, sum),
      threshold: 0,
    },
  ];
}
