/** Reads what it can of an event that does not fit its definition, so that an alert can show at least that part. */

/** An alert can show these text fields of an event. */
const TEXTS = [
  'account_id',
  'observed_at',
  'project_id',
  'operation_id',
  'action',
  'branch_id',
  'endpoint_id',
  'status',
  'reason',
] as const;

/** Each text is cut to this length, because no schema has checked it. */
const TEXT_CHARACTERS_MAX = 200;

export interface PartialEvent extends Partial<Record<(typeof TEXTS)[number], string>> {
  readonly id: string;
  readonly account_id: string;
  readonly observed_at: string;
  readonly unread: 'newer_schema' | 'unknown_value';
}

/** Returns undefined when the event has no id, because copies of it could not be recognised. */
export function readPartially(detail: unknown): PartialEvent | undefined {
  const fields: Readonly<Record<string, unknown>> = Object(detail);
  const { id, schema } = fields;
  if (typeof id !== 'string' || id === '') return undefined;
  const texts = TEXTS.flatMap((name) => {
    const value = fields[name];
    return typeof value === 'string' ? [[name, value.slice(0, TEXT_CHARACTERS_MAX)] as const] : [];
  });
  return {
    account_id: 'unknown',
    observed_at: '',
    ...Object.fromEntries(texts),
    id,
    unread: typeof schema === 'number' && schema > 1 ? 'newer_schema' : 'unknown_value',
  };
}
