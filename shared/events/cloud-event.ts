/**
 * Puts events and alerts into the form of CloudEvents 1.0 (https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md),
 * structured as JSON, for systems that read no other. docs/bindings.md has the mapping.
 */

/** This is the media type of one such event (CloudEvents 1.0, JSON event format, section 3). */
export const CLOUD_EVENT_MEDIA_TYPE = 'application/cloudevents+json; charset=utf-8';

export interface CloudEvent {
  readonly specversion: '1.0';
  /** Copies have the same `source` and `id`. */
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject?: string;
  readonly time?: string;
  readonly datacontenttype: 'application/json';
  readonly data: object;
  /** The extension "Sequence" is compared as text, so the number has leading zeros. */
  readonly sequence?: string;
  /** The extension "Partitioning": events of one operation have the same. */
  readonly partitionkey?: string;
  /** The extension "Distributed Tracing". */
  readonly traceparent?: string;
}

/** A bridge publishes fewer than ten thousand million states of one operation. */
const SEQUENCE_DIGITS = 10;

/** `event` is an event as EventBridge delivers it. */
export function cloudEventOf(event: {
  readonly id: string;
  readonly 'detail-type': string;
  readonly source: string;
  readonly time: string;
  readonly detail: Readonly<Record<string, unknown>>;
}): CloudEvent {
  const { detail, source, time } = event;
  const text = (name: string) => (typeof detail[name] === 'string' ? detail[name] : undefined);
  const partitionKey = text('operation_id') ?? text('branch_id') ?? text('project_id');
  const { sequence, command } = detail;
  const traceparent = (command as { readonly traceparent?: string } | undefined)?.traceparent;
  return {
    specversion: '1.0',
    id: text('id') ?? event.id,
    source: `${source}/accounts/${text('account_id') ?? ''}`,
    type: `${source}.${event['detail-type'].toLowerCase().replaceAll(' ', '_')}`,
    ...(partitionKey !== undefined && { subject: partitionKey, partitionkey: partitionKey }),
    time,
    datacontenttype: 'application/json',
    data: detail,
    ...(typeof sequence === 'number' && { sequence: String(sequence).padStart(SEQUENCE_DIGITS, '0') }),
    ...(traceparent !== undefined && { traceparent }),
  };
}
