/** Renders notices as the details of an alert at PagerDuty, in the PagerDuty Common Event Format. */

import { latestOfEach } from '../../deciding/messages/latest-of-each.ts';
import type { Notice, Severity } from '../../deciding/notices/notice.ts';
import { worstOf } from '../../deciding/notices/severity.ts';
import { cleanText, ERROR_CHARACTERS_MAX, VALUE_CHARACTERS_MAX } from '../../wording/clean-text.ts';
import {
  type AlertLinks,
  factsOf,
  meaningOf,
  operationUrl,
  placeOf,
  projectWordsOf,
  titleOf,
} from '../../wording/wording.ts';

export interface Described {
  readonly payload: {
    /** At most 1,024 characters. */
    readonly summary: string;
    readonly source: string;
    readonly severity: Severity;
    readonly timestamp?: string;
    readonly component?: string;
    readonly group: string;
    readonly class: string;
    readonly custom_details: Readonly<Record<string, string | readonly string[]>>;
  };
  readonly client: 'Operations Bridge';
  readonly client_url?: string;
  readonly links: readonly { readonly href: string; readonly text: string }[];
}

/** Describes notices of one incident. The most severe one leads, and each operation is named once, with its latest state. */
export function describe(all: readonly Notice[], links: AlertLinks): Described {
  const notices = latestOfEach([all]).flat();
  const severity = worstOf(notices);
  const lead = notices.find((notice) => notice.severity === severity);
  if (lead === undefined) throw new Error('An alert at PagerDuty needs at least one notice');
  const url = operationUrl(lead, links);
  return {
    payload: {
      ...identityOf(lead),
      summary: summaryOf(lead, notices),
      severity,
      ...detailsOf(lead, notices),
    },
    client: 'Operations Bridge',
    ...(url !== undefined && { client_url: url }),
    links: linksOf(url, links),
  };
}

function summaryOf(lead: Notice, notices: readonly Notice[]): string {
  const more = notices.length === 1 ? '' : ` (${notices.length} alerts)`;
  return `${titleOf(lead)}: ${shown(placeOf(lead))}${more}`;
}

function identityOf({ kind, account_id, project_id, action, channel, since, observed_at }: Notice) {
  const timestamp = [since, observed_at].find((text) => !Number.isNaN(Date.parse(text ?? '')));
  return {
    source: shown(project_id ?? channel ?? account_id),
    ...(action !== undefined && { component: shown(action) }),
    group: shown(account_id),
    class: kind,
    ...(timestamp !== undefined && { timestamp: new Date(timestamp).toISOString() }),
  };
}

function detailsOf(lead: Notice, notices: readonly Notice[]) {
  const facts = factsOf(lead).map(({ label, value }) => [label, shown(value)] as const);
  const error = lead.error === undefined ? {} : { Error: cleanText(lead.error, ERROR_CHARACTERS_MAX) };
  const all = notices.length === 1 ? {} : { Alerts: notices.map(lineOf) };
  return { custom_details: { Meaning: meaningOf(lead), ...Object.fromEntries(facts), ...error, ...all } };
}

function lineOf(notice: Notice): string {
  const place = projectWordsOf(notice, cleanText) ?? shown(placeOf(notice));
  const operation = notice.operation_id === undefined ? '' : ` ${shown(notice.operation_id)}`;
  return `${titleOf(notice)}: ${place}${operation}`;
}

function linksOf(url: string | undefined, { runbookUrl }: AlertLinks): Described['links'] {
  return [
    ...(url === undefined ? [] : [{ href: url, text: 'Open the operation' }]),
    ...(runbookUrl === undefined ? [] : [{ href: runbookUrl, text: 'Runbook' }]),
  ];
}

/** PagerDuty refuses an event whose source is empty. */
function shown(text: string): string {
  return cleanText(text, VALUE_CHARACTERS_MAX) || '-';
}
