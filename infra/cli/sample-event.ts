/** Makes a valid sample of an event from the example of its definition. */

import { eventCatalog } from '../../shared/events/catalog.ts';
import { TEST_EVENT_SOURCE } from '../../shared/events/event-names.ts';
import { plainWords } from '../../shared/runtime/read-config.ts';
import { UsageError } from '../process/command.ts';
import type { EventEnvelope } from './feed.ts';

export interface SampleRequest {
  /** The detail type, such as `Operation State Changed` or `operation-state-changed`. */
  readonly type: string;
  /** Fields of the detail as `name=value`. A value that is JSON is taken as JSON, any other as text. */
  readonly fields: readonly string[];
  /** The id of the event: 32 hex digits. */
  readonly id: string;
  readonly nowMs: number;
}

/** Throws `UsageError` when the result would not be a valid event. */
export function sampleEvent({ type, fields, id, nowMs }: SampleRequest): EventEnvelope {
  const definition = eventCatalog.find(
    ({ detailType }) => detailType.toLowerCase() === type.toLowerCase().replaceAll('-', ' '),
  );
  if (definition === undefined) throw unknownType(type);
  const time = new Date(nowMs).toISOString();
  const detail = {
    ...definition.example,
    id,
    observed_at: time,
    ...Object.fromEntries(fields.map(fieldIn)),
  };
  const parsed = definition.detail.strict().safeParse(detail, { error: plainWords });
  if (!parsed.success) throw unusable(parsed.error.issues[0], Object.keys(definition.detail.shape));
  return {
    version: '0',
    id,
    'detail-type': definition.detailType,
    source: TEST_EVENT_SOURCE,
    time,
    resources: [],
    detail,
  };
}

function fieldIn(text: string): readonly [string, unknown] {
  const [name = '', ...rest] = text.split('=');
  if (name === '' || rest.length === 0)
    throw new UsageError(`--set is "${text}"; it takes a field and its value, such as status=failed.`);
  return [name, valueIn(rest.join('='))];
}

function valueIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function unknownType(type: string): UsageError {
  const types = eventCatalog.map(({ detailType }) => detailType).join(', ');
  return new UsageError(`There is no event "${type}"; there are ${types}.`);
}

interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly keys?: readonly string[];
}

function unusable(issue: Issue | undefined, names: readonly string[]): UsageError {
  const field = issue?.keys?.join(', ') ?? issue?.path.join('.') ?? '';
  return new UsageError(
    `--set ${field} is not usable (${issue?.message}); the event has the fields ${names.join(', ')}.`,
  );
}
