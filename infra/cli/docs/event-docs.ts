/**
 * Writes the documentation of the events from their definitions: one page for people, and one JSON Schema per event.
 */

import * as z from 'zod';
import { eventCatalog } from '../../../shared/events/catalog.ts';
import { withSections } from './generated-section.ts';

export interface GeneratedFile {
  /** The path is relative to the project's root. */
  readonly path: string;
  readonly text: string;
}

type Definition = (typeof eventCatalog)[number];

export function eventDocs(): readonly GeneratedFile[] {
  const schemas = eventCatalog.map((definition) => ({
    path: `docs/schemas/${fileName(definition)}.schema.json`,
    text: `${JSON.stringify(jsonSchema(definition), null, 2)}\n`,
  }));
  const page = withSections('docs/events.md', {
    'fields of every event': fieldList(common),
    events: eventCatalog.map(section).join('\n\n'),
  });
  return [page, ...schemas];
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

/** The page explains a field once when every event has it. */
const common = Object.entries(eventCatalog[0].detail.shape).filter(([name]) =>
  eventCatalog.every(({ detail }) => name in detail.shape),
);

function section(definition: Definition): string {
  const own = Object.entries(definition.detail.shape).filter(
    ([name]) => !common.some(([commonName]) => name === commonName),
  );
  return `### ${definition.detailType}

${definition.summary}

${fieldList(own)}${exampleOf(definition)}`;
}

/** An example is shown where fields hold objects or lists, and for the first event. */
function exampleOf({ detailType, example }: Definition): string {
  const isNested = Object.values(example).some((value) => typeof value === 'object' && value !== null);
  if (!isNested && detailType !== eventCatalog[0].detailType) return '';
  return `\n\n\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``;
}

function fieldList(fields: readonly (readonly [string, z.ZodType])[]): string {
  return fields.map(([name, type]) => fieldLine(name, type)).join('\n');
}

function fieldLine(name: string, type: z.ZodType): string {
  const schema = z.toJSONSchema(type, { io: 'input' });
  const mark = type.safeParse(undefined).success ? '?' : '';
  const meaning = schema.description === undefined ? '' : `: ${schema.description}`;
  return `- \`${name}\`${mark} (${typeName(schema)})${meaning}`;
}

function typeName(schema: z.core.JSONSchema.BaseSchema): string {
  if (schema.const !== undefined) return String(schema.const);
  if (schema.enum !== undefined) return schema.enum.join(', ');
  if (schema.examples !== undefined) return `${schema.examples.join(', ')}, or a new value`;
  if (schema.anyOf !== undefined) return schema.anyOf.map((part) => typeName(part)).join(' or ');
  return String(schema.type);
}
