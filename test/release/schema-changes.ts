/**
 * Finds the changes of an event's JSON Schema on which a consumer of the earlier schema can break. Events may gain
 * fields, and everything else stays as it is.
 */

export interface EventSchema {
  readonly title?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  /** The known values of an open set, which can gain values without notice. */
  readonly examples?: readonly unknown[];
  readonly anyOf?: readonly EventSchema[];
  readonly properties?: Readonly<Record<string, EventSchema>>;
  readonly required?: readonly string[];
  readonly items?: EventSchema;
  readonly [keyword: string]: unknown;
}

/** Returns one sentence per change, which begins with the path of the field. The order is that of the schema. */
export function breakingChanges(before: EventSchema, after: EventSchema, path = ''): readonly string[] {
  const at = path === '' ? 'the event' : path;
  return [
    ...renamed(before, after, at),
    ...changedTypes(before, after, at),
    ...changedValues(before, after, at),
    ...changedBounds(before, after, at),
    ...changedAlternatives(before, after, at),
    ...changedFields(before, after, path),
    ...(before.items && after.items ? breakingChanges(before.items, after.items, `${path}[]`) : []),
  ];
}

function renamed(before: EventSchema, after: EventSchema, at: string): readonly string[] {
  return before.title === after.title ? [] : [`${at} has another name: ${after.title ?? 'none'}`];
}

/** A type more is a change, too: a consumer that reads a text does not expect null. */
function changedTypes(before: EventSchema, after: EventSchema, at: string): readonly string[] {
  const [earlier, later] = [typesOf(before), typesOf(after)];
  return [
    ...earlier.filter((type) => !later.includes(type)).map((type) => `${at} is no longer ${type}`),
    ...later.filter((type) => !earlier.includes(type)).map((type) => `${at} can also be ${type}`),
  ];
}

function typesOf({ type, anyOf = [] }: EventSchema): readonly string[] {
  const own = type === undefined ? [] : [type].flat();
  return [...own, ...anyOf.flatMap(typesOf)];
}

function changedValues(before: EventSchema, after: EventSchema, at: string): readonly string[] {
  if (isOpen(before) && isOpen(after)) return lostValues(before, after, at);
  const [earlier, later] = [valuesOf(before), valuesOf(after)];
  if (earlier === undefined && later === undefined) return [];
  if (earlier === undefined) return [`${at} is narrowed to ${later?.join(', ')}`];
  if (later === undefined) return [`${at} can have any value`];
  return [
    ...earlier.filter((value) => !later.includes(value)).map((value) => `${at} is never ${value} any more`),
    ...later.filter((value) => !earlier.includes(value)).map((value) => `${at} can also be ${value}`),
  ];
}

function isOpen(schema: EventSchema): boolean {
  return openPart(schema) !== undefined;
}

/** A set that can also be null is one of two alternatives. */
function openPart({ examples, anyOf = [] }: EventSchema): readonly unknown[] | undefined {
  return examples ?? anyOf.map(openPart).find((values) => values !== undefined);
}

/** Consumers of an open set are prepared for new values, and may rely on the known ones. */
function lostValues(before: EventSchema, after: EventSchema, at: string): readonly string[] {
  const later = openPart(after) ?? [];
  return (openPart(before) ?? [])
    .filter((value) => !later.includes(value))
    .map((value) => `${at} is never ${String(value)} any more`);
}

function valuesOf({ const: only, enum: values, anyOf = [] }: EventSchema): readonly string[] | undefined {
  const own = only === undefined ? values : [only];
  const parts = anyOf.flatMap((part) => valuesOf(part) ?? []);
  return own === undefined && parts.length === 0 ? undefined : [...(own ?? []), ...parts].map(String);
}

/** No event has alternatives with fields so far, so these are only compared as a whole. */
function changedAlternatives(before: EventSchema, after: EventSchema, at: string): readonly string[] {
  const withFields = ({ anyOf = [] }: EventSchema) =>
    anyOf.filter(({ properties }) => properties !== undefined);
  const [earlier, later] = [withFields(before), withFields(after)].map((parts) => JSON.stringify(parts));
  return earlier === later ? [] : [`${at} has other alternatives`];
}

/** Each of these keywords limits the values of a field. */
const BOUNDS = [
  'format',
  'pattern',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
];

function changedBounds(before: EventSchema, after: EventSchema, at: string): readonly string[] {
  const isSameFormat = before['format'] !== undefined && before['format'] === after['format'];
  return BOUNDS.filter(
    // The pattern of a format says what the format says.
    (keyword) => before[keyword] !== after[keyword] && !(keyword === 'pattern' && isSameFormat),
  ).map(
    (keyword) =>
      `${at} has another ${keyword}: ${JSON.stringify(after[keyword] ?? null)} instead of ${JSON.stringify(before[keyword] ?? null)}`,
  );
}

function changedFields(before: EventSchema, after: EventSchema, path: string): readonly string[] {
  return Object.entries(before.properties ?? {}).flatMap(([name, field]) => {
    const fieldPath = path === '' ? name : `${path}.${name}`;
    const later = after.properties?.[name];
    if (later === undefined) return [`${fieldPath} was removed`];
    const wasRequired = before.required?.includes(name) ?? false;
    const isRequired = after.required?.includes(name) ?? false;
    return [
      ...(wasRequired && !isRequired ? [`${fieldPath} can be absent`] : []),
      ...breakingChanges(field, later, fieldPath),
    ];
  });
}
