/**
 * Derives what a target gets of an event: the event, a part of it, a constant, or a filled template (EventBridge User
 * Guide, "Input transformation"). Pure.
 */

import type { DeliveredEvent } from '../services/deliveries.ts';
import type { RuleTarget } from '../services/rule-target.ts';

/** The names of rule and event that a template can use. */
export interface TemplateScope {
  readonly ruleArn: string;
  readonly ruleName: string;
}

/** Returns JSON. */
export function inputOf(event: DeliveredEvent, target: RuleTarget, scope: TemplateScope): string {
  const { Input, InputPath, InputTransformer } = target;
  if (Input !== undefined) return Input;
  if (InputPath !== undefined) return JSON.stringify(valueAt(event, InputPath) ?? null);
  if (InputTransformer === undefined) return JSON.stringify(event);
  const { InputPathsMap, InputTemplate } = InputTransformer;
  const values = Object.entries(InputPathsMap).map(([name, path]) => [name, valueAt(event, path)] as const);
  return filled(InputTemplate, new Map([...values, ...reservedValues(event, scope)]));
}

/** Says what EventBridge would find wrong with the input of a target, or returns undefined. */
export function faultOfInput({ Input, InputPath, InputTransformer }: RuleTarget): string | undefined {
  const given = [Input, InputPath, InputTransformer].filter((each) => each !== undefined);
  if (given.length > 1) return 'Only one of Input, InputPath, or InputTransformer must be provided.';
  if (Input !== undefined && !isJson(Input)) return 'Input is not JSON.';
  const { InputPathsMap = {}, InputTemplate } = InputTransformer ?? {};
  const paths = [...(InputPath === undefined ? [] : [InputPath]), ...Object.values(InputPathsMap)];
  const unreadable = paths.find((path) => !PATH_PATTERN.test(path));
  if (unreadable !== undefined)
    return `The path ${unreadable} is not one of names and indexes, such as $.detail.status or $.resources[0].`;
  if (Object.keys(InputPathsMap).length > PATHS_MAX) return `InputPathsMap has more than ${PATHS_MAX} paths.`;
  const reserved = Object.keys(InputPathsMap).find((name) => /^aws\./i.test(name));
  if (reserved !== undefined) return `The variable ${reserved} begins with "aws.".`;
  if (InputTemplate !== undefined && !isJson(filled(InputTemplate, new Map())))
    return 'InputTemplate does not become JSON.';
  return undefined;
}

/** EventBridge API Reference, InputTransformer. */
const PATHS_MAX = 100;

/** Wildcards are not part of the local AWS. */
const PATH_PATTERN = /^\$(\.[A-Za-z0-9_/-]+|\[\d+\])*$/;

function valueAt(event: DeliveredEvent, path: string): unknown {
  const steps = [...path.matchAll(/\.([A-Za-z0-9_/-]+)|\[(\d+)\]/g)].map(
    (match) => match[1] ?? match[2] ?? '',
  );
  return steps.reduce<unknown>((value, step) => {
    const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, step);
    return isObject ? (value as Record<string, unknown>)[step] : undefined;
  }, event);
}

function reservedValues(event: DeliveredEvent, { ruleArn, ruleName }: TemplateScope) {
  const { detail: _, ...envelope } = event;
  return [
    ['aws.events.rule-arn', ruleArn],
    ['aws.events.rule-name', ruleName],
    ['aws.events.event.ingestion-time', event.time],
    ['aws.events.event', envelope],
    ['aws.events.event.json', event],
  ] as const;
}

/**
 * Within quotes a value becomes text, elsewhere JSON. A variable whose path leads to nothing is absent: an empty text,
 * or null.
 */
function filled(template: string, values: ReadonlyMap<string, unknown>): string {
  return template.replaceAll(/<([A-Za-z0-9_.-]+)>/g, (_whole, name: string, offset: number) => {
    const value = values.get(name);
    if (!isWithinQuotes(template, offset)) return JSON.stringify(value ?? null);
    const text = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
    return JSON.stringify(text).slice(1, -1);
  });
}

function isWithinQuotes(template: string, offset: number): boolean {
  const quotes = template.slice(0, offset).replaceAll(/\\./g, '').match(/"/g);
  return (quotes?.length ?? 0) % 2 === 1;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
