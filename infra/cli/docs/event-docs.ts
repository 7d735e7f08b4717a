/**
 * Writes the documentation of events and alerts from their definitions: a page for people, a JSON Schema for each event, an AsyncAPI
 * document for tools, and the samples of alerts.
 */

import * as z from 'zod';
import { eventCatalog } from '../../../shared/events/catalog.ts';
import { EVENT_SOURCE } from '../../../shared/events/event-names.ts';
import { packageVersion } from '../../process/package.ts';
import { alertSamples, samplesOf } from '../sample-alert.ts';
import { type GeneratedFile, withSection, withSections } from './generated-sections.ts';

type Definition = (typeof eventCatalog)[number];

export function eventDocs(): readonly GeneratedFile[] {
  const schemas = eventCatalog.map((definition) => ({
    path: `docs/schemas/${fileName(definition)}.schema.json`,
    text: `${JSON.stringify(jsonSchema(definition), null, 2)}\n`,
  }));
  const page = withSections('docs/events.md', {
    'shared fields': shared
      .map((field) => `- \`${field[0]}\`${meaningOf(field).slice(field[0].length)}`)
      .join('\n'),
    events: eventCatalog.map(section).join('\n\n'),
  });
  return [page, ...schemas, { path: 'docs/asyncapi.json', text: `${JSON.stringify(asyncApi(), null, 2)}\n` }];
}

/**
 * Returns the bus as an AsyncAPI 3.1 document (https://www.asyncapi.com/docs/reference/specification/v3.1.0). The
 * payload of a message is the event as EventBridge delivers it, and the schema of its detail stands in docs/schemas.
 */
function asyncApi(): object {
  const names = eventCatalog.map(({ detailType }) => detailType.replaceAll(' ', ''));
  const messages = eventCatalog.map((definition, place) => [names[place], messageOf(definition)]);
  const refs = (path: string) => names.map((name) => [name, { $ref: `#/${path}/${name}` }] as const);
  return {
    asyncapi: '3.1.0',
    info: {
      title: 'Operations Bridge',
      version: packageVersion(),
      description:
        'Events of asynchronous operations. Each is delivered at least once, in no order: drop an id that was dealt with, and order the events of one operation by their sequence.',
      license: { name: 'MIT' },
    },
    defaultContentType: 'application/json',
    channels: {
      bus: {
        address: EVENT_SOURCE,
        description: 'The EventBridge bus, by the name that the configuration gives it.',
        messages: Object.fromEntries(refs('components/messages')),
      },
    },
    operations: {
      publish: {
        action: 'send',
        channel: { $ref: '#/channels/bus' },
        messages: refs('channels/bus/messages').map(([, ref]) => ref),
      },
    },
    components: { messages: Object.fromEntries(messages) },
  };
}

function messageOf(definition: Definition): object {
  const { detailType, summary, example } = definition;
  const fixed = { source: EVENT_SOURCE, 'detail-type': detailType };
  return {
    name: detailType,
    title: detailType,
    summary,
    payload: {
      type: 'object',
      required: ['source', 'detail-type', 'time', 'detail'],
      properties: {
        ...Object.fromEntries(Object.entries(fixed).map(([name, value]) => [name, { const: value }])),
        time: { type: 'string', format: 'date-time' },
        detail: { $ref: `./schemas/${fileName(definition)}.schema.json` },
      },
    },
    examples: [{ payload: { ...fixed, time: example.observed_at, detail: example } }],
  };
}

/**
 * Returns the schema of the detail. `io: 'input'` leaves additional properties allowed, because fields are added
 * without notice.
 */
function jsonSchema({ detail, detailType }: Definition): object {
  const schema = z.toJSONSchema(detail, {
    io: 'input',
    override: (part) => dropFormatPattern(part.jsonSchema),
  });
  return { ...schema, title: detailType };
}

/** zod writes the pattern of a format beside it: 280 characters for a time, which mean what the format means. */
function dropFormatPattern(schema: z.core.JSONSchema.BaseSchema): void {
  if (schema.format !== undefined) delete schema.pattern;
}

function fileName({ detailType }: Definition): string {
  return detailType.toLowerCase().replaceAll(' ', '-');
}

type Field = readonly [name: string, type: z.ZodType];

const fieldsOf = ({ detail }: Definition): readonly Field[] => Object.entries(detail.shape);

/** The page explains a field once when several events have it with the same meaning. */
const shared = eventCatalog
  .flatMap((definition) => fieldsOf(definition))
  .filter(
    ([name, type], place, all) =>
      all.findIndex((each) => meaningOf(each) === meaningOf([name, type])) === place &&
      isShared([name, type]),
  );

function isOfEvery([name]: Field): boolean {
  return eventCatalog.every(({ detail }) => name in detail.shape);
}

function isShared(field: Field): boolean {
  const meaning = meaningOf(field);
  return (
    eventCatalog.filter((each) => fieldsOf(each).some((other) => meaningOf(other) === meaning)).length > 1
  );
}

function section(definition: Definition): string {
  const fields = fieldsOf(definition);
  const named = fields.filter((field) => isShared(field) && !isOfEvery(field)).map(nameOf);
  return `### ${definition.detailType}

${definition.summary}

${[...(named.length === 0 ? [] : [`- shared: ${named.join(', ')}`]), ...fields.filter((field) => !isShared(field)).map(lineOf)].join('\n')}${exampleOf(definition)}`;
}

/** An example is shown where fields hold objects or lists that no earlier example has, and for the first event. */
function exampleOf({ detailType, example }: Definition): string {
  const isNested = Object.values(example).some((value) => typeof value === 'object' && value !== null);
  const first = eventCatalog.find(
    ({ example: other }) => Object.keys(other).join() === Object.keys(example).join(),
  );
  if (first?.detailType !== detailType || (!isNested && first !== eventCatalog[0])) return '';
  return `\n\n\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``;
}

function lineOf(field: Field): string {
  return `- ${nameOf(field)}${meaningOf(field).slice(field[0].length)}`;
}

function nameOf([name, type]: Field): string {
  return `\`${name}\`${type.safeParse(undefined).success ? '?' : ''}`;
}

function meaningOf([name, type]: Field): string {
  const schema = z.toJSONSchema(type, { io: 'input' });
  return `${name} (${typeName(schema)})${schema.description === undefined ? '' : `: ${schema.description}`}`;
}

function typeName(schema: z.core.JSONSchema.BaseSchema): string {
  if (schema.const !== undefined) return String(schema.const);
  if (schema.enum !== undefined) return schema.enum.join(', ');
  if (schema.examples !== undefined) return `${schema.examples.join(', ')}, or a new value`;
  if (schema.anyOf !== undefined) return schema.anyOf.map((part) => typeName(part)).join(' or ');
  return String(schema.type);
}

export function alertDocs(): readonly GeneratedFile[] {
  const samples = alertSamples().map(({ name, message }) => ({ name, files: samplesOf(message) }));
  const lines = samples.map(({ name, files }) => {
    const links = files.map(({ suffix }) => `[${suffix}](alerts/${name}.${suffix})`);
    return `- \`${name}\`: ${links.join(', ')}`;
  });
  return [
    withSection('docs/alerts.md', 'samples', lines.join('\n')),
    ...samples.flatMap(({ name, files }) =>
      files.map(({ suffix, text }) => ({ path: `docs/alerts/${name}.${suffix}`, text })),
    ),
  ];
}
